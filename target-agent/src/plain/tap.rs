//! What a port has in place of the kit: nothing. A message passes without a stamp and without an event.
use crate::channel::Ring;

/// A message in the free slot of its channel.
pub(crate) struct Outgoing<'a> {
    /// No bytes: a message has no stamp.
    pub stamp: &'a mut [u8],
    /// Where in the slot the message ends.
    pub end: usize,
    /// Changes the message.
    pub patch: Option<&'a mut dyn FnMut()>,
    /// The channel.
    pub ring: &'a Ring,
}

/// The stamp that a message does not have.
pub(crate) struct NoStamp;

impl NoStamp {
    #[inline]
    pub fn len(&self) -> usize {
        0
    }
}

/// Nobody looks.
pub(crate) struct Tap;

impl Tap {
    #[inline]
    pub fn stamp_room(&self) -> usize {
        0
    }

    #[inline]
    pub fn send(&self, message: &mut Outgoing<'_>) -> bool {
        if let Some(patch) = &mut message.patch {
            patch();
        }
        message.ring.publish(message.stamp.len(), message.end);
        true
    }

    #[inline]
    pub fn found_full(&self) {}

    #[inline]
    pub fn found_empty(&self) {}

    #[inline]
    pub fn read_stamp(&self, _message: &[u8]) -> Option<NoStamp> {
        Some(NoStamp)
    }

    #[inline]
    pub fn receive(&self, _stamp: &NoStamp, from: &Ring, _before: u32) -> bool {
        from.free();
        true
    }
}
