//! Checking while it runs (Hyder 1.3.4, 6.5): failures of `pred` and `not parallel` are found with the event that makes them
//! certain.
//!
//! What is kept is bounded: of each member of a `pred` the first event on each node, of one with a variable those that may
//! still be asked for, and of `not parallel` the events that some node does not know of yet. Everything else, models of order and
//! what is not certain, is left to [`check`](super::check()) on the finished recording.
use super::model::{Check, Model, ModelError, Rule};
use super::resolve;
use crate::expr::{Directory, Match, Surroundings, Term};
use crate::order::clock::newer;
use crate::pattern::Pattern;
use crate::{Event, EventId, Header, Past};
use std::collections::VecDeque;
use stillpoint_core::{EventKind, EventNumber};

/// A failure that is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where the check stands: `ring.model:3`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// The event with which it became so.
    pub event: EventId,
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
pub struct Live {
    header: Header,
    checks: Vec<LiveCheck>,
    nodes: Vec<NodeState>,
    /// The first access of a shared object on each node: the order of accesses is known only from the finished recording.
    first_access: Vec<Option<u32>>,
    /// Only messages and calls order events.
    is_sync: bool,
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
    /// Events that cannot be decided before the end: part of their past is missing or goes through a shared object.
    pub undecided: u64,
}

struct LiveCheck {
    so_far: Progress,
    rule: LiveRule,
}

/// What one event means for a check.
#[derive(Default)]
struct Decision {
    /// It is one of the check's events.
    concerns: bool,
    /// It would be a failure if its past were certain.
    undecided: bool,
    wrong: Option<String>,
}

/// An event with what is needed to decide about it.
struct Now<'a> {
    event: &'a Event,
    clock: &'a [u32],
    nodes: &'a [NodeState],
    /// Its past is all known.
    is_sure: bool,
}

enum LiveRule {
    Pred { of: Watched, sets: Vec<Vec<Watched>> },
    Never { sides: [Watched; 2], failed: bool },
}

/// What one node was seen to do.
#[derive(Clone, Default)]
struct NodeState {
    last: Option<u32>,
    /// Something of its log is missing.
    doubtful: bool,
    watches: Vec<Option<i32>>,
    clock: Vec<u32>,
}

/// A pattern and what is kept of its events.
struct Watched {
    pattern: Pattern,
    terms: Vec<TermState>,
    /// The events that are kept: node, number, occurrence.
    kept: VecDeque<(u8, u32, i64)>,
}

#[derive(Clone, Copy)]
struct TermState {
    before: Option<bool>,
    count: i64,
}

impl Watched {
    fn new(pattern: Pattern) -> Self {
        let terms = vec![TermState { before: Some(false), count: 0 }; pattern.terms.len()];
        Self { pattern, terms, kept: VecDeque::new() }
    }

    /// Whether the event is one of the pattern, and its occurrence on its node.
    fn occurs(&mut self, event: &Event, state: &NodeState) -> Option<i64> {
        let mut found = None;
        for ((term, nth), seen) in self.pattern.terms.iter().zip(&mut self.terms) {
            if term.node.0 != event.id.node {
                continue;
            }
            let now = holds(term, event, state);
            let is_event = matches!(term.what, Match::Event { .. });
            let occurs = now == Some(true) && (is_event || seen.before != Some(true));
            seen.before = now;
            seen.count += i64::from(occurs);
            if occurs && nth.is_none_or(|nth| seen.count == i64::from(nth)) {
                found = found.or(Some(seen.count));
            }
        }
        found
    }

    fn is_doubtful(&self, nodes: &[NodeState]) -> bool {
        self.pattern.terms.iter().any(|(term, _)| nodes.get(usize::from(term.node.0)).is_none_or(|node| node.doubtful))
    }

    /// Whether an event that is kept, of this occurrence if one is asked for, happened before another.
    fn any_before(&self, ordinal: Option<i64>, event: &Event, clock: &[u32]) -> bool {
        self.kept.iter().any(|(node, number, nth)| {
            let is_before = *node == event.id.node || !newer(*number, clock[usize::from(*node)]);
            is_before && ordinal.is_none_or(|ordinal| ordinal == *nth)
        })
    }
}

fn holds(term: &Term, event: &Event, state: &NodeState) -> Option<bool> {
    match &term.what {
        Match::Event { kind, arguments } => {
            Some(event.kind() == *kind && (arguments.is_empty() || arguments.contains(&event.what.arg)))
        }
        Match::Condition(formula) => {
            let mut unknown = false;
            let watch = |watch: u8| state.watches.get(usize::from(watch)).copied().flatten();
            let reads_others = formula.reads(&mut |of| unknown |= watch(of).is_none());
            if unknown || reads_others && !event.past.is_known() {
                return None;
            }
            let watches: Vec<i32> = state.watches.iter().map(|value| value.unwrap_or(0)).collect();
            let clock: Vec<EventNumber> = state.clock.iter().map(|number| EventNumber(*number)).collect();
            let number = EventNumber(event.id.number);
            Some(formula.holds(&Surroundings { watches: &watches, number, clock: &clock }))
        }
    }
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
            first_access: vec![None; crate::CausalOrder::new(header).width()],
            is_sync: false,
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
        Self { is_sync: true, ..self }
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

    /// How many events are kept because something about them is undecided.
    #[must_use]
    pub fn held(&self) -> usize {
        let of = |check: &LiveCheck| match &check.rule {
            LiveRule::Pred { sets, .. } => sets.iter().flatten().map(|member| member.kept.len()).sum::<usize>(),
            LiveRule::Never { sides, .. } => sides.iter().map(|side| side.kept.len()).sum(),
        };
        self.checks.iter().map(of).sum()
    }

    /// The next event in causal order. Returns what is certainly wrong now.
    pub fn event(&mut self, event: &Event, clock: &[u32]) -> Vec<Violation> {
        let mut found = Vec::new();
        if !event.counts() || matches!(event.past, Past::Unknown { why: crate::Why::After(_) }) {
            return found;
        }
        let node = usize::from(event.id.node);
        if node >= self.nodes.len() {
            return found;
        }
        if event.kind() == EventKind::Access {
            self.first_access[node].get_or_insert(event.id.number);
        }
        self.nodes[node].take(event, clock);
        // An access orders only what comes after it: an event with none in its past has the same past in both orders.
        let knows = |(first, known): (&Option<u32>, &u32)| first.is_some_and(|first| !newer(first, *known));
        let through_objects = !self.is_sync && self.first_access.iter().zip(clock).any(knows);
        let is_sure = event.past.is_known() && !through_objects;
        let now = Now { event, clock, nodes: &self.nodes, is_sure };
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
                found.push(Violation { place: so_far.place.clone(), what, event: event.id });
            }
        }
        found
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

impl NodeState {
    fn take(&mut self, event: &Event, clock: &[u32]) {
        let begins = event.id.count() <= 1 || event.kind() == EventKind::Reset;
        let is_next = self.last.map_or(begins, |last| event.id.number == last.wrapping_add(1));
        if !is_next {
            self.doubtful = true;
            self.watches.fill(None);
        }
        self.last = Some(event.id.number);
        self.clock = clock.to_vec();
        match event.kind() {
            EventKind::Watch => {
                let watch = usize::from(event.what.arg);
                if watch >= self.watches.len() {
                    self.watches.resize(watch + 1, None);
                }
                self.watches[watch] = Some(event.what.value as i32);
            }
            EventKind::Reset => self.watches.fill(Some(0)),
            _ => {}
        }
    }
}

fn pred(of: &mut Watched, sets: &mut [Vec<Watched>], now: &Now<'_>) -> Decision {
    let Now { event, clock, nodes, is_sure } = *now;
    let state = &nodes[usize::from(event.id.node)];
    let occurs = of.occurs(event, state);
    let mut decision = Decision { concerns: occurs.is_some(), ..Decision::default() };
    if let Some(nth) = occurs {
        let variable = nth - of.pattern.index.as_ref().map_or(0, |(_, offset)| *offset);
        let lacks = |member: &Watched| {
            let wanted = member.pattern.index.as_ref().map(|(_, offset)| variable + offset);
            wanted.is_none_or(|wanted| wanted >= 1) && !member.any_before(wanted, event, clock)
        };
        let names: Vec<String> = sets
            .iter()
            .map(|set| set.iter().filter(|member| lacks(member)))
            .map(|lack| lack.map(|member| member.pattern.text.clone()).collect::<Vec<_>>().join(" and no "))
            .collect();
        if names.iter().all(|names| !names.is_empty()) {
            let is_doubtful = of.is_doubtful(nodes) || sets.iter().flatten().any(|member| member.is_doubtful(nodes));
            decision.undecided = !is_sure || is_doubtful;
            let what = || format!("has no {} before it", names.join(", nor, instead, no "));
            decision.wrong = (!decision.undecided).then(what);
        }
    }
    // The least value of the variable that may still come.
    let counts = of.terms.iter().map(|term| term.count);
    let next = counts.min().unwrap_or(0) + 1 - of.pattern.index.as_ref().map_or(0, |(_, offset)| *offset);
    for member in sets.iter_mut().flatten() {
        if let Some(nth) = member.occurs(event, state) {
            // Without a variable the first on each node is enough.
            let is_first = !member.kept.iter().any(|(node, ..)| *node == event.id.node);
            if member.pattern.index.is_some() || is_first {
                member.kept.push_back((event.id.node, event.id.number, nth));
            }
        }
        if let Some((_, offset)) = member.pattern.index {
            member.kept.retain(|(_, _, nth)| *nth >= next + offset);
        }
    }
    decision
}

fn never(sides: &mut [Watched; 2], failed: &mut bool, now: &Now<'_>) -> Decision {
    let Now { event, clock, nodes, is_sure } = *now;
    let state = &nodes[usize::from(event.id.node)];
    let occurs = [0, 1].map(|side| sides[side].occurs(event, state));
    let mut concurrent = None;
    for side in 0..2 {
        let other = &sides[1 - side];
        if occurs[side].is_some() && is_sure && !*failed {
            let unknown = |(node, number, _): &&(u8, u32, i64)| {
                *node != event.id.node && newer(*number, clock[usize::from(*node)])
            };
            concurrent = concurrent.or(other.kept.iter().find(unknown).map(|_| other.pattern.text.clone()));
        }
    }
    for (side, occurs) in sides.iter_mut().zip(occurs) {
        if let Some(nth) = occurs.filter(|_| is_sure) {
            side.kept.push_back((event.id.node, event.id.number, nth));
        }
        // Whoever knows of an event is never concurrent with it again.
        side.kept.retain(|(node, number, _)| {
            let knows =
                |other: usize| nodes[other].clock.get(usize::from(*node)).is_some_and(|known| !newer(*number, *known));
            (0..nodes.len()).any(|other| other != usize::from(*node) && !knows(other))
        });
    }
    let concerns = occurs.iter().any(Option::is_some);
    let is_doubtful = sides.iter().any(|side| side.is_doubtful(nodes));
    let undecided = concerns && !*failed && (!is_sure || is_doubtful);
    let wrong = concurrent.filter(|_| !is_doubtful).map(|what| format!("is concurrent with {what}"));
    *failed |= wrong.is_some();
    Decision { concerns, undecided, wrong }
}
