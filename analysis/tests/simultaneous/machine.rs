//! An interpreter of programs that carries values as a recognition asks for, and tries every schedule.
use std::collections::{HashSet, VecDeque};
use stillpoint_analysis::{Action, Component, Point, Program, Recognition, StatementId};
use stillpoint_core::NodeId;

/// The value of a component as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    pub holds: bool,
    /// The session of the release, and how many messages were taken from it.
    pub session: u8,
    pub taken: u8,
}

/// Ways to break the rule on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    None,
    /// The recognising node does not compare counts.
    NoCount,
    /// A value outlives the session of its release.
    OldSession,
}

/// What bounds the search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Messages that a channel holds.
    pub room: usize,
    /// Messages that a channel sees in one session.
    pub messages: u8,
    /// Resets of nodes.
    pub resets: u8,
    /// States visited.
    pub states: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The statement that each task executes next.
    next: Vec<Option<StatementId>>,
    /// The task of each node that must go on before another may, because it does not wait.
    busy: Vec<Option<usize>>,
    queues: Vec<VecDeque<Vec<Option<Value>>>>,
    sent: Vec<u8>,
    taken: Vec<u8>,
    session: Vec<u8>,
    /// Whether each component holds.
    holds: Vec<bool>,
    /// What each node knows of each component.
    known: Vec<Vec<Option<Value>>>,
    resets: u8,
    /// The node that halted first.
    halted: Option<NodeId>,
}

/// What a search found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// States in which the recognising node halted.
    pub fired: usize,
    /// States after that in which a component does not hold.
    pub broken: usize,
    /// Whether every state within the limits was visited.
    pub complete: bool,
}

pub struct Machine<'a> {
    pub program: &'a Program,
    pub event: &'a [Component],
    pub plan: &'a Recognition,
    pub mutant: Mutant,
    pub limits: Limits,
}

impl Machine<'_> {
    /// Visits every state that some schedule reaches.
    pub fn explore(&self) -> Outcome {
        let mut seen = HashSet::new();
        let mut work = self.starts();
        let mut outcome = Outcome { complete: true, ..Outcome::default() };
        while let Some(state) = work.pop() {
            if state.halted.is_some() && state.holds.contains(&false) {
                outcome.broken += 1;
                continue;
            }
            if seen.contains(&state) {
                continue;
            }
            if seen.len() == self.limits.states {
                outcome.complete = false;
                break;
            }
            self.steps(&state, &mut |after, fired| {
                outcome.fired += usize::from(fired);
                work.push(after);
            });
            seen.insert(state);
        }
        outcome
    }

    fn starts(&self) -> Vec<State> {
        let (program, channels) = (self.program, self.program.channels().len());
        let nodes = usize::from(program.nodes().last().map_or(0, |node| node.0)) + 1;
        let state = State {
            next: program.tasks().iter().map(|task| Some(task.entry)).collect(),
            busy: vec![None; nodes],
            queues: vec![VecDeque::new(); channels],
            sent: vec![0; channels],
            taken: vec![0; channels],
            session: vec![0; channels],
            holds: vec![false; self.event.len()],
            known: vec![vec![None; self.event.len()]; nodes],
            resets: 0,
            halted: None,
        };
        vec![state]
    }

    fn waits(&self, id: StatementId) -> bool {
        let entry = self.program.tasks().iter().any(|task| task.entry == id);
        entry || matches!(self.program.action(id), Action::Wait | Action::Send(_) | Action::Receive(_))
    }

    fn steps(&self, state: &State, each: &mut dyn FnMut(State, bool)) {
        for (at, task) in self.program.tasks().iter().enumerate() {
            let busy = state.busy[usize::from(task.node.0)];
            // A task that preempts interrupts any other that does not.
            let interrupts = task.preempts && busy.is_none_or(|busy| !self.program.tasks()[busy].preempts);
            let free = busy.is_none_or(|busy| busy == at);
            if state.halted == Some(task.node) || !(free || interrupts) {
                continue;
            }
            let Some(statement) = state.next[at] else { continue };
            self.execute(state, at, statement, each);
        }
        if state.halted.is_none() && state.resets < self.limits.resets {
            for node in self.program.nodes() {
                each(self.reset(state, node), false);
            }
        }
    }

    fn execute(&self, state: &State, task: usize, statement: StatementId, each: &mut dyn FnMut(State, bool)) {
        let node = self.program.tasks()[task].node;
        let mut after = state.clone();
        let mut point = None;
        match self.program.action(statement) {
            Action::Local | Action::Wait => {}
            Action::Send(channel) => {
                let at = channel.index();
                if state.queues[at].len() == self.limits.room || state.sent[at] == self.limits.messages {
                    return;
                }
                let carries = |hold: &&stillpoint_analysis::Hold| hold.carriers.contains(&channel);
                let mut message = vec![None; self.event.len()];
                for hold in self.plan.holds.iter().filter(carries) {
                    message[hold.component] = self.value(state, node, hold.component);
                }
                after.queues[at].push_back(message);
                after.sent[at] += 1;
            }
            Action::Receive(channel) => {
                let Some(message) = after.queues[channel.index()].pop_front() else { return };
                after.taken[channel.index()] += 1;
                for (component, value) in message.into_iter().enumerate().filter(|(_, value)| value.is_some()) {
                    after.known[usize::from(node.0)][component] = value;
                }
                point = Some(Point::Receive(channel));
            }
            Action::Write(watch) => point = Some(Point::Write(watch)),
        }
        for after in self.written(after, statement) {
            self.go_on(after, task, statement, point, each);
        }
    }

    /// A write makes a condition true or false; both are tried.
    fn written(&self, state: State, statement: StatementId) -> Vec<State> {
        let Action::Write(watch) = self.program.action(statement) else { return vec![state] };
        let mut states = vec![state];
        for (at, component) in self.event.iter().enumerate().filter(|(_, one)| one.watches.contains(&watch)) {
            for mut other in states.clone() {
                other.holds[at] = !other.holds[at];
                if other.holds[at] || !component.monotonic {
                    states.push(other);
                }
            }
        }
        states
    }

    fn go_on(
        &self,
        state: State,
        task: usize,
        statement: StatementId,
        point: Option<Point>,
        each: &mut dyn FnMut(State, bool),
    ) {
        let node = self.program.tasks()[task].node;
        let evaluates = node == self.plan.node && point.is_some_and(|point| self.plan.points.contains(&point));
        let fires = state.halted.is_none() && evaluates && self.fires(&state);
        let mut nexts: Vec<_> = self.program.successors(statement).map(Some).collect();
        if nexts.is_empty() {
            nexts.push(None);
        }
        for next in nexts {
            let mut after = state.clone();
            after.next[task] = next;
            let rests = next.is_none_or(|next| self.waits(next));
            let interrupted = after.busy[usize::from(node.0)].filter(|busy| *busy != task);
            after.busy[usize::from(node.0)] = if rests { interrupted } else { Some(task) };
            if fires {
                after.halted = Some(node);
            }
            each(after, fires);
        }
    }

    /// The value of a component as a node can send it.
    fn value(&self, state: &State, node: NodeId, component: usize) -> Option<Value> {
        if self.event[component].node != node {
            return state.known[usize::from(node.0)][component];
        }
        let release = self.plan.holds.iter().find(|hold| hold.component == component).and_then(|hold| hold.release);
        let count =
            release.map(|release| (state.session[release.received.index()], state.taken[release.received.index()]));
        let (session, taken) = count.unwrap_or_default();
        Some(Value { holds: state.holds[component], session, taken })
    }

    /// The rule: every component is known to hold, and nothing that would let it change is under way.
    fn fires(&self, state: &State) -> bool {
        self.plan.holds.iter().all(|hold| {
            if self.event[hold.component].node == self.plan.node {
                return state.holds[hold.component];
            }
            let Some(value) = state.known[usize::from(self.plan.node.0)][hold.component] else { return false };
            let released = hold.release.is_none_or(|release| {
                let at = release.sent.index();
                let session = self.mutant == Mutant::OldSession || value.session == state.session[at];
                let count = self.mutant == Mutant::NoCount || value.taken == state.sent[at];
                session && count
            });
            value.holds && released
        })
    }

    /// The node starts anew; what was under way to it or from it is lost, and its channels begin to count anew.
    fn reset(&self, state: &State, node: NodeId) -> State {
        let mut after = state.clone();
        after.resets += 1;
        for (at, task) in self.program.tasks().iter().enumerate().filter(|(_, task)| task.node == node) {
            after.next[at] = Some(task.entry);
        }
        after.busy[usize::from(node.0)] = None;
        after.known[usize::from(node.0)].fill(None);
        for (at, channel) in self.program.channels().iter().enumerate() {
            if channel.from == node || channel.to == node {
                after.queues[at].clear();
                (after.sent[at], after.taken[at]) = (0, 0);
                after.session[at] += 1;
            }
        }
        for (at, component) in self.event.iter().enumerate().filter(|(_, one)| one.node == node) {
            after.holds[at] = after.holds[at] && component.monotonic;
        }
        after
    }
}
