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
use crate::time::TICK_SHIFT;
use core::future::poll_fn;
use core::ops::Range;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use embassy_futures::select::select;
use embedded_io_async::{Read, Write};
use stillpoint_core::link::{Config, Counters, Lane, Link, LinkPhase, MAX_FRAME, wire_bytes};

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
    /// The peer was reset since the link was last up: the next session is not the old one gone on.
    #[cfg(feature = "enabled")]
    peer_was_reset: bool,
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
}

impl<P: Platform, R, T, const W: usize, const F: usize> Serial<P, R, T, W, F> {
    /// A link that is not open.
    #[must_use]
    pub const fn new() -> Self {
        Self { line: CoreBound::new(), waker: CoreWaker::new() }
    }

    /// What the link counted. `None` on another core than its own.
    pub fn report(&self) -> Option<LinkReport> {
        self.line.try_with(|inner| LinkReport {
            phase: inner.link.phase(),
            counters: *inner.link.counters(),
            oversized: inner.oversized,
        })
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
        let link = Link::new(config, incarnation);
        let frame = [0; wire_bytes(MAX_FRAME)];
        let inner = Inner {
            link,
            line,
            frame,
            unsent: 0..0,
            out,
            into,
            oversized: 0,
            #[cfg(feature = "enabled")]
            peer_was_reset: false,
        };
        self.line.put(inner).ok()
    }
}

impl<P: Platform, R: Read, T: Write, const W: usize, const F: usize> Serial<P, R, T, W, F> {
    /// Calls `pump` whenever there may be something to move, for ever. It says whether anything moved.
    pub(crate) async fn keep_going(&self, mut pump: impl FnMut(&Waker) -> bool) -> ! {
        loop {
            let work = poll_fn(|context| if pump(context.waker()) { Poll::Ready(()) } else { Poll::Pending });
            // The link wants to be pumped then even if nothing happens.
            let now = link_time::<P>();
            let deadline = self.line.try_with(|inner| inner.link.next_deadline(now)).flatten();
            select(work, crate::time::sleep(u64::from(ticks_until(deadline, now)) << TICK_SHIFT)).await;
        }
    }
}

impl<P: Platform, R, T, const W: usize, const F: usize> Default for Serial<P, R, T, W, F> {
    fn default() -> Self {
        Self::new()
    }
}

/// The time of links: real time, in log ticks.
pub(crate) fn link_time<P: Platform>() -> u32 {
    (P::long_counter() >> TICK_SHIFT) as u32
}

impl<P: Platform, R: Read, T: Write, const W: usize, const F: usize> Inner<P, R, T, W, F> {
    fn pump(&mut self, flow: Flow, waker: &Waker, hear: &mut Hear<'_>) -> bool {
        let now = link_time::<P>();
        self.link.set_stopped(flow != Flow::Running);
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

    fn bytes_in(&mut self, now: u32, waker: &Waker, hear: &mut Hear<'_>) -> bool {
        let mut bytes = [0; 64];
        let count = poll_once(pin!(self.line.receiver.read(&mut bytes)), waker);
        for &byte in bytes.iter().take(count) {
            if let Some(event) = self.link.on_byte(byte, now) {
                self.tell(event, hear);
            }
            while let Some(item) = self.link.front(Lane::Control) {
                if !item.before_reset {
                    wired::control(item.bytes, hear);
                }
                self.link.take(Lane::Control);
            }
        }
        count > 0
    }

    /// From the application's ring into the window.
    fn messages_out(&mut self) -> bool {
        let mut moved = false;
        // Between two sessions nothing leaves: what was counted in the old one must not arrive in the new one.
        while let Some(message) = self.out.ring.front().filter(|_| !self.is_between_sessions()) {
            if self.link.send(Lane::Data, message).is_err() {
                break;
            }
            self.out.ring.free();
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
                    self.into.ring.publish(0, length);
                    self.into.ring.head.wake::<P>(End::Receiver, self.into.waiter.core());
                }
                None => self.oversized = self.oversized.wrapping_add(1),
            }
            self.link.take(Lane::Data);
            moved = true;
        }
        moved
    }

    fn bytes_out(&mut self, now: u32, waker: &Waker) -> bool {
        let mut moved = false;
        loop {
            if self.unsent.is_empty() {
                match self.link.poll_transmit(now, &mut self.frame) {
                    Ok(Some(length)) => self.unsent = 0..length,
                    Ok(None) | Err(_) => return moved,
                }
            }
            let rest = self.frame.get(self.unsent.clone()).unwrap_or_default();
            let count = poll_once(pin!(self.line.sender.write(rest)), waker);
            if count == 0 {
                return moved;
            }
            self.unsent.start += count;
            moved = true;
        }
    }
}

/// How long to sleep until a deadline, which is a time; without one the link is looked at now and then all the same.
fn ticks_until(deadline: Option<u32>, now: u32) -> u32 {
    deadline.map_or(1 << 20, |deadline| deadline.wrapping_sub(now))
}

/// What a transfer could do at once; an error of the line counts as nothing, and the link repeats what is lost.
fn poll_once<E>(transfer: core::pin::Pin<&mut impl Future<Output = Result<usize, E>>>, waker: &Waker) -> usize {
    match transfer.poll(&mut Context::from_waker(waker)) {
        Poll::Ready(Ok(count)) => count,
        Poll::Ready(Err(_)) | Poll::Pending => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pump_sleeps_as_long_as_the_link_is_patient_however_long_the_board_has_run() {
        let mut link = Link::<4, 64>::new(Config::BAUD_115200, 1);
        for now in [0, 5_000_000, u32::MAX - 10] {
            let mut frame = [0; wire_bytes(MAX_FRAME)];
            let _ = link.on_tick(now);
            while link.poll_transmit(now, &mut frame).is_ok_and(|length| length.is_some()) {}
            assert_eq!(ticks_until(link.next_deadline(now), now), Config::BAUD_115200.hello_interval);
        }
    }
}
