//! Races: accesses of one shared object, at least one of them a write, that nothing in the program puts in order.
//!
//! Order is what messages and calls make of it (Hyder's flow order), rebuilt from the logs. The order in which the lock of an
//! object let accesses through is not part of it: that order is this run's, and is told with each race, not held against it
//! (3.4, 3.6). Where a log has a gap, two accesses may be ordered by what is missing; those are told apart.
//!
//! A racing loop makes millions of pairs from two lines of source. So pairs are counted by the two places, and the first
//! of them is shown.
mod affected;
mod concurrent;
#[cfg(test)]
mod tests;

use crate::coverage::Coverage;
use crate::expr::Match;
use crate::{EventId, History};
pub(crate) use concurrent::Accesses;
use serde::Serialize;
use std::collections::BTreeMap;
use stillpoint_core::EventKind;
use stillpoint_core::shared::{AccessKind, AccessValue};

/// The races of a trace.
///
/// # Example: a write and a read without a message between them
/// ```
/// use stillpoint_core::{Event, EventKind};
/// use stillpoint_trace::{Sketch, races::Races};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.event(0, Event { kind: EventKind::Access, arg: 5, value: 1 });
/// sketch.event(1, Event { kind: EventKind::Access, arg: 5, value: 0 });
/// let races = Races::of(&sketch.history());
/// assert_eq!(races.races.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Races {
    /// Each pair of places whose accesses race, in the order of their first pairs; those that no other affects come first.
    pub races: Vec<Race>,
    /// Objects that were accessed.
    pub objects: usize,
    /// Accesses of them.
    pub accesses: usize,
    /// Where accesses may be missing, node by node: of those nothing can be told.
    pub unseen: Vec<String>,
}

/// Two places in the source whose accesses of an object race, with the first pair of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Race {
    /// The object's name, or its number if it has none.
    pub object: String,
    /// The board it is on.
    pub board: String,
    /// Nothing orders them. If not: nothing that is known does, and something that led to one of them is not known.
    pub certain: bool,
    /// How many pairs of events race so.
    pub pairs: u64,
    /// The one that had the object first in this run.
    pub first: Side,
    /// The other.
    pub second: Side,
    /// Which race, counted from 1 in the list of all, may be the only reason for this one: what it accessed flowed into both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affected_by: Option<usize>,
}

/// One of two accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Which event.
    pub event: EventId,
    /// Whose.
    pub node: String,
    /// Whether it writes.
    pub writes: bool,
    /// The line of source; none if the firmware does not say.
    pub place: Option<String>,
    /// What it knows of every node that it knows anything of.
    pub clock: Vec<(String, u32)>,
    /// The node found on the target that this access races with an earlier one.
    pub found_on_target: bool,
}

/// An object: which board, which number, and in which life of the board: a reset makes it anew.
pub(crate) type ObjectKey = (usize, u16, usize);

/// What accesses have in common that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    kind: AccessKind,
    place: u16,
    known: bool,
}

impl Races {
    /// Finds them.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let objects = objects(history);
        let mut found: Vec<((usize, usize), Race)> = Vec::new();
        for ((board, number, _), of_nodes) in &objects {
            let mut groups = BTreeMap::new();
            for (index, one) in of_nodes.iter().enumerate() {
                for other in &of_nodes[..index] {
                    concurrent::each(history, one, other, |access, class, with, others| {
                        if class.kind.conflicts(with.kind) {
                            let key = (one.node, class.place, class.kind, other.node, with.place, with.kind);
                            let known = class.known && with.known;
                            let group = groups.entry((key, !known)).or_insert((access, others[0], 0));
                            group.2 += others.len() as u64;
                        }
                    });
                }
            }
            for ((_, uncertain), (one, other, pairs)) in groups {
                let (first, second) = if had_first(history, one, other) { (one, other) } else { (other, one) };
                let race = Race {
                    object: object_name(history, first, *number),
                    board: history
                        .header
                        .boards
                        .get(*board)
                        .map_or_else(|| board.to_string(), |board| board.name.clone()),
                    certain: !uncertain,
                    pairs,
                    first: Side::of(history, first),
                    second: Side::of(history, second),
                    affected_by: None,
                };
                found.push(((first.max(second), first), race));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        let mut races: Vec<Race> = found.into_iter().map(|(_, race)| race).collect();
        affected::mark(history, &mut races);
        let counted =
            objects.keys().map(|(board, number, _)| (board, number)).collect::<std::collections::BTreeSet<_>>();
        Self {
            races,
            objects: counted.len(),
            accesses: objects.values().flatten().map(|of_node| of_node.places.len()).sum(),
            unseen: unseen(history),
        }
    }

    /// Whether any are certain.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.races.iter().any(|race| race.certain)
    }
}

/// Where the log of a node has a hole in which there may be accesses, the first hole of each. That a recording began late
/// or ended is no hole: it tells of what lies between.
fn unseen(history: &History) -> Vec<String> {
    let coverage = Coverage::of(history);
    let access = Match::Event { kind: EventKind::Access, arguments: Vec::new() };
    let hides = |node: u8| {
        let hole = coverage.holes(node).iter().find(|hole| hole.is_inside() && coverage.may_hide(node, hole, &access));
        hole.map(|hole| coverage.say(history, node, hole))
    };
    history.header.nodes.iter().filter_map(|node| hides(node.id)).collect()
}

/// The accesses of each object, node by node.
pub(crate) fn objects(history: &History) -> BTreeMap<ObjectKey, Vec<Accesses>> {
    let mut objects: BTreeMap<ObjectKey, Vec<Accesses>> = BTreeMap::new();
    for node in (0..history.width()).map(|node| node as u8) {
        let board = history.header.node(node).map_or(usize::from(node), |info| info.board);
        // Counted from the end: all cores of a board start together, and a recording may begin at any time.
        let mut life = 0;
        for place in history.of_node(node).iter().rev().map(|place| *place as usize) {
            let event = &history.events[place];
            match event.kind() {
                EventKind::Reset => life += 1,
                EventKind::Access => {
                    let of_nodes = objects.entry((board, event.what.arg, life)).or_default();
                    if of_nodes.last().is_none_or(|last| last.node != node) {
                        of_nodes.push(Accesses::new(node));
                    }
                    if let Some(accesses) = of_nodes.last_mut() {
                        accesses.places.push(place);
                    }
                }
                _ => {}
            }
        }
    }
    for accesses in objects.values_mut().flatten() {
        accesses.places.reverse();
        accesses.sort_into_classes(history);
    }
    objects
}

fn value(history: &History, place: usize) -> AccessValue {
    AccessValue::from_bits(history.events[place].what.value)
}

/// Whether `one` had the object before `other`: by the board's counter, and within a tick by the object's version.
fn had_first(history: &History, one: usize, other: usize) -> bool {
    let times = (history.events[one].time, history.events[other].time);
    if let (Some(one), Some(other)) = times
        && one != other
    {
        return one < other;
    }
    let (one, other) = (value(history, one), value(history, other));
    let versions = AccessValue::VERSIONS as u8;
    match (other.version + versions - one.version) % versions {
        // The write that made the version comes before the reads of it.
        0 => one.kind == AccessKind::Write,
        ahead => ahead < versions / 2,
    }
}

fn object_name(history: &History, place: usize, number: u16) -> String {
    let node = history.events[place].id.node;
    history.header.text(node, "shared", number).map_or_else(|| number.to_string(), str::to_owned)
}

impl Side {
    fn of(history: &History, place: usize) -> Self {
        let event = &history.events[place];
        let AccessValue { kind, race, .. } = value(history, place);
        let clock = history.clock(place).iter().enumerate().filter(|(_, known)| **known != 0);
        Self {
            event: event.id,
            node: history.node_name(event.id.node),
            writes: kind == AccessKind::Write,
            place: history.header.place(event.id.node, &event.what).map(str::to_owned),
            clock: clock.map(|(node, known)| (history.node_name(node as u8), *known)).collect(),
            found_on_target: race,
        }
    }
}

impl Race {
    /// What shows it in a picture.
    #[must_use]
    pub fn evidence(&self) -> crate::show::Evidence {
        let event = |side: &Side| {
            let kind = if side.writes { "write" } else { "read" };
            (side.event, format!("{kind}{}", side.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default()))
        };
        let what = format!("race on {} of board {}", self.object, self.board);
        crate::show::Evidence { what, events: vec![event(&self.first), event(&self.second)], unordered: true }
    }
}
