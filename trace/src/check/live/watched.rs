//! What is kept of the nodes and of the events that checks ask for.
use crate::Event;
use crate::expr::{Match, Surroundings, Term};
use crate::order::clock::newer;
use crate::pattern::Pattern;
use std::collections::VecDeque;
use stillpoint_core::{EventKind, EventNumber};

/// What one node was seen to do.
#[derive(Clone, Default)]
pub(super) struct NodeState {
    pub last: Option<u32>,
    /// Something of its log is missing.
    pub doubtful: bool,
    pub watches: Vec<Option<i32>>,
    pub clock: Vec<u32>,
}

/// A pattern and what is kept of its events.
pub(super) struct Watched {
    pub pattern: Pattern,
    pub terms: Vec<TermState>,
    /// The events that are kept: node, number, occurrence.
    pub kept: VecDeque<(u8, u32, i64)>,
}

#[derive(Clone, Copy)]
pub(super) struct TermState {
    pub before: Option<bool>,
    pub count: i64,
}

impl Watched {
    pub fn new(pattern: Pattern) -> Self {
        let terms = vec![TermState { before: Some(false), count: 0 }; pattern.terms.len()];
        Self { pattern, terms, kept: VecDeque::new() }
    }

    /// Whether the event is one of the pattern, and its occurrence on its node.
    pub fn occurs(&mut self, event: &Event, state: &NodeState) -> Option<i64> {
        let mut found = None;
        for ((term, nth), seen) in self.pattern.terms.iter().zip(&mut self.terms) {
            if term.node.0 != event.id.node {
                continue;
            }
            let now = holds(term, event, state);
            let is_event = matches!(term.what, Match::Event { .. });
            let occurs = now == Some(true) && (is_event || seen.before != Some(true));
            seen.before = now;
            seen.count += i64::from(occurs);
            if occurs && nth.is_none_or(|nth| seen.count == i64::from(nth)) {
                found = found.or(Some(seen.count));
            }
        }
        found
    }

    pub fn is_doubtful(&self, nodes: &[NodeState]) -> bool {
        self.pattern.terms.iter().any(|(term, _)| nodes.get(usize::from(term.node.0)).is_none_or(|node| node.doubtful))
    }

    /// Whether an event that is kept, of this occurrence if one is asked for, happened before another.
    pub fn any_before(&self, ordinal: Option<i64>, event: &Event, clock: &[u32]) -> bool {
        self.kept.iter().any(|(node, number, nth)| {
            let is_before = *node == event.id.node || !newer(*number, clock[usize::from(*node)]);
            is_before && ordinal.is_none_or(|ordinal| ordinal == *nth)
        })
    }
}

fn holds(term: &Term, event: &Event, state: &NodeState) -> Option<bool> {
    match &term.what {
        Match::Event { kind, arguments } => {
            Some(event.kind() == *kind && (arguments.is_empty() || arguments.contains(&event.what.arg)))
        }
        Match::Condition(formula) => {
            let mut unknown = false;
            let watch = |watch: u8| state.watches.get(usize::from(watch)).copied().flatten();
            let reads_others = formula.reads(&mut |of| unknown |= watch(of).is_none());
            if unknown || reads_others && !event.past.is_known() {
                return None;
            }
            let watches: Vec<i32> = state.watches.iter().map(|value| value.unwrap_or(0)).collect();
            let clock: Vec<EventNumber> = state.clock.iter().map(|number| EventNumber(*number)).collect();
            let number = EventNumber(event.id.number);
            Some(formula.holds(&Surroundings { watches: &watches, number, clock: &clock }))
        }
    }
}

impl NodeState {
    pub fn take(&mut self, event: &Event, clock: &[u32]) {
        let begins = event.id.count() <= 1 || event.kind() == EventKind::Reset;
        let is_next = self.last.map_or(begins, |last| event.id.number == last.wrapping_add(1));
        if !is_next {
            self.doubtful = true;
            self.watches.fill(None);
        }
        self.last = Some(event.id.number);
        self.clock = clock.to_vec();
        match event.kind() {
            EventKind::Watch => {
                let watch = usize::from(event.what.arg);
                if watch >= self.watches.len() {
                    self.watches.resize(watch + 1, None);
                }
                self.watches[watch] = Some(event.what.value as i32);
            }
            EventKind::Reset => self.watches.fill(Some(0)),
            _ => {}
        }
    }
}
