//! A system of shipped nodes that work in turn, without any I/O: what the nodes themselves cost.
//!
//! The nodes are a ring; each sends to both its neighbours, which take what comes at once. Either all nodes talk, so that every stamp has news of
//! every node, or only the first two, so that the rest of the system is silent.
use anyhow::Context as _;
use std::collections::VecDeque;
use stillpoint_core::log::{LogRing, LogWriter};
use stillpoint_core::time::Ticks;
use stillpoint_core::{
    Direction, Event, HaltMarker, Input, MessageStamp, Node, NodeId, PortId, PortSet, StampKind, Then,
};

const PORTS: usize = 4;
const LOG: usize = 8192;
/// Turns between two looks at the logs.
const READ_EVERY: usize = 512;
const STAMP_ROOM: usize = 256;
const _: () = assert!(STAMP_ROOM >= Node::<32, PORTS>::STAMP_ROOM);

struct Member<const N: usize> {
    node: Node<N, PORTS>,
    /// The other end of each port: whose, and which of its ports.
    ends: Vec<(usize, PortId)>,
    writer: LogWriter<N>,
    ring: LogRing<LOG>,
    logged: u64,
}

/// What a run came to, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bytes {
    pub messages: u64,
    /// Of all stamps.
    pub stamps: u64,
    pub records: u64,
    /// Of all logs.
    pub log: u64,
}

/// What a halt took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HaltCost {
    /// Markers that went over lanes of channels.
    pub markers: u64,
    /// From the trigger to the node that was reached last.
    pub hops: u64,
}

/// A system of `N` nodes.
pub struct System<const N: usize> {
    members: Vec<Member<N>>,
    time: u32,
    bytes: Bytes,
    counts_bytes: bool,
}

impl<const N: usize> System<N> {
    /// Connected and started. Where bytes of the log are not counted, they are not looked at.
    pub fn new(counts_bytes: bool) -> anyhow::Result<Self> {
        let mut members = Vec::new();
        for me in 0..N {
            let node = Node::new(NodeId(me as u8), StampKind::Vector).ok().context("a node is not in its system")?;
            let (writer, ring) = (LogWriter::new(), LogRing::new());
            members.push(Member { node, ends: Vec::new(), writer, ring, logged: 0 });
        }
        let mut system = Self { members, time: 0, bytes: Bytes::default(), counts_bytes };
        for from in 0..N {
            let (next, last) = ((from + 1) % N, (from + N - 1) % N);
            system.connect(from, next)?;
            if last != next {
                system.connect(from, last)?;
            }
        }
        for member in &mut system.members {
            let _started = member.node.step(Input::start())?;
        }
        Ok(system)
    }

    fn connect(&mut self, from: usize, to: usize) -> anyhow::Result<()> {
        let (out, into) = (self.members[from].next_port(), self.members[to].next_port());
        self.members[from].node.connect(out, Direction::Out, NodeId(to as u8)).ok().context("a port is taken")?;
        self.members[from].ends.push((to, into));
        self.members[to].node.connect(into, Direction::In, NodeId(from as u8)).ok().context("a port is taken")?;
        self.members[to].ends.push((from, out));
        Ok(())
    }

    /// Every node in turn makes a local event, until there are so many.
    pub fn work(&mut self, events: usize) -> anyhow::Result<()> {
        for turn in 0..events {
            self.time += 7;
            let member = &mut self.members[turn % N];
            let event = Event::local((turn % 100) as u16);
            if member.node.quick_event(&event).is_none() {
                let _happened = member.node.step(Input::Event(event))?;
            }
            member.record(event, self.time);
            self.bytes.records += 1;
            self.read_logs_at_times(turn);
        }
        Ok(())
    }

    /// The first `talkers` nodes send to each other in turn, so many messages; each is received at once.
    pub fn talk(&mut self, talkers: usize, messages: usize) -> anyhow::Result<()> {
        let mut routes: Vec<(usize, PortId)> = Vec::new();
        for port in (0..PORTS as u8).map(PortId) {
            let has = |from: &usize| {
                let member = &self.members[*from];
                let to = member.ends.get(usize::from(port.0)).map(|(to, _)| *to);
                member.node.is_outgoing(port) && to.is_some_and(|to| to < talkers)
            };
            routes.extend((0..talkers).filter(has).map(|from| (from, port)));
        }
        for (turn, (from, port)) in routes.iter().cycle().take(messages).enumerate() {
            self.message(*from, *port)?;
            self.read_logs_at_times(turn);
        }
        Ok(())
    }

    fn message(&mut self, from: usize, port: PortId) -> anyhow::Result<()> {
        let room = &mut [0; STAMP_ROOM][..Node::<N, PORTS>::STAMP_ROOM];
        self.time += 11;
        let (to, into) = self.members[from].ends[usize::from(port.0)];
        let sender = &mut self.members[from];
        // As the agent does: a quick stamp ends where the room for it does.
        let stamp = match sender.node.quick_send(port, room) {
            Some(quick) => &room[usize::from(quick.begin)..],
            None => {
                let length = sender.node.step(Input::Send { port, stamp: room })?.stamp;
                &room[..usize::from(length)]
            }
        };
        sender.record(Event::send(port), self.time);
        self.time += 13;
        let receiver = &mut self.members[to];
        let found = MessageStamp::read::<N>(stamp);
        if found.and_then(|found| receiver.node.quick_receive(into, &found)).is_none() {
            let _received = receiver.node.step(Input::Receive { port: into, stamp })?;
        }
        receiver.record(Event::receive(into), self.time);
        self.bytes.messages += 1;
        self.bytes.stamps += stamp.len() as u64;
        self.bytes.records += 2;
        Ok(())
    }

    /// Empties the logs before any of them is full. What is in them is looked at only where bytes are counted: where
    /// instructions are, this is so little that it does not count.
    fn read_logs_at_times(&mut self, turn: usize) {
        if turn.is_multiple_of(READ_EVERY) {
            self.read_logs();
        }
    }

    fn read_logs(&mut self) {
        let counts_bytes = self.counts_bytes;
        self.members.iter_mut().for_each(|member| member.read_log(counts_bytes));
    }

    /// What all of it came to.
    pub fn bytes(&mut self) -> anyhow::Result<Bytes> {
        self.read_logs();
        anyhow::ensure!(self.members.iter().all(|member| member.ring.dropped() == 0), "a log was full");
        Ok(Bytes { log: self.members.iter().map(|member| member.logged).sum(), ..self.bytes })
    }

    /// Halts from one node, marker by marker in the order in which they were sent, until everybody stands.
    pub fn halt(&mut self, trigger: usize) -> anyhow::Result<HaltCost> {
        let mut cost = HaltCost::default();
        let mut under_way: VecDeque<(usize, PortId, HaltMarker<N>, u64)> = VecDeque::new();
        let effects = self.members[trigger].node.step(Input::Halt)?;
        self.post(trigger, effects.markers, 1, &mut under_way, &mut cost)?;
        let mut stopped = 1;
        while let Some((at, port, marker, hops)) = under_way.pop_front() {
            let effects = self.members[at].node.step(Input::Marker { port, marker: &marker })?;
            if effects.then == Then::Halt {
                stopped += 1;
                cost.hops = hops;
            }
            self.post(at, effects.markers, hops + 1, &mut under_way, &mut cost)?;
        }
        anyhow::ensure!(stopped == N, "{stopped} of {N} nodes halt");
        Ok(cost)
    }

    fn post(
        &mut self,
        from: usize,
        ports: PortSet,
        hops: u64,
        under_way: &mut VecDeque<(usize, PortId, HaltMarker<N>, u64)>,
        cost: &mut HaltCost,
    ) -> anyhow::Result<()> {
        for port in ports.iter() {
            let member = &self.members[from];
            let marker = member.node.halt_marker(port).context("a node that halts has a marker for every port")?;
            let (to, into) = member.ends[usize::from(port.0)];
            under_way.push_back((to, into, marker, hops));
            cost.markers += 1;
        }
        Ok(())
    }
}

impl<const N: usize> Member<N> {
    fn next_port(&self) -> PortId {
        PortId(self.ends.len() as u8)
    }

    fn record(&mut self, event: Event, time: u32) {
        self.writer.push(&self.ring, &event, Ticks(time), &self.node.standing());
    }

    fn read_log(&mut self, counts_bytes: bool) {
        let piece = self.ring.peek(&mut [0; LOG]);
        if counts_bytes {
            self.logged += piece.length as u64;
        }
        self.ring.consume(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_halt_needs_a_marker_on_both_lanes_of_each_channel_and_half_the_ring_in_hops() {
        assert_eq!(System::<2>::new(true).unwrap().halt(0).unwrap(), HaltCost { markers: 4, hops: 1 });
        assert_eq!(System::<8>::new(true).unwrap().halt(3).unwrap(), HaltCost { markers: 32, hops: 4 });
    }

    #[test]
    fn of_silent_nodes_a_stamp_has_no_more_than_a_bit_each() {
        let mut system = System::<32>::new(true).unwrap();
        system.talk(2, 10_000).unwrap();
        let wide = system.bytes().unwrap();
        let mut system = System::<2>::new(true).unwrap();
        system.talk(2, 10_000).unwrap();
        let narrow = system.bytes().unwrap();
        assert_eq!((wide.messages, narrow.messages), (10_000, 10_000));
        // Thirty more bits are four more bytes; the first stamp of each channel is full.
        let (first, more) = (2 * 32 * 5, 4 * 10_000);
        assert!(wide.stamps <= narrow.stamps + more + first, "{wide:?} {narrow:?}");
    }
}
