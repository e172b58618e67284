//! Observed firing and routing rules: the sets of actions that came immediately before and after each (definition 3-6).
use super::{Action, Seen, support};
use crate::check::{Marked, lists_of};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

type Set = BTreeSet<usize>;

/// How often a set was seen, and in how many runs.
#[derive(Default)]
struct Support {
    events: u64,
    runs: BTreeSet<usize>,
}

#[derive(Default)]
struct Observed {
    sets: BTreeMap<Set, Support>,
}

pub(super) fn say(actions: &[Action], seen: &[Seen<'_>]) -> String {
    let mut before: Vec<Observed> = actions.iter().map(|_| Observed::default()).collect();
    let mut after: Vec<Observed> = actions.iter().map(|_| Observed::default()).collect();
    for (run, seen) in seen.iter().enumerate() {
        observe(run, seen, &mut before, &mut after);
    }
    let mut text = String::from("model learned {\n");
    for action in actions {
        let _ = writeln!(text, "    {} = {}", action.name, action.text);
    }
    let mut arrows: BTreeSet<(usize, usize)> = BTreeSet::new();
    for action in 0..actions.len() {
        let sets = |observed: &Observed| observed.sets.keys().flatten().copied().collect::<BTreeSet<_>>();
        arrows.extend(sets(&before[action]).into_iter().map(|other| (other, action)));
        arrows.extend(sets(&after[action]).into_iter().map(|other| (action, other)));
    }
    // Every arrow that was seen, so that any other is an error.
    for (from, to) in arrows {
        let _ = writeln!(text, "    {} -> {}", actions[from].name, actions[to].name);
    }
    for (word, all) in [("in", &before), ("out", &after)] {
        for (action, observed) in all.iter().enumerate() {
            text.push_str(&rule(word, action, observed, actions, seen.len()));
        }
    }
    text.push_str("}\n\n");
    text
}

fn observe(run: usize, seen: &Seen<'_>, before: &mut [Observed], after: &mut [Observed]) {
    let lists = seen.with_sight(|sight| lists_of(sight, &seen.patterns, &seen.matches));
    let node = |event: usize| seen.history.events[event].id.node;
    // That an action follows itself on its node goes without saying.
    let counts = |(event, action): Marked, (other, of): Marked| action != of || node(event) != node(other);
    let mut followers: HashMap<usize, Set> = HashMap::new();
    for (marked, list) in &lists.of {
        let known = list.events().into_iter().filter(|other| counts(*other, *marked));
        let set: Set = known.clone().map(|(_, action)| action).collect();
        for (event, _) in known {
            followers.entry(event).or_default().insert(marked.1);
        }
        if list.unknown.is_none() && !list.relayed {
            before[marked.1].add(run, set);
        }
    }
    let blind = lists.of.iter().any(|(_, list)| list.unknown.is_some() || list.relayed);
    for ((event, action), _) in lists.of.iter().filter(|_| !blind) {
        let set = followers.remove(event).unwrap_or_default();
        // What nothing followed yet may still be followed.
        if !set.is_empty() || !lists.open.contains(event) {
            after[*action].add(run, set);
        }
    }
}

impl Observed {
    fn add(&mut self, run: usize, set: Set) {
        let support = self.sets.entry(set).or_default();
        support.events += 1;
        support.runs.insert(run);
    }
}

/// The rule of an action. It is a comment if one of its sets was seen in a single run of several: the next run may add more.
fn rule(word: &str, action: usize, observed: &Observed, actions: &[Action], runs: usize) -> String {
    if observed.sets.is_empty() {
        return String::new();
    }
    let name = |action: &usize| actions[*action].name.as_str();
    let set = |set: &Set| format!("{{{}}}", set.iter().map(name).collect::<Vec<_>>().join(", "));
    let sets: Vec<String> = observed.sets.keys().map(set).collect();
    let settled = runs == 1 || observed.sets.values().all(|support| support.runs.len() * 2 >= runs);
    let supports: Vec<String> = observed.sets.values().map(|seen| support(seen.runs.len(), seen.events)).collect();
    let mark = if settled { "" } else { "# not in half of the runs: " };
    format!("    {mark}{word} {} {}  # {}\n", name(&action), sets.join(" | "), supports.join("; "))
}
