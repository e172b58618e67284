//! Where a port meets the kit: every message that passes is an event of the node.
//!
//! With the kit compiled out `plain/tap.rs` is in its place, of the same shape and without a byte.
use crate::channel::Ring;
use crate::platform::Platform;
#[cfg(feature = "sabotage")]
use crate::sabotage::{self, Sabotage};
use stillpoint_core::{MessageStamp, PortId};

/// What ports need of the agent of their core, whatever its sizes.
pub(crate) trait Sections: Sync {
    /// How many bytes a stamp can have.
    fn stamp_room(&self) -> usize;
    /// Sends a message, whose stamp is written and which is put into its channel inside the event. False if nothing can be
    /// sent now.
    fn send(&self, port: PortId, message: &mut Outgoing<'_>) -> bool;
    /// The stamp with which `message` begins, before it is received.
    fn read_stamp<'a>(&self, message: &'a [u8]) -> Option<MessageStamp<'a>>;
    /// Receives the message with this stamp, the oldest in `from` after so many, which is freed inside the event. False if
    /// it cannot be received, or is not there any more: a reset of the peer emptied the ring.
    fn receive(&self, port: PortId, stamp: &MessageStamp<'_>, from: &Ring, before: u32) -> bool;
    /// Something that is an event only while the node records for replay.
    #[cfg(feature = "replay")]
    fn observe(&self, event: stillpoint_core::Event);
}

/// A message in the free slot of its channel, all but its stamp.
pub(crate) struct Outgoing<'a> {
    /// The slot's first bytes. The stamp goes to their end, side by side with the payload: a message is one piece.
    pub stamp: &'a mut [u8],
    /// Where in the slot the payload ends.
    pub end: usize,
    /// Changes the payload inside the event.
    pub patch: Option<&'a mut dyn FnMut()>,
    /// The channel.
    pub ring: &'a Ring,
}

impl Outgoing<'_> {
    /// Puts the message, whose stamp begins at `begin`, into its channel.
    #[inline]
    #[cfg_attr(
        not(feature = "sabotage"),
        expect(clippy::extra_unused_type_parameters, reason = "only sabotage asks which core this is")
    )]
    pub fn commit<P: Platform>(&mut self, port: PortId, begin: usize) {
        if let Some(patch) = &mut self.patch {
            patch();
        }
        #[cfg(not(feature = "sabotage"))]
        {
            let _ = port;
            self.ring.publish(begin, self.end);
        }
        #[cfg(feature = "sabotage")]
        {
            if !sabotage::once(Sabotage::LostMessage, P::core(), port) {
                self.ring.publish(begin, self.end);
            }
            sabotage::after_publish(P::core(), port);
        }
    }

    /// The same for a stamp of this length that was written to the front.
    pub fn commit_from_front<P: Platform>(&mut self, port: PortId, length: usize) {
        let begin = self.stamp.len() - length;
        // Not `copy_within`: this is rare, and its one use of `memmove` would be 1.5 KB of the program.
        (0..length).rev().for_each(|at| self.stamp.swap(at, begin + at));
        self.commit::<P>(port, begin);
    }
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
    pub fn send(&self, message: &mut Outgoing<'_>) -> bool {
        self.agent.send(self.port, message)
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
    pub fn read_stamp<'a>(&self, message: &'a [u8]) -> Option<MessageStamp<'a>> {
        self.agent.read_stamp(message)
    }

    #[inline]
    pub fn receive(&self, stamp: &MessageStamp<'_>, from: &Ring, before: u32) -> bool {
        self.agent.receive(self.port, stamp, from, before)
    }
}
