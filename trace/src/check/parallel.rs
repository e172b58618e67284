//! `parallel (A, B, C)`: events of all of them that are pairwise concurrent (Hyder 6.5.3, after Garg & Waldecker).
use super::report::{Finding, Outcome};
use crate::concurrent::{Found, find};
use crate::pattern::{Matches, Pattern, Sight};
use crate::shown::Shown;

pub(super) fn run(sight: &Sight<'_>, patterns: &[Pattern], never: bool, most: usize, outcome: &mut Outcome) {
    let history = sight.history;
    let matches: Vec<Matches> = patterns.iter().map(|pattern| pattern.find(sight)).collect();
    outcome.events = matches.iter().map(|matches| matches.events.len() as u64).sum();
    let missing = || {
        let unsure = matches.iter().find_map(|matches| matches.unsure.clone());
        unsure.or_else(|| patterns.iter().find_map(|pattern| pattern.missing(sight)))
    };
    let show = |events: &[usize], past: bool| -> Vec<Shown> {
        let named = events.iter().zip(patterns);
        named
            .map(|(event, pattern)| match past {
                true => Shown::with_past(history, *event, format!("is {}", pattern.text)),
                false => Shown::new(history, *event, format!("is {}", pattern.text)),
            })
            .collect()
    };
    let empty = patterns.iter().zip(&matches).find(|(_, matches)| matches.events.is_empty());
    match (find(history, &matches).found, never) {
        (Found::Certain(events), true) => match matches.iter().find_map(|matches| matches.unsure.clone()) {
            Some(why) => outcome.cannot_tell(why),
            None => outcome.fail(most, || Finding {
                what: "these are concurrent: none of them happened before another".into(),
                events: show(&events, true),
                about: events.iter().copied().max(),
            }),
        },
        (Found::Certain(events), false) => match matches.iter().find_map(|matches| matches.unsure.clone()) {
            Some(why) => outcome.cannot_tell(why),
            None => {
                let names: Vec<String> = events.iter().map(|event| history.describe(&history.events[*event])).collect();
                outcome.remarks.push(format!("the first that are concurrent: {}", names.join(", ")));
            }
        },
        (Found::Perhaps(why), _) => outcome.cannot_tell(why),
        (Found::None, _) if missing().is_some() => outcome.cannot_tell(missing().unwrap_or_default()),
        (Found::None, true) => {
            if let Some(why) = empty.and_then(|(pattern, _)| pattern.missing_at_all(sight)) {
                outcome.cannot_tell(why);
            } else if let Some((pattern, _)) = empty {
                outcome.remarks.push(format!("{} never happened in this trace, so nothing was checked", pattern.text));
            }
        }
        (Found::None, false) => outcome.fail(most, || {
            let first: Vec<usize> = matches.iter().filter_map(|matches| matches.events.first().copied()).collect();
            match empty {
                Some((pattern, _)) => {
                    let what = format!("{} never happened in this trace", pattern.text);
                    Finding { what, events: Vec::new(), about: None }
                }
                None => Finding {
                    what: "no events of them are concurrent: in each choice one happened before another; the first of each are"
                        .into(),
                    events: show(&first, false),
                    about: None,
                },
            }
        }),
    }
}
