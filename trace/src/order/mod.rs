//! Causal order from the logs of all nodes: topological sorting as they come (Hyder 6.3).
//!
//! An event is delivered when everything that happened before it was. A receive finds its send by counting: the n-th
//! message taken from a channel is the n-th that was put in, between one life of the sender and one of the receiver; sync
//! records say where the counts stand after a gap. Where nodes carry vector stamps and log what changed, those entries
//! are used as well, so order stays exact among what a restricted recording left.
//!
//! What no successor needs is dropped (6.3.2): a send's clock lives until its receive, and nothing else is kept. What is
//! not known is not guessed: see [`Past`](crate::Past).
mod channel;
pub(crate) mod clock;
mod deliver;
mod node;
mod plain;
mod sends;
mod sync;
mod taint;
#[cfg(test)]
mod tests;
mod wait;

use crate::{Event, Header, Item, Note, Why};
use channel::{Channel, Session};
use clock::LANES;
use node::{Node, Queued, Wait};
use plain::Plain;
use stillpoint_core::MAX_NODES;

/// Sorts the logs of all nodes as they come.
///
/// For a whole file use [`History`](crate::History), which is built with this.
///
/// # Example: two nodes, read in the wrong order
/// ```
/// use stillpoint_core::log::Record;
/// use stillpoint_core::{Event, EventNumber, PortId};
/// use stillpoint_trace::{CausalOrder, ChannelInfo, Header, Item, NodeInfo, PortInfo};
///
/// let node = |id, out| NodeInfo { id, ports: vec![PortInfo { out, peer: 1 - id, ..PortInfo::default() }], ..NodeInfo::default() };
/// let channels = vec![ChannelInfo { from: 0, out: 0, to: 1, into: 0 }];
/// let header = Header { nodes: vec![node(0, true), node(1, false)], channels, ..Header::default() };
/// let record = |event| Item::Record(Record { event, number: EventNumber(1), time: 5, message: Some(1) });
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
    /// For each life of a node but its first: its first event, and what had happened before it.
    lives: Vec<Vec<(u32, Vec<[u32; LANES]>)>>,
    /// Who waits for something of each node, one bit a node.
    waiters: Vec<u32>,
    /// How many wait for nothing but the next message of a channel, which knows who does.
    patient: usize,
    notes: Vec<Note>,
}

/// Who takes the events.
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
            order.channels.push(Channel { from: info.from, ..Channel::default() });
        }
        order
    }

    /// How many entries a clock has: one for each node of the system, by its number.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// What the log of a node says next, read at `wall`. Gives `each` the events that are in order now, with their clocks.
    #[inline]
    pub fn push(&mut self, node: u8, wall: u64, item: Item, each: Out<'_>) {
        let Some(state) = self.nodes.get_mut(usize::from(node)) else { return };
        if state.plain
            && state.queue.is_empty()
            && let Item::Record(record) = &item
        {
            match self.deliver_plain(usize::from(node), record, wall, each) {
                Plain::Delivered if self.waiters[usize::from(node)] == 0 => return,
                Plain::Delivered => return self.wake(node, 0, each),
                Plain::Wakes(waiter) => {
                    self.release(usize::from(waiter));
                    return self.wake(node, 1 << waiter, each);
                }
                Plain::Waits(wait) => return self.hold(node, Queued { wall, item }, wait, each),
                Plain::Odd => {}
            }
        }
        self.push_odd(node, Queued { wall, item }, each);
    }

    /// The same, where there is more to it than an event after another.
    #[inline(never)]
    fn push_odd(&mut self, node: u8, queued: Queued, each: Out<'_>) {
        let state = &mut self.nodes[usize::from(node)];
        state.seen = true;
        state.queue.push_back(queued);
        if state.queue.len() == 1 {
            let ready = 1 << node | self.awoken(node);
            self.run(ready, each);
        }
    }

    /// An event of a node was delivered that others, these among them, waited for.
    #[inline(never)]
    fn wake(&mut self, node: u8, ready: u32, each: Out<'_>) {
        let ready = if self.waiters[usize::from(node)] == 0 { ready } else { ready | self.awoken(node) };
        self.run(ready, each);
    }

    /// A node's next record has to wait.
    #[inline(never)]
    fn hold(&mut self, node: u8, queued: Queued, wait: Wait, each: Out<'_>) {
        self.nodes[usize::from(node)].queue.push_back(queued);
        // First whoever waits for this node no longer: else they would seem to wait for each other.
        let ready = if self.waiters[usize::from(node)] == 0 { 0 } else { self.awoken(node) };
        let ready = ready | self.suspend(usize::from(node), wait);
        if ready != 0 {
            self.run(ready, each);
        }
    }

    /// Nothing more comes from a node.
    pub fn end(&mut self, node: u8, each: Out<'_>) {
        if let Some(state) = self.nodes.get_mut(usize::from(node)) {
            state.ended = true;
            let ready = 1 << node | self.awoken(node);
            self.run(ready, each);
        }
    }

    /// Does not wait any longer with what was read at `wall` or before: a node that should have said more is silent. What
    /// goes on without it says so.
    pub fn hurry(&mut self, wall: u64, each: Out<'_>) {
        while let Some(node) =
            self.oldest().filter(|node| self.nodes[*node].queue.front().is_some_and(|head| head.wall <= wall))
        {
            self.force(node, each);
        }
    }

    /// Nothing more comes at all.
    pub fn finish(&mut self, each: Out<'_>) {
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
        let sessions = self.channels.iter().flat_map(|channel| &channel.sessions);
        sessions.map(Session::waiting).sum::<usize>() + self.nodes.iter().map(|node| node.queue.len()).sum::<usize>()
    }

    /// Delivers whatever can be, beginning with these nodes.
    fn run(&mut self, mut ready: u32, each: Out<'_>) {
        while ready != 0 {
            let node = ready.trailing_zeros();
            ready &= ready - 1;
            ready |= self.advance(node as usize, each);
        }
    }

    /// Delivers what a node has, up to something that must wait. Says who may go on then.
    fn advance(&mut self, node: usize, each: Out<'_>) -> u32 {
        if node >= self.nodes.len() {
            return 0;
        }
        self.release(node);
        let mut awoken = 0;
        loop {
            if self.nodes[node].plain
                && let Some(wait) = self.drain_plain(node, &mut awoken, each)
            {
                return awoken | self.suspend(node, wait);
            }
            match self.nodes[node].queue.front() {
                None if self.nodes[node].ended => return awoken | self.awoken(node as u8),
                None => return awoken,
                Some(Queued { item: Item::Record(record), wall }) => {
                    let (record, wall) = (*record, *wall);
                    let forced = self.nodes[node].forced.take();
                    match self.deliver(node, record, wall, forced, each) {
                        Ok(()) => drop(self.nodes[node].queue.pop_front()),
                        Err(wait) => return awoken | self.suspend(node, wait),
                    }
                }
                Some(_) => {
                    if let Some(queued) = self.nodes[node].queue.pop_front() {
                        self.take(node, queued.item);
                    }
                }
            }
            // Only who goes on wakes others: two that wait for each other do not.
            awoken |= self.awoken(node as u8);
        }
    }

    /// Delivers what can go the quick way, up to something that cannot, or that must wait: says for what.
    fn drain_plain(&mut self, node: usize, awoken: &mut u32, each: Out<'_>) -> Option<Wait> {
        // Out of its place, so that records need not be copied; nobody asks for it before it is back.
        let mut queue = std::mem::take(&mut self.nodes[node].queue);
        let mut wait = None;
        while let Some(Queued { wall, item: Item::Record(record) }) = queue.front() {
            match self.deliver_plain(node, record, *wall, each) {
                Plain::Delivered => {}
                Plain::Wakes(waiter) => {
                    self.release(usize::from(waiter));
                    *awoken |= 1 << waiter;
                }
                Plain::Waits(on) => {
                    wait = Some(on);
                    break;
                }
                Plain::Odd => break,
            }
            queue.pop_front();
        }
        self.nodes[node].queue = queue;
        if self.waiters[node] != 0 {
            *awoken |= self.awoken(node as u8);
        }
        wait
    }

    /// The node whose next record has waited longest.
    fn oldest(&self) -> Option<usize> {
        let waiting = (0..self.nodes.len()).filter(|node| !self.nodes[*node].queue.is_empty());
        waiting.min_by_key(|node| self.nodes[*node].queue.front().map(|head| head.wall))
    }

    /// Delivers the next record of a node although it should wait.
    fn force(&mut self, node: usize, each: Out<'_>) {
        let wait = self.release(node);
        let Some(queued) = self.nodes[node].queue.pop_front() else { return };
        match queued.item {
            // Forced, it waits for nothing.
            Item::Record(record) => {
                let silent = wait.map_or(node as u8, Wait::node);
                let _waits_not = self.deliver(node, record, queued.wall, Some(Why::Silent(silent)), each);
            }
            item => self.take(node, item),
        }
        let ready = 1 << node | self.awoken(node as u8);
        self.run(ready, each);
    }

    /// A node begins a life: its channels count from the beginning.
    fn begin_life(&mut self, node: usize, number: u32) {
        let state = &mut self.nodes[node];
        // What was in doubt is over: a node that starts anew knows nothing.
        state.taint = None;
        // A halt before the first event has the number 0.
        if state.last.is_some_and(|last| last != 0) {
            state.ordinal += 1;
            self.lives[node].push((number, state.clock.clone()));
            self.notes.push(Note::Reset { node: node as u8, number });
        }
        for port in &mut state.ports {
            (port.count, port.knows) = (0, None);
            if let Some(channel) = port.channel.filter(|_| port.out) {
                let mut session = Session::new(number, state.ordinal);
                // Both ends were there when the recording began.
                session.receiver = (state.ordinal == 0).then_some(0);
                self.channels[channel].sessions.push(session);
            }
        }
    }
}
