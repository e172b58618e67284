//! `model { .. }`: expected orders with firing and routing rules (Hyder 3.3, definitions 3-8 and 3-9).
//!
//! The order is restricted to the events of the model's actions. An event comes *immediately* before another if it
//! happened before it and no event of the model lies between them. A node does one thing after another, which the thesis
//! does not ask of its actions; so that an occurrence follows the last one of the same action on the same node goes
//! without saying, unless the model says `a -> a`.
use super::model::Expected;
use super::report::{Finding, Outcome};
use crate::coverage::Hole;
use crate::order::clock::newer;
use crate::pattern::{Matches, Pattern, Sight, at};
use crate::shown::Shown;
use crate::{Past, pattern};

struct Order<'a> {
    sight: &'a Sight<'a>,
    model: &'a Expected,
    matches: Vec<Matches>,
    /// The events of all actions on each node, in order, with their actions.
    of_node: Vec<Vec<(usize, usize)>>,
    /// The holes of each node in which an event of the model may be.
    holes: Vec<Vec<Hole>>,
}

/// An event of the model and what lies immediately around it.
struct Around {
    index: usize,
    action: usize,
    /// Immediately before: events and their actions.
    before: Vec<(usize, usize)>,
    after: Vec<(usize, usize)>,
    /// Why it is not certain what came before.
    unknown: Option<String>,
}

pub(super) fn run(sight: &Sight<'_>, model: &Expected, most: usize, outcome: &mut Outcome) {
    let matches: Vec<Matches> = model.actions.iter().map(|(_, pattern)| pattern.find(sight)).collect();
    let mut of_node = vec![Vec::new(); sight.history.width()];
    for (action, matches) in matches.iter().enumerate() {
        for (node, events) in matches.of_node.iter().enumerate() {
            of_node[node].extend(events.iter().map(|event| (*event, action)));
        }
    }
    for events in &mut of_node {
        events.sort_unstable();
        if let Some(pair) = events.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let name = |action: usize| &model.actions[action].0;
            let event = sight.history.describe(&sight.history.events[pair[0].0]);
            outcome.cannot_tell(format!(
                "{event} is both {} and {}: one event is one action",
                name(pair[0].1),
                name(pair[1].1)
            ));
            return;
        }
    }
    let holes = (0..sight.history.width()).map(|node| hiding(sight, model, node as u8)).collect();
    let order = Order { sight, model, matches, of_node, holes };
    order.check(most, outcome);
    let unsure = order.matches.iter().find_map(|matches| matches.unsure.clone());
    let missing = || model.actions.iter().find_map(|(_, pattern)| pattern.missing(sight));
    if let Some(why) = unsure.or_else(missing) {
        outcome.cannot_tell(why);
    }
    let at_all = || model.actions.iter().find_map(|(_, pattern)| pattern.missing_at_all(sight));
    if let Some(why) = (outcome.events == 0).then(at_all).flatten() {
        outcome.cannot_tell(why);
    } else if outcome.events == 0 {
        outcome.remarks.push("no event of the model happened in this trace, so nothing was checked".into());
    }
}

/// The holes of a node in which something of the model may be.
fn hiding(sight: &Sight<'_>, model: &Expected, node: u8) -> Vec<Hole> {
    let terms = || model.actions.iter().flat_map(|(_, pattern): &(String, Pattern)| &pattern.terms);
    let here = || terms().filter(|(term, _)| term.node.0 == node);
    let hides = |hole: &&Hole| here().any(|(term, _)| sight.coverage.may_hide(node, hole, &term.what));
    sight.coverage.holes(node).iter().filter(hides).copied().collect()
}

impl Order<'_> {
    fn check(&self, most: usize, outcome: &mut Outcome) {
        let mut all = self.around();
        let place: std::collections::HashMap<usize, usize> =
            all.iter().enumerate().map(|(at, of)| (of.index, at)).collect();
        for at in 0..all.len() {
            let (index, action) = (all[at].index, all[at].action);
            for (before, _) in all[at].before.clone() {
                all[place[&before]].after.push((index, action));
            }
        }
        let blind = all.iter().find_map(|of| of.unknown.clone());
        let (mut waiting, mut settled) = (0_u64, vec![false; self.model.actions.len()]);
        for of in &all {
            outcome.events += 1;
            if let Some(why) = &of.unknown {
                outcome.cannot_tell(why.clone());
                continue;
            }
            let (before, after) = (self.set(of, &of.before), self.set(of, &of.after));
            let stray = of
                .before
                .iter()
                .find(|(_, other)| before.contains(other) && !self.model.flow.contains(&(*other, of.action)));
            if self.model.fires[of.action].as_ref().is_some_and(|sets| !sets.contains(&before)) {
                outcome.fail(most, || self.wrong_before(of, &before));
            } else if let Some(&(other, action)) = stray {
                outcome.fail(most, || self.stray(of, other, action));
            }
            let Some(sets) = &self.model.routes[of.action] else { continue };
            if sets.contains(&after) {
                settled[of.action] = true;
            } else if self.may_still(of, &after, sets) {
                waiting += 1;
            } else if let Some(why) = blind.clone().or_else(|| self.hole_behind(of)) {
                outcome.cannot_tell(why);
            } else {
                settled[of.action] = true;
                outcome.fail(most, || self.wrong_after(of, &after));
            }
        }
        if waiting > 0 {
            outcome
                .remarks
                .push(format!("{waiting} events wait, at the end of the recording, for what is to follow them"));
        }
        for (action, (name, _)) in self.model.actions.iter().enumerate() {
            let ruled = self.model.routes[action].is_some() && !self.matches[action].events.is_empty();
            if ruled && !settled[action] {
                outcome.cannot_tell(format!("nothing that follows {name} is in the recording"));
            }
        }
    }

    /// Every event of the model with what comes immediately before it, in the order of the trace.
    fn around(&self) -> Vec<Around> {
        let history = self.sight.history;
        let mut all: Vec<(usize, usize)> = self.of_node.iter().flatten().copied().collect();
        all.sort_unstable();
        let around = |(index, action): (usize, usize)| {
            // The last on each node; of those the ones that are before no other.
            let last: Vec<(usize, usize)> = self
                .of_node
                .iter()
                .filter_map(|events| {
                    let count = events.partition_point(|(event, _)| history.before(*event, index));
                    count.checked_sub(1).map(|at| events[at])
                })
                .collect();
            let is_last = |(event, _): &&(usize, usize)| !last.iter().any(|(other, _)| history.before(*event, *other));
            let before: Vec<(usize, usize)> = last.iter().filter(is_last).copied().collect();
            let unknown = match history.events[index].past {
                Past::Unknown { why } => Some(why.say(history.node_name(why.node()))),
                Past::Known => self.hole_between(index, &before),
            };
            Around { index, action, before, after: Vec::new(), unknown }
        };
        all.into_iter().map(around).collect()
    }

    /// Something that may have happened before an event and not before any of those immediately before it.
    fn hole_between(&self, index: usize, before: &[(usize, usize)]) -> Option<String> {
        let history = self.sight.history;
        let clock = history.clock(index);
        self.holes.iter().enumerate().find_map(|(node, holes)| {
            let known = clock[node];
            let hole = holes[..holes.partition_point(|hole| hole.reaches(known))].last()?;
            let behind = hole.until.map(|until| until.wrapping_sub(1));
            let last = behind.filter(|behind| newer(known, *behind)).unwrap_or(known);
            let covered = before.iter().any(|(event, _)| !newer(last, history.clock(*event)[node]));
            (!covered).then(|| self.sight.coverage.say(history, node as u8, hole))
        })
    }

    /// Something that may have happened immediately after an event and is not recorded.
    fn hole_behind(&self, of: &Around) -> Option<String> {
        let history = self.sight.history;
        let inside = |holes: &Vec<Hole>| holes.iter().filter(|hole| hole.is_inside()).copied().collect::<Vec<_>>();
        self.holes.iter().map(inside).enumerate().find_map(|(node, holes)| {
            let hides = |hole: &&Hole| {
                let until = hole.until.and_then(|number| at(history, node as u8, number));
                let after = hole.after.and_then(|number| pattern::last_up_to(history, node as u8, number));
                let known_after =
                    |event: usize| of.after.iter().any(|(next, _)| *next == event || history.before(*next, event));
                until.is_none_or(|until| history.before(of.index, until)) && !after.is_some_and(known_after)
            };
            holes.iter().find(hides).map(|hole| self.sight.coverage.say(history, node as u8, hole))
        })
    }

    /// The actions of some events around another, without what goes without saying.
    fn set(&self, of: &Around, events: &[(usize, usize)]) -> Vec<usize> {
        let history = self.sight.history;
        let node = |index: usize| history.events[index].id.node;
        let says = self.model.flow.contains(&(of.action, of.action));
        let counts = |(event, action): &&(usize, usize)| *action != of.action || node(*event) != node(of.index) || says;
        let mut set: Vec<usize> = events.iter().filter(counts).map(|(_, action)| *action).collect();
        set.sort_unstable();
        set.dedup();
        set
    }

    /// Whether what is missing may follow after the end of the recording.
    fn may_still(&self, of: &Around, after: &[usize], sets: &[Vec<usize>]) -> bool {
        sets.iter().any(|set| {
            after.iter().all(|action| set.contains(action))
                && set
                    .iter()
                    .filter(|action| !after.contains(action))
                    .all(|action| !self.matches[*action].any_after(self.sight.history, of.index))
        })
    }

    fn names(&self, set: &[usize]) -> String {
        format!(
            "{{{}}}",
            set.iter().map(|action| self.model.actions[*action].0.as_str()).collect::<Vec<_>>().join(", ")
        )
    }

    fn allowed(&self, sets: Option<&Vec<Vec<usize>>>) -> String {
        sets.into_iter().flatten().map(|set| self.names(set)).collect::<Vec<_>>().join(" or ")
    }

    fn shown(&self, of: &Around, events: &[(usize, usize)], role: &str) -> Vec<Shown> {
        let history = self.sight.history;
        let name = |action: usize| self.model.actions[action].0.as_str();
        let mut shown = vec![Shown::with_past(history, of.index, format!("is {}", name(of.action)))];
        shown.extend(
            events.iter().map(|(event, action)| Shown::new(history, *event, format!("{}, {role}", name(*action)))),
        );
        shown
    }

    fn wrong_before(&self, of: &Around, before: &[usize]) -> Finding {
        let name = &self.model.actions[of.action].0;
        let (found, allowed) = (self.names(before), self.allowed(self.model.fires[of.action].as_ref()));
        let what = format!("{} came after {found}: before {name} the model expects {allowed}", self.event(of.index));
        Finding { what, events: self.shown(of, &of.before, "immediately before") }
    }

    fn wrong_after(&self, of: &Around, after: &[usize]) -> Finding {
        let name = &self.model.actions[of.action].0;
        let (found, allowed) = (self.names(after), self.allowed(self.model.routes[of.action].as_ref()));
        let what = format!("{} led to {found}: after {name} the model expects {allowed}", self.event(of.index));
        Finding { what, events: self.shown(of, &of.after, "immediately after") }
    }

    fn stray(&self, of: &Around, other: usize, action: usize) -> Finding {
        let (from, to) = (&self.model.actions[action].0, &self.model.actions[of.action].0);
        let what =
            format!("{} came after {}: the model has no {from} -> {to}", self.event(of.index), self.event(other));
        Finding { what, events: self.shown(of, &[(other, action)], "immediately before") }
    }

    fn event(&self, index: usize) -> String {
        self.sight.history.describe(&self.sight.history.events[index])
    }
}
