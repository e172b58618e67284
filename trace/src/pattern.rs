//! Sets of events, as models and expressions name them.
use crate::coverage::{Coverage, Hole, Lack};
use crate::expr::{Match, Term};
use crate::local::{Moment, is_beyond, truth, walk};
use crate::order::clock::newer;
use crate::{EventId, History};
use std::collections::HashMap;
use stillpoint_core::NodeId;

/// Which events of a trace are looked at; all others only carry order.
pub type Only<'a> = &'a dyn Fn(usize) -> bool;

/// A trace as checks look at it.
pub(crate) struct Sight<'a> {
    pub history: &'a History,
    pub coverage: &'a Coverage,
    pub only: Only<'a>,
}

/// A set of events: those at which any of its terms occurs.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// As it is written.
    pub text: String,
    /// The terms; with a number if only that occurrence counts.
    pub terms: Vec<(Term, Option<u16>)>,
    /// Its occurrences are counted by a variable: which, and what is added to it.
    pub index: Option<(String, i64)>,
}

/// See [`Pattern::key`].
pub(crate) type PatternKey = (Vec<(NodeId, Match, Option<u16>)>, Option<(String, i64)>);

/// The events of a trace that a pattern names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    /// In the order of the trace.
    pub events: Vec<usize>,
    /// The same for each node.
    pub of_node: Vec<Vec<usize>>,
    /// Which occurrence on its node each of them is, from 1.
    pub ordinal: HashMap<usize, i64>,
    /// Why it is not certain which occurrence is the one that is asked for.
    pub unsure: Option<String>,
}

impl Pattern {
    /// What is equal for patterns that name the same events, however they are written.
    pub fn key(&self) -> PatternKey {
        let terms = self.terms.iter().map(|(term, nth)| (term.node, term.what.clone(), *nth)).collect();
        (terms, self.index.clone())
    }

    /// The nodes on which it may occur.
    pub fn nodes(&self) -> Vec<u8> {
        let mut nodes: Vec<u8> = self.terms.iter().map(|(term, _)| term.node.0).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    pub fn find(&self, sight: &Sight<'_>) -> Matches {
        let mut matches = Matches { of_node: vec![Vec::new(); sight.history.width()], ..Matches::default() };
        for (term, nth) in &self.terms {
            let (mut before, mut count) = (Some(false), 0_u32);
            let is_event = matches!(term.what, Match::Event { .. });
            walk(sight.history, sight.coverage, term.node.0, &mut |moment| match moment {
                Moment::Hole(hole) => {
                    let asked = nth.is_some_and(|nth| count < u32::from(nth)) || self.index.is_some();
                    let counts = asked && (hole.is_inside() || hole.after.is_none());
                    if counts && sight.coverage.may_hide(term.node.0, hole, &term.what) {
                        let why = sight.coverage.say(sight.history, term.node.0, hole);
                        matches.unsure.get_or_insert(format!("which is the n-th is not certain: {why}"));
                    }
                    if !is_event {
                        before = None;
                    }
                }
                Moment::Event { index, watches } => {
                    let now = truth(term, sight.history, index, watches);
                    let occurs = now == Some(true) && (is_event || before != Some(true));
                    before = now;
                    count += u32::from(occurs);
                    if occurs && nth.is_none_or(|nth| count == u32::from(nth)) && (sight.only)(index) {
                        matches.events.push(index);
                        matches.ordinal.insert(index, count.into());
                    }
                }
            });
        }
        matches.events.sort_unstable();
        matches.events.dedup();
        for index in &matches.events {
            matches.of_node[usize::from(sight.history.events[*index].id.node)].push(*index);
        }
        matches
    }

    /// Why more of its events may have happened within the recording than are in it.
    pub fn missing(&self, sight: &Sight<'_>) -> Option<String> {
        self.hidden(sight, Hole::is_inside).or_else(|| sight.coverage.damage.clone())
    }

    /// Why it may have happened although the trace has no event of it: that nothing was checked would prove nothing.
    pub fn missing_at_all(&self, sight: &Sight<'_>) -> Option<String> {
        self.hidden(sight, |hole| hole.lack != Lack::After)
    }

    fn hidden(&self, sight: &Sight<'_>, counts: impl Fn(&Hole) -> bool) -> Option<String> {
        self.terms.iter().find_map(|(term, _)| {
            let node = term.node.0;
            let mut holes = sight.coverage.holes(node).iter();
            let hole = holes.find(|hole| counts(hole) && sight.coverage.may_hide(node, hole, &term.what))?;
            Some(sight.coverage.say(sight.history, node, hole))
        })
    }

    /// Why one of its events may have happened before the one at `index`, although none is known to.
    pub fn missing_before(&self, sight: &Sight<'_>, index: usize) -> Option<String> {
        self.terms.iter().find_map(|(term, _)| {
            let node = term.node.0;
            let known = *sight.history.clock(index).get(usize::from(node))?;
            let reaches = |hole: &&Hole| hole.reaches(known) || hole.lack == Lack::Everything;
            let mut holes = sight.coverage.holes(node).iter().filter(reaches);
            let hole = holes.find(|hole| sight.coverage.may_hide(node, hole, &term.what))?;
            Some(sight.coverage.say(sight.history, node, hole))
        })
    }
}

impl Matches {
    /// The last of its events on a node that is known to have happened before the one at `index`.
    pub fn last_before(&self, history: &History, node: usize, index: usize) -> Option<usize> {
        let of_node = self.of_node.get(node)?;
        let count = of_node.partition_point(|event| history.before(*event, index));
        count.checked_sub(1).map(|at| of_node[at])
    }

    /// Any of its events that is known to have happened before the one at `index`.
    pub fn any_before(&self, history: &History, index: usize) -> Option<usize> {
        (0..self.of_node.len()).find_map(|node| self.last_before(history, node, index))
    }

    /// Whether the given occurrence of it on some node is known to have happened before the one at `index`.
    pub fn occurrence_before(&self, history: &History, ordinal: i64, index: usize) -> bool {
        let mut these = self.events.iter().filter(|event| self.ordinal[*event] == ordinal);
        these.any(|event| history.before(*event, index))
    }
}

/// What there is to say of a trace as a whole.
pub(crate) fn notes(history: &History) -> Vec<String> {
    let beyond = history.events.iter().filter(|event| is_beyond(event)).count();
    let left_out = format!(
        "{beyond} events at the end are left out: they come after messages that were sent after the recording of their sender ended"
    );
    let notes = history.notes().iter().map(|note| note.say(&history.header));
    notes.chain((beyond > 0).then_some(left_out)).collect()
}

/// The last event of a node up to a number.
pub(crate) fn last_up_to(history: &History, node: u8, number: u32) -> Option<usize> {
    let places = history.of_node(node);
    let count = places.partition_point(|place| !newer(history.events[*place as usize].id.number, number));
    places[..count].iter().rev().map(|place| *place as usize).find(|place| history.events[*place].counts())
}

/// The first recorded event of a node with a number, if it is there.
pub(crate) fn at(history: &History, node: u8, number: u32) -> Option<usize> {
    history.index_of(EventId { node, number })
}
