//! Which send may be received where: the interprocess edges (section 2).
//!
//! A message of the send `S` is at least the (#S + 1)-th of its channel; the receive `R` takes at most the (#R + 1)-th. If
//! #S is greater than #R, no run pairs them. The counts begin with a channel: they do not hold once a node was reset.
use crate::program::index;
use crate::{Action, ChannelId, Program, StatementId, TaskId};
use petgraph::algo::tarjan_scc;
use petgraph::graph::NodeIndex;
use std::collections::VecDeque;

/// The feasible pairs of sends and receives.
///
/// # Example: the second message is not taken by the first receive
/// ```
/// use stillpoint_analysis::{Pairs, Program, StatementId};
/// let program: Program = "P: send a; send a  Q: recv a; recv a".parse()?;
/// let (pairs, [first, second, one, two]) = (Pairs::new(&program), [1, 2, 4, 5].map(StatementId));
/// assert_eq!(pairs.receives(second), [two]);
/// assert_eq!(pairs.sends(two), [first, second]);
/// assert_eq!(pairs.sends(one), [first]);
/// # Ok::<(), stillpoint_analysis::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pairs {
    receives: Vec<Vec<StatementId>>,
    sends: Vec<Vec<StatementId>>,
}

impl Pairs {
    /// Finds the feasible pairs of every channel.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let count = program.statements().count();
        let mut pairs = Self { receives: vec![Vec::new(); count], sends: vec![Vec::new(); count] };
        let components = tarjan_scc(program.graph());
        for at in 0..program.channels().len() {
            let channel = ChannelId(at as u32);
            let (least, most) = (least_sends(program, channel), most_receives(program, channel, &components));
            for send in program.statements_with(Action::Send(channel)) {
                for receive in program.statements_with(Action::Receive(channel)) {
                    // A statement that control cannot reach has no least count.
                    let Some(least) = least[send.index()] else { continue };
                    if most[receive.index()].is_none_or(|most| least <= most) {
                        pairs.receives[send.index()].push(receive);
                        pairs.sends[receive.index()].push(send);
                    }
                }
            }
        }
        pairs
    }

    /// The receives that may take a message of this send.
    #[must_use]
    pub fn receives(&self, send: StatementId) -> &[StatementId] {
        &self.receives[send.index()]
    }

    /// The sends whose message this receive may take.
    #[must_use]
    pub fn sends(&self, receive: StatementId) -> &[StatementId] {
        &self.sends[receive.index()]
    }
}

/// For each statement, how many sends on a channel its task executes at least before it (#S); `None` if control cannot
/// reach it.
fn least_sends(program: &Program, channel: ChannelId) -> Vec<Option<u32>> {
    let mut least = vec![None; program.statements().count()];
    for task in program.tasks() {
        least[task.entry.index()] = Some(0);
        let mut queue = VecDeque::from([task.entry]);
        while let Some(at) = queue.pop_front() {
            let sends = program.action(at) == Action::Send(channel);
            let here = least[at.index()].unwrap_or(0) + u32::from(sends);
            for next in program.successors(at) {
                if least[next.index()].is_none_or(|known| here < known) {
                    least[next.index()] = Some(here);
                    if sends { queue.push_back(next) } else { queue.push_front(next) }
                }
            }
        }
    }
    least
}

/// For each statement, how many receives from a channel its node executes at most before it (#R); `None` if there is no
/// limit.
fn most_receives(program: &Program, channel: ChannelId, components: &[Vec<NodeIndex>]) -> Vec<Option<u32>> {
    let graph = program.graph();
    let mut most = vec![Some(0u32); graph.node_count()];
    let mut totals = vec![Some(0u32); program.tasks().len()];
    // Tarjan's components come with successors first; here predecessors are needed first.
    for component in components.iter().rev() {
        let receives = component.iter().any(|member| graph[*member].action == Action::Receive(channel));
        let cycle = component.len() > 1 || graph.contains_edge(component[0], component[0]);
        let before = component.iter().map(|member| most[member.index()]).reduce(larger).flatten();
        let here = if cycle && receives { None } else { before };
        let after = if receives { here.map(|count| count + 1) } else { here };
        for member in component {
            most[member.index()] = here;
            for next in graph.neighbors(*member).filter(|next| !component.contains(next)) {
                most[next.index()] = larger(most[next.index()], after);
            }
        }
        let task = graph[component[0]].task.index();
        totals[task] = larger(totals[task], after);
    }
    // The node's other tasks may have taken everything they ever take.
    let others = |task: TaskId| {
        let node = program.tasks()[task.index()].node;
        let all = program.tasks().iter().zip(&totals).enumerate();
        all.filter(|(at, (other, _))| *at != task.index() && other.node == node)
            .try_fold(0u32, |sum, (_, (_, total))| total.map(|total| sum + total))
    };
    let others: Vec<_> = (0..program.tasks().len()).map(|at| others(TaskId(at as u32))).collect();
    for id in program.statements() {
        let own = most[id.index()];
        most[id.index()] = own.zip(others[graph[index(id)].task.index()]).map(|(own, others)| own + others);
    }
    most
}

/// The larger of two counts, of which `None` is without limit.
fn larger(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.zip(other).map(|(one, other)| one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(u32, u32)> {
        let program: Program = text.parse().unwrap();
        let pairs = Pairs::new(&program);
        let edges = program.statements().flat_map(|send| pairs.receives(send).iter().map(move |to| (send.0, to.0)));
        edges.collect()
    }

    #[test]
    fn a_receive_in_a_loop_may_take_any_message() {
        assert_eq!(pairs("P: send a; send a  Q: loop { recv a }"), [(1, 5), (2, 5)]);
    }

    #[test]
    fn a_send_behind_a_branch_counts_the_shorter_way() {
        assert_eq!(pairs("P: either { send a } or { skip }; send a  Q: recv a"), [(1, 5), (3, 5)]);
    }

    #[test]
    fn the_receives_of_a_sister_task_count() {
        assert_eq!(pairs("P: send a; send a  Q: recv a  Q/two: recv a"), [(1, 4), (1, 6), (2, 4), (2, 6)]);
    }

    #[test]
    fn a_statement_that_control_cannot_reach_pairs_with_nothing() {
        assert_eq!(pairs("P: send a; loop { skip }; send a  Q: loop { recv a }"), [(1, 7)]);
    }
}
