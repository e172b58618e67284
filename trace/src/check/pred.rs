//! `pred A { B, C }`: every A has a B and a C before it (Hyder 6.5.3).
use super::report::{Finding, Outcome};
use crate::pattern::{Matches, Pattern, Sight};
use crate::shown::Shown;

pub(super) fn run(sight: &Sight<'_>, of: &Pattern, sets: &[Vec<Pattern>], most: usize, outcome: &mut Outcome) {
    let found = of.find(sight);
    let sets: Vec<Vec<(&Pattern, Matches)>> =
        sets.iter().map(|set| set.iter().map(|pattern| (pattern, pattern.find(sight))).collect()).collect();
    for &index in &found.events {
        outcome.events += 1;
        let variable = variable_of(of, &found, index);
        let mut lacks: Vec<Vec<&(&Pattern, Matches)>> = Vec::new();
        let mut why = None;
        for set in &sets {
            let mut missing = Vec::new();
            let mut unknown = None;
            for member in set {
                match known_before(sight, member, index, variable) {
                    Before::Yes => {}
                    Before::No => missing.push(member),
                    Before::Unknown(reason) => unknown = unknown.or(Some(reason)),
                }
            }
            if missing.is_empty() {
                why = unknown;
                lacks.clear();
                if why.is_none() {
                    break;
                }
            } else if why.is_none() {
                lacks.push(missing);
            }
        }
        match (why.or_else(|| found.unsure.clone().filter(|_| !lacks.is_empty())), lacks.is_empty()) {
            (Some(why), _) => outcome.cannot_tell(why),
            (None, true) => {}
            (None, false) => outcome.fail(most, || finding(sight, index, variable, &lacks)),
        }
    }
    if let Some(why) = of.missing(sight).or(found.unsure) {
        outcome.cannot_tell(why);
    }
    if outcome.events > 0 {
        return;
    }
    if let Some(why) = of.missing_at_all(sight) {
        outcome.cannot_tell(why);
    } else {
        outcome.remarks.push(format!("{} never happened in this trace, so nothing was checked", of.text));
    }
}

enum Before {
    Yes,
    No,
    Unknown(String),
}

/// What the variable of the occurrences is for an event of the pattern; 0 if there is none.
fn variable_of(of: &Pattern, found: &Matches, index: usize) -> i64 {
    of.index.as_ref().map_or(0, |(_, offset)| found.ordinal[&index] - offset)
}

fn known_before(sight: &Sight<'_>, (pattern, matches): &(&Pattern, Matches), index: usize, variable: i64) -> Before {
    let history = sight.history;
    if let Some(why) = &matches.unsure {
        return Before::Unknown(why.clone());
    }
    let is_before = match &pattern.index {
        // Before the first occurrence there is nothing to ask for.
        Some((_, offset)) => variable + offset < 1 || matches.occurrence_before(history, variable + offset, index),
        None => matches.any_before(history, index).is_some(),
    };
    if is_before {
        return Before::Yes;
    }
    match history.events[index].past {
        crate::Past::Unknown { why } => Before::Unknown(why.say(history.node_name(why.node()))),
        crate::Past::Known => pattern.missing_before(sight, index).map_or(Before::No, Before::Unknown),
    }
}

fn finding(sight: &Sight<'_>, index: usize, variable: i64, lacks: &[Vec<&(&Pattern, Matches)>]) -> Finding {
    let history = sight.history;
    let mut events = vec![Shown::with_past(history, index, "")];
    let mut names: Vec<String> = Vec::new();
    for lack in lacks {
        names.push(lack.iter().map(|(pattern, _)| pattern.text.as_str()).collect::<Vec<_>>().join(" and no "));
        for (pattern, matches) in lack {
            // What was expected did happen perhaps, only not before.
            let wanted = pattern.index.as_ref().map(|(_, offset)| variable + offset);
            let mut candidates = matches.events.iter().copied();
            if let Some(other) = candidates.find(|event| wanted.is_none_or(|wanted| matches.ordinal[event] == wanted)) {
                let role = if history.before(index, other) { "came only after it" } else { "is concurrent with it" };
                events.push(Shown::new(history, other, role));
            }
        }
    }
    let event = history.describe(&history.events[index]);
    Finding {
        what: format!("{event} has no {} before it", names.join(", nor, instead, no ")),
        events,
        about: Some(index),
    }
}
