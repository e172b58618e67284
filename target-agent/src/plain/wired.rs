//! A link that carries messages and nothing else: what it has to say besides is heard by nobody.
use super::{CancelSafe, Flow, Inner, Serial};
use crate::platform::Platform;
use core::marker::PhantomData;
use core::task::Waker;
use embedded_io_async::{Read, Write};
use stillpoint_core::link::{Lane, LinkEvent};

/// Nobody.
pub(super) struct Hear<'a>(PhantomData<&'a ()>);

impl<P: Platform, R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize> Inner<P, R, T, W, F> {
    /// Nobody counts messages by session.
    #[inline]
    pub(super) const fn is_between_sessions(&self) -> bool {
        false
    }

    /// The link looks after itself.
    #[inline]
    pub(super) fn tell(&mut self, _event: LinkEvent, _hear: &mut Hear<'_>) {}

    /// Drops control items: without the kit there is no use for them.
    pub(super) fn tell_rest(&mut self, _hear: &mut Hear<'_>) {
        while self.link.front(Lane::Control).is_some() {
            self.link.take(Lane::Control);
        }
    }
}

impl<P: Platform, R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize> Serial<P, R, T, W, F> {
    /// Moves bytes and messages. True if anything moved.
    pub(crate) fn pump(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        self.line.try_with(|inner| inner.pump(Flow::Running, waker, &mut Hear(PhantomData))).unwrap_or(false)
    }
}
