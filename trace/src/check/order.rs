//! `model { .. }`: expected orders with firing and routing rules (Hyder 3.3, definitions 3-6, 3-8 and 3-9).
//!
//! What comes immediately before an event is its received-from list (see [`lists`]), and what comes immediately after it are
//! the events on whose lists it is. A node does one thing after another, which the thesis does not ask of its actions; so
//! that an occurrence follows the last one of the same action on the same node goes without saying, unless the model says
//! `a -> a`.
use super::flow::{Marked, lists};
use super::model::{Expected, Occurrence, Set};
use super::report::{Finding, Outcome};
use crate::coverage::Hole;
use crate::pattern;
use crate::pattern::{Matches, Pattern, Sight, at};
use crate::shown::Shown;
use std::collections::HashSet;

struct Order<'a> {
    sight: &'a Sight<'a>,
    model: &'a Expected,
    matches: Vec<Matches>,
    /// The events of all actions on each node, in order, with their actions.
    of_node: Vec<Vec<Marked>>,
    /// The holes of each node in which an event of the model may be.
    holes: Vec<Vec<Hole>>,
}

/// How what is around an event compares with the rule of its action.
enum Fit {
    NoRule,
    Right,
    Wrong,
}

/// An event of the model and what lies immediately around it.
struct Around {
    index: usize,
    action: usize,
    /// Immediately before: events and their actions.
    before: Vec<Marked>,
    after: Vec<Marked>,
    /// Why it is not certain what came before.
    unknown: Option<String>,
    /// Messages on the way are not recorded: other events before it may be on the list, too.
    relayed: bool,
}

pub(super) fn run(sight: &Sight<'_>, model: &Expected, most: usize, outcome: &mut Outcome) {
    let matches: Vec<Matches> = model.actions.iter().map(|(_, pattern)| pattern.find(sight)).collect();
    let mut of_node = vec![Vec::new(); sight.history.width()];
    for (action, matches) in matches.iter().enumerate() {
        for (node, events) in matches.of_node.iter().enumerate() {
            of_node[node].extend(events.iter().map(|event| (*event, action)));
        }
    }
    let name = |action: usize| model.actions[action].0.as_str();
    if let Some(why) = sort_and_check(sight, &mut of_node, &name) {
        return outcome.cannot_tell(why);
    }
    let patterns: Vec<&Pattern> = model.actions.iter().map(|(_, pattern)| pattern).collect();
    let holes = holes(sight, &patterns);
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

/// Puts the events of each node in order. Says why they cannot be told apart if one of them is of two actions.
pub(super) fn sort_and_check<'n>(
    sight: &Sight<'_>,
    of_node: &mut [Vec<Marked>],
    name: &dyn Fn(usize) -> &'n str,
) -> Option<String> {
    of_node.iter_mut().for_each(|events| events.sort_unstable());
    let pair = of_node.iter().find_map(|events| events.windows(2).find(|pair| pair[0].0 == pair[1].0))?;
    let event = sight.history.describe(&sight.history.events[pair[0].0]);
    Some(format!("{event} is both {} and {}: one event is one action", name(pair[0].1), name(pair[1].1)))
}

/// The holes of each node in which an event of the patterns may be.
pub(super) fn holes(sight: &Sight<'_>, patterns: &[&Pattern]) -> Vec<Vec<Hole>> {
    let of_node = |node: u8| {
        let here = || patterns.iter().flat_map(|pattern| &pattern.terms).filter(|(term, _)| term.node.0 == node);
        let hides = |hole: &&Hole| here().any(|(term, _)| sight.coverage.may_hide(node, hole, &term.what));
        sight.coverage.holes(node).iter().filter(hides).copied().collect()
    };
    (0..sight.history.width()).map(|node| of_node(node as u8)).collect()
}

/// Shows what is wrong, if it is among the first.
type Show<'a> = Box<dyn FnOnce() -> Finding + 'a>;

/// The event with which what followed another became wrong.
fn last_of(of: &Around, after: &[Marked]) -> usize {
    after.iter().map(|(event, _)| *event).max().unwrap_or(of.index)
}

impl Order<'_> {
    fn check(&self, most: usize, outcome: &mut Outcome) {
        let (mut all, open) = self.around();
        let place: std::collections::HashMap<usize, usize> =
            all.iter().enumerate().map(|(at, of)| (of.index, at)).collect();
        for at in 0..all.len() {
            let (index, action) = (all[at].index, all[at].action);
            for (before, _) in all[at].before.clone() {
                all[place[&before]].after.push((index, action));
            }
        }
        let blind = all.iter().find_map(|of| of.unknown.clone());
        let relayed = all.iter().find(|of| of.relayed);
        let relayed =
            relayed.map(|of| format!("{} was reached by messages that are not recorded", self.event(of.index)));
        let (mut waiting, mut settled) = (0_u64, vec![false; self.model.actions.len()]);
        // What is wrong, by the event with which it became so; of one event first what is about it.
        let mut wrong: Vec<((usize, bool), Show<'_>)> = Vec::new();
        for of in &all {
            outcome.events += 1;
            if let Some(why) = &of.unknown {
                outcome.cannot_tell(why.clone());
                continue;
            }
            let before = self.counted(of, &of.before);
            let stray = before.iter().find(|(_, other)| !self.model.flow.contains(&(*other, of.action)));
            match self.fits(of, &before, &self.model.fires[of.action]) {
                Fit::Wrong if of.relayed && self.may_fit(of, &before, &self.model.fires[of.action]) => outcome
                    .cannot_tell(format!("{} was reached by messages that are not recorded", self.event(of.index))),
                Fit::Wrong => {
                    wrong.push(((of.index, false), Box::new(move || self.wrong_before(of, &before))));
                }
                Fit::Right | Fit::NoRule => {
                    if let Some(&(other, action)) = stray {
                        wrong.push(((of.index, false), Box::new(move || self.stray(of, other, action))));
                    }
                }
            }
            let after = self.counted(of, &of.after);
            let rules = &self.model.routes[of.action];
            match self.fits(of, &after, rules) {
                Fit::NoRule => {}
                Fit::Right => settled[of.action] = true,
                Fit::Wrong if open.contains(&of.index) && self.may_still(of, &after, rules) => waiting += 1,
                Fit::Wrong => match blind.clone().or_else(|| relayed.clone()).or_else(|| self.hole_behind(of)) {
                    Some(why) => outcome.cannot_tell(why),
                    None => {
                        settled[of.action] = true;
                        let last = last_of(of, &after);
                        wrong.push(((last, last != of.index), Box::new(move || self.wrong_after(of, &after))));
                    }
                },
            }
        }
        wrong.sort_by_key(|(at, _)| *at);
        wrong.into_iter().for_each(|(_, show)| outcome.fail(most, show));
        if waiting > 0 {
            outcome
                .remarks
                .push(format!("{waiting} events wait, at the end of the recording, for what is to follow them"));
        }
        for (action, (name, _)) in self.model.actions.iter().enumerate() {
            let ruled = !self.model.routes[action].is_empty() && !self.matches[action].events.is_empty();
            if ruled && !settled[action] {
                outcome.cannot_tell(format!("nothing that follows {name} is in the recording"));
            }
        }
    }

    /// Every event of the model with what comes immediately before it, in the order of the trace; and what is open.
    fn around(&self) -> (Vec<Around>, HashSet<usize>) {
        let lists = lists(self.sight, &self.of_node, &self.holes);
        let around = lists.of.into_iter().map(|((index, action), list)| Around {
            index,
            action,
            before: list.events(),
            after: Vec::new(),
            unknown: list.unknown.clone(),
            relayed: list.relayed,
        });
        (around.collect(), lists.open)
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

    /// The events around another, without what goes without saying.
    fn counted(&self, of: &Around, events: &[Marked]) -> Vec<Marked> {
        let history = self.sight.history;
        let node = |index: usize| history.events[index].id.node;
        let says = self.model.flow.contains(&(of.action, of.action));
        let counts = |(event, action): &&Marked| *action != of.action || node(*event) != node(of.index) || says;
        events.iter().filter(counts).copied().collect()
    }

    fn ordinal(&self, (event, action): Marked) -> i64 {
        self.matches[action].ordinal[&event]
    }

    /// The sets that are about this occurrence, with the occurrences of their members; those before the first are nothing.
    fn sets_for(&self, of: &Around, sets: &[Set]) -> Vec<Vec<(usize, Option<i64>)>> {
        let mine = self.ordinal((of.index, of.action));
        let about = sets
            .iter()
            .filter(|set| set.of.as_ref().is_none_or(|of| !matches!(of, Occurrence::Number(n) if *n != mine)));
        let bound = |set: &Set| {
            let variable = match set.of {
                Some(Occurrence::Variable { offset }) => mine - offset,
                _ => 0,
            };
            let member = |(action, nth): &(usize, Option<Occurrence>)| {
                let nth = nth.as_ref().map(|nth| match nth {
                    Occurrence::Number(number) => *number,
                    Occurrence::Variable { offset } => variable + offset,
                });
                (*action, nth)
            };
            set.members.iter().map(member).filter(|(_, nth)| nth.is_none_or(|nth| nth >= 1)).collect()
        };
        about.map(bound).collect()
    }

    /// Whether what is around an event is one of the sets of its rule.
    fn fits(&self, of: &Around, events: &[Marked], sets: &[Set]) -> Fit {
        let sets = self.sets_for(of, sets);
        let is = |set: &Vec<(usize, Option<i64>)>| {
            events.iter().all(|(_, action)| set.iter().any(|(member, _)| member == action))
                && set.iter().all(|member| self.has(events, member))
        };
        match sets.is_empty() {
            true => Fit::NoRule,
            false if sets.iter().any(is) => Fit::Right,
            false => Fit::Wrong,
        }
    }

    fn has(&self, events: &[Marked], (action, nth): &(usize, Option<i64>)) -> bool {
        let mut these = events.iter().filter(|(_, of)| of == action);
        these.any(|event| nth.is_none_or(|nth| self.ordinal(*event) == nth))
    }

    /// Whether it is one of the sets if other events before it are on the list, too.
    fn may_fit(&self, of: &Around, events: &[Marked], sets: &[Set]) -> bool {
        let history = self.sight.history;
        self.sets_for(of, sets).iter().any(|set| {
            events.iter().all(|(_, action)| set.iter().any(|(member, _)| member == action))
                && set.iter().all(|(action, _)| self.matches[*action].any_before(history, of.index).is_some())
        })
    }

    /// Whether what follows is a part of a set, the rest of which may come after the end of the recording.
    fn may_still(&self, of: &Around, after: &[Marked], sets: &[Set]) -> bool {
        let sets = self.sets_for(of, sets);
        sets.iter().any(|set| after.iter().all(|(_, action)| set.iter().any(|(member, _)| member == action)))
    }

    fn name(&self, action: usize) -> &str {
        &self.model.actions[action].0
    }

    fn names(&self, events: &[Marked], sets: &[Set]) -> String {
        let mut names: Vec<(usize, String)> = Vec::new();
        // Occurrences are named where a rule counts them.
        let counts = |action: usize| {
            sets.iter().flat_map(|set| &set.members).any(|(member, nth)| *member == action && nth.is_some())
        };
        for (event, action) in events {
            let nth = if counts(*action) { format!("^{}", self.ordinal((*event, *action))) } else { String::new() };
            names.push((*action, format!("{}{nth}", self.name(*action))));
        }
        names.sort();
        names.dedup();
        format!("{{{}}}", names.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(", "))
    }

    fn allowed(&self, of: &Around, sets: &[Set]) -> String {
        let member = |(action, nth): &(usize, Option<i64>)| match nth {
            Some(nth) => format!("{}^{nth}", self.name(*action)),
            None => self.name(*action).to_owned(),
        };
        let set =
            |set: &Vec<(usize, Option<i64>)>| format!("{{{}}}", set.iter().map(member).collect::<Vec<_>>().join(", "));
        self.sets_for(of, sets).iter().map(set).collect::<Vec<_>>().join(" or ")
    }

    fn shown(&self, of: &Around, events: &[Marked], role: &str) -> Vec<Shown> {
        let history = self.sight.history;
        let name = |action: usize| self.model.actions[action].0.as_str();
        let mut shown = vec![Shown::with_past(history, of.index, format!("is {}", name(of.action)))];
        shown.extend(
            events.iter().map(|(event, action)| Shown::new(history, *event, format!("{}, {role}", name(*action)))),
        );
        shown
    }

    fn wrong_before(&self, of: &Around, before: &[Marked]) -> Finding {
        let (name, sets) = (self.name(of.action), &self.model.fires[of.action]);
        let (found, allowed) = (self.names(before, sets), self.allowed(of, sets));
        let what = format!("{} came after {found}: before {name} the model expects {allowed}", self.event(of.index));
        Finding { what, events: self.shown(of, &of.before, "immediately before"), about: Some(of.index) }
    }

    fn wrong_after(&self, of: &Around, after: &[Marked]) -> Finding {
        let (name, sets) = (self.name(of.action), &self.model.routes[of.action]);
        let (found, allowed) = (self.names(after, sets), self.allowed(of, sets));
        let what = format!("{} led to {found}: after {name} the model expects {allowed}", self.event(of.index));
        Finding { what, events: self.shown(of, &of.after, "immediately after"), about: Some(last_of(of, after)) }
    }

    fn stray(&self, of: &Around, other: usize, action: usize) -> Finding {
        let (from, to) = (&self.model.actions[action].0, &self.model.actions[of.action].0);
        let what =
            format!("{} came after {}: the model has no {from} -> {to}", self.event(of.index), self.event(other));
        Finding { what, events: self.shown(of, &[(other, action)], "immediately before"), about: Some(of.index) }
    }

    fn event(&self, index: usize) -> String {
        self.sight.history.describe(&self.sight.history.events[index])
    }
}
