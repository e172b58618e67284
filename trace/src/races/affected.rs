//! Which races can only happen because of another (Hyder 3.6, after Netzer and Miller).
//!
//! A race affects another if what it accessed flowed into it: one of its two accesses happened before one of the other's, by
//! causality. Two races that affect each other are equally first.
use super::Race;
use crate::{EventId, History};

/// Marks the races that others affect, and puts those that none affects first.
pub(super) fn mark(history: &History, races: &mut Vec<Race>) {
    if races.len() < 2 {
        return;
    }
    let history = history.clone().causality();
    let ends: Vec<[EventId; 2]> = races.iter().map(|race| [race.first.event, race.second.event]).collect();
    let before = |one: &EventId, other: &EventId| {
        let places = (history.index_of(*one), history.index_of(*other));
        one == other || matches!(places, (Some(one), Some(other)) if history.before(one, other))
    };
    // Both are over before an end of the other: what they left behind went into it.
    let affects =
        |one: usize, other: usize| ends[other].iter().any(|end| ends[one].iter().all(|mine| before(mine, end)));
    let strictly = |one: usize, other: usize| one != other && affects(one, other) && !affects(other, one);
    let first: Vec<usize> =
        (0..races.len()).filter(|race| !(0..races.len()).any(|other| strictly(other, *race))).collect();
    let by = |race: usize| first.iter().copied().find(|other| strictly(*other, race));
    // First ones first; then the rest in the order that they have.
    let mut order = first.clone();
    order.extend((0..races.len()).filter(|race| !first.contains(race)));
    let number = |race: usize| order.iter().position(|other| *other == race).map(|at| at + 1);
    let marked: Vec<Race> =
        order.iter().map(|race| Race { affected_by: by(*race).and_then(number), ..races[*race].clone() }).collect();
    *races = marked;
}
