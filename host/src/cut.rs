//! A halted state, put together from what nodes and rings say, and its proof.
use crate::recount::Recount;
use crate::ring::{FilledRing, RawRing};
use crate::stamps::Stamps;
use crate::{Node, Port};
use stillpoint_core::{
    Certificate, Channel, ChannelReport, Direction, HaltId, HaltOrder, InFlight, NodeId, NodeReport, PortId, PortSet,
    VectorClock, Violation,
};

/// Why a halted state has no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// It is not one consistent moment.
    #[error("the halted state is not consistent: {0}")]
    Violated(#[from] Violation),
    /// An agent's own count is not what its ring says.
    #[error(
        "the halted state is not consistent: {channel}: node {node} counts {said} messages, and the rings say {found}"
    )]
    CountDiffers {
        /// Where.
        channel: Channel,
        /// Whose count.
        node: u8,
        /// The count.
        said: u32,
        /// What its ring says.
        found: u32,
    },
    /// The nodes do not agree on how many they are.
    #[error("the boards are built for systems of different sizes: {0:?} nodes")]
    Sizes(Vec<usize>),
    /// A port's other end is not where it should be.
    #[error("port {port} of node {node} has no other end at node {peer}: is a board missing?")]
    NoPeer {
        /// Whose port.
        node: u8,
        /// Which port.
        port: u8,
        /// Where its other end should be.
        peer: u8,
    },
    /// The two ends of a serial link are not in the same session.
    #[error("the two ends of the link behind {0} are not in the same session")]
    Sessions(Channel),
}

impl CutError {
    /// The channel in which it shows, if it is one of a channel.
    #[must_use]
    pub fn channel(&self) -> Option<Channel> {
        match self {
            Self::Violated(violation) => violation.channel(),
            Self::CountDiffers { channel, .. } | Self::Sessions(channel) => Some(*channel),
            Self::Sizes(_) | Self::NoPeer { .. } => None,
        }
    }
}

/// What every node and every ring said after a halt.
pub struct Cut {
    pub(crate) nodes: Vec<Node>,
    /// For each port, the ring at its end.
    pub(crate) rings: Vec<((NodeId, PortId), FilledRing)>,
}

/// What a channel held, from its rings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// Which channel.
    pub channel: Channel,
    /// The messages in flight, oldest first.
    pub in_flight: Vec<InFlight>,
    /// Messages sent, by the sender's count.
    pub sent: u32,
    /// Messages received, by the receiver's count.
    pub received: u32,
    /// Messages that resets of either end took with them before the present session; they are in no other count.
    pub lost_by_reset: u32,
    /// The position of the marker of this halt, if the receiver has one.
    pub marker: Option<u32>,
}

/// A halted state that proved itself.
#[derive(Clone, Debug)]
pub struct HaltProof {
    /// Which halt.
    pub halt: HaltId,
    /// The number of the last event of each node.
    pub frontier: Vec<u32>,
    /// Every channel.
    pub channels: Vec<ChannelState>,
    /// The order in which each node was reached, itself last.
    pub orders: Vec<Vec<NodeId>>,
    /// The nodes whose own events began the halt; none if the host did.
    pub initiators: Vec<NodeId>,
}

impl ChannelState {
    /// An empty channel, of which its agents say this.
    #[cfg(test)]
    pub(crate) fn new(channel: Channel, sent: u32, received: u32, marker: Option<u32>) -> Self {
        Self { channel, in_flight: Vec::new(), sent, received, lost_by_reset: 0, marker }
    }
}

impl Cut {
    /// The certificate, or what is wrong.
    pub fn prove(&self) -> Result<HaltProof, CutError> {
        let size = self.nodes.first().map_or(0, |node| node.nodes);
        if self.nodes.iter().any(|node| node.nodes != size) {
            return Err(CutError::Sizes(self.nodes.iter().map(|node| node.nodes).collect()));
        }
        let recounts = self.channels().into_iter().collect::<Result<Vec<_>, _>>()?;
        // While a node runs its counts and its rings are of different moments.
        let all_parked = self.nodes.iter().all(Node::is_parked);
        if all_parked {
            recounts.iter().try_for_each(Recount::check_markers)?;
        }
        let channels: Vec<ChannelState> = recounts.iter().map(|recount| recount.state.clone()).collect();
        let (halt, frontier) = self.check_sized(&channels)?;
        recounts.iter().try_for_each(Recount::check_counts)?;
        recounts.iter().try_for_each(Recount::check_stamps)?;
        let orders = self.nodes.iter().map(|node| node.order.clone()).collect();
        let initiators = self.nodes.iter().filter(|node| node.is_initiator()).map(|node| node.id).collect();
        Ok(HaltProof { halt, frontier, channels, orders, initiators })
    }

    /// Checks one channel as if it were the only one, in a system whose nodes are in order.
    pub(crate) fn check_channel(&self, recount: &Recount) -> Result<(), CutError> {
        recount.check_markers()?;
        self.check_sized(std::slice::from_ref(&recount.state))?;
        recount.check_counts()?;
        recount.check_stamps()
    }

    /// Checks these channels, and all nodes.
    pub(crate) fn check_sized(&self, channels: &[ChannelState]) -> Result<(HaltId, Vec<u32>), CutError> {
        let size = self.nodes.first().map_or(0, |node| node.nodes);
        macro_rules! check_for {
            ($($n:literal)*) => {
                match size {
                    $($n => Ok(self.check::<$n>(channels)?),)*
                    _ => Err(CutError::Sizes(vec![size])),
                }
            };
        }
        check_for!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    }

    fn check<const N: usize>(&self, channels: &[ChannelState]) -> Result<(HaltId, Vec<u32>), Violation> {
        let reports: Vec<NodeReport<N>> = self.nodes.iter().map(report).collect();
        let channels: Vec<ChannelReport<'_>> = channels
            .iter()
            .map(|state| ChannelReport {
                channel: state.channel,
                sent: state.sent,
                received: state.received,
                // What resets took was counted in sessions that are over.
                lost_by_reset: 0,
                in_flight: &state.in_flight,
                markers: state.marker.as_slice(),
            })
            .collect();
        let certificate = Certificate::check(&reports, &channels)?;
        Ok((certificate.halt, certificate.cut.frontier().iter().map(|number| number.0).collect()))
    }

    /// Every channel, recounted from its rings, or why it cannot be.
    pub(crate) fn channels(&self) -> Vec<Result<Recount, CutError>> {
        let ends = self.nodes.iter().flat_map(|node| node.ports.iter().map(move |port| (node, port)));
        let outgoing = ends.filter(|(_, port)| port.direction == Direction::Out);
        outgoing.map(|(node, out)| self.channel(node, out)).collect()
    }

    /// The two ends of every channel, without a look at what is in it.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = Channel> {
        let ends = self.nodes.iter().flat_map(|node| node.ports.iter().map(move |port| (node, port)));
        let outgoing = ends.filter(|(_, port)| port.direction == Direction::Out);
        outgoing.filter_map(|(node, out)| {
            let (peer, into) = self.other_end(node, out)?;
            Some(Channel { from: node.id, out: out.id, to: peer.id, into: into.id })
        })
    }

    fn other_end(&self, node: &Node, out: &Port) -> Option<(&Node, &Port)> {
        let peer = self.nodes.iter().find(|peer| peer.id == out.peer)?;
        let into = if out.ledger.is_some() {
            other_end_of_link(node, out, peer)
        } else {
            ends(peer, Direction::In, node.id).find(|into| into.ledger.is_none() && into.queue == out.queue)
        };
        into.map(|into| (peer, into))
    }

    fn channel(&self, node: &Node, out: &Port) -> Result<Recount, CutError> {
        let none = || CutError::NoPeer { node: node.id.0, port: out.id.0, peer: out.peer.0 };
        let (peer, into) = self.other_end(node, out).ok_or_else(none)?;
        let channel = Channel { from: node.id, out: out.id, to: peer.id, into: into.id };
        let ring = |end| self.rings.iter().find(|(at, _)| *at == end).map(|(_, ring)| ring).ok_or_else(none);
        let (sender, receiver) = (ring((node.id, out.id))?, ring((peer.id, into.id))?);
        let (at_sender, at_receiver) = (&sender.ring, &receiver.ring);
        let state = ChannelState {
            channel,
            in_flight: in_flight(channel, (out, at_sender), (into, at_receiver))?,
            sent: out.count,
            received: into.count,
            lost_by_reset: out.lost.wrapping_add(into.lost),
            marker: into.marker,
        };
        let link = out.ledger.is_some().then_some(sender);
        let stamps = Stamps::new(node, &state, (into, receiver), (out, link));
        Ok(Recount::new(state, peer.last_halt, (out, at_sender), (into, at_receiver)).with_stamps(stamps))
    }
}

/// The messages that the rings and the link between them hold, oldest first, counted on from what was received.
///
/// How many there are is from the raw rings; a ring counts for ever, a node in the present session of its link.
fn in_flight(channel: Channel, out: (&Port, &RawRing), into: (&Port, &RawRing)) -> Result<Vec<InFlight>, CutError> {
    let held = |ring: &RawRing| ring.written.wrapping_sub(ring.read);
    let mut count = held(into.1);
    if let (Some(sender), Some(receiver)) = (&out.0.ledger, &into.0.ledger) {
        let on_the_way = sender.in_flight_to(receiver).ok_or(CutError::Sessions(channel))?;
        count = count.wrapping_add(on_the_way.into()).wrapping_add(held(out.1));
    }
    Ok(span(into.0.count, into.0.count.wrapping_add(count)))
}

/// Messages `after + 1 ..= last`.
fn span(after: u32, last: u32) -> Vec<InFlight> {
    let count = last.wrapping_sub(after).min(1 << 16);
    (1..=count).map(|step| InFlight { number: after.wrapping_add(step) }).collect()
}

/// The ports of a node through which messages go to or come from another.
fn ends(node: &Node, direction: Direction, peer: NodeId) -> impl Iterator<Item = &Port> {
    node.ports.iter().filter(move |port| port.direction == direction && port.peer == peer)
}

/// The incoming end of the same serial link. There may be several links between two nodes, so each end says in its hello
/// which ports it has.
///
/// Links that were never up carried nothing. They are paired in the order of their ports.
fn other_end_of_link<'a>(node: &Node, out: &Port, peer: &'a Node) -> Option<&'a Port> {
    let outs = || ends(node, Direction::Out, peer.id).filter(|port| port.is_serial());
    let intos = || ends(peer, Direction::In, node.id).filter(|port| port.is_serial());
    let is_known = |out: &Port, into: &Port| {
        let said = [(out.peer_port, into.id), (into.peer_port, out.id)];
        said.iter().any(|(port, _)| port.is_some()) && said.iter().all(|(port, is)| port.is_none_or(|port| port == *is))
    };
    intos().find(|into| is_known(out, into)).or_else(|| {
        let place = outs().filter(|out| !intos().any(|into| is_known(out, into))).position(|port| port.id == out.id)?;
        intos().filter(|into| !outs().any(|out| is_known(out, into))).nth(place)
    })
}

fn report<const N: usize>(node: &Node) -> NodeReport<N> {
    NodeReport {
        node: node.id,
        parked: node.is_parked().then_some(node.last_halt),
        clock: VectorClock::from_entries(core::array::from_fn(|entry| node.clock.get(entry).copied().unwrap_or(0))),
        order: node.order.iter().fold(HaltOrder::new(), |order, node| order.then(*node)),
        undelivered: PortSet(node.undelivered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::StampKind;
    use stillpoint_core::control::{ControlBlock, ControlLayout};
    use stillpoint_core::link::Ledger;

    /// A port of a serial link.
    fn end(id: u8, direction: Direction, peer: u8, peer_port: Option<u8>) -> Port {
        Port {
            id: PortId(id),
            direction,
            peer: NodeId(peer),
            peer_port: peer_port.map(PortId),
            name: 0,
            count: 0,
            marker: None,
            lost: 0,
            queue: 0,
            up: true,
            ledger: Some(Ledger::default()),
            number: None,
            base: 0,
            is_rpc: false,
        }
    }

    /// Two nodes with two links between them, each of which has the ports (out, in) at each node.
    fn parallel(known: [bool; 2], links: [[(u8, u8); 2]; 2]) -> Cut {
        let node = |id: usize| {
            let block = ControlBlock::<2, 4>::new(NodeId(id as u8), StampKind::Vector);
            let layout = ControlLayout::read(block.header()).unwrap();
            let ends = links.iter().flat_map(|link| {
                let ((out, into), (peer_out, peer_into)) = (link[id], link[1 - id]);
                let peer = 1 - id as u8;
                let said = |port| known[id].then_some(port);
                [end(out, Direction::Out, peer, said(peer_into)), end(into, Direction::In, peer, said(peer_out))]
            });
            let mut ports: Vec<Port> = ends.collect();
            ports.sort_by_key(|port| port.id);
            Node { ports, ..Node::parse(&layout, &[]) }
        };
        Cut { nodes: vec![node(0), node(1)], rings: Vec::new() }
    }

    /// The channels as (from, out, into).
    fn paired(cut: &Cut) -> Vec<(u8, u8, u8)> {
        cut.pairs().map(|channel| (channel.from.0, channel.out.0, channel.into.0)).collect()
    }

    /// Opened in the same order at both nodes, and in opposite orders.
    const ALIKE: [[(u8, u8); 2]; 2] = [[(0, 1), (0, 1)], [(2, 3), (2, 3)]];
    const CROSSED: [[(u8, u8); 2]; 2] = [[(0, 1), (2, 3)], [(2, 3), (0, 1)]];

    #[test]
    fn two_links_between_the_same_nodes_are_paired_by_what_their_ends_say() {
        assert_eq!(paired(&parallel([true; 2], ALIKE)), [(0, 0, 1), (0, 2, 3), (1, 0, 1), (1, 2, 3)]);
        assert_eq!(paired(&parallel([true; 2], CROSSED)), [(0, 0, 3), (0, 2, 1), (1, 0, 3), (1, 2, 1)]);
    }

    #[test]
    fn one_end_that_knows_the_other_is_enough() {
        for known in [[true, false], [false, true]] {
            assert_eq!(paired(&parallel(known, CROSSED)), [(0, 0, 3), (0, 2, 1), (1, 0, 3), (1, 2, 1)]);
        }
    }

    #[test]
    fn links_that_were_never_up_are_each_paired_once() {
        assert_eq!(paired(&parallel([false; 2], ALIKE)), [(0, 0, 1), (0, 2, 3), (1, 0, 1), (1, 2, 3)]);
        // One of the two links is up.
        let mut cut = parallel([true; 2], CROSSED);
        for (node, port) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
            cut.nodes[node].ports[port].peer_port = None;
        }
        assert_eq!(paired(&cut), [(0, 0, 3), (0, 2, 1), (1, 0, 3), (1, 2, 1)]);
    }
}
