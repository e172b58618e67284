//! Whether what was recorded is what was expected: `pred`, `parallel` and models of order (Hyder 3.3 and 6.5).
//!
//! [`parse`] reads a model, [`check`] holds a trace against it. The language is described in `docs/CHECK.md`.
mod flow;
mod immediate;
mod instances;
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

pub use model::{Model, ModelError, Source};
pub use parse::parse;
pub use report::{Finding, Outcome, Report, Verdict};

use crate::coverage::Coverage;
use crate::expr::Directory;
use crate::pattern::{Sight, notes};
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
    Ok(Report { checks: checks.into_iter().map(run).collect(), notes: notes(history) })
}
