//! A link as a wire of its node: what the agent hears through it and says, besides messages.
use super::{CancelSafe, Flow, Inner, Moving, Serial};
use crate::channel::End;
use crate::platform::Platform;
use core::task::Waker;
use embedded_io_async::{Read, Write};
use stillpoint_core::LinkHello;
use stillpoint_core::link::{Lane, Ledger, LinkEvent, LinkPhase};
use stillpoint_core::time::Ticks;

/// What comes out of a link beside messages.
pub(crate) enum Heard<'a> {
    /// The link came up, and this is what the peer says of itself. If the channel does not go on as it was, `empty` takes
    /// what is left of the session before out of the rings, and says how much: going out, coming in.
    Up { hello: LinkHello, resumed: bool, empty: &'a mut dyn FnMut() -> [u32; 2] },
    /// The link went down.
    Down,
    /// The peer was reset, and took this many of our messages with it.
    PeerReset { lost: u8 },
    /// A control item.
    Control(&'a [u8]),
}

/// A link as its agent sees it, whatever its sizes and its UART.
pub(crate) trait Wired: Sync {
    /// Moves bytes, and messages as `flow` says; who must be told of more is `waker`. What comes out beside messages
    /// goes to `hear`. True if anything moved.
    fn pump(&self, flow: Flow, waker: &Waker, hear: &mut dyn FnMut(Heard<'_>)) -> bool;
    /// Queues a control item. One that is no marker leaves a place of the lane free, so that a marker never waits until the
    /// peer has acknowledged other items. False when there is no place; try again after the next pump.
    fn send_control(&self, item: &[u8], is_marker: bool) -> bool;
    /// Whether every control item that was sent is known to have arrived.
    fn is_quiet(&self) -> bool;
    /// What a hello says from now on; matters only while the link is not up.
    fn introduce(&self, hello: LinkHello);
    /// Where the data lane stands.
    fn ledger(&self) -> Option<Ledger>;
    /// After how many ticks the link wants to be pumped even if nothing comes in; `None` if never.
    fn due_in(&self, now: Ticks<u32>) -> Option<Ticks<u32>>;
    /// Whether the caller interrupted the pump.
    fn is_busy(&self) -> bool;
    /// Has the pump run soon.
    fn wake(&self);
    /// Takes the link over from the pump that the caller interrupted.
    ///
    /// # Safety
    /// That pump must never run again.
    unsafe fn take_over(&self);
}

/// Who is told.
pub(super) type Hear<'a> = dyn FnMut(Heard<'_>) + 'a;

impl<P: Platform, R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize> Inner<P, R, T, W, F> {
    pub(super) fn tell(&mut self, event: LinkEvent, hear: &mut Hear<'_>) {
        self.untold = Some(event);
        match event {
            LinkEvent::Up { .. } => {
                let resumed = !self.peer_was_reset;
                if let Some(hello) = LinkHello::read(self.link.peer_hello()) {
                    hear(Heard::Up { hello, resumed, empty: &mut || self.empty() });
                }
                self.peer_was_reset = false;
            }
            LinkEvent::Down => hear(Heard::Down),
            LinkEvent::PeerReset { lost_data, .. } => {
                self.peer_was_reset = true;
                hear(Heard::PeerReset { lost: lost_data });
            }
            // There will be no session with it: the link stays down, which the host sees.
            LinkEvent::Incompatible { .. } => {}
        }
        self.untold = None;
    }

    /// Tells what came in and was not told: control items, and an event whose telling a crash interrupted.
    pub(super) fn tell_rest(&mut self, hear: &mut Hear<'_>) {
        if let Some(event) = self.untold {
            self.tell(event, hear);
        }
        while let Some(item) = self.link.front(Lane::Control) {
            if !item.before_reset {
                hear(Heard::Control(item.bytes));
            }
            self.link.take(Lane::Control);
        }
    }

    /// Ends what a crash interrupted: a message that was copied is taken out where it came from.
    fn repair(&mut self) {
        let Moving { out, into } = core::mem::take(&mut self.moving);
        if out.is_some_and(|number| self.link.ledger(Lane::Data).sent_end != number) {
            self.out.ring.free();
        }
        if into.is_some_and(|count| self.into.ring.head.count(true) != count) {
            self.link.take(Lane::Data);
        }
    }

    /// Whether the peer was reset and is not back yet.
    pub(super) fn is_between_sessions(&self) -> bool {
        self.peer_was_reset
    }

    /// Takes out what the peer's reset took the meaning from: going out, coming in.
    fn empty(&mut self) -> [u32; 2] {
        let mut coming_in = self.into.ring.head.empty();
        while self.link.front(Lane::Data).is_some_and(|item| item.before_reset) {
            self.link.take(Lane::Data);
            coming_in += 1;
        }
        let going_out = self.out.ring.head.empty();
        self.out.ring.head.wake::<P>(End::Sender, self.out.waiter.core());
        [going_out, coming_in]
    }
}

impl<P: Platform, R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize> Wired
    for Serial<P, R, T, W, F>
{
    fn pump(&self, flow: Flow, waker: &Waker, hear: &mut dyn FnMut(Heard<'_>)) -> bool {
        if flow == Flow::Running {
            self.waker.register(waker);
        }
        self.line.try_with(|inner| inner.pump(flow, waker, hear)).unwrap_or(false)
    }

    fn send_control(&self, item: &[u8], is_marker: bool) -> bool {
        let kept = usize::from(!is_marker);
        let queue = |inner: &mut Inner<P, R, T, W, F>| {
            let used = usize::from(inner.link.unacknowledged(Lane::Control));
            used + kept < stillpoint_core::link::CONTROL_WINDOW && inner.link.send(Lane::Control, item).is_ok()
        };
        self.line.try_with(queue).unwrap_or(false)
    }

    fn is_quiet(&self) -> bool {
        self.line.try_with(|inner| inner.link.unacknowledged(Lane::Control) == 0).unwrap_or(false)
    }

    fn introduce(&self, hello: LinkHello) {
        self.line.try_with(|inner| {
            if inner.link.phase() != LinkPhase::Up {
                // A hello is never longer than what the link takes.
                let _ = inner.link.set_hello(&hello.to_bytes());
            }
        });
    }

    fn ledger(&self) -> Option<Ledger> {
        self.line.try_with(|inner| inner.link.ledger(Lane::Data))
    }

    fn due_in(&self, now: Ticks<u32>) -> Option<Ticks<u32>> {
        self.line.try_with(|inner| inner.due_in(now)).flatten()
    }

    fn is_busy(&self) -> bool {
        self.line.is_busy()
    }

    fn wake(&self) {
        self.waker.wake();
    }

    unsafe fn take_over(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.line.take_over() };
        self.line.try_with(Inner::repair);
    }
}
