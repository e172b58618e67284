//! Where in a picture a note belongs.
use crate::order::clock::newer;
use crate::{History, Note};
use std::collections::BTreeMap;

/// The notes of a trace, each at the event in front of which it belongs.
#[derive(Clone, Debug, Default)]
pub struct PlacedNotes<'a> {
    /// By the place of the event that follows.
    pub before: BTreeMap<usize, Vec<&'a Note>>,
    /// Those without such an event: of the whole trace, of a node's beginning or end.
    pub general: Vec<&'a Note>,
}

/// Finds the place of every note.
#[must_use]
pub fn place_notes(history: &History) -> PlacedNotes<'_> {
    let mut placed = PlacedNotes::default();
    for note in history.notes() {
        let following = match note {
            Note::Gap { node, after, .. } | Note::Restart { node, after } | Note::Broken { node, after, .. } => {
                next(history, *node, |number| after.is_none_or(|after| newer(number, after)))
            }
            Note::Reset { node, number } => next(history, *node, |other| !newer(*number, other)),
            Note::Impossible { event, .. } => history.index_of(*event),
            _ => None,
        };
        match following {
            Some(place) => placed.before.entry(place).or_default().push(note),
            None => placed.general.push(note),
        }
    }
    placed
}

/// The first event of a node that counts and of whose number this is so: it is so of all that follow.
fn next(history: &History, node: u8, is_so: impl Fn(u32) -> bool) -> Option<usize> {
    let places = history.of_node(node);
    let from = places.partition_point(|place| !is_so(history.events[*place as usize].id.number));
    let mut counted = places[from..].iter().map(|place| *place as usize);
    counted.find(|place| history.events[*place].counts())
}
