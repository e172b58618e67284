//! One run of a program by a random schedule, with everything that it shows of chains of messages.
use std::collections::{BTreeSet, VecDeque};
use stillpoint_analysis::{Action, Program, StatementId};

/// A chain of messages: the send it began with, and the nodes it has visited, one bit each.
type Chain = (StatementId, u32);

/// What a run showed.
#[derive(Debug, Default)]
pub struct Run {
    /// Which send's message each receive took.
    pub pairs: BTreeSet<(StatementId, StatementId)>,
    /// Which send began a chain that visits no node twice and ended with this receive.
    pub chains: BTreeSet<(StatementId, StatementId)>,
    /// The statements executed.
    pub executed: BTreeSet<StatementId>,
    /// For each executed statement, those executed before its first execution.
    pub before: Vec<(StatementId, BTreeSet<StatementId>)>,
    /// Whether every task ended and every message was taken.
    pub complete: bool,
}

/// Runs a program until nothing can go on, or `steps` are over. `choose` picks a number below its argument.
pub fn walk(program: &Program, steps: usize, mut choose: impl FnMut(usize) -> usize) -> Run {
    let mut run = Run::default();
    let mut next: Vec<Option<StatementId>> = program.tasks().iter().map(|task| Some(task.entry)).collect();
    let mut queues: Vec<VecDeque<(StatementId, BTreeSet<Chain>)>> = vec![VecDeque::new(); program.channels().len()];
    let mut known: Vec<BTreeSet<Chain>> = vec![BTreeSet::new(); program.tasks().len().max(program.nodes().len()) + 32];
    for _ in 0..steps {
        let ready: Vec<usize> = (0..next.len())
            .filter(|task| {
                next[*task].is_some_and(|at| match program.action(at) {
                    Action::Receive(channel) => !queues[channel.index()].is_empty(),
                    _ => true,
                })
            })
            .collect();
        if ready.is_empty() {
            break;
        }
        let task = ready[choose(ready.len())];
        let Some(at) = next[task] else { break };
        let node = program.node_of(at);
        let own = &mut known[usize::from(node.0)];
        match program.action(at) {
            Action::Send(channel) => {
                let mut chains = own.clone();
                chains.insert((at, 1 << node.0));
                queues[channel.index()].push_back((at, chains));
            }
            Action::Receive(channel) => {
                let (send, chains) = queues[channel.index()].pop_front().expect("it was ready");
                run.pairs.insert((send, at));
                for (first, visited) in chains.into_iter().filter(|(_, visited)| visited & 1 << node.0 == 0) {
                    run.chains.insert((first, at));
                    own.insert((first, visited | 1 << node.0));
                }
            }
            Action::Local | Action::Wait | Action::Write(_) => {}
        }
        if !run.executed.contains(&at) {
            run.before.push((at, run.executed.clone()));
            run.executed.insert(at);
        }
        let after: Vec<_> = program.successors(at).collect();
        next[task] = (!after.is_empty()).then(|| after[choose(after.len())]);
    }
    run.complete = next.iter().all(Option::is_none) && queues.iter().all(VecDeque::is_empty);
    run
}
