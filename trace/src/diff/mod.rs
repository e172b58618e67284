//! Two runs of one firmware: the first event at which they differ causally.
//!
//! The n-th event of a node in one run is held against the n-th of the same node in the other: what it is, and for a
//! message which event it came from. When things happened is not compared, nor halts and resumes, which are the
//! debugger's. A node that started anew is compared life by life.
mod align;
#[cfg(test)]
mod tests;

use crate::{Event, Header, History};
use align::{Aligned, Lives};
use serde::Serialize;
use std::collections::BTreeMap;
use stillpoint_core::EventKind;

/// Why two traces are not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// They are of different nodes.
    #[error("the traces are not of the same system: one has the nodes {one}, the other {other}")]
    Nodes {
        /// The nodes of the first.
        one: String,
        /// Of the second.
        other: String,
    },
    /// They are of different firmware.
    #[error("board {board} ran another firmware: {one}, then {other}; to compare them all the same, use --force")]
    Firmware {
        /// Which board.
        board: String,
        /// Identity of the first.
        one: String,
        /// Of the second.
        other: String,
    },
}

/// What there is to compare, and what is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffOptions {
    /// Compare also what different firmware did.
    pub force: bool,
    /// Compare also the values of watches, inputs and the like.
    pub values: bool,
}

/// How an event differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Something else happened.
    Action,
    /// The same happened with another value.
    Value,
    /// It is the same message port, and the message came from another event.
    Cause,
}

/// A difference: places in the two histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// In the first.
    pub one: usize,
    /// In the second.
    pub other: usize,
    /// How they differ.
    pub how: How,
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The first difference of each node that has one and that no other difference led to, in the first history's order.
    pub first: Vec<Difference>,
    /// How many pairs of events were compared.
    pub compared: u64,
    /// How many events are in one trace only, because it began earlier, ended later, or the other has a gap.
    pub alone: [u64; 2],
    /// How many received messages have a sender that one of the traces does not know.
    pub unknown: u64,
}

impl Diff {
    /// Compares two histories.
    pub fn new(one: &History, other: &History, options: DiffOptions) -> Result<Self, DiffError> {
        check(&one.header, &other.header, options)?;
        let lives = [Lives::of(one), Lives::of(other)];
        let mut diff = Self { first: Vec::new(), compared: 0, alone: [0; 2], unknown: 0 };
        for node in &one.header.nodes {
            // The same node may have another number in the other trace.
            let twin = other.header.nodes.iter().find(|twin| twin.name == node.name).map_or(node.id, |twin| twin.id);
            let mut differs = None;
            for step in Aligned::new([one, other], &lives, [node.id, twin]) {
                match step {
                    align::Step::Alone(which) => diff.alone[which] += 1,
                    align::Step::Both(a, b) if differs.is_none() => {
                        diff.compared += 1;
                        differs = diff.compare([one, other], &lives, [a, b], options);
                    }
                    // From there on the runs are not the same.
                    align::Step::Both(..) => {}
                }
            }
            diff.first.extend(differs);
        }
        let all = diff.first.clone();
        // A difference that another one led to is its consequence.
        let leads = |a: &Difference, b: &Difference| one.before(a.one, b.one) && other.before(a.other, b.other);
        diff.first.retain(|difference| !all.iter().any(|cause| leads(cause, difference)));
        diff.first.sort_by_key(|difference| difference.one);
        Ok(diff)
    }

    fn compare(
        &mut self,
        of: [&History; 2],
        lives: &[Lives; 2],
        at: [usize; 2],
        options: DiffOptions,
    ) -> Option<Difference> {
        let [a, b] = [&of[0].events[at[0]], &of[1].events[at[1]]];
        let difference = |how| Some(Difference { one: at[0], other: at[1], how });
        if a.kind() != b.kind() || about(of[0], a) != about(of[1], b) {
            return difference(How::Action);
        }
        if options.values && a.what.value != b.what.value {
            return difference(How::Value);
        }
        if a.kind() == EventKind::Receive {
            match (a.partner, b.partner) {
                (Some(from), Some(other)) => {
                    let name = |which: usize, id| lives[which].name(of[which], id);
                    if name(0, from) != name(1, other) {
                        return difference(How::Cause);
                    }
                }
                _ => self.unknown += 1,
            }
        }
        None
    }
}

fn about(history: &History, event: &Event) -> Option<String> {
    history.header.about(event.id.node, &event.what)
}

fn check(one: &Header, other: &Header, options: DiffOptions) -> Result<(), DiffError> {
    let names = |header: &Header| {
        let mut names: Vec<String> = header.nodes.iter().map(|node| node.name.clone()).collect();
        names.sort();
        names.join(", ")
    };
    if names(one) != names(other) {
        return Err(DiffError::Nodes { one: names(one), other: names(other) });
    }
    let identities = |header: &Header| -> BTreeMap<String, String> {
        header.boards.iter().map(|board| (board.name.clone(), board.identity.clone())).collect()
    };
    let (mine, theirs) = (identities(one), identities(other));
    let different = mine.iter().find(|(board, identity)| theirs.get(*board).is_some_and(|other| other != *identity));
    match different.filter(|_| !options.force) {
        Some((board, identity)) => {
            Err(DiffError::Firmware { board: board.clone(), one: identity.clone(), other: theirs[board].clone() })
        }
        None => Ok(()),
    }
}
