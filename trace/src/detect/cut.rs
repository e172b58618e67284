//! Conjunctions over several nodes: possibly and definitely (Garg & Waldecker 1994 and 1996).
//!
//! Both look at spells: runs of states of one node in which its part holds. *Possibly*: some consistent cut lies in a spell
//! of every node; it does unless one spell ends before another begins. *Definitely*: every order in which it can have
//! happened passes through such a cut; it does if every spell begins before any other ends. A spell that does not fit can
//! never fit with what follows in the other's node, so it is passed over: no pair is compared more than once for every spell.
use super::question::Local;
use super::spell::{Spell, Which, spells};
use crate::History;
use crate::local::is_beyond;
use crate::order::clock::{merge, newer};
use crate::pattern::Sight;

/// A spell of each node that fit together.
pub(super) type Fit = Vec<Spell>;

/// What is known of one conjunction.
pub(super) struct Cuts {
    pub possibly: Option<Fit>,
    pub definitely: Option<Fit>,
    /// Why there may be more than was found.
    pub unknown: Option<String>,
    /// Whether it may be possible, if it is not certain that it is.
    pub may_be: bool,
    pub steps: u64,
}

pub(super) fn search(sight: &Sight<'_>, locals: &[Local]) -> Cuts {
    let history = sight.history;
    let mut steps = 0;
    let mut unknown = None;
    let mut of = |which: Which| -> Vec<Vec<Spell>> {
        locals
            .iter()
            .map(|local| {
                let found = spells(sight, local, which);
                unknown = unknown.take().or(found.unknown);
                found.spells
            })
            .collect()
    };
    let nodes: Vec<u8> = locals.iter().map(|local| local.node).collect();
    let possibly = fit(&nodes, &of(Which::Certain), &mut steps, |one, other| misses(history, &nodes, one, other));
    let definitely = fit(&nodes, &of(Which::Holds), &mut steps, |one, other| escapes(history, &nodes, one, other));
    let may = of(Which::May);
    let unknown = unknown.or_else(|| unknown_past(history, &nodes)).or_else(|| sight.coverage.damage.clone());
    let may_be = possibly.is_none()
        && unknown.is_some()
        && fit(&nodes, &may, &mut steps, |one, other| misses(history, &nodes, one, other)).is_some();
    Cuts { possibly, definitely, unknown, may_be, steps }
}

/// The first event of these nodes of whose past something is not known.
fn unknown_past(history: &History, nodes: &[u8]) -> Option<String> {
    let within = |event: &&crate::Event| nodes.contains(&event.id.node) && !is_beyond(event);
    history.events.iter().filter(within).find_map(|event| match event.past {
        crate::Past::Unknown { why } => Some(why.say(history.node_name(why.node()))),
        crate::Past::Known => None,
    })
}

type Placed<'a> = (usize, &'a Spell);

/// Whether `one` ends before `other` begins.
fn misses(history: &History, nodes: &[u8], one: Placed<'_>, other: Placed<'_>) -> bool {
    let (Some(ends), Some(begins)) = (one.1.ends, other.1.begins) else { return false };
    !newer(ends, history.clock(begins)[usize::from(nodes[one.0])])
}

/// Whether `one` may end before `other` begins: the end does not know of the beginning.
fn escapes(history: &History, nodes: &[u8], one: Placed<'_>, other: Placed<'_>) -> bool {
    let (Some(begins), Some(_)) = (other.1.begins, one.1.ends) else { return false };
    let Some(end) = one.1.known_by_end else { return true };
    newer(history.events[begins].id.number, history.clock(end)[usize::from(nodes[other.0])])
}

/// The first spells, one of each node, of which none is too early for another.
fn fit(
    nodes: &[u8],
    spells: &[Vec<Spell>],
    steps: &mut u64,
    too_early: impl Fn(Placed<'_>, Placed<'_>) -> bool,
) -> Option<Fit> {
    let mut at = vec![0; nodes.len()];
    let mut waiting = vec![true; nodes.len()];
    let mut queue: Vec<usize> = (0..nodes.len()).collect();
    while let Some(one) = queue.pop() {
        waiting[one] = false;
        let mine = spells[one].get(at[one])?;
        for other in (0..nodes.len()).filter(|other| *other != one) {
            if waiting[other] {
                continue;
            }
            let theirs = spells[other].get(at[other])?;
            *steps += 1;
            let late = if too_early((one, mine), (other, theirs)) {
                one
            } else if too_early((other, theirs), (one, mine)) {
                other
            } else {
                continue;
            };
            at[late] += 1;
            waiting[late] = true;
            queue.push(late);
            if late == one {
                break;
            }
        }
    }
    spells.iter().zip(at).map(|(spells, at)| spells.get(at).copied()).collect()
}

/// The earliest consistent cut that lies in these spells: the last event of every node in it.
pub(super) fn earliest(history: &History, fit: &Fit) -> Vec<u32> {
    let mut cut = vec![0; history.width()];
    for begins in fit.iter().filter_map(|spell| spell.begins) {
        merge(&mut cut, history.clock(begins));
    }
    cut
}
