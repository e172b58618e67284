//! Whether what was recorded is what was expected: `pred`, `parallel` and models of order (Hyder 3.3 and 6.5).
//!
//! [`parse`] reads a model, [`check`] holds a trace against it. The language is described in `docs/CHECK.md`.
mod flow;
mod immediate;
mod instances;
mod live;
mod model;
mod order;
mod parallel;
mod parse;
mod pred;
mod report;
mod resolve;
mod show;
#[cfg(test)]
mod tests;

pub(crate) use flow::Marked;
pub use live::{LeftOut, Live, Progress, Violation};
pub use model::{Model, ModelError, Source};
pub use parse::parse;
pub use report::{Finding, First, Outcome, Report, Verdict};

use crate::coverage::Coverage;
use crate::expr::Directory;
use crate::pattern::{Matches, Pattern, Sight, notes};
use crate::{History, View};
use model::{Check, Rule};

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which events are looked at; the others only carry order.
    pub only: View,
    /// How many failures of a check are shown; all are counted.
    pub shown: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { only: View::EVERYTHING, shown: 5 }
    }
}

/// Holds a trace against models of what was expected.
///
/// # Errors
/// A name in a model does not exist in the trace.
///
/// # Example: a receive has a send before it, and no two of them are concurrent
/// ```
/// use stillpoint_trace::{Sketch, check};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.message(0, 1);
/// sketch.message(1, 0);
/// let text = "pred b:recv(from_a) { a:send(to_b) }\nnot parallel (a:send, b:send)".into();
/// let model = check::parse(&check::Source { name: "model".into(), text })?;
/// let report = check::check(&[model], &sketch.history(), &check::Options::default())?;
/// assert_eq!(report.count(check::Verdict::Holds), 2);
/// # Ok::<(), check::ModelError>(())
/// ```
pub fn check(models: &[Model], history: &History, options: &Options) -> Result<Report, ModelError> {
    let checks = resolve::resolve(models, &Directory::of_trace(&history.header))?;
    let coverage = Coverage::of(history);
    let only = |index: usize| options.only.shows(&history.events[index], &history.header);
    let sight = Sight { history, coverage: &coverage, only: &only };
    let run = |Check { place, text, rule }: Check| {
        let mut outcome = Outcome::new(place, text);
        match &rule {
            Rule::Pred(of, sets) => pred::run(&sight, of, sets, options.shown, &mut outcome),
            Rule::Immediate(of, sets) => immediate::run(&sight, of, sets, options.shown, &mut outcome),
            Rule::Parallel { patterns, never } => {
                parallel::run(&sight, patterns, *never, options.shown, &mut outcome);
            }
            Rule::Order(model) => order::run(&sight, model, options.shown, &mut outcome),
        }
        outcome.settle();
        outcome
    };
    let checks: Vec<Outcome> = checks.into_iter().map(run).collect();
    let first = First::of(&checks, history);
    Ok(Report { checks, first, notes: notes(history) })
}

/// What `check` means by some events of a trace; none if a name does not exist.
pub(crate) fn patterns(texts: &[&str], history: &History) -> Option<Vec<Pattern>> {
    let directory = Directory::of_trace(&history.header);
    let pattern = |text: &&str| {
        let model = parse(&Source { name: String::new(), text: format!("pred {text} {{ {text} }}") }).ok()?;
        match resolve::resolve(&[model], &directory).ok()?.pop()?.rule {
            Rule::Pred(of, _) => Some(of),
            _ => None,
        }
    };
    texts.iter().map(pattern).collect()
}

/// The received-from lists of the events of some patterns, which no event is in two of.
pub(crate) fn lists_of(sight: &Sight<'_>, patterns: &[Pattern], matches: &[Matches]) -> flow::Lists {
    let mut of_node: Vec<Vec<Marked>> = vec![Vec::new(); sight.history.width()];
    for (action, matches) in matches.iter().enumerate() {
        for (node, events) in matches.of_node.iter().enumerate() {
            of_node[node].extend(events.iter().map(|event| (*event, action)));
        }
    }
    let patterns: Vec<&Pattern> = patterns.iter().collect();
    flow::lists(sight, &of_node, &order::holes(sight, &patterns))
}
