//! A serial link between two boards, as two channels: one there, one back.
//!
//! Messages wait in the same rings as those of mailboxes. A pump moves them between the rings and the link of
//! [`stillpoint_core::link`], and the link's bytes between it and a UART. The pump runs as a task; while the core is
//! parked the agent runs it, in real time, so that markers arrive and acknowledgements leave.
use crate::channel::{End, Ring};
use crate::core_bound::CoreBound;
use crate::doorbell::Waiter;
use crate::per_core::CoreWaker;
use crate::platform::Platform;
use crate::sync::{Mutant, mutated};
use core::future::poll_fn;
use core::ops::Range;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use embassy_futures::select::select;
use embedded_io_async::{Read, Write};
#[cfg(feature = "enabled")]
use stillpoint_core::link::LinkEvent;
use stillpoint_core::link::{Config, Counters, Lane, Link, LinkPhase, MAX_FRAME, wire_bytes};
use stillpoint_core::time::Ticks;

#[cfg(feature = "enabled")]
mod wired;
#[cfg(not(feature = "enabled"))]
#[path = "plain/wired.rs"]
mod wired;
use wired::Hear;
#[cfg(feature = "enabled")]
pub(crate) use wired::{Heard, Wired};

/// What a link moves while its node is in some phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Everything.
    Running,
    /// Everything, though the node stands still: it is stopped alone, and what was sent still arrives.
    #[cfg(feature = "enabled")]
    Suspended,
    /// Control items only: messages in flight stay where they are.
    #[cfg(feature = "enabled")]
    Halted,
}

/// Memory for a serial link: `W` frames of at most `F` bytes each way.
pub struct Serial<P: 'static, R, T, const W: usize = 4, const F: usize = 96> {
    line: CoreBound<P, Inner<P, R, T, W, F>>,
    waker: CoreWaker<P>,
}

/// The two halves of a UART.
pub struct Line<R, T> {
    /// Where bytes come in.
    pub receiver: R,
    /// Where bytes go out.
    pub sender: T,
}

/// Marks a half of a UART whose reads and writes can be dropped before they are ready.
///
/// A read that is dropped while it is pending has taken no byte, and a write that is dropped has sent none. Either keeps the
/// waker that it was polled with registered, so the next byte, or the next free place, still wakes it. A link polls each
/// transfer once and drops it, because a halted core serves its links outside of its tasks.
///
/// `embedded-io-async` does not promise any of this. Drivers with a ring that an interrupt handler fills or empties usually
/// do it, and drivers that start a DMA transfer in `read` do not.
///
/// # Example: a driver that does not say so is refused
/// ```compile_fail,E0277
/// use embedded_io_async::{ErrorType, Read, Write};
/// struct Dma;
/// impl ErrorType for Dma {
///     type Error = core::convert::Infallible;
/// }
/// impl Read for Dma {
///     async fn read(&mut self, into: &mut [u8]) -> Result<usize, Self::Error> {
///         Ok(into.len())
///     }
/// }
/// fn takes_a_line<R: Read + stillpoint_agent::serial::CancelSafe>(_: R) {}
/// takes_a_line(Dma);
/// ```
pub trait CancelSafe {}

/// The ring of one direction at this end, and where the pump waits for it.
pub(crate) struct Stage<P: 'static> {
    pub ring: Ring,
    pub waiter: Waiter<P>,
}

struct Inner<P: 'static, R, T, const W: usize, const F: usize> {
    link: Link<W, F>,
    line: Line<R, T>,
    /// A frame on its way to the UART, and what of it has not left.
    frame: [u8; wire_bytes(MAX_FRAME)],
    unsent: Range<usize>,
    out: Stage<P>,
    into: Stage<P>,
    oversized: u32,
    line_errors: u32,
    moving: Moving,
    /// The peer was reset since the link was last up: the next session is not the old one gone on.
    #[cfg(feature = "enabled")]
    peer_was_reset: bool,
    /// What the node is being told.
    #[cfg(feature = "enabled")]
    untold: Option<LinkEvent>,
}

/// A message between a ring and the link: for a moment it is in both. A crash there must not double it.
#[derive(Clone, Copy, Debug, Default)]
struct Moving {
    /// The number the link had for its next item before it took the message from the ring.
    out: Option<u8>,
    /// How many messages the ring had before it took the message from the link.
    into: Option<u32>,
}

/// What a link counted since it was opened.
#[derive(Clone, Copy, Debug)]
pub struct LinkReport {
    /// Where it stands.
    pub phase: LinkPhase,
    /// What it counted.
    pub counters: Counters,
    /// Messages that were longer than a slot of the ring at this end. They are lost.
    pub oversized: u32,
    /// Reads and writes of the line that failed. The link repeats what was lost with them.
    pub line_errors: u32,
}

impl<P: Platform, R, T, const W: usize, const F: usize> Serial<P, R, T, W, F> {
    /// A link that is not open.
    #[must_use]
    pub const fn new() -> Self {
        Self { line: CoreBound::new(), waker: CoreWaker::new() }
    }

    /// What the link counted. `None` on another core than its own.
    pub fn report(&self) -> Option<LinkReport> {
        let report = |inner: &mut Inner<P, R, T, W, F>| LinkReport {
            phase: inner.link.phase(),
            counters: *inner.link.counters(),
            oversized: inner.oversized,
            line_errors: inner.line_errors,
        };
        if mutated(Mutant::AnyUseIsAPump) { self.line.try_with(report) } else { self.briefly(report) }
    }

    /// Gives `look` what the link consists of, with interrupts masked: whoever finds the link in use has interrupted its
    /// pump. `None` there, and on another core than its own.
    fn briefly<A>(&self, look: impl FnOnce(&mut Inner<P, R, T, W, F>) -> A) -> Option<A> {
        P::masked(|| self.line.try_with(look))
    }

    pub(crate) fn open(
        &self,
        line: Line<R, T>,
        config: Config,
        incarnation: u8,
        out: Stage<P>,
        into: Stage<P>,
    ) -> Option<()> {
        out.ring.head.set_waiter(End::Receiver, &out.waiter);
        into.ring.head.set_waiter(End::Sender, &into.waiter);
        let link = Link::new(config, crate::time::tick_rate::<P>(), incarnation);
        let frame = [0; wire_bytes(MAX_FRAME)];
        let inner = Inner {
            link,
            line,
            frame,
            unsent: 0..0,
            out,
            into,
            oversized: 0,
            line_errors: 0,
            moving: Moving::default(),
            #[cfg(feature = "enabled")]
            peer_was_reset: false,
            #[cfg(feature = "enabled")]
            untold: None,
        };
        self.line.put(inner).ok()
    }
}

impl<P: Platform, R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize> Serial<P, R, T, W, F> {
    /// Calls `pump` whenever there may be something to move, for ever. It says whether anything moved.
    pub(crate) async fn keep_going(&self, mut pump: impl FnMut(&Waker) -> bool) -> ! {
        loop {
            let work = poll_fn(|context| if pump(context.waker()) { Poll::Ready(()) } else { Poll::Pending });
            // The link wants to be pumped then even if nothing happens.
            let due = self.briefly(|inner| inner.due_in(link_time::<P>())).flatten();
            // Without a deadline the link is looked at now and then all the same.
            select(work, crate::time::sleep(due.unwrap_or(Ticks(1 << 20)).counts())).await;
        }
    }
}

impl<P: Platform, R, T, const W: usize, const F: usize> Default for Serial<P, R, T, W, F> {
    fn default() -> Self {
        Self::new()
    }
}

/// The time of links: real time.
pub(crate) fn link_time<P: Platform>() -> Ticks<u32> {
    P::long_counter().ticks().low()
}

impl<P: Platform, R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize> Inner<P, R, T, W, F> {
    fn pump(&mut self, flow: Flow, waker: &Waker, hear: &mut Hear<'_>) -> bool {
        let now = link_time::<P>();
        self.link.set_stopped(flow != Flow::Running);
        self.tell_rest(hear);
        let mut moved = self.bytes_in(now, waker, hear);
        if let Some(event) = self.link.on_tick(now) {
            self.tell(event, hear);
        }
        if flow == Flow::Running {
            self.out.waiter.wait(waker);
            self.into.waiter.wait(waker);
        }
        #[cfg(feature = "enabled")]
        if flow == Flow::Halted {
            return moved | self.bytes_out(now, waker);
        }
        moved |= self.messages_out() | self.messages_in();
        moved | self.bytes_out(now, waker)
    }

    /// After how many ticks the link wants to be pumped even if nothing happens.
    fn due_in(&self, now: Ticks<u32>) -> Option<Ticks<u32>> {
        // While a frame waits for the UART, which wakes the pump, the link can send nothing else.
        let deadline = if self.unsent.is_empty() { self.link.next_deadline(now) } else { None };
        deadline.map(|deadline| deadline.wrapping_since(now))
    }

    fn bytes_in(&mut self, now: Ticks<u32>, waker: &Waker, hear: &mut Hear<'_>) -> bool {
        let mut bytes = [0; 64];
        let (receiver, context) = (&mut self.line.receiver, &mut Context::from_waker(waker));
        let count = transfer(&mut self.line_errors, || pin!(receiver.read(&mut bytes)).poll(context));
        for &byte in bytes.iter().take(count) {
            if let Some(event) = self.link.on_byte(byte, now) {
                self.tell(event, hear);
            }
            self.tell_rest(hear);
        }
        count > 0
    }

    /// From the application's ring into the window.
    fn messages_out(&mut self) -> bool {
        let mut moved = false;
        // Between two sessions nothing leaves: what was counted in the old one must not arrive in the new one.
        while let Some(message) = self.out.ring.front().filter(|_| !self.is_between_sessions()) {
            self.moving.out = Some(self.link.ledger(Lane::Data).sent_end);
            if self.link.send(Lane::Data, message).is_err() {
                self.moving.out = None;
                break;
            }
            self.out.ring.free();
            self.moving.out = None;
            self.out.ring.head.wake::<P>(End::Sender, self.out.waiter.core());
            moved = true;
        }
        moved
    }

    /// From the link into the application's ring, as long as that has room.
    fn messages_in(&mut self) -> bool {
        let mut moved = false;
        while let Some(item) = self.link.front(Lane::Data) {
            let length = item.bytes.len();
            // From before a reset of the peer or not: as long as no new session has begun, it counts in the old one.
            let Some(slot) = self.into.ring.free_slot() else { break };
            match slot.get_mut(..length) {
                Some(room) => {
                    room.copy_from_slice(item.bytes);
                    self.moving.into = Some(self.into.ring.head.count(true));
                    self.into.ring.publish(0, length);
                    self.into.ring.head.wake::<P>(End::Receiver, self.into.waiter.core());
                }
                None => self.oversized = self.oversized.wrapping_add(1),
            }
            self.link.take(Lane::Data);
            self.moving.into = None;
            moved = true;
        }
        moved
    }

    fn bytes_out(&mut self, now: Ticks<u32>, waker: &Waker) -> bool {
        let mut moved = false;
        loop {
            if self.unsent.is_empty() {
                match self.link.poll_transmit(now, &mut self.frame) {
                    Ok(Some(length)) => self.unsent = 0..length,
                    Ok(None) | Err(_) => return moved,
                }
            }
            let rest = self.frame.get(self.unsent.clone()).unwrap_or_default();
            let (sender, context) = (&mut self.line.sender, &mut Context::from_waker(waker));
            let count = transfer(&mut self.line_errors, || pin!(sender.write(rest)).poll(context));
            if count == 0 {
                return moved;
            }
            self.unsent.start += count;
            moved = true;
        }
    }
}

/// How often in a row a line may fail before the link waits for its timer.
const TRIES: u32 = 16;

/// What a transfer can do at once. The link repeats what an error lost.
///
/// A transfer that fails leaves no waker behind, so it is begun again until it moves bytes or waits. A line that does
/// nothing but fail has to wait for the link's timer, so that it cannot keep the core from everything else.
fn transfer<E>(errors: &mut u32, mut begin: impl FnMut() -> Poll<Result<usize, E>>) -> usize {
    for _ in 0..TRIES {
        match begin() {
            Poll::Pending => return 0,
            Poll::Ready(Ok(count)) if count > 0 => return count,
            Poll::Ready(_) => *errors = errors.wrapping_add(1),
        }
    }
    0
}

#[cfg(all(test, feature = "enabled"))]
mod tests;
