//! What there is to learn about: the actions of some runs.
use super::{Action, Run, Seen};
use crate::check::patterns;
use crate::coverage::Coverage;
use crate::local::is_beyond;
use crate::{Event, History, View};
use std::collections::BTreeSet;
use stillpoint_core::EventKind;

/// The actions of all runs, by node and name. Tracepoints, or sends and receives where there are none.
pub(super) fn of(runs: &[Run<'_>], only: &View) -> Vec<Action> {
    let traces = collect(runs, only, &|kind| kind == EventKind::Local);
    let found = if traces.is_empty() {
        collect(runs, only, &|kind| matches!(kind, EventKind::Send | EventKind::Receive))
    } else {
        traces
    };
    let mut actions: Vec<Action> = Vec::new();
    for (node, text) in found {
        let mut name = identifier(&text);
        while actions.iter().any(|action| action.name == name) {
            name.push('_');
        }
        actions.push(Action { name, text, node });
    }
    actions
}

fn collect(runs: &[Run<'_>], only: &View, is_chosen: &dyn Fn(EventKind) -> bool) -> BTreeSet<(u8, String)> {
    let mut found = BTreeSet::new();
    for run in runs {
        let header = &run.history.header;
        let shown = |event: &&Event| is_chosen(event.kind()) && only.shows(event, header) && !is_beyond(event);
        for event in run.history.events.iter().filter(shown) {
            found.insert((event.id.node, action_text(run.history, event)));
        }
    }
    found
}

/// `left0:trace("token taken")`, as a model names it.
fn action_text(history: &History, event: &Event) -> String {
    let node = quoted(&history.node_name(event.id.node));
    let kind = crate::kind_name(event.kind());
    match history.header.about(event.id.node, &event.what) {
        Some(about) => format!("{node}:{kind}({})", quoted(&about.to_string())),
        None => format!("{node}:{kind}({})", event.what.arg),
    }
}

/// A name as models write it: in quotes unless it is one word or a number.
fn quoted(name: &str) -> String {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !["and", "or", "not"].contains(&name);
    let is_number = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit());
    if is_word || is_number { name.into() } else { format!("\"{}\"", name.replace('"', "'")) }
}

/// A name for an action that is one word: `left0_token_taken`.
fn identifier(text: &str) -> String {
    let (node, rest) = text.split_once(':').unwrap_or((text, ""));
    let about = rest.split_once('(').map_or(rest, |(_, about)| about);
    let kind = rest.split('(').next().filter(|kind| *kind != "trace").unwrap_or_default();
    let parts: Vec<&str> = [node, kind, about].into_iter().filter(|part| !part.is_empty()).collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = parts.join("_").chars().map(plain).collect();
    let mut words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    if words.first().is_none_or(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        words.insert(0, "a");
    }
    words.join("_")
}

/// The events of all actions in a run; none if the run does not know the name of one.
pub(super) fn find<'a>(history: &'a History, actions: &[Action]) -> Option<Seen<'a>> {
    let texts: Vec<&str> = actions.iter().map(|action| action.text.as_str()).collect();
    let patterns = patterns(&texts, history)?;
    let mut seen = Seen { history, coverage: Coverage::of(history), patterns, matches: Vec::new() };
    seen.matches = seen.with_sight(|sight| seen.patterns.iter().map(|pattern| pattern.find(sight)).collect());
    Some(seen)
}
