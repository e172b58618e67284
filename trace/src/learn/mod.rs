//! A model from good runs (Hyder 1.1.2, 3.2.2): what always held in some recordings, as text in the language of `check`.
//!
//! The actions are tracepoints; where a system has none, its sends and receives. Of each action the model has the observed
//! firing and routing rules, and which occurrences of others always happened before its own; of each pair of actions of two
//! nodes whether they ever ran in parallel. Each statement says how many runs and events support it. The text is meant to be
//! edited.
mod actions;
mod orders;
mod rules;
#[cfg(test)]
mod tests;

use crate::coverage::Coverage;
use crate::pattern::{Matches, Pattern, Sight};
use crate::{History, View};
use std::fmt::Write as _;

/// Why nothing can be learned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// There is no recording.
    #[error("there is nothing to learn from: name at least one recording")]
    NoRuns,
    /// Two recordings are of different systems.
    #[error("{name} is of another system: it has no node {node}")]
    OtherSystem {
        /// Which recording.
        name: String,
        /// The node that it does not have.
        node: String,
    },
    /// None has an event to learn from.
    #[error("the recordings have no tracepoint, send or receive among the chosen events")]
    NoActions,
}

/// A good run: its name and what happened.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The name of the recording.
    pub name: &'a str,
    /// What happened.
    pub history: &'a History,
}

/// An action: its name in the model, how `check` names its events, and of which node it is.
pub(crate) struct Action {
    pub name: String,
    pub text: String,
    pub node: u8,
}

/// A run with the events of every action.
pub(crate) struct Seen<'a> {
    pub history: &'a History,
    pub coverage: Coverage,
    pub patterns: Vec<Pattern>,
    pub matches: Vec<Matches>,
}

impl Seen<'_> {
    pub fn with_sight<T>(&self, f: impl FnOnce(&Sight<'_>) -> T) -> T {
        f(&Sight { history: self.history, coverage: &self.coverage, only: &|_| true })
    }
}

/// Learns from good runs. `only` chooses the events to learn from.
///
/// # Errors
/// There is no run, the runs are of different systems, or nothing is left to learn from.
///
/// # Example: b works after a told it to
/// ```
/// use stillpoint_trace::{Sketch, View, check, learn};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.local(0, 1);
/// sketch.message(0, 1);
/// sketch.local(1, 2);
/// let history = sketch.history();
/// let text = learn::learn(&[learn::Run { name: "good", history: &history }], &View::EVERYTHING)?;
/// assert!(text.contains("in b_2 {a_1}"), "{text}");
/// let model = check::parse(&check::Source { name: "learned".into(), text })?;
/// let report = check::check(&[model], &history, &check::Options::default())?;
/// assert_eq!(report.count(check::Verdict::Fails), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn learn(runs: &[Run<'_>], only: &View) -> Result<String, LearnError> {
    let first = runs.first().ok_or(LearnError::NoRuns)?;
    for run in runs {
        let has = |name: &str| run.history.header.nodes.iter().any(|node| node.name == name);
        if let Some(node) = first.history.header.nodes.iter().find(|node| !has(&node.name)) {
            return Err(LearnError::OtherSystem { name: run.name.into(), node: node.name.clone() });
        }
    }
    let actions = actions::of(runs, only);
    if actions.is_empty() {
        return Err(LearnError::NoActions);
    }
    let seen: Vec<Seen<'_>> = runs.iter().filter_map(|run| actions::find(run.history, &actions)).collect();
    let mut text = String::new();
    let names: Vec<&str> = runs.iter().map(|run| run.name).collect();
    let _ = writeln!(text, "# Learned from {} good runs: {}", runs.len(), names.join(", "));
    text.push_str("# What is written here always held in them. Remove what need not hold.\n\n");
    text.push_str(&rules::say(&actions, &seen));
    text.push_str(&orders::say(&actions, &seen));
    Ok(text)
}

/// `10 runs, 480 events`
fn support(runs: usize, events: u64) -> String {
    format!("{runs} runs, {events} events")
}
