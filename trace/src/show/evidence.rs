//! The part of a diagram that shows a finding: its events, what they know of each node, and what lies between them.
use super::Selection;
use crate::pattern::last_up_to;
use crate::{EventId, History};
use std::collections::{BTreeMap, BTreeSet};

/// What a finding is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The finding in words.
    pub what: String,
    /// Its events, each with what it has to do with the finding and its line of source.
    pub events: Vec<(EventId, String)>,
    /// The finding is that nothing orders its first event and the others.
    pub unordered: bool,
}

/// Events shown before a highlighted one on its node, and before what it knows of every other node.
const BEFORE: usize = 3;
/// Events shown after a highlighted one on its node.
const AFTER: usize = 2;
/// Events between two highlighted ones that are shown.
const BETWEEN: usize = 40;

/// The events around some findings, with those of the findings highlighted.
///
/// # Example: two sends that nothing orders
/// ```
/// use stillpoint_trace::Sketch;
/// use stillpoint_trace::show::{Evidence, evidence, svg};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// let (one, other) = (sketch.send(0, 1), sketch.send(1, 0));
/// let history = sketch.history();
/// let events = vec![(one, "src/main.rs:3".into()), (other, "src/main.rs:9".into())];
/// let found = Evidence { what: "both send at once".into(), events, unordered: true };
/// let picture = svg(&history, &evidence(&history, &[found]), "both send at once");
/// assert!(picture.svg.contains("unordered") && picture.svg.contains("src/main.rs:9"));
/// ```
#[must_use]
pub fn evidence(history: &History, found: &[Evidence]) -> Selection {
    let mut places = BTreeSet::new();
    let mut marked: BTreeMap<usize, String> = BTreeMap::new();
    let mut unordered = Vec::new();
    for one in found {
        let of = |(id, text): &(EventId, String)| Some((history.index_of(*id)?, text.clone()));
        let events: Vec<(usize, String)> = one.events.iter().filter_map(of).collect();
        for (place, text) in &events {
            add_around(history, *place, &mut places);
            marked.entry(*place).or_insert_with(|| text.clone());
        }
        for pair in events.windows(2) {
            let (first, last) = (pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0));
            let lies = |place: &usize| history.before(first, *place) && history.before(*place, last);
            places.extend((first..last).filter(lies).take(BETWEEN));
        }
        if let Some(((first, _), others)) = events.split_first().filter(|_| one.unordered) {
            let apart = others.iter().map(|(other, _)| *other);
            let apart = apart.filter(|other| !history.before(*first, *other) && !history.before(*other, *first));
            unordered.extend(apart.filter(|other| other != first).map(|other| (*first, other)));
        }
    }
    Selection { places: places.into_iter().collect(), marked, unordered, ..Selection::default() }
}

fn add_around(history: &History, place: usize, places: &mut BTreeSet<usize>) {
    let mine = history.events[place].id.node;
    for (node, known) in history.clock(place).iter().enumerate() {
        let of_node = history.of_node(node as u8);
        let last = if node == usize::from(mine) { Some(place) } else { last_up_to(history, node as u8, *known) };
        let Some(last) = last.filter(|_| *known != 0 || node == usize::from(mine)) else { continue };
        let at = of_node.partition_point(|other| (*other as usize) < last);
        let after = if node == usize::from(mine) { AFTER } else { 0 };
        let window = &of_node[at.saturating_sub(BEFORE)..(at + 1 + after).min(of_node.len())];
        places.extend(window.iter().map(|other| *other as usize));
    }
}
