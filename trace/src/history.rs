//! A whole trace in causal order.
use crate::order::clock::newer;
use crate::{CausalOrder, Chunk, Event, EventId, Header, Note, Past, Stream, TraceError, TraceFile, TraceReader};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// How two events lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are one and the same.
    Same,
    /// The first happened before the second.
    Before,
    /// The second happened before the first.
    After,
    /// Neither happened before the other.
    Concurrent,
    /// Neither is known to have happened before the other, and something that led to one of them is not known.
    Unknown,
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub read: u64,
    /// Bytes in all.
    pub size: u64,
    /// Events in order so far.
    pub events: u64,
}

/// A whole trace in causal order: each event comes after all that happened before it, and has its full vector clock.
///
/// For what does not fit into memory, or is still being recorded, use [`CausalOrder`].
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What was recorded.
    pub header: Header,
    /// The events.
    pub events: Vec<Event>,
    width: usize,
    clocks: Vec<u32>,
    /// For each node, the places of its events, in their order.
    of_node: Vec<Vec<u32>>,
    notes: Vec<Note>,
    /// The accesses of shared objects that each access depends on, by their places; empty without causality.
    pub(crate) data: BTreeMap<usize, Vec<usize>>,
}

impl History {
    /// Reads a file, telling `progress` now and then, which may break it off.
    pub fn load(path: &Path, mut progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<Self, TraceError> {
        let mut reader = TraceReader::open(path)?;
        let mut builder = Builder::new(&reader.header);
        while let Some(chunk) = reader.chunk()? {
            builder.chunk(&chunk);
            let events = builder.history.events.len() as u64;
            if progress(Progress { read: reader.offset, size: reader.size, events }).is_break() {
                return Err(TraceError::GivenUp(path.to_owned()));
            }
        }
        Ok(builder.finish(reader.damage.map(|damage| damage.to_string())).ended(reader.ended))
    }

    /// The order of what a file holds.
    #[must_use]
    pub fn of(trace: &TraceFile) -> Self {
        let mut builder = Builder::new(&trace.header);
        trace.chunks.iter().for_each(|chunk| builder.chunk(chunk));
        builder.finish(trace.damage.as_ref().map(ToString::to_string)).ended(trace.ended)
    }

    /// Notes that a file without damage has no end.
    fn ended(mut self, ended: Option<u64>) -> Self {
        let is_damaged = self.notes.iter().any(|note| matches!(note, Note::Damage { .. }));
        if ended.is_none() && !is_damaged {
            self.notes.push(Note::NoEnd);
        }
        self
    }

    /// How many entries a clock has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The clock of an event: for each node, by its number, the last of its events that happened before or is this one.
    ///
    /// # Panics
    /// If there is no event at `index`.
    #[must_use]
    pub fn clock(&self, index: usize) -> &[u32] {
        &self.clocks[index * self.width..][..self.width]
    }

    /// The place of an event.
    #[must_use]
    pub fn index_of(&self, id: EventId) -> Option<usize> {
        let places = self.of_node(id.node);
        let from = places.partition_point(|place| newer(id.number, self.events[*place as usize].id.number));
        let same = places[from..].iter().map(|place| *place as usize).take_while(|place| self.events[*place].id == id);
        same.clone().find(|place| self.events[*place].counts()).or(same.clone().next())
    }

    /// The places of a node's events, in their order.
    #[must_use]
    pub fn of_node(&self, node: u8) -> &[u32] {
        self.of_node.get(usize::from(node)).map_or(&[], Vec::as_slice)
    }

    /// Whether the event at `a` is known to have happened before the one at `b`.
    #[must_use]
    pub fn before(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.events[a], &self.events[b]);
        if first.id.node == second.id.node {
            return a < b;
        }
        let Some(known) = self.clock(b).get(usize::from(first.id.node)) else { return false };
        // What happens between two events is known with the later one.
        if first.counts() { !newer(first.id.number, *known) } else { newer(*known, first.id.number) }
    }

    /// Whether it is certain that neither happened before the other.
    #[must_use]
    pub fn concurrent(&self, a: usize, b: usize) -> bool {
        self.relation(a, b) == Relation::Concurrent
    }

    /// How two events lie to each other.
    #[must_use]
    pub fn relation(&self, a: usize, b: usize) -> Relation {
        let known = |index: usize| self.events[index].past == Past::Known;
        if a == b {
            Relation::Same
        } else if self.before(a, b) {
            Relation::Before
        } else if self.before(b, a) {
            Relation::After
        } else if known(a) && known(b) {
            Relation::Concurrent
        } else {
            Relation::Unknown
        }
    }

    /// What is known to have happened before an event, in order.
    pub fn past(&self, index: usize) -> impl Iterator<Item = usize> {
        (0..index).filter(move |other| self.before(*other, index))
    }

    /// What an event is known to have happened before, in order.
    pub fn future(&self, index: usize) -> impl Iterator<Item = usize> {
        (index + 1..self.events.len()).filter(move |other| self.before(index, *other))
    }

    /// Gaps, resets, damage, missing nodes: what every view shows.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The same history in an order that people expect: what is unordered stands in the order of time, as far as boards
    /// without a common clock let one tell. It is causal order as before.
    #[must_use]
    pub fn in_time_order(self) -> Self {
        let times = crate::export::common_time(&self);
        let mut places: Vec<usize> = (0..self.events.len()).collect();
        places.sort_by_key(|place| times[*place]);
        let mut sorted = self.empty();
        places.into_iter().for_each(|place| sorted.add(&self.events[place], self.clock(place)));
        sorted
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, node: u8) -> String {
        self.header.node_name(node)
    }

    /// The name of a port.
    #[must_use]
    pub fn port_name(&self, node: u8, port: u8) -> String {
        self.header.port_name(node, port)
    }

    /// `left0#41 send(out)`.
    #[must_use]
    pub fn describe(&self, event: &Event) -> String {
        self.header.describe(event)
    }
}

/// Puts a history together from the items of logs, as they come.
pub struct Builder {
    order: CausalOrder,
    history: History,
    streams: Vec<Stream>,
}

impl Builder {
    /// Nothing yet of the system that a header describes.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let order = CausalOrder::new(header);
        let width = order.width();
        let history = History { header: header.clone(), width, of_node: vec![Vec::new(); width], ..History::default() };
        Self { order, history, streams: vec![Stream::new(); width] }
    }

    /// What the log of a node says next, read at `wall`.
    pub fn push(&mut self, node: u8, wall: u64, item: crate::Item) {
        let history = &mut self.history;
        self.order.push(node, wall, item, &mut |event, clock| history.add(event, clock));
    }

    /// The next piece of a node's log.
    pub fn chunk(&mut self, chunk: &Chunk) {
        let Some(stream) = self.streams.get_mut(usize::from(chunk.node)) else { return };
        let (order, history) = (&mut self.order, &mut self.history);
        stream.push_parts(chunk.position, &chunk.bytes, |part| {
            order.push_part(chunk.node, chunk.wall, part, &mut |event, clock| history.add(event, clock));
        });
    }

    /// Nothing more comes; `damage` is what kept the rest from being read.
    #[must_use]
    pub fn finish(mut self, damage: Option<String>) -> History {
        let history = &mut self.history;
        self.order.finish(&mut |event, clock| history.add(event, clock));
        history.notes.extend(damage.map(|why| Note::Damage { why }));
        history.notes.extend(self.order.take_notes());
        for place in 0..history.events.len() {
            let Event { id, partner, .. } = history.events[place];
            if let Some(send) = partner.and_then(|send| history.index_of(send)) {
                history.events[send].partner = Some(id);
            }
        }
        self.history
    }
}

impl History {
    /// The same trace without its events.
    pub(crate) fn empty(&self) -> Self {
        let (header, notes) = (self.header.clone(), self.notes.clone());
        Self { header, width: self.width, of_node: vec![Vec::new(); self.of_node.len()], notes, ..Self::default() }
    }

    /// The accesses of shared objects that the access at a place depends on; none without causality.
    #[must_use]
    pub fn accesses_before(&self, index: usize) -> &[usize] {
        self.data.get(&index).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn add(&mut self, event: &Event, clock: &[u32]) {
        if let Some(places) = self.of_node.get_mut(usize::from(event.id.node)) {
            places.push(self.events.len() as u32);
        }
        self.events.push(*event);
        self.clocks.extend_from_slice(clock);
    }
}
