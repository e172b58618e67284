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
        let mut lacks: Vec<Vec<&(&Pattern, Matches)>> = Vec::new();
        let mut why = None;
        for set in &sets {
            let mut missing = Vec::new();
            let mut unknown = None;
            for member in set {
                match known_before(sight, member, index) {
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
            (None, false) => outcome.fail(most, || finding(sight, index, &lacks)),
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

fn known_before(sight: &Sight<'_>, (pattern, matches): &(&Pattern, Matches), index: usize) -> Before {
    let history = sight.history;
    if let Some(why) = &matches.unsure {
        return Before::Unknown(why.clone());
    }
    if matches.any_before(history, index).is_some() {
        return Before::Yes;
    }
    match history.events[index].past {
        crate::Past::Unknown { why } => Before::Unknown(why.say(history.node_name(why.node()))),
        crate::Past::Known => pattern.missing_before(sight, index).map_or(Before::No, Before::Unknown),
    }
}

fn finding(sight: &Sight<'_>, index: usize, lacks: &[Vec<&(&Pattern, Matches)>]) -> Finding {
    let history = sight.history;
    let mut events = vec![Shown::with_past(history, index, "")];
    let mut names: Vec<String> = Vec::new();
    for lack in lacks {
        names.push(lack.iter().map(|(pattern, _)| pattern.text.as_str()).collect::<Vec<_>>().join(" and no "));
        for (_, matches) in lack {
            // What was expected did happen perhaps, only not before.
            if let Some(&other) = matches.events.first() {
                let role = if history.before(index, other) { "came only after it" } else { "is concurrent with it" };
                events.push(Shown::new(history, other, role));
            }
        }
    }
    let event = history.describe(&history.events[index]);
    Finding { what: format!("{event} has no {} before it", names.join(", nor, instead, no ")), events }
}
