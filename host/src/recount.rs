//! A channel counted anew from its rings and held against what its agents say.
//!
//! An agent that loses count also writes the wrong total into its control block, and may write it into its marker; the
//! ring does not lie with it, since each of its two counts moves only when a message does.
use crate::cut::ChannelState;
use crate::ring::RawRing;
use crate::stamps::Stamps;
use crate::{CutError, Port};
use stillpoint_core::{HaltId, Violation};

/// A channel as its agents say, and the same from its rings.
pub(crate) struct Recount {
    pub state: ChannelState,
    /// Messages ever put in, and ever taken out by the application.
    sent: u32,
    received: u32,
    /// What the stamps of its messages say, where they were read.
    stamps: Option<Stamps>,
}

impl Recount {
    pub fn new(mut state: ChannelState, halt: HaltId, out: (&Port, &RawRing), into: (&Port, &RawRing)) -> Self {
        if out.0.ledger.is_some() {
            let (sent, received) = count_link(out, into);
            return Self { state, sent, received, stamps: None };
        }
        // What the receiver says of the marker counts only if the marker is there.
        let ring = into.1;
        let marker = ring.marker.filter(|(of, _)| *of == halt).map(|(_, position)| position);
        state.marker = state.marker.and(marker);
        Self { state, sent: ring.written, received: ring.read, stamps: None }
    }

    pub fn with_stamps(self, stamps: Stamps) -> Self {
        Self { stamps: Some(stamps), ..self }
    }

    /// Follows the stamps of the messages from the last one received to the last one sent.
    pub fn check_stamps(&self) -> Result<(), CutError> {
        Ok(self.stamps.as_ref().map_or(Ok(()), Stamps::check)?)
    }

    /// Holds the marker against the ring: nothing may be behind it, and the sender may not count what is not there.
    pub fn check_markers(&self) -> Result<(), CutError> {
        let ChannelState { channel, sent: said, marker, .. } = self.state;
        if let Some(position) = marker.filter(|position| is_newer(self.sent, *position)) {
            let message = position.wrapping_add(1);
            return Err(CutError::Violated(if is_newer(self.received, position) {
                Violation::ReceivedUnsent { channel, message }
            } else {
                Violation::AfterMarker { channel, message }
            }));
        }
        // Count and marker agree if a message was counted and got lost; then the certificate says so.
        if said != self.sent && marker.is_some_and(|position| said != position) {
            return Err(CutError::CountDiffers { channel, node: channel.from.0, said, found: self.sent });
        }
        Ok(())
    }

    /// Holds both counts against the rings: two agents could be wrong alike.
    pub fn check_counts(&self) -> Result<(), CutError> {
        let ChannelState { channel, sent, received, .. } = self.state;
        let ends = [(channel.from, sent, self.sent), (channel.to, received, self.received)];
        match ends.into_iter().find(|(_, said, found)| said != found) {
            Some((node, said, found)) => Err(CutError::CountDiffers { channel, node: node.0, said, found }),
            None => Ok(()),
        }
    }
}

/// What went through a serial link in its present session. Rings count for ever; the agents say what they had counted when
/// the session began.
///
/// The ends of a link number their items modulo 256 from the beginning of the session. A ring that these numbers
/// contradict is not believed.
fn count_link(out: (&Port, &RawRing), into: (&Port, &RawRing)) -> (u32, u32) {
    let held = |ring: &RawRing| ring.written.wrapping_sub(ring.read) as u8;
    let sent = out.1.written.wrapping_sub(out.0.base);
    let received = into.1.read.wrapping_sub(into.0.base);
    match (&out.0.ledger, &into.0.ledger) {
        (Some(sender), Some(receiver)) => {
            let framed = sender.sent_end.wrapping_add(held(out.1));
            let arrived = receiver.accepted_next.wrapping_sub(receiver.waiting).wrapping_sub(held(into.1));
            (nearest(sent, framed), nearest(received, arrived))
        }
        _ => (sent, received),
    }
}

/// The number nearest to `to` whose last byte is `byte`.
fn nearest(to: u32, byte: u8) -> u32 {
    to.wrapping_add_signed(byte.wrapping_sub(to as u8).cast_signed().into())
}

fn is_newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::control::RingLayout;
    use stillpoint_core::link::Ledger;
    use stillpoint_core::{Channel, Direction, NodeId, PortId};

    const CHANNEL: Channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };
    const HALT: HaltId = HaltId(9);

    fn port(count: u32, ledger: Option<Ledger>) -> Port {
        let (direction, peer) = (Direction::Out, NodeId(1));
        Port {
            id: PortId(0),
            direction,
            peer,
            name: 0,
            count,
            marker: None,
            lost: 0,
            queue: 0,
            up: true,
            ledger,
            number: None,
            base: 0,
            peer_port: None,
            is_rpc: false,
        }
    }

    fn ring(written: u32, read: u32, marker: Option<u32>) -> RawRing {
        let mut head = [0; RingLayout::READ];
        (head[0], head[1]) = (written, read);
        if let Some(position) = marker {
            (head[6], head[7], head[8]) = (2, HALT.0.into(), position);
        }
        RawRing::parse(head)
    }

    fn mailbox(sent: u32, received: u32, marker: Option<u32>, ring: RawRing) -> Recount {
        let state = ChannelState::new(CHANNEL, sent, received, marker);
        Recount::new(state, HALT, (&port(sent, None), &ring), (&port(received, None), &ring))
    }

    fn verdict(recount: &Recount) -> String {
        let checked = recount.check_markers().and_then(|()| recount.check_counts());
        checked.map_or_else(|error| error.to_string(), |()| "fine".into())
    }

    #[test]
    fn agents_rings_and_marker_that_agree_are_fine() {
        assert_eq!(verdict(&mailbox(5, 3, Some(5), ring(5, 3, Some(5)))), "fine");
    }

    #[test]
    fn what_lies_behind_the_marker_is_found_though_nobody_counted_it() {
        let found = verdict(&mailbox(5, 3, Some(5), ring(6, 3, Some(5))));
        assert!(found.contains("channel 0.0 -> 1.0: message 6 was sent after the halt marker"), "{found}");
        let found = verdict(&mailbox(5, 6, Some(5), ring(6, 6, Some(5))));
        assert!(found.contains("message 6 was received and never sent"), "{found}");
    }

    #[test]
    fn a_count_that_neither_marker_nor_ring_confirms_is_wrong() {
        let found = verdict(&mailbox(6, 3, Some(5), ring(5, 3, Some(5))));
        assert!(found.contains("node 0 counts 6 messages, and the rings say 5"), "{found}");
    }

    #[test]
    fn two_agents_that_are_wrong_alike_are_found_out_by_the_ring() {
        let found = verdict(&mailbox(6, 6, Some(6), ring(5, 5, Some(6))));
        assert!(found.contains("node 0 counts 6 messages, and the rings say 5"), "{found}");
        let found = verdict(&mailbox(5, 4, Some(5), ring(5, 3, Some(5))));
        assert!(found.contains("node 1 counts 4 messages, and the rings say 3"), "{found}");
    }

    #[test]
    fn a_marker_counts_only_if_it_is_in_the_lane_and_of_this_halt() {
        assert_eq!(mailbox(5, 3, Some(5), ring(5, 3, None)).state.marker, None);
        assert_eq!(mailbox(5, 3, None, ring(5, 3, Some(5))).state.marker, None);
        assert_eq!(mailbox(5, 3, Some(7), ring(5, 3, Some(5))).state.marker, Some(5));
    }

    /// A link in this session of its sender, whose rings had counted so much before it. Its agents say `sent` and `received`.
    fn link(session: u8, base: [u32; 2], sent: u32, received: u32) -> String {
        let sender = Ledger { mine: session, peer: 1, sent_first: 2, sent_end: 4, ..Ledger::default() };
        let receiver = Ledger { mine: 1, peer: session, accepted_next: 3, waiting: 1, ..Ledger::default() };
        let state = ChannelState::new(CHANNEL, sent, received, Some(sent));
        let mut ends = [port(sent, Some(sender)), port(received, Some(receiver))];
        (ends[0].base, ends[1].base) = (base[0], base[1]);
        // One message waits for the link, and one that arrived waits for the application. 261 were sent, 257 received.
        let rings = [ring(base[0] + 261, base[0] + 260, None), ring(base[1] + 258, base[1] + 257, None)];
        verdict(&Recount::new(state, HALT, (&ends[0], &rings[0]), (&ends[1], &rings[1])))
    }

    #[test]
    fn a_link_is_counted_by_its_rings_from_the_beginning_of_its_session() {
        for (session, base) in [(1, [0, 0]), (2, [0, 70]), (7, [1000, 3])] {
            assert_eq!(link(session, base, 261, 257), "fine", "session {session}");
            assert!(link(session, base, 260, 257).contains("message 261 was sent after the halt marker"));
            assert!(link(session, base, 261, 258).contains("node 1 counts 258 messages, and the rings say 257"));
        }
    }

    #[test]
    fn a_count_that_is_wrong_by_256_is_found() {
        for session in [1, 2] {
            assert!(
                link(session, [0, 0], 261 + 256, 257).contains("node 0 counts 517 messages, and the rings say 261")
            );
            assert!(link(session, [0, 0], 261, 1).contains("node 1 counts 1 messages, and the rings say 257"));
        }
    }

    #[test]
    fn a_message_that_left_its_ring_and_has_no_frame_is_found() {
        let ends = |sent_end, accepted_next| {
            let sender = Ledger { mine: 3, peer: 2, sent_first: sent_end, sent_end, ..Ledger::default() };
            let receiver = Ledger { mine: 2, peer: 3, accepted_next, ..Ledger::default() };
            let state = ChannelState::new(CHANNEL, 300, 300, Some(300));
            let (out, into) = (port(300, Some(sender)), port(300, Some(receiver)));
            verdict(&Recount::new(state, HALT, (&out, &ring(300, 300, None)), (&into, &ring(300, 300, None))))
        };
        assert_eq!(ends(44, 44), "fine");
        assert!(ends(43, 44).contains("node 0 counts 300 messages, and the rings say 299"));
        assert!(ends(44, 43).contains("node 1 counts 300 messages, and the rings say 299"));
    }
}
