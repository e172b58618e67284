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
mod sync;
mod taint;
#[cfg(test)]
mod tests;

use crate::{Event, EventId, Header, Item, Note, Why};
use channel::{Channel, Session};
use clock::{Rows, newer};
use node::{Node, Queued, Wait};
use stillpoint_core::MAX_NODES;
use stillpoint_core::log::Record;

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
    rows: Rows,
    /// For each life of a node but its first: its first event, and what had happened before it.
    lives: Vec<Vec<(u32, Vec<u32>)>>,
    /// Who waits for something of each node, one bit a node.
    waiters: Vec<u32>,
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
            rows: Rows::new(width),
            lives: vec![Vec::new(); width],
            waiters: vec![0; width],
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
        for info in &header.channels {
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
    pub fn push(&mut self, node: u8, wall: u64, item: Item, each: Out<'_>) {
        let Some(state) = self.nodes.get_mut(usize::from(node)) else { return };
        state.seen = true;
        state.queue.push_back(Queued { wall, item });
        if state.queue.len() == 1 {
            let ready = 1 << node | self.awoken(node);
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
        for node in &mut self.nodes {
            (node.ended, node.wait) = (true, None);
        }
        self.waiters.fill(0);
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
        self.rows.kept() + self.nodes.iter().map(|node| node.queue.len()).sum::<usize>()
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
        let Some(state) = self.nodes.get_mut(node) else { return 0 };
        if let Some(wait) = state.wait.take() {
            self.waiters[usize::from(wait.node())] &= !(1 << node);
        }
        let mut awoken = 0;
        loop {
            match self.nodes[node].queue.front() {
                None => break,
                Some(Queued { item: Item::Record(record), wall }) => {
                    let (record, wall) = (*record, *wall);
                    let forced = self.nodes[node].forced.take();
                    if let Err(wait) = self.deliver(node, record, wall, forced, each) {
                        self.nodes[node].wait = Some(wait);
                        self.waiters[usize::from(wait.node())] |= 1 << node;
                        awoken |= self.break_cycle(node);
                        break;
                    }
                    self.nodes[node].queue.pop_front();
                }
                Some(_) => {
                    if let Some(queued) = self.nodes[node].queue.pop_front() {
                        self.take(node, queued.item);
                    }
                }
            }
            // Only who goes on wakes others: two that wait for each other do not.
            if self.waiters[node] != 0 {
                awoken |= self.awoken(node as u8);
            }
        }
        awoken
    }

    /// Those waiting for a node who may have what they wait for. They wait no longer.
    fn awoken(&mut self, node: u8) -> u32 {
        let mut waiters = self.waiters[usize::from(node)];
        let mut awoken = 0;
        while waiters != 0 {
            let waiter = waiters.trailing_zeros() as usize;
            waiters &= waiters - 1;
            let goes_on = match self.nodes[waiter].wait {
                Some(Wait::Event { node, number }) => self.has_passed(usize::from(node), number),
                Some(Wait::Message { .. }) | None => true,
            };
            if goes_on {
                self.nodes[waiter].wait = None;
                awoken |= 1 << waiter;
            }
        }
        self.waiters[usize::from(node)] &= !awoken;
        awoken
    }

    /// Whether every recorded event of a node up to `number` was delivered, or none will be.
    fn has_passed(&self, node: usize, number: u32) -> bool {
        let state = &self.nodes[node];
        state.is_done() || state.passed().is_some_and(|passed| !newer(number, passed))
    }

    /// The node whose next record has waited longest.
    fn oldest(&self) -> Option<usize> {
        let waiting = (0..self.nodes.len()).filter(|node| !self.nodes[*node].queue.is_empty());
        waiting.min_by_key(|node| self.nodes[*node].queue.front().map(|head| head.wall))
    }

    /// Delivers the next record of a node although it should wait.
    fn force(&mut self, node: usize, each: Out<'_>) {
        let wait = self.nodes[node].wait.take();
        if let Some(wait) = wait {
            self.waiters[usize::from(wait.node())] &= !(1 << node);
        }
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

    /// Lets one of several nodes that wait for each other go on, if there are such: they would wait for ever. Says which.
    ///
    /// A receive may wait for a send that was not recorded; if none does, the logs contradict each other.
    fn break_cycle(&mut self, node: usize) -> u32 {
        let (mut at, mut path) = (node, Vec::new());
        loop {
            path.push(at);
            let Some(wait) = self.nodes[at].wait else { return 0 };
            at = usize::from(wait.node());
            if at == node {
                break;
            }
            if path.contains(&at) {
                return 0;
            }
        }
        let lacks = |waiter: &&usize| match self.nodes[**waiter].wait {
            Some(Wait::Message { node, .. }) => self.nodes[usize::from(node)].may_lack_sends(),
            _ => false,
        };
        let (chosen, why): (usize, fn(u8) -> Why) = match path.iter().find(lacks) {
            Some(chosen) => (*chosen, Why::NotRecorded),
            None => {
                let next = |node: &usize| match self.nodes[*node].queue.front()?.item {
                    Item::Record(Record { number, .. }) => Some(EventId { node: *node as u8, number: number.0 }),
                    _ => None,
                };
                self.notes.push(Note::Cycle { events: path.iter().filter_map(next).collect() });
                (node, Why::Damage)
            }
        };
        let on = self.nodes[chosen].wait.map_or(chosen as u8, Wait::node);
        self.nodes[chosen].forced = Some(why(on));
        1 << chosen
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
                self.channels[channel].sessions.push_back(session);
            }
        }
    }
}
