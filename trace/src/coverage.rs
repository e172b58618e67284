//! What a trace does not say: events that are missing from the logs of its nodes.
use crate::expr::Match;
use crate::order::clock::newer;
use crate::{EventId, History, Note};
use std::collections::BTreeSet;
use stillpoint_core::{EventKind, EventNumber};

/// Why events are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The recording began when the node had run for a while.
    Before,
    /// They were overwritten before they were read.
    Dropped(u32),
    /// The log was broken, or a piece of it was taken out.
    Broken,
    /// The node was reset, and what it did last may not have been read.
    Reset,
    /// The node did not record everything.
    Restricted,
    /// The log goes back; what follows is left out.
    Backwards,
    /// The recording ended.
    After,
    /// Nothing of the node is in the trace.
    Everything,
}

/// Events of a node that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// The last event before; none at the beginning.
    pub after: Option<u32>,
    /// The first event behind; none at the end.
    pub until: Option<u32>,
    pub lack: Lack,
}

impl Hole {
    /// Whether one who knows the node up to `known` may know of something in it.
    pub fn reaches(&self, known: u32) -> bool {
        self.after.map_or(known != 0, |after| newer(known, after))
    }

    /// Whether it lies within what was recorded.
    pub fn is_inside(&self) -> bool {
        !matches!(self.lack, Lack::Before | Lack::After)
    }
}

/// The holes in the logs of all nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    holes: Vec<Vec<Hole>>,
    /// For each node, what was seen between two holes of a restricted recording: this it does record.
    seen: Vec<BTreeSet<(EventKind, u16)>>,
    /// What keeps a part of the file from being read.
    pub damage: Option<String>,
}

impl Coverage {
    pub fn of(history: &History) -> Self {
        let damage = history.notes().iter().find_map(|note| match note {
            Note::Damage { why } => Some(why.clone()),
            _ => None,
        });
        let mut coverage = Self { damage, ..Self::default() };
        for node in 0..history.width() {
            let holes = holes_of(history, node as u8);
            coverage.seen.push(seen_between(history, node as u8, &holes));
            coverage.holes.push(holes);
        }
        coverage
    }

    /// The holes of a node, in order.
    pub fn holes(&self, node: u8) -> &[Hole] {
        self.holes.get(usize::from(node)).map_or(&EVERYTHING, Vec::as_slice)
    }

    /// Whether such events of a node may be in a hole of its log.
    pub fn may_hide(&self, node: u8, hole: &Hole, what: &Match) -> bool {
        let Some(seen) = self.seen.get(usize::from(node)).filter(|_| hole.lack == Lack::Restricted) else {
            return true;
        };
        match what {
            Match::Event { kind, arguments } if arguments.is_empty() => !seen.iter().any(|(of, _)| of == kind),
            Match::Event { kind, arguments } => !arguments.iter().all(|argument| seen.contains(&(*kind, *argument))),
            Match::Condition(formula) => {
                let mut hidden = false;
                let reads_others = formula.reads(&mut |watch| hidden |= !self.records_watch(node, watch));
                hidden || reads_others
            }
        }
    }

    /// Whether a restricted recording of the node holds every change of a watch.
    pub fn records_watch(&self, node: u8, watch: u8) -> bool {
        let seen = self.seen.get(usize::from(node));
        seen.is_some_and(|seen| seen.contains(&(EventKind::Watch, watch.into())))
    }

    /// What is missing, in words.
    pub fn say(&self, history: &History, node: u8, hole: &Hole) -> String {
        let name = history.node_name(node);
        let after = hole.after.map_or_else(String::new, |number| format!(" after #{}", count_of(number)));
        match hole.lack {
            Lack::Before => format!("the recording of {name} begins late, with #{}", hole.until.map_or(0, count_of)),
            Lack::Dropped(count) => format!("{count} records of {name} were dropped{after}"),
            Lack::Broken => format!("a piece of the log of {name} is missing{after}"),
            Lack::Reset => format!("what {name} did{after}, before its reset, may not be recorded"),
            Lack::Restricted => format!("{name} did not record everything{after}"),
            Lack::Backwards => format!("the log of {name} goes back{after}, and what follows is left out"),
            Lack::After => format!("the recording of {name} ended{after}"),
            Lack::Everything => format!("no event of {name} is in the trace"),
        }
    }
}

const EVERYTHING: [Hole; 1] = [Hole { after: None, until: None, lack: Lack::Everything }];

fn count_of(number: u32) -> u32 {
    EventNumber(number).count()
}

fn holes_of(history: &History, node: u8) -> Vec<Hole> {
    let counted = history.of_node(node).iter().map(|place| &history.events[*place as usize]).filter(|of| of.counts());
    let mut last: Option<EventId> = None;
    let mut holes = Vec::new();
    for event in counted {
        let id = event.id;
        let begins = id.count() <= 1 || event.kind() == EventKind::Reset;
        match last {
            None if begins => {}
            None => holes.push(Hole { after: None, until: Some(id.number), lack: Lack::Before }),
            Some(last) if id.number == last.number.wrapping_add(1) => {}
            Some(last) => {
                let lack = lack_after(history, node, last.number).unwrap_or(match id.epoch() == last.epoch() {
                    true => Lack::Restricted,
                    false => Lack::Reset,
                });
                holes.push(Hole { after: Some(last.number), until: Some(id.number), lack });
            }
        }
        last = Some(id);
    }
    let Some(last) = last else { return EVERYTHING.to_vec() };
    let goes_back = history.notes().iter().any(|note| matches!(note, Note::Backwards { node: of, .. } if *of == node));
    let lack = if goes_back { Lack::Backwards } else { Lack::After };
    holes.push(Hole { after: Some(last.number), until: None, lack });
    holes
}

/// What the trace says of a gap behind an event.
fn lack_after(history: &History, node: u8, number: u32) -> Option<Lack> {
    history.notes().iter().find_map(|note| match note {
        Note::Gap { node: of, after: Some(after), dropped } if (*of, *after) == (node, number) => {
            Some(Lack::Dropped(*dropped))
        }
        Note::Restart { node: of, after: Some(after) } | Note::Broken { node: of, after: Some(after), .. }
            if (*of, *after) == (node, number) =>
        {
            Some(Lack::Broken)
        }
        _ => None,
    })
}

fn seen_between(history: &History, node: u8, holes: &[Hole]) -> BTreeSet<(EventKind, u16)> {
    let restricted = || holes.iter().filter(|hole| hole.lack == Lack::Restricted);
    let (Some(first), Some(last)) = (restricted().next(), restricted().next_back()) else { return BTreeSet::new() };
    let mut seen = BTreeSet::new();
    for place in history.of_node(node) {
        let event = &history.events[*place as usize];
        let number = event.id.number;
        if first.after.is_some_and(|after| newer(number, after)) && last.until.is_some_and(|until| newer(until, number))
        {
            seen.insert((event.kind(), event.what.arg));
        }
    }
    seen
}
