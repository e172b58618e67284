//! The certificate: arbitrary reports of nodes and channels.
use super::Bytes;
use stillpoint_core::{
    Certificate, Channel, ChannelReport, HaltId, HaltOrder, InFlight, NodeId, NodeReport, PortId, PortSet, VectorClock,
};

const NODES: usize = 3;

/// Up to four nodes and four channels report anything. What is certified adds up by a second count.
pub fn certificate(data: &[u8]) {
    let mut bytes = Bytes(data);
    let nodes: Vec<_> = (0..bytes.below(5)).map(|place| any_node(&mut bytes, place)).collect();
    let parts: Vec<_> = (0..bytes.below(5)).map(|_| any_channel(&mut bytes)).collect();
    let channels: Vec<_> = parts.iter().map(ChannelParts::report).collect();
    let Ok(certificate) = Certificate::check(&nodes, &channels) else { return };

    assert!(nodes.len() == NODES && nodes.iter().all(|node| node.parked == Some(certificate.halt)));
    for node in &nodes {
        let stands = certificate.cut.frontier()[usize::from(node.node.0)];
        assert!(nodes.iter().all(|other| !other.clock.get(node.node).is_newer_than(stands)), "a cause is missing");
    }
    for report in &channels {
        let found = report.in_flight.len() as u32;
        let accounted = report.received.wrapping_add(report.lost_by_reset).wrapping_add(found);
        assert_eq!(report.sent, accounted, "the counts of {} do not add up: {report:?}", report.channel);
        assert_eq!(report.markers, [report.sent], "one marker, after the last message");
    }
    assert_eq!(certificate.channels, channels.len());
    assert_eq!(certificate.in_flight as usize, channels.iter().map(|report| report.in_flight.len()).sum());
}

fn any_node(bytes: &mut Bytes<'_>, place: u8) -> NodeReport<NODES> {
    // Nearly always the right node in the right halt: else no report gets past the first check.
    let odd = bytes.byte();
    let node = NodeId(if odd == 1 { bytes.below(5) } else { place });
    let parked = if odd == 2 { None } else { Some(HaltId(u16::from(odd == 3))) };
    let mut order = HaltOrder::new();
    for _ in 0..bytes.below(3) {
        order = order.then(NodeId(bytes.below(4)));
    }
    let clock = VectorClock::from_entries(std::array::from_fn(|_| small_or_any(bytes)));
    NodeReport {
        node,
        parked,
        clock,
        order: if odd == 4 { order } else { order.then(node) },
        undelivered: PortSet::EMPTY,
    }
}

struct ChannelParts {
    channel: Channel,
    counts: [u32; 3],
    in_flight: Vec<InFlight>,
    markers: Vec<u32>,
}

impl ChannelParts {
    fn report(&self) -> ChannelReport<'_> {
        let Self { channel, counts: [sent, received, lost_by_reset], in_flight, markers } = self;
        ChannelReport {
            channel: *channel,
            sent: *sent,
            received: *received,
            lost_by_reset: *lost_by_reset,
            in_flight,
            markers,
        }
    }
}

fn any_channel(bytes: &mut Bytes<'_>) -> ChannelParts {
    let (from, to) = (NodeId(bytes.below(4)), NodeId(bytes.below(4)));
    let channel = Channel { from, out: PortId(bytes.below(3)), to, into: PortId(bytes.below(3)) };
    let counts = std::array::from_fn(|_| small_or_any(bytes));
    let in_flight = (0..bytes.below(4)).map(|_| InFlight { number: small_or_any(bytes) }).collect();
    let markers = (0..bytes.below(4)).map(|_| small_or_any(bytes)).collect();
    ChannelParts { channel, counts, in_flight, markers }
}

/// Small numbers can fit together; large ones try the wrap.
fn small_or_any(bytes: &mut Bytes<'_>) -> u32 {
    match bytes.byte() {
        255 => bytes.word(),
        byte => (byte % 8).into(),
    }
}

/// A halted state that proves itself, with nothing, something and everything in flight.
pub fn seeds() -> Vec<Vec<u8>> {
    // Per node: as it should be, no names before its own, clock.
    let nodes = [3, 0, 0, 5, 0, 0, 0, 0, 3, 5, 0, 0, 0, 3, 0, 2];
    // From 0 to 1; sent, received, lost; in flight; markers.
    let channels: [&[u8]; 3] = [
        &[1, 0, 1, 0, 0, 3, 3, 0, 0, 1, 3],
        &[1, 0, 1, 0, 0, 5, 3, 0, 2, 4, 5, 1, 5],
        &[2, 0, 1, 0, 0, 5, 2, 3, 0, 1, 5, 1, 2, 0, 0, 0, 0, 0, 0, 1, 0],
    ];
    channels.map(|channels| [&nodes, channels].concat()).into()
}
