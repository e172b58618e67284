//! The run that is sorted: a ring with chords, whose records come as a recorder reads them.
use stillpoint_core::log::Record;
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber};
use stillpoint_trace::{ChannelInfo, Header, NodeInfo, PortInfo};

/// Node `i` sends on port 0 to `i + 1` and on port 1 to `i + 2`; ports 2 and 3 take what comes.
pub fn header(nodes: usize) -> Header {
    let at = |node: usize| (node % nodes) as u8;
    let port = |id, out, peer| PortInfo { id, name: format!("p{id}"), out, peer };
    let node = |id: usize| NodeInfo {
        id: id as u8,
        name: format!("n{id}"),
        ports: vec![
            port(0, true, at(id + 1)),
            port(1, true, at(id + 2)),
            port(2, false, at(id + nodes - 1)),
            port(3, false, at(id + nodes - 2)),
        ],
        ..NodeInfo::default()
    };
    let channel = |from: usize, hop: usize| ChannelInfo {
        from: at(from),
        out: hop as u8 - 1,
        to: at(from + hop),
        into: hop as u8 + 1,
    };
    let channels = (0..nodes).flat_map(|from| [channel(from, 1), channel(from, 2)]).collect();
    Header { nodes: (0..nodes).map(node).collect(), channels, ..Header::default() }
}

/// The records, node by node in rounds of six, without end. Each round of a node is two tracepoints, two sends and two
/// receives; what is taken from a node whose turn comes later is read before its send.
pub struct Run {
    nodes: usize,
    numbers: Vec<u32>,
    counts: Vec<[u32; 4]>,
    step: usize,
}

const ROUND: [(EventKind, u16); 6] = [
    (EventKind::Local, 7),
    (EventKind::Send, 0),
    (EventKind::Send, 1),
    (EventKind::Receive, 2),
    (EventKind::Receive, 3),
    (EventKind::Local, 9),
];

impl Run {
    pub fn new(nodes: usize) -> Self {
        Self { nodes, numbers: vec![0; nodes], counts: vec![[0; 4]; nodes], step: 0 }
    }
}

impl Iterator for Run {
    type Item = (u8, Record);

    fn next(&mut self) -> Option<Self::Item> {
        let (place, node) = (self.step % 6, self.step / 6 % self.nodes);
        let round = self.step / (6 * self.nodes);
        self.step += 1;
        self.numbers[node] += 1;
        let (kind, arg) = ROUND[place];
        let message = matches!(kind, EventKind::Send | EventKind::Receive).then(|| {
            let count = &mut self.counts[node][usize::from(arg)];
            *count += 1;
            *count
        });
        let number = EventNumber(self.numbers[node]);
        Some((node as u8, Record { event: Event::new(kind, arg), number, time: Ticks(round as u64 * 50), message }))
    }
}

/// What a recorder read of one node at once: which node, and its records.
pub type Piece = (u8, Vec<Record>);

/// The first records of a run in the pieces in which a recorder reads them: a round of a node each.
pub fn pieces(nodes: usize, records: usize) -> Vec<Piece> {
    let records: Vec<_> = Run::new(nodes).take(records).collect();
    let read_at_once = records.chunk_by(|(one, _), (next, _)| one == next);
    read_at_once.map(|piece| (piece[0].0, piece.iter().map(|(_, record)| *record).collect())).collect()
}
