//! `pred immediate A { B, C }`: every A has a B and a C immediately before it, among the events of A, B and C (Hyder 6.5).
use super::flow::{List, Marked, lists};
use super::order::{holes, sort_and_check};
use super::report::{Finding, Outcome};
use crate::pattern::{Matches, Pattern, Sight};
use crate::shown::Shown;

pub(super) fn run(sight: &Sight<'_>, of: &Pattern, sets: &[Vec<Pattern>], most: usize, outcome: &mut Outcome) {
    let check = Immediate::new(sight, of, sets);
    let mut of_node: Vec<Vec<Marked>> = vec![Vec::new(); sight.history.width()];
    for (action, matches) in check.matches.iter().enumerate() {
        for (node, events) in matches.of_node.iter().enumerate() {
            of_node[node].extend(events.iter().map(|event| (*event, action)));
        }
    }
    let name = |action: usize| check.patterns[action].text.as_str();
    if let Some(why) = sort_and_check(sight, &mut of_node, &name) {
        return outcome.cannot_tell(why);
    }
    let lists = lists(sight, &of_node, &holes(sight, &check.patterns));
    for ((index, _), list) in lists.of.iter().filter(|((_, action), _)| *action == 0) {
        outcome.events += 1;
        let lacks: Vec<Vec<usize>> = check.sets.iter().map(|set| check.missing(set, list, *index)).collect();
        if lacks.iter().any(Vec::is_empty) {
            continue;
        }
        let unsure = check.matches.iter().find_map(|matches| matches.unsure.clone());
        let relayed = || list.relayed.then(|| "messages on the way are not recorded".to_owned());
        match list.unknown.clone().or(unsure).or_else(relayed) {
            Some(why) => outcome.cannot_tell(why),
            None => outcome.fail(most, || check.finding(*index, list, &lacks)),
        }
    }
    if let Some(why) = of.missing(sight) {
        outcome.cannot_tell(why);
    }
    if outcome.events == 0 {
        match of.missing_at_all(sight) {
            Some(why) => outcome.cannot_tell(why),
            None => outcome.remarks.push(format!("{} never happened in this trace, so nothing was checked", of.text)),
        }
    }
}

struct Immediate<'a> {
    sight: &'a Sight<'a>,
    /// Each set of events once; the first is the one that the check is about.
    patterns: Vec<&'a Pattern>,
    matches: Vec<Matches>,
    /// For each alternative, the members: which pattern, and what is added to the variable.
    sets: Vec<Vec<(usize, Option<i64>)>>,
}

impl<'a> Immediate<'a> {
    fn new(sight: &'a Sight<'a>, of: &'a Pattern, sets: &'a [Vec<Pattern>]) -> Self {
        let mut patterns = vec![of];
        let mut indices = Vec::new();
        for set in sets {
            let mut members = Vec::new();
            for pattern in set {
                let at = patterns.iter().position(|known| known.key().0 == pattern.key().0).unwrap_or_else(|| {
                    patterns.push(pattern);
                    patterns.len() - 1
                });
                members.push((at, pattern.index.as_ref().map(|(_, offset)| *offset)));
            }
            indices.push(members);
        }
        let matches = patterns.iter().map(|pattern| pattern.find(sight)).collect();
        Self { sight, patterns, matches, sets: indices }
    }

    /// The members of a set that are not on the list of an event.
    fn missing(&self, set: &[(usize, Option<i64>)], list: &List, index: usize) -> Vec<usize> {
        let offset = self.patterns[0].index.as_ref().map_or(0, |(_, offset)| *offset);
        let variable = self.matches[0].ordinal[&index] - offset;
        let is_there = |(member, offset): &&(usize, Option<i64>)| {
            let wanted = offset.map(|offset| variable + offset);
            let is = |(event, action): &Marked| {
                action == member && wanted.is_none_or(|wanted| self.matches[*member].ordinal[event] == wanted)
            };
            wanted.is_some_and(|wanted| wanted < 1) || list.events().iter().any(is)
        };
        set.iter().filter(|member| !is_there(member)).map(|(member, _)| *member).collect()
    }

    fn finding(&self, index: usize, list: &List, lacks: &[Vec<usize>]) -> Finding {
        let history = self.sight.history;
        let text = |member: &usize| self.patterns[*member].text.as_str();
        let names: Vec<String> =
            lacks.iter().map(|lack| lack.iter().map(text).collect::<Vec<_>>().join(" and no ")).collect();
        let event = history.describe(&history.events[index]);
        let what = format!("{event} has no {} immediately before it", names.join(", nor, instead, no "));
        let mut events = vec![Shown::with_past(history, index, "")];
        events.extend(list.events().iter().map(|(event, _)| Shown::new(history, *event, "immediately before")));
        Finding { what, events, about: Some(index) }
    }
}
