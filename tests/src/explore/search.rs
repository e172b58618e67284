//! Breadth-first search through every state that a [`Model`] can reach.
//!
//! Why not a ready-made checker: states are compared in full here, not by a 64-bit fingerprint, so two states can never
//! be mistaken for each other; that the search ended because nothing was left, and that no run goes on for ever, are
//! verdicts of their own; and a counterexample is always a shortest one.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::time::{Duration, Instant};

/// Something whose every behaviour can be enumerated.
pub trait Model {
    /// A state; small, since all are kept.
    type State: Clone + Eq + Hash;
    /// One step from a state to another.
    type Action: Copy;

    /// Where every run begins.
    fn initial(&self) -> Self::State;

    /// Appends all that can happen in `state`.
    fn actions(&self, state: &Self::State, into: &mut Vec<Self::Action>);

    /// The state after `action`, or what the step itself broke.
    fn apply(&self, state: &Self::State, action: Self::Action) -> Result<Self::State, Broken>;

    /// What must hold in every state.
    fn check(&self, state: &Self::State) -> Result<(), Broken>;

    /// What must hold in a state that nothing leads out of.
    fn check_end(&self, state: &Self::State) -> Result<(), Broken>;

    /// The action, for a reader.
    fn say(&self, action: Self::Action) -> String;

    /// The state, for a reader: one or more lines.
    fn show(&self, state: &Self::State) -> String;
}

/// A property that does not hold, and what was seen instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The property's name.
    pub property: &'static str,
    /// What was seen.
    pub seen: String,
}

impl Broken {
    /// `property` does not hold: `seen` instead.
    pub fn new(property: &'static str, seen: impl Into<String>) -> Self {
        Self { property, seen: seen.into() }
    }
}

/// When to give up. A search that gave up has proven nothing.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// At most this many states.
    pub states: usize,
    /// At most this long.
    pub time: Duration,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every reachable state was visited, every property holds, and every run comes to an end.
    Exhausted,
    /// A property does not hold; here is a shortest run to where it does not.
    Broken(Counterexample),
    /// States were left when a limit was reached.
    NotExhausted(&'static str),
}

/// A run that breaks a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What is broken.
    pub broken: Broken,
    /// The steps: what happened, and the state after it. The last one has no state if the step itself was wrong.
    pub steps: Vec<(String, String)>,
}

/// What a search did and found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Distinct states visited.
    pub states: usize,
    /// Steps between them.
    pub transitions: usize,
    /// Length of the longest of the shortest runs.
    pub depth: usize,
    /// States that nothing leads out of.
    pub ends: usize,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub verdict: Verdict,
}

/// The name of the property that every run ends: no schedule goes round in circles and avoids what must come.
pub const EVERY_RUN_ENDS: &str = "every run comes to an end";

/// Visits every state of `model`, or stops at the first broken property or limit.
///
/// # Example: a counter that stops at 3
/// ```
/// use stillpoint_tests::explore::search::{Broken, Limits, Model, Verdict, explore};
/// struct Counter;
/// impl Model for Counter {
///     type State = u8;
///     type Action = ();
///     fn initial(&self) -> u8 { 0 }
///     fn actions(&self, state: &u8, into: &mut Vec<()>) { if *state < 3 { into.push(()) } }
///     fn apply(&self, state: &u8, (): ()) -> Result<u8, Broken> { Ok(state + 1) }
///     fn check(&self, _: &u8) -> Result<(), Broken> { Ok(()) }
///     fn check_end(&self, state: &u8) -> Result<(), Broken> { assert_eq!(*state, 3); Ok(()) }
///     fn say(&self, (): ()) -> String { "count".into() }
///     fn show(&self, state: &u8) -> String { state.to_string() }
/// }
/// let report = explore(&Counter, Limits { states: 10, time: std::time::Duration::MAX }, |_| ());
/// assert_eq!((report.states, report.verdict), (4, Verdict::Exhausted));
/// ```
pub fn explore<M: Model>(model: &M, limits: Limits, progress: impl FnMut(&Report)) -> Report {
    Search::new(model).run(limits, progress)
}

struct Search<'m, M: Model> {
    model: &'m M,
    known: HashMap<M::State, u32, BuildHasherDefault<WordHasher>>,
    /// By which state each was found; the first was not.
    parents: Vec<u32>,
    /// The successors of the states expanded so far, one after another, and where those of each end.
    edges: Vec<u32>,
    edges_end: Vec<usize>,
    depth: usize,
    ends: usize,
    started: Instant,
}

/// How many states are visited between two looks at the clock.
const BATCH: usize = 1 << 16;

impl<'m, M: Model> Search<'m, M> {
    fn new(model: &'m M) -> Self {
        Self {
            model,
            known: HashMap::default(),
            parents: Vec::new(),
            edges: Vec::new(),
            edges_end: Vec::new(),
            depth: 0,
            ends: 0,
            started: Instant::now(),
        }
    }

    fn run(mut self, limits: Limits, mut progress: impl FnMut(&Report)) -> Report {
        let initial = self.model.initial();
        self.find(&initial, 0);
        if let Err(broken) = self.model.check(&initial) {
            return self.broken(broken, 0, None);
        }
        let (mut frontier, mut next) = (vec![initial], Vec::new());
        let mut actions = Vec::new();
        loop {
            for state in &frontier {
                let id = self.edges_end.len() as u32;
                actions.clear();
                self.model.actions(state, &mut actions);
                let before = self.edges.len();
                for &action in &actions {
                    let successor = match self.model.apply(state, action) {
                        Ok(successor) => successor,
                        Err(broken) => return self.broken(broken, id, Some(action)),
                    };
                    // What changes nothing is no step: it neither prevents an end nor makes a circle.
                    if successor == *state {
                        continue;
                    }
                    let (found, is_new) = self.find(&successor, id);
                    self.edges.push(found);
                    if is_new {
                        if let Err(broken) = self.model.check(&successor) {
                            return self.broken(broken, found, None);
                        }
                        next.push(successor);
                    }
                }
                self.edges_end.push(self.edges.len());
                if self.edges.len() == before {
                    self.ends += 1;
                    if let Err(broken) = self.model.check_end(state) {
                        return self.broken(broken, id, None);
                    }
                }
                if self.parents.len() > limits.states {
                    return self.report(Verdict::NotExhausted("more states than the limit"));
                }
                if self.edges_end.len().is_multiple_of(BATCH) {
                    if self.started.elapsed() > limits.time {
                        return self.report(Verdict::NotExhausted("out of time"));
                    }
                    progress(&self.report(Verdict::NotExhausted("still at it")));
                }
            }
            if next.is_empty() {
                break;
            }
            self.depth += 1;
            std::mem::swap(&mut frontier, &mut next);
            next.clear();
        }
        match self.state_on_a_circle() {
            None => self.report(Verdict::Exhausted),
            Some(id) => self.broken(Broken::new(EVERY_RUN_ENDS, "this run can go on for ever"), id, None),
        }
    }

    fn find(&mut self, state: &M::State, from: u32) -> (u32, bool) {
        if let Some(&id) = self.known.get(state) {
            return (id, false);
        }
        let id = u32::try_from(self.parents.len()).expect("the limit on states is below 2^32");
        self.known.insert(state.clone(), id);
        self.parents.push(from);
        (id, true)
    }

    fn successors(&self, id: usize) -> &[u32] {
        let start = if id == 0 { 0 } else { self.edges_end[id - 1] };
        &self.edges[start..self.edges_end[id]]
    }

    /// Takes away states that nothing is left to lead into; what stays is on a circle or behind one.
    fn state_on_a_circle(&self) -> Option<u32> {
        let mut leads_in = vec![0u32; self.parents.len()];
        self.edges.iter().for_each(|&to| leads_in[to as usize] += 1);
        let mut free: Vec<u32> = if leads_in[0] == 0 { vec![0] } else { Vec::new() };
        while let Some(id) = free.pop() {
            for &to in self.successors(id as usize) {
                leads_in[to as usize] -= 1;
                if leads_in[to as usize] == 0 {
                    free.push(to);
                }
            }
        }
        leads_in.iter().position(|&count| count > 0).map(|id| id as u32)
    }

    fn report(&self, verdict: Verdict) -> Report {
        let (states, transitions) = (self.parents.len(), self.edges.len());
        Report { states, transitions, depth: self.depth, ends: self.ends, took: self.started.elapsed(), verdict }
    }

    fn broken(&self, broken: Broken, at: u32, last: Option<M::Action>) -> Report {
        let mut path = vec![at];
        while let Some(&id) = path.last().filter(|&&id| id != 0) {
            path.push(self.parents[id as usize]);
        }
        let mut state = self.model.initial();
        let mut steps = Vec::new();
        for id in path.into_iter().rev().skip(1) {
            let (action, successor) = self.step_to(&state, id);
            steps.push((self.model.say(action), self.model.show(&successor)));
            state = successor;
        }
        steps.extend(last.map(|action| (self.model.say(action), String::new())));
        self.report(Verdict::Broken(Counterexample { broken, steps }))
    }

    fn step_to(&self, state: &M::State, id: u32) -> (M::Action, M::State) {
        let mut actions = Vec::new();
        self.model.actions(state, &mut actions);
        let step = actions.into_iter().find_map(|action| {
            let successor = self.model.apply(state, action).ok()?;
            (self.known.get(&successor) == Some(&id)).then_some((action, successor))
        });
        step.expect("a state was found from its parent")
    }
}

/// Hashes words fast; collisions only cost time, since states are compared in full.
#[derive(Clone, Copy, Default)]
pub struct WordHasher(u64);

impl WordHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|&word| self.add(u64::from_le_bytes(word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
    }

    fn write_u8(&mut self, value: u8) {
        self.add(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.add(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.add(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits choose the bucket, and multiplication mixes upwards only.
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
