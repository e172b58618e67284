//! Whether a condition stays as it was sent until the recognising node lets it change (section 3.2.3).
//!
//! A node sends the value of its condition together with the number of messages that it has taken from a *release*: a
//! channel that only the recognising node fills. The recognising node acts on the value only if it has sent no more than
//! that number. So the value is stable if no statement that changes the condition can be reached from the send without a
//! receive from the release.
use crate::{Action, ChannelId, Component, Program, StatementId, Task};
use fixedbitset::FixedBitSet;

/// How the condition of a component stays true (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Once true it is true for ever.
    Monotonic,
    /// The task that sends the value does nothing else before it waits for the release.
    Dependent,
    /// Other statements follow the send, but none of them changes the condition before the release.
    GeneralisedDependent,
}

/// The channel that lets a component change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The channel that the recognising node fills.
    pub sent: ChannelId,
    /// The channel that the component's node takes from: the same one, or the other end of tasks that only pass messages on.
    pub received: ChannelId,
}

/// A path on which a condition changes before the recognising node lets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where the path begins: the send of the value, or where another task of the node may stand at that moment.
    pub from: StatementId,
    /// The statement that sets a watch of the condition.
    pub write: StatementId,
}

/// Checks that a component stays as it is sent on the channel `carrier` until a message is taken from `release`.
pub fn stability(
    program: &Program,
    component: &Component,
    carrier: ChannelId,
    release: ChannelId,
) -> Result<Class, Change> {
    let mut class = Class::Dependent;
    for send in program.statements_with(Action::Send(carrier)) {
        let sender = &program.tasks()[program.statement(send).task.index()];
        let own = walk(program, component, release, send, program.successors(send))?;
        if own.ones().any(|at| program.action(StatementId(at as u32)) != Action::Local) {
            class = Class::GeneralisedDependent;
        }
        for (at, task) in program.tasks().iter().enumerate() {
            let sister = task.node == component.node && at != program.statement(send).task.index();
            if !sister || !writes(program, component, at) {
                continue;
            }
            class = Class::GeneralisedDependent;
            for from in resting_places(program, at, task, sender) {
                walk(program, component, release, from, [from])?;
            }
        }
    }
    Ok(class)
}

/// Whether a task sets a watch of the component.
fn writes(program: &Program, component: &Component, task: usize) -> bool {
    let own = program.statements().filter(|id| program.statement(*id).task.index() == task);
    own.into_iter().any(|id| changes(program, component, id))
}

fn changes(program: &Program, component: &Component, id: StatementId) -> bool {
    matches!(program.action(id), Action::Write(watch) if component.watches.contains(&watch))
}

/// Where a task may stand while another task of its node sends: where it waits, or anywhere if one of the two preempts.
fn resting_places(program: &Program, at: usize, task: &Task, sender: &Task) -> Vec<StatementId> {
    let anywhere = task.preempts || sender.preempts;
    let own = program.statements().filter(|id| program.statement(*id).task.index() == at);
    own.filter(|id| {
        let waits = matches!(program.action(*id), Action::Wait | Action::Send(_) | Action::Receive(_));
        anywhere || waits || *id == task.entry
    })
    .collect()
}

/// Visits everything that control reaches from `starts` without a receive from `release`. Fails at a change of the component.
fn walk(
    program: &Program,
    component: &Component,
    release: ChannelId,
    from: StatementId,
    starts: impl IntoIterator<Item = StatementId>,
) -> Result<FixedBitSet, Change> {
    let mut seen = FixedBitSet::with_capacity(program.statements().count());
    let mut work: Vec<_> = starts.into_iter().collect();
    while let Some(at) = work.pop() {
        if program.action(at) == Action::Receive(release) || seen.put(at.index()) {
            continue;
        }
        if changes(program, component, at) {
            return Err(Change { from, write: at });
        }
        work.extend(program.successors(at));
    }
    Ok(seen)
}
