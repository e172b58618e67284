//! What slots and stamps along a channel say of the order of its messages, from the last one received to the last one sent.
use crate::cut::ChannelState;
use crate::in_flight::sender_number;
use crate::ring::FilledRing;
use crate::{Node, Port};
use stillpoint_core::{Channel, EventNumber, SenderNumber, StampOrder, Violation};

/// The stamps of one channel.
pub(crate) struct Stamps {
    channel: Channel,
    first: u32,
    received: Option<EventNumber>,
    in_flight: Vec<Option<SenderNumber>>,
    sent: Option<EventNumber>,
    /// The place in the channel of the first message that lies in the slot of another.
    displaced: Option<u32>,
}

impl Stamps {
    /// `into` is the receiver's end, `out` the sender's, which has a ring of its own on a serial link only.
    ///
    /// Messages in the frames of a link are not read here: the link numbers and checks them itself.
    pub fn new(
        sender: &Node,
        state: &ChannelState,
        (into, at_receiver): (&Port, &FilledRing),
        (out, at_sender): (&Port, Option<&FilledRing>),
    ) -> Self {
        let said = |message: &Option<Vec<u8>>| sender_number(sender.nodes, message.as_ref()?, sender.id);
        let waiting = at_sender.map_or(&[][..], |ring| &ring.messages);
        let framed = state.in_flight.len().saturating_sub(at_receiver.messages.len() + waiting.len());
        let mut in_flight: Vec<_> = at_receiver.messages.iter().map(said).collect();
        in_flight.extend(std::iter::repeat_n(None, framed));
        in_flight.extend(waiting.iter().map(said));
        let (channel, first) = (state.channel, state.received.wrapping_add(1));
        let behind = first.wrapping_add((at_receiver.messages.len() + framed) as u32);
        let displaced = at_receiver.displaced.map(|place| first.wrapping_add(place));
        let displaced = displaced.or(at_sender.and_then(|ring| ring.displaced).map(|place| behind.wrapping_add(place)));
        Self { channel, first, received: into.number, in_flight, sent: out.number, displaced }
    }

    pub fn check(&self) -> Result<(), Violation> {
        let Self { channel, first, received, ref in_flight, sent, displaced } = *self;
        if let Some(message) = displaced {
            return Err(Violation::OutOfOrder { channel, message });
        }
        StampOrder { channel, first, received, in_flight, sent }.check()
    }
}
