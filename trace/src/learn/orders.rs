//! Orders that always held, and pairs that never ran in parallel.
use super::{Action, Seen, support};
use crate::concurrent::{Found, find};
use std::fmt::Write as _;

/// Occurrences of an action that are told apart; those of one that occurs more often are counted by a variable.
const MOST_OCCURRENCES: usize = 16;

pub(super) fn say(actions: &[Action], seen: &[Seen<'_>]) -> String {
    let mut text = String::new();
    for of in 0..actions.len() {
        // Numbers of occurrences mean something only where none is missing.
        let sure = seen.iter().all(|seen| seen.matches[of].unsure.is_none() && !begins_late(seen, of));
        let most = seen.iter().map(|seen| seen.matches[of].events.len()).max().unwrap_or(0);
        if !sure || most == 0 {
            continue;
        }
        if most <= MOST_OCCURRENCES {
            text.push_str(&by_number(of, most, actions, seen));
        } else {
            text.push_str(&by_variable(of, actions, seen));
        }
    }
    text.push_str(&never_parallel(actions, seen));
    text
}

fn begins_late(seen: &Seen<'_>, action: usize) -> bool {
    let node = seen.patterns[action].nodes();
    node.iter().any(|node| seen.coverage.holes(*node).iter().any(|hole| hole.after.is_none()))
}

/// How many occurrences of another action are known to have happened before an event.
fn known(seen: &Seen<'_>, other: usize, event: usize) -> i64 {
    let count = |events: &Vec<usize>| events.partition_point(|one| seen.history.before(*one, event));
    seen.matches[other].of_node.iter().map(count).sum::<usize>() as i64
}

/// `pred solve^3 { mult2^2 }` for each occurrence that every run has.
fn by_number(of: usize, most: usize, actions: &[Action], seen: &[Seen<'_>]) -> String {
    let mut text = String::new();
    for nth in 0..most {
        let events: Vec<(&Seen<'_>, usize)> =
            seen.iter().filter_map(|seen| Some((seen, *seen.matches[of].events.get(nth)?))).collect();
        let others = others(of, actions, seen).filter_map(|other| {
            let least =
                events.iter().map(|(seen, event)| known(seen, other, *event)).min().filter(|least| *least > 0)?;
            Some(format!("{}^{least}", actions[other].text))
        });
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            let support = support(events.len(), events.len() as u64);
            let _ = writeln!(text, "pred {}^{} {{ {} }}  # {support}", actions[of].text, nth + 1, others.join(", "));
        }
    }
    text
}

/// `pred one^i { zero^i-1 }`
fn by_variable(of: usize, actions: &[Action], seen: &[Seen<'_>]) -> String {
    let mut events = 0;
    let others = others(of, actions, seen).filter_map(|other| {
        let ahead = |seen: &Seen<'_>| {
            let each = seen.matches[of].events.iter().zip(1_i64..);
            each.map(|(event, nth)| known(seen, other, *event) - nth).min()
        };
        let least = seen.iter().filter_map(ahead).min().filter(|least| *least >= -1)?;
        let offset = if least == 0 { String::new() } else { format!("{least:+}") };
        Some(format!("{}^i{offset}", actions[other].text))
    });
    let others: Vec<String> = others.collect();
    seen.iter().for_each(|seen| events += seen.matches[of].events.len() as u64);
    if others.is_empty() {
        return String::new();
    }
    format!("pred {}^i {{ {} }}  # {}\n", actions[of].text, others.join(", "), support(seen.len(), events))
}

/// The actions of other nodes whose occurrences can be counted.
fn others<'a>(of: usize, actions: &'a [Action], seen: &'a [Seen<'_>]) -> impl Iterator<Item = usize> + 'a {
    let sure = move |other: &usize| {
        seen.iter().all(|seen| seen.matches[*other].unsure.is_none() && !begins_late(seen, *other))
    };
    (0..actions.len()).filter(move |other| actions[*other].node != actions[of].node).filter(sure)
}

fn never_parallel(actions: &[Action], seen: &[Seen<'_>]) -> String {
    let mut text = String::new();
    for one in 0..actions.len() {
        for other in one + 1..actions.len() {
            if actions[one].node == actions[other].node {
                continue;
            }
            let both =
                |seen: &&Seen<'_>| !seen.matches[one].events.is_empty() && !seen.matches[other].events.is_empty();
            let runs: Vec<&Seen<'_>> = seen.iter().filter(both).collect();
            let never = |seen: &&Seen<'_>| {
                let pair = [seen.matches[one].clone(), seen.matches[other].clone()];
                find(seen.history, &pair).found == Found::None
            };
            if !runs.is_empty() && runs.iter().all(never) {
                let events = |seen: &&Seen<'_>| seen.matches[one].events.len() + seen.matches[other].events.len();
                let support = support(runs.len(), runs.iter().map(events).sum::<usize>() as u64);
                let _ = writeln!(text, "not parallel ({}, {})  # {support}", actions[one].text, actions[other].text);
            }
        }
    }
    text
}
