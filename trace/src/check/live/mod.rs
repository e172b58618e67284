//! Checking while it runs (Hyder 1.3.4, 6.5): failures of `pred` and `not parallel` are found with the event that makes them
//! certain.
//!
//! What is kept is bounded: of each member of a `pred` the first event on each node, of one with a variable those that may
//! still be asked for, and of `not parallel` the events that some node does not know of yet. An access of a shared object is checked
//! when all accesses before it were read. Everything else, models of order and what is not certain, is left to
//! [`check`](super::check()) on the finished recording.
mod rules;
mod watched;

use super::model::{Check, Model, ModelError, Rule};
use super::resolve;
use crate::expr::Directory;
use crate::local::is_beyond;
use crate::pattern::Pattern;
use crate::{CausalityStream, Event, EventId, Header};
use rules::{Decision, LiveRule, Now, never, pred};
use watched::{NodeState, Watched};

/// A failure that is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where the check stands: `ring.model:3`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// The event with which it became so.
    pub event: EventId,
    /// When the record of that event was read, in microseconds since reading began.
    pub wall: u64,
}

/// Checks events in causal order as they come.
///
/// # Example: b works before a told it to
/// ```
/// use stillpoint_trace::{Sketch, check};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.local(1, 2);
/// sketch.local(0, 1);
/// let history = sketch.history();
/// let text = "pred b:trace(2) { a:trace(1) }".into();
/// let model = check::parse(&check::Source { name: "m".into(), text })?;
/// let mut live = check::Live::new(&[model], &history.header)?;
/// let found: Vec<_> = (0..2).flat_map(|at| live.event(&history.events[at], history.clock(at))).collect();
/// assert_eq!(found[0].what, "b#1 trace(2) has no a:trace(1) before it");
/// # Ok::<(), check::ModelError>(())
/// ```
///
/// Where objects are shared, call [`settle`](Self::settle) each time all logs were read once more, and at the end.
pub struct Live {
    header: Header,
    checks: Vec<LiveCheck>,
    nodes: Vec<NodeState>,
    /// What flows through shared objects; none if only messages and calls order events.
    objects: Option<CausalityStream>,
    left: Vec<LeftOut>,
}

/// A check that is not decided while the system runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The place of the check: `ring.model:3`.
    pub place: String,
    /// The check as it is written.
    pub text: String,
    /// The reason.
    pub why: &'static str,
}

/// The state of a check while the system runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The place of the check: `ring.model:3`.
    pub place: String,
    /// The check as it is written.
    pub text: String,
    /// Events that it is about.
    pub events: u64,
    /// Failures that are certain.
    pub failed: u64,
    /// Events that cannot be decided: part of their past is missing.
    pub undecided: u64,
}

struct LiveCheck {
    so_far: Progress,
    rule: LiveRule,
}

impl Live {
    /// Looks up the names of some models in the system that a header describes.
    ///
    /// # Errors
    /// A name in a model does not exist.
    pub fn new(models: &[Model], header: &Header) -> Result<Self, ModelError> {
        let mut live = Self {
            header: header.clone(),
            checks: Vec::new(),
            nodes: vec![NodeState::default(); crate::CausalOrder::new(header).width()],
            objects: Some(CausalityStream::new(header)),
            left: Vec::new(),
        };
        for node in &header.nodes {
            if let Some(state) = live.nodes.get_mut(usize::from(node.id)) {
                state.watches = vec![Some(0); node.watches.len()];
            }
        }
        for Check { place, text, rule } in resolve::resolve(models, &Directory::of_trace(header))? {
            let watched = |patterns: Vec<Pattern>| patterns.into_iter().map(Watched::new).collect::<Vec<_>>();
            let rule = match rule {
                Rule::Pred(of, sets) => {
                    LiveRule::Pred { of: Watched::new(of), sets: sets.into_iter().map(watched).collect() }
                }
                Rule::Parallel { patterns, never: true } if patterns.len() == 2 => {
                    let mut sides = patterns.into_iter().map(Watched::new);
                    let (Some(one), Some(other)) = (sides.next(), sides.next()) else { continue };
                    LiveRule::Never { sides: [one, other], failed: false }
                }
                other => {
                    live.left.push(LeftOut { place, text, why: why_left(&other) });
                    continue;
                }
            };
            let so_far = Progress { place, text, events: 0, failed: 0, undecided: 0 };
            live.checks.push(LiveCheck { so_far, rule });
        }
        Ok(live)
    }

    /// Orders events by messages and calls alone, without the accesses of shared objects.
    #[must_use]
    pub fn by_synchronisation(self) -> Self {
        Self { objects: None, ..self }
    }

    /// The checks that are left to the finished recording.
    #[must_use]
    pub fn left(&self) -> &[LeftOut] {
        &self.left
    }

    /// The checks that are made while the system runs.
    pub fn progress(&self) -> impl Iterator<Item = &Progress> {
        self.checks.iter().map(|check| &check.so_far)
    }

    /// How many events are kept because something about them is undecided, or because an access before them may still come.
    #[must_use]
    pub fn held(&self) -> usize {
        let of = |check: &LiveCheck| match &check.rule {
            LiveRule::Pred { sets, .. } => sets.iter().flatten().map(|member| member.kept.len()).sum::<usize>(),
            LiveRule::Never { sides, .. } => sides.iter().map(|side| side.kept.len()).sum(),
        };
        self.checks.iter().map(of).sum::<usize>() + self.objects.as_ref().map_or(0, CausalityStream::held)
    }

    /// The next event in the order of messages and calls. Returns what is certainly wrong now.
    pub fn event(&mut self, event: &Event, clock: &[u32]) -> Vec<Violation> {
        let mut found = Vec::new();
        // Out of its place while events are decided.
        match self.objects.take() {
            Some(mut objects) => {
                objects.push(event, clock, &mut |event, clock| self.decide(event, clock, &mut found));
                self.objects = Some(objects);
            }
            None => self.decide(event, clock, &mut found),
        }
        found
    }

    /// All logs were read again since what was read at `wall` or before, in microseconds since reading began: what accesses of shared
    /// objects left open until then is decided. `u64::MAX` means that nothing more comes.
    pub fn settle(&mut self, wall: u64) -> Vec<Violation> {
        let mut found = Vec::new();
        if let Some(mut objects) = self.objects.take() {
            objects.settle(wall, &mut |event, clock| self.decide(event, clock, &mut found));
            self.objects = Some(objects);
        }
        found
    }

    /// The next event in causal order.
    fn decide(&mut self, event: &Event, clock: &[u32], found: &mut Vec<Violation>) {
        if !event.counts() || is_beyond(event) {
            return;
        }
        let node = usize::from(event.id.node);
        if node >= self.nodes.len() {
            return;
        }
        self.nodes[node].take(event, clock);
        let now = Now { event, clock, nodes: &self.nodes, is_sure: event.past.is_known() };
        for LiveCheck { so_far, rule } in &mut self.checks {
            let Decision { concerns, undecided, wrong } = match rule {
                LiveRule::Pred { of, sets } => pred(of, sets, &now),
                LiveRule::Never { sides, failed } => never(sides, failed, &now),
            };
            so_far.events += u64::from(concerns);
            so_far.undecided += u64::from(undecided);
            if let Some(what) = wrong {
                so_far.failed += 1;
                let what = format!("{} {what}", self.header.describe(event));
                found.push(Violation { place: so_far.place.clone(), what, event: event.id, wall: event.wall });
            }
        }
    }
}

/// The reason why a check is made on the finished recording only.
fn why_left(rule: &Rule) -> &'static str {
    match rule {
        Rule::Pred(..) | Rule::Parallel { never: true, .. } => "more than two events: their combinations are not kept",
        Rule::Parallel { never: false, .. } => "concurrent events may come until the end",
        Rule::Immediate(..) => "the lists of immediate predecessors are made from the finished recording",
        Rule::Order(..) => "what can still follow an event is known at the end",
    }
}
