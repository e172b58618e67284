//! Whether something ever happened in a trace: conjunctions over several nodes, chains of events, concurrent events.
//!
//! The language is that of breakpoints (`docs/BREAKPOINTS.md`) with `A || B` for concurrent events; `docs/CHECK.md` says
//! what the answers mean.
mod chain;
mod cut;
mod pairs;
mod question;
mod show;
mod spell;
#[cfg(test)]
mod tests;

use crate::coverage::Coverage;
use crate::expr::{Directory, ExprError};
use crate::local::is_beyond;
use crate::pattern::{Sight, last_up_to, notes};
use crate::{EventId, History, Past, Shown};
use question::{Local, Question};
use serde::Serialize;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It did.
    Yes,
    /// It did not.
    No,
    /// The trace does not say enough.
    Unknown,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Whether something happened, perhaps one thing after another.
    Happened,
    /// Whether events were concurrent.
    Concurrent,
    /// Whether something held on several nodes at once.
    AtOnce,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detection {
    /// What was asked for.
    pub expression: String,
    /// In which way.
    pub asked: Asked,
    /// Whether there is an order of events, of those that can have been, in which it happened.
    pub possibly: Answer,
    /// Whether it happened in every order in which the events can have been.
    pub definitely: Answer,
    /// The first times.
    pub found: Vec<Sighting>,
    /// How often in all; for what holds at once, in how many of the alternatives.
    pub total: u64,
    /// Why something is not known.
    pub reasons: Vec<String>,
    /// What is missing or broken in the trace.
    pub notes: Vec<String>,
    /// How many pairs were compared.
    pub steps: u64,
}

/// One time that it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sighting {
    /// Of several alternatives, which.
    pub what: String,
    /// Whether every order of events passes through it.
    pub definitely: bool,
    /// The events; of a cut the last event of every node in it, its frontier.
    pub events: Vec<Shown>,
    /// Nodes that had not done anything yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before_all: Vec<String>,
}

/// Looks for something in a trace, and shows the first `most` times.
///
/// # Errors
/// The expression makes no sense, or names what is not in the trace.
///
/// # Example: two nodes that send at the same time
/// ```
/// use stillpoint_trace::{Sketch, detect};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.send(0, 1);
/// sketch.send(1, 0);
/// let found = detect::detect("a:send || b:send", &sketch.history(), 5)?;
/// assert_eq!((found.possibly, found.total), (detect::Answer::Yes, 1));
/// # Ok::<(), stillpoint_trace::expr::ExprError>(())
/// ```
pub fn detect(expression: &str, history: &History, most: usize) -> Result<Detection, ExprError> {
    let question = question::ask(expression, &Directory::of_trace(&history.header))?;
    let coverage = Coverage::of(history);
    let sight = Sight { history, coverage: &coverage, only: &|_| true };
    let mut detection = Detection {
        expression: expression.to_owned(),
        asked: Asked::Happened,
        possibly: Answer::No,
        definitely: Answer::No,
        found: Vec::new(),
        total: 0,
        reasons: Vec::new(),
        notes: notes(history),
        steps: 0,
    };
    match question {
        Question::Linked(stages) => linked(&sight, &stages, most, &mut detection),
        Question::Concurrent(stages) => pairs::concurrent(&sight, &stages, most, &mut detection),
        Question::Cut(alternatives) => at_once(&sight, &alternatives, &mut detection),
    }
    Ok(detection)
}

fn linked(sight: &Sight<'_>, stages: &[Vec<Local>], most: usize, detection: &mut Detection) {
    let (chains, total) = chain::chains(sight, stages, most);
    detection.steps = sight.history.events.len() as u64;
    detection.total = total;
    let role = |stage: usize| if stages.len() == 1 { String::new() } else { format!("stage {}", stage + 1) };
    detection.found = chains
        .into_iter()
        .map(|chain| Sighting {
            what: String::new(),
            definitely: true,
            events: chain.iter().enumerate().map(|(at, event)| Shown::new(sight.history, *event, role(at))).collect(),
            before_all: Vec::new(),
        })
        .collect();
    // A stage may have been satisfied before the recording began.
    let linked = stages.len() > 1;
    detection.reasons.extend(blind(sight, stages.iter().flatten(), linked, linked));
    // Every order of the events has every event in it, and keeps the order that is known.
    let answer = match (total, detection.reasons.is_empty()) {
        (0, true) => Answer::No,
        (0, false) => Answer::Unknown,
        _ => Answer::Yes,
    };
    (detection.possibly, detection.definitely) = (answer, answer);
}

/// Why something may have happened on these nodes that is not known: within the recording, before it if that counts, or in
/// an order that is not known if that does.
fn blind<'a>(
    sight: &Sight<'_>,
    locals: impl Iterator<Item = &'a Local>,
    before: bool,
    ordered: bool,
) -> Option<String> {
    let mut nodes = Vec::new();
    for local in locals {
        let holes =
            sight.coverage.holes(local.node).iter().filter(|hole| hole.is_inside() || before && hole.after.is_none());
        let hides = |hole: &&crate::coverage::Hole| {
            local.terms.iter().any(|term| sight.coverage.may_hide(local.node, hole, &term.what))
        };
        if let Some(hole) = { holes }.find(hides) {
            return Some(sight.coverage.say(sight.history, local.node, hole));
        }
        nodes.push(local.node);
    }
    let past = || {
        let within = |event: &&crate::Event| nodes.contains(&event.id.node) && !is_beyond(event);
        let events = sight.history.events.iter().filter(within);
        { events }.find_map(|event| match event.past {
            Past::Unknown { why } => Some(why.say(sight.history.node_name(why.node()))),
            Past::Known => None,
        })
    };
    sight.coverage.damage.clone().or_else(|| ordered.then(past).flatten())
}

fn at_once(sight: &Sight<'_>, alternatives: &[Vec<Local>], detection: &mut Detection) {
    detection.asked = Asked::AtOnce;
    let (mut unknown, mut definite_unknown) = (false, false);
    for locals in alternatives {
        let cuts = cut::search(sight, locals);
        detection.steps += cuts.steps;
        let text = locals.iter().map(|local| local.text.as_str()).collect::<Vec<_>>().join(" & ");
        let reason = cuts.unknown.clone().filter(|why| !detection.reasons.contains(why));
        unknown |= cuts.may_be;
        definite_unknown |=
            cuts.definitely.is_none() && cuts.unknown.is_some() && (cuts.may_be || cuts.possibly.is_some());
        // What is definite is possible; its cut may be known where the first possible one is not.
        let Some(fit) = cuts.possibly.as_ref().or(cuts.definitely.as_ref()) else {
            detection.reasons.extend(reason.filter(|_| cuts.may_be));
            continue;
        };
        detection.reasons.extend(reason);
        detection.total += 1;
        let sighting = frontier(sight.history, locals, fit, text, cuts.definitely.is_some());
        detection.found.push(sighting);
    }
    let definite = detection.found.iter().any(|found| found.definitely);
    detection.possibly = match (detection.total, unknown) {
        (0, false) => Answer::No,
        (0, true) => Answer::Unknown,
        _ => Answer::Yes,
    };
    // Orders that avoid each alternative by itself may yet meet one or the other.
    let together = alternatives.len() > 1 && detection.total > 1;
    if together && !definite {
        detection.reasons.push("each alternative can be avoided; whether all can be at once was not looked for".into());
    }
    detection.definitely = match (definite, definite_unknown || unknown || together) {
        (true, _) => Answer::Yes,
        (false, true) => Answer::Unknown,
        (false, false) => Answer::No,
    };
}

/// The frontier of the earliest cut.
fn frontier(history: &History, locals: &[Local], fit: &cut::Fit, what: String, definitely: bool) -> Sighting {
    let cut = cut::earliest(history, fit);
    let (mut events, mut before_all) = (Vec::new(), Vec::new());
    for (node, number) in cut.iter().enumerate().filter(|(node, _)| history.header.node(*node as u8).is_some()) {
        let node = node as u8;
        let part = locals.iter().find(|local| local.node == node).map(|local| local.text.clone());
        match last_up_to(history, node, *number).filter(|_| *number != 0) {
            Some(event) => {
                let mut shown = Shown::new(history, event, part.unwrap_or_default());
                let id = EventId { node, number: *number };
                if shown.id != id {
                    shown.event = format!("{} (not recorded)", history.header.event_name(id));
                }
                events.push(shown);
            }
            None => before_all.push(history.node_name(node)),
        }
    }
    Sighting { what, definitely, events, before_all }
}

impl Sighting {
    /// What shows it in a picture.
    #[must_use]
    pub fn evidence(&self, asked: Asked) -> crate::show::Evidence {
        let events = self.events.iter().map(|event| (event.id, event.beside())).collect();
        crate::show::Evidence { what: self.what.clone(), events, unordered: asked != Asked::Happened }
    }
}
