//! Small random runs for tests, and what is true of them by brute force.
use crate::{BoardInfo, History, NameInfo, Sketch};
use proptest::prelude::*;
use std::collections::HashSet;
use stillpoint_core::{Event, EventKind};

/// Something a node does, as it is drawn: node, what, and with whom or which value.
pub type Draw = (usize, u8, usize);

/// A run of a few nodes, with the true order of its events.
pub struct Run {
    /// The run as it was drawn.
    pub sketch: Sketch,
    pub history: History,
    /// For each event of the history, its node, its place there (from 1), and what the node's watch `x` is after it.
    pub events: Vec<(usize, usize, i32)>,
    /// The transitive closure of what nodes do in order and of messages.
    pub before: Vec<Vec<bool>>,
    /// The messages that were taken: send and receive.
    pub messages: Vec<(usize, usize)>,
    pub nodes: usize,
}

/// Two to four nodes called a, b, c, d with tracepoints t0, t1, t2 and a watch x.
pub fn runs(most: usize) -> impl Strategy<Value = Run> {
    let draws = proptest::collection::vec((0..4_usize, 0..8_u8, 0..4_usize), 1..most);
    (2..5_usize, draws).prop_map(|(nodes, draws)| Run::of(nodes, &draws))
}

impl Run {
    pub fn of(nodes: usize, draws: &[Draw]) -> Self {
        let mut sketch = Sketch::new(&["a", "b", "c", "d"][..nodes]);
        let name =
            |kind: &str, number: u16, text: String| NameInfo { kind: kind.into(), number, text, ..NameInfo::default() };
        let traces = (0..3).map(|tag| name("trace", tag, format!("t{tag}")));
        let names = traces.chain([name("watch", 0, "x".into())]).collect();
        sketch.header().boards = vec![BoardInfo { names, ..BoardInfo::default() }];
        for node in &mut sketch.header().nodes {
            node.watches = vec![0];
        }
        let mut waiting = vec![Vec::new(); nodes * nodes];
        let mut drawn: Vec<(usize, i32, Option<usize>)> = Vec::new();
        let mut watches = vec![0; nodes];
        // Of a node without any event nothing is known.
        for node in 0..nodes {
            sketch.local(node, 9);
            drawn.push((node, 0, None));
        }
        for &(node, what, with) in draws {
            let (node, with) = (node % nodes, with % 4);
            let (peer, mut from) = (with % nodes, None);
            match what {
                0..=1 if peer != node => {
                    waiting[node * nodes + peer].push(drawn.len());
                    sketch.send(node, peer);
                }
                2..=4 if peer != node && !waiting[peer * nodes + node].is_empty() => {
                    from = Some(waiting[peer * nodes + node].remove(0));
                    sketch.receive(peer, node);
                }
                5..=6 => {
                    watches[node] = (with % 2) as i32;
                    let value = (with % 2) as u32;
                    sketch.event(node, Event { kind: EventKind::Watch, arg: 0, value });
                }
                _ => {
                    sketch.local(node, (with % 3) as u16);
                }
            }
            drawn.push((node, watches[node], from));
        }
        let history = sketch.history();
        let count = drawn.len();
        let mut before = vec![vec![false; count]; count];
        let (mut place, mut events) = (vec![0; nodes], Vec::new());
        for (at, (node, x, from)) in drawn.iter().enumerate() {
            for other in 0..at {
                let direct = drawn[other].0 == *node || *from == Some(other);
                if direct {
                    before[other][at] = true;
                    for row in &mut before[..other] {
                        row[at] |= row[other];
                    }
                }
            }
            place[*node] += 1;
            events.push((*node, place[*node], *x));
        }
        // The history has an order of its own.
        let index = |at: usize| {
            let (node, place, _) = events[at];
            history.index_of(crate::EventId { node: node as u8, number: place as u32 }).expect("every event is there")
        };
        let to: Vec<usize> = (0..count).map(index).collect();
        let taken = drawn.iter().enumerate().filter_map(|(at, (.., from))| Some((to[(*from)?], to[at])));
        let messages = taken.collect();
        let (places, before_none) = (vec![(0, 0, 0); count], vec![vec![false; count]; count]);
        let mut run = Self { sketch, events: places, before: before_none, messages, nodes, history };
        for at in 0..count {
            run.events[to[at]] = events[at];
            for other in 0..count {
                run.before[to[at]][to[other]] = before[at][other];
            }
        }
        run
    }

    /// The events that are a tracepoint of a node.
    pub fn traces(&self, node: usize, tag: u16) -> Vec<usize> {
        let is = |index: &usize| {
            let event = &self.history.events[*index];
            usize::from(event.id.node) == node && event.what == Event::local(tag)
        };
        (0..self.events.len()).filter(is).collect()
    }

    pub fn concurrent(&self, one: usize, other: usize) -> bool {
        one != other && !self.before[one][other] && !self.before[other][one]
    }

    /// Every consistent cut: how many events of each node are in it.
    pub fn cuts(&self) -> Vec<Vec<usize>> {
        let mut cuts = vec![vec![0; self.nodes]];
        let mut known = HashSet::new();
        let mut at = 0;
        while let Some(cut) = cuts.get(at).cloned() {
            at += 1;
            cuts.extend(self.steps(&cut).into_iter().filter(|next| known.insert(next.clone())));
        }
        cuts
    }

    /// The cuts with one event more.
    pub fn steps(&self, cut: &[usize]) -> Vec<Vec<usize>> {
        let inside = |index: usize| self.events[index].1 <= cut[self.events[index].0];
        let next = |index: &usize| {
            let (node, place, _) = self.events[*index];
            place == cut[node] + 1 && (0..self.events.len()).all(|other| !self.before[other][*index] || inside(other))
        };
        let longer = |index: usize| {
            let mut cut = cut.to_vec();
            cut[self.events[index].0] += 1;
            cut
        };
        (0..self.events.len()).filter(next).map(longer).collect()
    }

    /// What the watch `x` of a node is after so many of its events.
    pub fn x(&self, node: usize, count: usize) -> i32 {
        let found = self.events.iter().find(|(of, place, _)| *of == node && *place == count);
        found.map_or(0, |(.., x)| *x)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.history.events.iter().map(|event| self.history.describe(event))).finish()
    }
}
