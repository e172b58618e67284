//! Causality while it runs: the same order as [`History::causality`](crate::History::causality), event by event.
use super::serial::{Access, Serial, nodes_of};
use super::{beyond, graver, with};
use crate::order::clock::{merge, newer};
use crate::{Event, Header, Why};
use std::collections::{BTreeMap, VecDeque};
use stillpoint_core::{EventKind, EventNumber};

/// Adds to events that come in the order of messages and calls what flows through shared objects.
///
/// An access waits for those before it. They are all read when every log was read once more: see
/// [`settle`](Self::settle). For a finished recording use [`History::causality`](crate::History::causality).
///
/// # Example: a read of b depends on a write of a that is read later
/// ```
/// use stillpoint_core::{Event, EventKind};
/// use stillpoint_trace::{CausalityStream, Sketch};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.event(1, Event { kind: EventKind::Access, arg: 5, value: 1 << 2 });
/// sketch.event(0, Event { kind: EventKind::Access, arg: 5, value: 1 << 2 | 1 });
/// let (history, mut seen) = (sketch.history(), Vec::new());
/// let mut stream = CausalityStream::new(&history.header);
/// for (place, event) in history.events.iter().enumerate() {
///     stream.push(event, history.clock(place), &mut |event, _| seen.push(event.id.node));
/// }
/// stream.settle(u64::MAX, &mut |event, _| seen.push(event.id.node));
/// assert_eq!(seen, [0, 1]);
/// ```
pub struct CausalityStream {
    header: Header,
    nodes: Vec<Node>,
    objects: BTreeMap<ObjectKey, Object>,
    /// All logs were read again since what was read by then, in microseconds since reading began.
    settled: Option<u64>,
    /// How many events came.
    count: usize,
    /// An access came: before it, the order is that of messages and calls.
    has_accesses: bool,
    /// How much is kept of what nodes know through objects, for each node.
    most: usize,
    /// What every other node knows is forgotten.
    forgets: bool,
}

/// The board, the number of the object, and the epoch of the accessing node: a reset makes the object anew.
type ObjectKey = (usize, u16, u8);

/// Who takes the events, with their clocks.
type Each<'a> = &'a mut dyn FnMut(&Event, &[u32]);

#[derive(Default)]
struct Node {
    board: usize,
    /// Events that are not given out yet.
    queue: VecDeque<Waiting>,
    /// What the last event that was given out knows by messages and calls.
    sync: Vec<u32>,
    /// What it knows in all.
    clock: Vec<u32>,
    taint: Option<Why>,
    /// The events with which the node came to know more through objects.
    extra: VecDeque<Extra>,
    /// Something older than `extra` was dropped for want of room.
    is_cut: bool,
    /// For each epoch, whether its first event came.
    begins: BTreeMap<u8, bool>,
}

struct Waiting {
    event: Event,
    clock: Vec<u32>,
    place: usize,
}

struct Extra {
    number: u32,
    clock: Vec<u32>,
    taint: Option<Why>,
}

struct Object {
    /// Accesses that came before it is known whether the recording has the object from its beginning.
    serial: Option<Serial>,
    early: Vec<Access>,
    /// What the last write knew, and what the reads since then did.
    write: Known,
    reads: Known,
}

#[derive(Clone, Default)]
struct Known {
    clock: Vec<u32>,
    taint: Option<Why>,
}

impl Known {
    fn add(&mut self, clock: &[u32], taint: Option<Why>) {
        if self.clock.is_empty() {
            self.clock = clock.to_vec();
        } else {
            merge(&mut self.clock, clock);
        }
        self.taint = graver(self.taint, taint);
    }
}

/// How many events that know more through objects are kept of each node.
const MOST: usize = 1 << 14;

impl CausalityStream {
    /// Nothing read yet of the system that a header describes.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let width = crate::CausalOrder::new(header).width();
        let node = |node: usize| {
            let board = header.node(node as u8).map_or(usize::MAX, |info| info.board);
            Node { board, sync: vec![0; width], clock: vec![0; width], ..Node::default() }
        };
        Self {
            header: header.clone(),
            nodes: (0..width).map(node).collect(),
            objects: BTreeMap::new(),
            settled: None,
            count: 0,
            has_accesses: false,
            most: MOST,
            forgets: true,
        }
    }

    /// Keeps what nodes knew through objects, also where all others know it, for [`known`](Self::known).
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { forgets: false, ..self }
    }

    /// The next event in the order of messages and calls, with its clock. Gives `each` what is in order now.
    pub fn push(&mut self, event: &Event, clock: &[u32], each: Each<'_>) {
        let node = usize::from(event.id.node);
        if node >= self.nodes.len() {
            return;
        }
        self.count += 1;
        let number = EventNumber(event.id.number);
        if event.counts() {
            self.nodes[node].begins.entry(number.epoch()).or_insert(number.count() == 1);
        }
        if event.kind() == EventKind::Access && self.is_shared(node) {
            self.has_accesses = true;
            let key = (self.nodes[node].board, event.what.arg, number.epoch());
            let object = self.objects.entry(key).or_insert_with(Object::new);
            let access = Access::of(self.count, event);
            match &mut object.serial {
                Some(serial) => serial.push(access),
                None => object.early.push(access),
            }
        }
        if !self.has_accesses {
            // A copy of the clock is all that is needed should an access come.
            self.nodes[node].sync.copy_from_slice(clock);
            self.nodes[node].clock.copy_from_slice(clock);
            return each(event, clock);
        }
        self.nodes[node].queue.push_back(Waiting { event: *event, clock: clock.to_vec(), place: self.count });
        self.run(each);
    }

    /// Every log was read again since what was read at `wall` or before, so nothing before that is to come any more.
    pub fn settle(&mut self, wall: u64, each: Each<'_>) {
        self.settled = self.settled.max(Some(wall));
        self.run(each);
        // What still waits, waits for each other: the logs contradict themselves.
        while let Some(node) = self.contradicting() {
            self.give_out(node, Some(Why::Damage(node as u8)), each);
            self.run(each);
        }
    }

    /// How many events and clocks are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.nodes.iter().map(|node| node.queue.len() + node.extra.len()).sum()
    }

    /// What a node knew through objects when it came to event `number`, as far as that is kept.
    #[must_use]
    pub fn known(&self, node: u8, number: u32) -> Option<&[u32]> {
        let node = self.nodes.get(usize::from(node))?;
        node.extra_at(number).map(|extra| extra.clock.as_slice())
    }

    /// Whether the events of a node up to `number` were all given out that came.
    #[must_use]
    pub fn is_past(&self, node: u8, number: u32) -> bool {
        let Some(node) = self.nodes.get(usize::from(node)) else { return true };
        node.queue.front().is_none_or(|waiting| newer(waiting.event.id.number, number))
    }

    /// Whether a board has more than one node: what one node alone can access has the order of that node.
    fn is_shared(&self, node: usize) -> bool {
        nodes_of(&self.header, self.nodes[node].board).nth(1).is_some()
    }

    fn run(&mut self, each: Each<'_>) {
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for node in 0..self.nodes.len() {
                while self.is_ready(node) {
                    self.give_out(node, None, each);
                    goes_on = true;
                }
            }
        }
    }

    /// Whether all that the next event of a node comes after was given out.
    fn is_ready(&mut self, node: usize) -> bool {
        let Some(Waiting { event, clock, place }) = self.nodes[node].queue.front() else { return false };
        let (event, place) = (*event, *place);
        let waits = clock.iter().zip(&self.nodes).enumerate().any(|(other, (known, of))| {
            let is_before = |front: &Waiting| {
                let number = front.event.id.number;
                // What happens between two events is known with the later one.
                if front.event.counts() { !newer(number, *known) } else { newer(*known, number) }
            };
            other != node && *known != 0 && of.queue.front().is_some_and(is_before)
        });
        !waits
            && (event.kind() != EventKind::Access
                || self
                    .next_of(&event)
                    .is_none_or(|next| next.place == place && self.settled.is_some_and(|settled| next.wall <= settled)))
    }

    /// The access of an event's object that is the next; none if the object is no concern of others.
    fn next_of(&mut self, event: &Event) -> Option<Access> {
        let node = &self.nodes[usize::from(event.id.node)];
        let epoch = EventNumber(event.id.number).epoch();
        let (board, nodes) = (node.board, &self.nodes);
        let object = self.objects.get_mut(&(board, event.what.arg, epoch))?;
        let serial = object.serial.get_or_insert_with(|| {
            let begins = |node: u8| nodes.get(usize::from(node)).and_then(|node| node.begins.get(&epoch)).copied();
            Serial::new(nodes_of(&self.header, board).all(|node| begins(node).unwrap_or(true)))
        });
        object.early.drain(..).for_each(|access| serial.push(access));
        serial.next()
    }

    /// A node whose next event waits for what waits for it: nothing that it waits for is still to be read.
    fn contradicting(&mut self) -> Option<usize> {
        let settled = self.settled?;
        let fronts: Vec<(usize, Event)> =
            (0..self.nodes.len()).filter_map(|node| Some((node, self.nodes[node].queue.front()?.event))).collect();
        let may_come = |stream: &mut Self, event: &Event| {
            let next = if event.kind() == EventKind::Access { stream.next_of(event) } else { None };
            event.wall > settled || next.is_some_and(|next| next.wall > settled)
        };
        if fronts.iter().any(|(_, event)| may_come(self, event)) {
            return None;
        }
        fronts.into_iter().min_by_key(|(_, event)| event.wall).map(|(node, _)| node)
    }

    /// Gives out the next event of a node with all that it knows.
    fn give_out(&mut self, node: usize, forced: Option<Why>, each: Each<'_>) {
        let Some(Waiting { mut event, clock: sync, place }) = self.nodes[node].queue.pop_front() else { return };
        let taint = graver(beyond(&event), self.nodes[node].taint.or(forced));
        let mut known = Known { clock: self.nodes[node].clock.clone(), taint };
        merge(&mut known.clock, &sync);
        for other in (0..sync.len()).filter(|other| *other != node) {
            if newer(sync[other], self.nodes[node].sync[other]) {
                let of = &self.nodes[other];
                match of.extra_at(sync[other]) {
                    Some(extra) => known.add(&extra.clock, extra.taint),
                    None if of.is_cut => known.taint = known.taint.or(Some(Why::Unread(other as u8))),
                    None => {}
                }
            }
        }
        if event.kind() == EventKind::Access {
            self.access(&event, place, &mut known);
        }
        let Known { clock, taint } = known;
        event.past = with(event.past, taint);
        let of = &mut self.nodes[node];
        let tells = |at: usize| {
            let told = of.extra.back().map_or(0, |extra| extra.clock[at]);
            newer(clock[at], sync[at]) && newer(clock[at], told)
        };
        let is_news = (0..clock.len()).any(tells) || taint != of.taint;
        if is_news {
            of.extra.push_back(Extra { number: event.id.number, clock: clock.clone(), taint });
        }
        (of.sync, of.clock, of.taint) = (sync, clock, taint);
        each(&event, &self.nodes[node].clock);
        self.forget(node);
    }

    /// What an access knows of those before it, and what those after it will know of it (table 3-2).
    fn access(&mut self, event: &Event, place: usize, known: &mut Known) {
        let epoch = EventNumber(event.id.number).epoch();
        let board = self.nodes[usize::from(event.id.node)].board;
        let Some(object) = self.objects.get_mut(&(board, event.what.arg, epoch)) else { return };
        let access = Access::of(place, event);
        if let Some(serial) = &mut object.serial {
            let missing = serial.take(&access);
            known.taint = known.taint.or(missing.map(Why::NotRecorded));
        }
        let Known { clock, taint } = &object.write;
        known.add(clock, *taint);
        if access.writes {
            let Known { clock, taint } = std::mem::take(&mut object.reads);
            known.add(&clock, taint);
            object.write = known.clone();
        } else {
            object.reads.add(&known.clock, known.taint);
        }
    }

    /// Forgets what every other node knows of a node, and the oldest where there is too much.
    fn forget(&mut self, node: usize) {
        let others = (0..self.nodes.len()).filter(|other| *other != node && self.nodes[*other].board != usize::MAX);
        let known: Vec<u32> = others.map(|other| self.nodes[other].sync[node]).collect();
        let (most, forgets) = (self.most, self.forgets);
        let of = &mut self.nodes[node];
        while let Some(second) = of.extra.get(1).filter(|_| forgets) {
            if known.iter().any(|known| newer(second.number, *known)) {
                break;
            }
            of.extra.pop_front();
        }
        while of.extra.len() > most {
            of.extra.pop_front();
            of.is_cut = true;
        }
    }
}

impl Node {
    /// The last event up to `number` with which the node came to know more.
    fn extra_at(&self, number: u32) -> Option<&Extra> {
        self.extra.iter().rev().find(|extra| !newer(extra.number, number))
    }
}

impl Object {
    fn new() -> Self {
        Self { serial: None, early: Vec::new(), write: Known::default(), reads: Known::default() }
    }
}
