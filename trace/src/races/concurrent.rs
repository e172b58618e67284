//! Which accesses of one node no order is known for with those of another.
use super::{Class, value};
use crate::History;
use std::collections::BTreeMap;

/// What one node did to one object.
pub(crate) struct Accesses {
    pub node: u8,
    /// Their places in the history, in order.
    pub places: Vec<usize>,
    /// The same, by what is counted together.
    classes: BTreeMap<Class, Vec<usize>>,
}

impl Accesses {
    pub fn new(node: u8) -> Self {
        Self { node, places: Vec::new(), classes: BTreeMap::new() }
    }

    pub fn sort_into_classes(&mut self, history: &History) {
        for place in &self.places {
            self.classes.entry(class(history, *place)).or_default().push(*place);
        }
    }
}

fn class(history: &History, place: usize) -> Class {
    let value = value(history, place);
    Class { kind: value.kind, place: value.place, known: history.events[place].past.is_known() }
}

/// Tells `found` of each access of `one` the accesses of `other` that no order is known for, class by class.
///
/// A node is sequential, so these lie side by side: before them what the access knows, behind them what knows the access. Two
/// searches find them, however many they are.
pub(super) fn each(
    history: &History,
    one: &Accesses,
    other: &Accesses,
    mut found: impl FnMut(usize, Class, Class, &[usize]),
) {
    for access in &one.places {
        let of_access = class(history, *access);
        for (class, places) in &other.classes {
            let first = places.partition_point(|place| history.before(*place, *access));
            let unordered = &places[first..];
            let unordered = &unordered[..unordered.partition_point(|place| !history.before(*access, *place))];
            if !unordered.is_empty() {
                found(*access, of_access, *class, unordered);
            }
        }
    }
}
