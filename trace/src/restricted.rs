//! A part of a history with the order that the whole gives it (Hyder 6.3.1, table 6-4).
use crate::order::clock::newer;
use crate::{Event, History};
use serde::Serialize;
use stillpoint_core::EventKind;

/// The part of a history that a view shows. Places count what is shown.
#[derive(Clone, Debug)]
pub struct Restricted<'a> {
    /// The whole.
    pub history: &'a History,
    shown: Vec<usize>,
    of_node: Vec<Vec<usize>>,
}

/// What an edge between two shown events stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The next shown event of the same node.
    Step,
    /// A message: from its send to its receive.
    Message,
    /// A dependence through a shared object: an access, and a later one of another node that at least one of writes.
    Data,
    /// Order between two nodes that comes from events or messages that are not shown.
    Hidden,
}

/// An edge between two shown events, as places in what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The earlier event.
    pub from: usize,
    /// The later event.
    pub to: usize,
    /// What it stands for.
    pub kind: EdgeKind,
}

impl<'a> Restricted<'a> {
    /// The events at `shown`, which ascend.
    #[must_use]
    pub fn new(history: &'a History, shown: Vec<usize>) -> Self {
        let mut of_node = vec![Vec::new(); history.width()];
        for (at, place) in shown.iter().enumerate() {
            of_node[usize::from(history.events[*place].id.node)].push(at);
        }
        Self { history, shown, of_node }
    }

    /// How many events are shown.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether nothing is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// What is shown, in causal order.
    pub fn events(&self) -> impl Iterator<Item = &'a Event> {
        let history = self.history;
        self.shown.iter().map(move |place| &history.events[*place])
    }

    /// The places in the whole history, in order.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.shown
    }

    /// The shown events of a node, in order.
    #[must_use]
    pub fn of_node(&self, node: u8) -> &[usize] {
        self.of_node.get(usize::from(node)).map_or(&[], Vec::as_slice)
    }

    /// Whether one shown event is known to have happened before another, through whatever is hidden.
    #[must_use]
    pub fn before(&self, a: usize, b: usize) -> bool {
        self.history.before(self.shown[a], self.shown[b])
    }

    /// The shown events that happened right before one: before it, and before no other shown event that is (table 6-4).
    #[must_use]
    pub fn predecessors(&self, at: usize) -> Vec<usize> {
        let last_known: Vec<usize> = self.of_node.iter().filter_map(|places| self.last_before(places, at)).collect();
        let covered = |one: &&usize| last_known.iter().any(|other| self.before(**one, *other));
        let mut found: Vec<usize> = last_known.iter().filter(|one| !covered(one)).copied().collect();
        found.sort_unstable();
        found
    }

    /// The edges of a picture, by their later ends: to each shown event from the one before it on its node, from its send, from
    /// the accesses that it depends on, and from every other [predecessor](Self::predecessors). They imply all of the order and nothing else.
    #[must_use]
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.len());
        let mut last: Vec<Option<usize>> = vec![None; self.of_node.len()];
        for to in 0..self.len() {
            let event = &self.history.events[self.shown[to]];
            let before = last[usize::from(event.id.node)].replace(to);
            let send = event.partner.filter(|_| event.kind() == EventKind::Receive);
            let send = send.and_then(|send| self.shown.binary_search(&self.history.index_of(send)?).ok());
            let start = edges.len();
            let edge = |kind| move |from| Edge { from, to, kind };
            edges.extend(before.map(edge(EdgeKind::Step)));
            edges.extend(send.map(edge(EdgeKind::Message)));
            let through = self.history.accesses_before(self.shown[to]).iter();
            let through: Vec<usize> = through.filter_map(|from| self.shown.binary_search(from).ok()).collect();
            edges.extend(through.iter().copied().map(edge(EdgeKind::Data)));
            // Who learned nothing since its last shown event has no other predecessor.
            if before.is_none_or(|before| self.learned(before, to)) {
                let other = |from: &usize| Some(*from) != before && Some(*from) != send && !through.contains(from);
                edges.extend(self.predecessors(to).into_iter().filter(other).map(edge(EdgeKind::Hidden)));
            }
            edges[start..].sort_unstable();
        }
        edges
    }

    /// Whether a node knows more of others at `to` than at `before`.
    fn learned(&self, before: usize, to: usize) -> bool {
        let mine = usize::from(self.history.events[self.shown[to]].id.node);
        let clock = |at: usize| self.history.clock(self.shown[at]);
        let mut entries = clock(before).iter().zip(clock(to)).enumerate();
        entries.any(|(node, (earlier, later))| node != mine && earlier != later)
    }

    /// The latest of a node's shown events that happened before one.
    fn last_before(&self, places: &[usize], at: usize) -> Option<usize> {
        let node = self.history.events[self.shown[*places.first()?]].id.node;
        let this = self.history.events[self.shown[at]].id;
        let known = self.history.clock(self.shown[at])[usize::from(node)];
        let until = if node == this.node {
            places.partition_point(|place| *place < at)
        } else {
            places.partition_point(|place| !newer(self.history.events[self.shown[*place]].id.number, known))
        };
        // A halt has the number of the event it came after, and may come after what is known.
        places[..until].iter().rev().copied().find(|place| self.before(*place, at))
    }
}
