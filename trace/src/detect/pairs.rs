//! `A || B`: events that are concurrent.
use super::question::Local;
use super::{Answer, Asked, Detection, Sighting, blind, chain};
use crate::concurrent::{Found, find};
use crate::pattern::{Matches, Sight};
use crate::{History, Shown};

pub(super) fn concurrent(sight: &Sight<'_>, stages: &[Vec<Local>], most: usize, detection: &mut Detection) {
    let history = sight.history;
    let sets: Vec<Matches> = stages.iter().map(|stage| occurrences(sight, stage)).collect();
    let search = find(history, &sets);
    (detection.asked, detection.steps) = (Asked::Concurrent, search.steps);
    let show = |events: &[usize]| Sighting {
        what: String::new(),
        definitely: true,
        events: events.iter().map(|event| Shown::new(history, *event, "")).collect(),
        before_all: Vec::new(),
    };
    let answer = match search.found {
        Found::Certain(events) => {
            match sets.as_slice() {
                [one, other] => {
                    let (first, total) = pairs(history, one, other, most);
                    detection.total = total;
                    detection.found = first.iter().map(|pair| show(pair)).collect();
                }
                _ => (detection.total, detection.found) = (1, vec![show(&events)]),
            }
            Answer::Yes
        }
        Found::Perhaps(why) => {
            detection.reasons.push(why);
            Answer::Unknown
        }
        Found::None => match blind(sight, stages.iter().flatten(), false, true) {
            Some(why) => {
                detection.reasons.push(why);
                Answer::Unknown
            }
            None => Answer::No,
        },
    };
    (detection.possibly, detection.definitely) = (answer, answer);
}

fn occurrences(sight: &Sight<'_>, stage: &[Local]) -> Matches {
    let (chains, _) = chain::chains(sight, std::slice::from_ref(&stage.to_vec()), usize::MAX);
    let mut matches = Matches { of_node: vec![Vec::new(); sight.history.width()], ..Matches::default() };
    for event in chains.into_iter().flatten() {
        matches.events.push(event);
        matches.of_node[usize::from(sight.history.events[event].id.node)].push(event);
    }
    matches
}

/// Pairs that are concurrent for certain: the first, and how many. On each node those that are concurrent with an event
/// stand together, between those before it and those after it.
fn pairs(history: &History, one: &Matches, other: &Matches, most: usize) -> (Vec<[usize; 2]>, u64) {
    let is_known = |event: usize| history.events[event].past.is_known();
    // For each node, how many of its first events have a past that is known: there may be too many pairs to go through.
    let counts: Vec<Vec<u64>> = other
        .of_node
        .iter()
        .map(|events| {
            let mut count = 0;
            [0].into_iter()
                .chain(events.iter().map(|event| {
                    count += u64::from(is_known(*event));
                    count
                }))
                .collect()
        })
        .collect();
    let (mut first, mut total) = (Vec::new(), 0);
    for &event in one.events.iter().filter(|event| is_known(**event)) {
        for (events, counts) in other.of_node.iter().zip(&counts) {
            let from = events.partition_point(|of| history.before(*of, event) || *of == event);
            let until = from + events[from..].partition_point(|of| !history.before(event, *of));
            total += counts[until] - counts[from];
            let room = most - first.len();
            first.extend(events[from..until].iter().filter(|of| is_known(**of)).take(room).map(|of| [event, *of]));
        }
    }
    (first, total)
}
