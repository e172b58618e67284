//! Where a port meets the kit: every message that passes is an event of the node.
//!
//! With the kit compiled out `plain/tap.rs` is in its place, of the same shape and without a byte.
use crate::channel::Head;
#[cfg(feature = "sabotage")]
use crate::channel::Ring;
#[cfg(feature = "sabotage")]
use crate::platform::Platform;
#[cfg(feature = "sabotage")]
use crate::sabotage::{self, Sabotage};
use stillpoint_core::PortId;

/// What ports need of the agent of their core, whatever its sizes.
pub(crate) trait Sections: Sync {
    /// How many bytes a stamp can have.
    fn stamp_room(&self) -> usize;
    /// Sends: the stamp goes to the front of `stamp`, and `commit` is called with it and its length inside the event.
    /// False if nothing can be sent now.
    fn send(&self, port: PortId, stamp: &mut [u8], commit: &mut dyn FnMut(&mut [u8], usize)) -> bool;
    /// How long the stamp is with which `message` begins.
    fn stamp_len(&self, message: &[u8]) -> Option<usize>;
    /// Receives `message`, the oldest of its ring after so many, and `commit` is called inside the event. False if it
    /// cannot be received, or is not there any more: a reset of the peer emptied the ring.
    fn receive(&self, port: PortId, message: &[u8], after: (&Head, u32), commit: &mut dyn FnMut()) -> bool;
    /// Something that is an event only while the node records for replay.
    #[cfg(feature = "replay")]
    fn observe(&self, event: stillpoint_core::Event);
}

/// The agent behind a port, and which of its ports this is.
pub(crate) struct Tap {
    agent: &'static dyn Sections,
    port: PortId,
}

impl Tap {
    pub fn new(agent: &'static dyn Sections, port: PortId) -> Self {
        Self { agent, port }
    }

    /// Which port this is.
    pub fn port(&self) -> PortId {
        self.port
    }

    #[inline]
    pub fn stamp_room(&self) -> usize {
        self.agent.stamp_room()
    }

    #[inline]
    pub fn send(&self, stamp: &mut [u8], mut commit: impl FnMut(&mut [u8], usize)) -> bool {
        self.agent.send(self.port, stamp, &mut commit)
    }

    /// Puts the message of an event into its channel, or does something wrong there.
    #[cfg(feature = "sabotage")]
    pub fn publish_or_not<P: Platform>(&self, ring: &Ring, begin: usize, end: usize) {
        if !sabotage::once(Sabotage::LostMessage, P::core(), self.port) {
            ring.publish(begin, end);
        }
        sabotage::duplicate(P::core(), self.port);
    }

    /// Has the agent do something wrong at this end, for messages once `after` more were sent.
    #[cfg(feature = "sabotage")]
    pub fn sabotage<P: Platform>(&self, sabotage: Sabotage, after: u32, ring: Ring) {
        sabotage::choose(sabotage, P::core(), self.port, after, ring);
    }

    /// A send found the channel full.
    #[inline]
    pub fn found_full(&self) {
        #[cfg(feature = "replay")]
        self.agent.observe(stillpoint_core::Event::new(stillpoint_core::EventKind::SendFull, self.port.0.into()));
    }

    /// A receive found the channel empty.
    #[inline]
    pub fn found_empty(&self) {
        #[cfg(feature = "replay")]
        self.agent.observe(stillpoint_core::Event::new(stillpoint_core::EventKind::RecvNone, self.port.0.into()));
    }

    #[inline]
    pub fn stamp_len(&self, message: &[u8]) -> Option<usize> {
        self.agent.stamp_len(message)
    }

    #[inline]
    pub fn receive(&self, message: &[u8], after: (&Head, u32), mut commit: impl FnMut()) -> bool {
        self.agent.receive(self.port, message, after, &mut commit)
    }
}
