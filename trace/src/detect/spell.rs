//! For how long something holds on a node.
use super::question::Local;
use crate::local::{Moment, truth, walk};
use crate::pattern::Sight;

/// Which states of a node count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// It holds for certain, and the past of the state is known.
    Certain,
    /// It holds for certain.
    Holds,
    /// It holds, or may hold.
    May,
}

/// A run of states of a node in which something holds. A state lasts from one event to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spell {
    /// The event with which it begins; none if it holds from the beginning.
    pub begins: Option<usize>,
    /// The number of the event with which it ends; none if it does not.
    pub ends: Option<u32>,
    /// An event whose clock is known by the end at the latest.
    pub known_by_end: Option<usize>,
}

/// The spells of a node, in order; whether anything about them is not known.
pub(super) struct Spells {
    pub spells: Vec<Spell>,
    /// Why it is not certain for some states.
    pub unknown: Option<String>,
}

struct Collector {
    open: Option<Spell>,
    spells: Vec<Spell>,
    last: Option<usize>,
}

impl Collector {
    fn state(&mut self, counts: bool, event: Option<usize>, number: u32, known: Option<usize>) {
        match (&self.open, counts) {
            (None, true) => self.open = Some(Spell { begins: event, ends: None, known_by_end: None }),
            (Some(spell), false) => {
                self.spells.push(Spell { ends: Some(number), known_by_end: known, ..*spell });
                self.open = None;
            }
            _ => {}
        }
    }
}

/// Where what is asked of a node holds.
pub(super) fn spells(sight: &Sight<'_>, local: &Local, which: Which) -> Spells {
    let history = sight.history;
    let mut unknown: Option<String> = None;
    let mut collector = Collector { open: None, spells: Vec::new(), last: None };
    let (mut count, mut held, mut fresh) = (0_u32, false, true);
    walk(history, sight.coverage, local.node, &mut |moment| match moment {
        Moment::Hole(hole) if hole.until.is_none() => {
            if hole.is_inside() {
                unknown.get_or_insert_with(|| sight.coverage.say(history, local.node, hole));
                let (last, number) = (collector.last, hole.after.map_or(0, |after| after.wrapping_add(1)));
                collector.state(which == Which::May, last, number, last);
            }
        }
        Moment::Hole(hole) => {
            let hidden = local.terms.iter().any(|term| sight.coverage.may_hide(local.node, hole, &term.what));
            if hidden {
                unknown.get_or_insert_with(|| sight.coverage.say(history, local.node, hole));
                let number = hole.after.map_or(0, |after| after.wrapping_add(1));
                let last = collector.last;
                collector.state(which == Which::May, last, number, last);
                held = false;
            }
            fresh = false;
        }
        Moment::Event { index, watches } => {
            let event = &history.events[index];
            if std::mem::take(&mut fresh) {
                // Before its first event nothing has happened and every watch is 0.
                let initial = !local.is_event() && local.nth.is_none() && initially(sight, local, index);
                collector.state(initial, None, 0, None);
            }
            let (mut now, mut refuted) = (Some(true), false);
            for term in &local.terms {
                match truth(term, history, index, watches) {
                    Some(true) => {}
                    Some(false) => refuted = true,
                    None => now = None,
                }
            }
            // One part that does not hold is enough, whatever is not known of the others.
            let now = if refuted { Some(false) } else { now };
            if now.is_none() {
                let why = || format!("what {} watches is not known at first", history.node_name(local.node));
                unknown.get_or_insert_with(why);
            }
            let occurs = now == Some(true) && (local.is_event() || !held);
            count += u32::from(occurs);
            held = now == Some(true);
            let right = local.nth.is_none_or(|nth| count == u32::from(nth));
            let counts = match which {
                Which::Certain => now == Some(true) && right && event.past.is_known(),
                Which::Holds => now == Some(true) && right,
                Which::May => now != Some(false) && (right || unknown.is_some()),
            };
            if counts && local.is_event() {
                // A single event: the state before it, even if of the same kind, is another.
                collector.state(false, None, event.id.number, Some(index));
            }
            collector.state(counts, Some(index), event.id.number, Some(index));
            collector.last = Some(index);
        }
    });
    let Collector { open, mut spells, .. } = collector;
    spells.extend(open);
    Spells { spells, unknown }
}

/// Whether it holds before the node's first event.
fn initially(sight: &Sight<'_>, local: &Local, first: usize) -> bool {
    let zeroes = vec![Some(0); sight.history.header.node(local.node).map_or(0, |node| node.watches.len())];
    let reads_place = |term: &crate::expr::Term| match &term.what {
        crate::expr::Match::Condition(formula) => formula.reads_place(),
        crate::expr::Match::Event { .. } => true,
    };
    !local.terms.iter().any(reads_place)
        && local.terms.iter().all(|term| truth(term, sight.history, first, &zeroes) == Some(true))
}
