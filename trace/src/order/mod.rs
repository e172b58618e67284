//! Causal order from the logs of all nodes: topological sorting as they come (Hyder 6.3).
//!
//! An event is delivered when everything that happened before it was. A receive finds its send by counting: the n-th
//! message taken from a channel is the n-th that was put in, in a session between one life of the sender and one of the
//! receiver. Sync records name the session at both ends: the sender's by the event before it, the receiver's by an event
//! that sent one of its messages. They also say where the counts stand after a gap. Where nodes carry vector stamps and log what changed, those entries
//! are used as well, so order stays exact among what a restricted recording left.
//!
//! What no successor needs is dropped (6.3.2): a send's clock lives until its receive, and nothing else is kept. What is
//! not known is not guessed: see [`Past`](crate::Past).
mod advance;
mod channel;
pub(crate) mod clock;
mod deliver;
mod node;
mod plain;
mod queue;
mod sends;
mod sync;
mod taint;
#[cfg(test)]
mod tests;
mod wait;

use crate::{Event, Header, Item, Note, Part};
use channel::Channel;
use clock::LANES;
use node::Node;
use plain::Progress;
use stillpoint_core::MAX_NODES;
use stillpoint_core::log::Record;
use sync::Life;

/// Sorts the logs of all nodes as they come.
///
/// For a whole file use [`History`](crate::History), which is built with this.
///
/// # Example: two nodes, read in the wrong order
/// ```
/// use stillpoint_core::log::Record;
/// use stillpoint_core::{Event, EventNumber, PortId, time::Ticks};
/// use stillpoint_trace::{CausalOrder, ChannelInfo, Header, Item, NodeInfo, PortInfo};
///
/// let node = |id, out| NodeInfo { id, ports: vec![PortInfo { out, peer: 1 - id, ..PortInfo::default() }], ..NodeInfo::default() };
/// let channels = vec![ChannelInfo { from: 0, out: 0, to: 1, into: 0 }];
/// let header = Header { nodes: vec![node(0, true), node(1, false)], channels, ..Header::default() };
/// let record = |event| Item::Record(Record { event, number: EventNumber(1), time: Ticks(5), message: Some(1) });
///
/// let (mut order, mut seen) = (CausalOrder::new(&header), Vec::new());
/// order.push(1, 0, record(Event::receive(PortId(0))), &mut |event, _| seen.push(event.id.node));
/// order.push(0, 0, record(Event::send(PortId(0))), &mut |event, clock| {
///     seen.push(event.id.node);
///     assert!(event.id.node == 0 || clock == [1, 1]);
/// });
/// assert_eq!(seen, [0, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct CausalOrder {
    width: usize,
    nodes: Vec<Node>,
    channels: Vec<Channel>,
    /// The lives of each node but its first.
    lives: Vec<Vec<Life>>,
    /// For each node the event with which all is known again that was lost with its resets; none if nothing was, or it is
    /// not known yet.
    regained: Vec<Option<u32>>,
    /// Room for a clock.
    scratch: Vec<[u32; LANES]>,
    /// Who waits for something of each node, one bit a node.
    waiters: Vec<u32>,
    /// How many wait for nothing but the next message of a channel, which knows who does.
    patient: usize,
    notes: Vec<Note>,
}

/// Who takes the events, each with its clock.
pub trait Sink: FnMut(&Event, &[u32]) {}

impl<F: FnMut(&Event, &[u32]) + ?Sized> Sink for F {}

/// The same where nothing is gained by knowing who it is.
type Out<'a> = &'a mut dyn FnMut(&Event, &[u32]);

impl CausalOrder {
    /// Nothing read yet of the system that a header describes.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let ports = header.nodes.iter().flat_map(|node| node.ports.iter().map(|port| port.peer));
        let ids = header.nodes.iter().map(|node| node.id).chain(ports);
        let width = ids.max().map_or(0, |id| usize::from(id) + 1).min(MAX_NODES);
        let mut order = Self {
            width,
            nodes: vec![Node::new(width); width],
            channels: Vec::new(),
            lives: vec![Vec::new(); width],
            regained: vec![None; width],
            scratch: Vec::new(),
            waiters: vec![0; width],
            patient: 0,
            notes: Vec::new(),
        };
        for node in &mut order.nodes {
            node.ended = true;
        }
        for info in &header.nodes {
            let Some(node) = order.nodes.get_mut(usize::from(info.id)) else { continue };
            (node.ended, node.vector) = (false, info.vector_stamps);
            for port in &info.ports {
                if let Some(end) = node.ports.get_mut(usize::from(port.id)) {
                    (end.peer, end.out) = (Some(port.peer), port.out);
                }
            }
        }
        for info in header.channels.iter().filter(|info| usize::from(info.from) < width) {
            let at = order.channels.len();
            for (node, port, out) in [(info.from, info.out, true), (info.to, info.into, false)] {
                let node = order.nodes.get_mut(usize::from(node));
                if let Some(end) = node.and_then(|node| node.ports.get_mut(usize::from(port))) {
                    (end.channel, end.out) = (Some(at), out);
                }
            }
            order.channels.push(Channel::new(info.from));
        }
        order
    }

    /// How many entries a clock has: one for each node of the system, by its number.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// What the log of a node says next, read at `wall`. Gives `each` the events that are in order now, with their clocks.
    ///
    /// For records that were read together, [`extend`](Self::extend) takes less time.
    #[inline]
    pub fn push<F: Sink + ?Sized>(&mut self, node: u8, wall: u64, item: Item, each: &mut F) {
        if let Item::Record(record) = &item {
            return self.extend(node, wall, std::slice::from_ref(record), each);
        }
        if let Some(state) = self.nodes.get_mut(usize::from(node)) {
            state.queue.push(wall, item);
            self.begin(node, each);
        }
    }

    /// What a [`Stream`](crate::Stream) says next of a node, read at `wall`: see [`push`](Self::push) and
    /// [`extend`](Self::extend).
    #[inline]
    pub fn push_part<F: Sink + ?Sized>(&mut self, node: u8, wall: u64, part: Part<'_>, each: &mut F) {
        match part {
            Part::Records(records) => self.extend(node, wall, records, each),
            Part::Other(item) => self.push(node, wall, item, each),
        }
    }

    /// The records that the log of a node says next, all read at `wall`. Gives `each` the events that are in order now,
    /// with their clocks: nothing is held back that does not wait for another node.
    ///
    /// # Example: three tracepoints
    /// ```
    /// # use stillpoint_core::{Event, EventNumber, log::Record, time::Ticks};
    /// # use stillpoint_trace::{CausalOrder, Header, NodeInfo};
    /// let record = |number| Record { event: Event::local(7), number: EventNumber(number), time: Ticks(5), message: None };
    /// let mut order = CausalOrder::new(&Header { nodes: vec![NodeInfo::default()], ..Header::default() });
    /// let mut clocks = Vec::new();
    /// order.extend(0, 0, &[record(1), record(2), record(3)], &mut |_, clock| clocks.push(clock[0]));
    /// assert_eq!(clocks, [1, 2, 3]);
    /// ```
    #[inline]
    pub fn extend<F: Sink + ?Sized>(&mut self, node: u8, wall: u64, records: &[Record], each: &mut F) {
        let Some(state) = self.nodes.get_mut(usize::from(node)) else { return };
        if !state.queue.is_empty() {
            return state.queue.push_records(wall, records);
        }
        if !state.plain {
            state.seen = true;
            return self.go_on(node, wall, records, Progress::default(), each);
        }
        let progress = self.deliver_plain(usize::from(node), records, wall, each);
        let left = &records[progress.delivered..];
        if !left.is_empty() || progress.awoken | self.waiters[usize::from(node)] != 0 {
            self.go_on(node, wall, left, progress, each);
        }
    }

    /// Nothing more comes from a node.
    pub fn end<F: Sink + ?Sized>(&mut self, node: u8, each: &mut F) {
        if let Some(state) = self.nodes.get_mut(usize::from(node)) {
            state.ended = true;
            let ready = 1 << node | self.awoken(node);
            self.run(ready, each);
        }
    }

    /// Does not wait any longer with what was read at `wall` or before: a node that should have said more is silent. What
    /// goes on without it says so.
    pub fn hurry<F: Sink + ?Sized>(&mut self, wall: u64, each: &mut F) {
        while let Some(node) =
            self.oldest().filter(|node| self.nodes[*node].queue.wall().is_some_and(|read| read <= wall))
        {
            self.force(node, each);
        }
    }

    /// Nothing more comes at all.
    pub fn finish<F: Sink + ?Sized>(&mut self, each: &mut F) {
        for node in 0..self.nodes.len() {
            self.release(node);
            self.nodes[node].ended = true;
        }
        self.run(u32::MAX, each);
        // Whoever is left waits for what will not come.
        while let Some(node) = self.oldest() {
            self.force(node, each);
        }
        for (node, state) in self.nodes.iter().enumerate() {
            let node = node as u8;
            if state.unplaced > 0 {
                self.notes.push(Note::Unplaced { node, records: state.unplaced });
            }
            if !state.seen {
                self.notes.push(Note::Missing { node });
            }
        }
    }

    /// What there is to say besides the events.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Takes the notes so far, so that they are told once.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// How many records and clocks are held: what waits, and sends whose receive was not read.
    #[must_use]
    pub fn held(&self) -> usize {
        self.channels.iter().map(Channel::waiting).sum::<usize>()
            + self.nodes.iter().map(|node| node.queue.len()).sum::<usize>()
    }
}
