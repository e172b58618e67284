//! Shipped nodes with their logs, joined as a workload says.
use crate::measure::Bytes;
use crate::workload::Workload;
use stillpoint_core::log::{LogItem, LogReader, LogRing, LogWriter};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Direction, Event, EventKind, Input, MAX_PORTS, Node, NodeId, PortId, StampKind};

/// A node with its log.
struct Member<const N: usize> {
    node: Node<N, MAX_PORTS>,
    writer: LogWriter<N>,
    ring: LogRing<4096>,
    reader: LogReader,
    now: u32,
    random: u32,
}

/// One node's port to another's.
struct Channel {
    out: PortId,
    to: usize,
    into: PortId,
}

/// All nodes of a workload.
pub struct System<const N: usize> {
    members: Vec<Member<N>>,
    /// For each node, its channels in the order in which it sends.
    channels: Vec<Vec<Channel>>,
}

impl<const N: usize> System<N> {
    /// Connects and starts them.
    pub fn new(workload: Workload, stamps: StampKind) -> Self {
        let mut members: Vec<Member<N>> = (0..N).map(|id| Member::new(id, stamps)).collect();
        let mut used = [0; N];
        let mut claim = |node: usize| {
            used[node] += 1;
            PortId(used[node] - 1)
        };
        let mut channels = Vec::new();
        for from in 0..N {
            let mut own = Vec::new();
            for to in workload.successors(from, N) {
                let (out, into) = (claim(from), claim(to));
                members[from].node.connect(out, Direction::Out, NodeId(to as u8)).expect("a free port");
                members[to].node.connect(into, Direction::In, NodeId(from as u8)).expect("a free port");
                own.push(Channel { out, to, into });
            }
            channels.push(own);
        }
        for member in &mut members {
            let _ = member.node.step(Input::start()).expect("a node starts once");
        }
        Self { members, channels }
    }

    /// Every node traces once, and sends once on each of its channels.
    pub fn round(&mut self, bytes: &mut Bytes) {
        let mut stamp = vec![0; Node::<N, MAX_PORTS>::STAMP_ROOM];
        for (from, channels) in self.channels.iter().enumerate() {
            let event = Event::local(from as u16 % 8);
            let _ = self.members[from].node.step(Input::Event(event)).expect("a tracepoint");
            self.members[from].record(event, bytes);
            for channel in channels {
                let send = Input::Send { port: channel.out, stamp: &mut stamp };
                let length: usize = self.members[from].node.step(send).expect("the channel is up").stamp.into();
                self.members[from].record(Event::send(channel.out), bytes);
                bytes.stamp.add(length);
                let receive = Input::Receive { port: channel.into, stamp: &stamp[..length] };
                let _ = self.members[channel.to].node.step(receive).expect("what was sent is understood");
                self.members[channel.to].record(Event::receive(channel.into), bytes);
            }
        }
    }
}

impl<const N: usize> Member<N> {
    fn new(id: usize, stamps: StampKind) -> Self {
        Self {
            node: Node::new(NodeId(id as u8), stamps).expect("the system has this node"),
            writer: LogWriter::new(),
            ring: LogRing::new(),
            reader: LogReader::new(),
            now: 0,
            random: id as u32 + 1,
        }
    }

    /// Writes a record, and reads it back to see what took how many bytes.
    fn record(&mut self, event: Event, bytes: &mut Bytes) {
        // 5 to 200 us on a counter of 20 MHz, the same in every run.
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.now = self.now.wrapping_add(100 + (self.random >> 16) % 3900);
        self.writer.push(&self.ring, &event, Ticks(self.now), &self.node.standing());
        let mut written = [0; 4096];
        let piece = self.ring.peek(&mut written);
        let (length, mut at) = (piece.length, 0);
        while let Some((item, used)) = self.reader.next(&written[at..length]).expect("what was written can be read") {
            match item {
                LogItem::Record(record) if record.event.kind == EventKind::Local => bytes.local.add(used),
                LogItem::Record(_) => bytes.message.add(used),
                _ => bytes.sync += used,
            }
            at += used;
        }
        assert_eq!((at, self.ring.dropped()), (length, 0), "nothing is left over and nothing was dropped");
        self.ring.consume(piece);
    }
}
