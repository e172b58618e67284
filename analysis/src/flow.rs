//! Control flow inside a task: reachability, dominators and postdominators (section 3.2).
use crate::program::index;
use crate::{Program, StatementId};
use fixedbitset::FixedBitSet;
use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Reversed;

/// What control flow says of the statements of each task.
///
/// # Example: the statements behind a branch
/// ```
/// use stillpoint_analysis::{Flow, Program, StatementId};
/// let program: Program = "P: either { send a } or { skip }; set x  Q: recv a".parse()?;
/// let (flow, [entry, send, skip, write]) = (Flow::new(&program), [0, 1, 2, 3].map(StatementId));
/// assert!(flow.reaches(send, write) && !flow.reaches(send, skip));
/// assert!(flow.dominates(entry, write) && !flow.dominates(send, write));
/// assert!(flow.postdominates(write, send));
/// # Ok::<(), stillpoint_analysis::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Flow {
    reach: Vec<FixedBitSet>,
    dominators: Vec<Dominators<NodeIndex>>,
    postdominators: Dominators<NodeIndex>,
    task: Vec<usize>,
}

impl Flow {
    /// Analyses every task of a program.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let graph = program.graph();
        let components = tarjan_scc(graph);
        let dominators = program.tasks().iter().map(|task| simple_fast(graph, index(task.entry))).collect();
        let (with_stop, stop) = with_stop(program, &components);
        Self {
            reach: reach(graph, &components),
            dominators,
            postdominators: simple_fast(Reversed(&with_stop), stop),
            task: program.statements().map(|id| program.statement(id).task.index()).collect(),
        }
    }

    /// The statements that control may reach after `from`. It contains `from` only if `from` lies on a loop.
    #[must_use]
    pub fn reach(&self, from: StatementId) -> &FixedBitSet {
        &self.reach[from.index()]
    }

    /// Whether control may reach `to` after `from`.
    #[must_use]
    pub fn reaches(&self, from: StatementId, to: StatementId) -> bool {
        self.reach(from).contains(to.index())
    }

    /// Whether every path from the entry of the task to `of` passes `statement`.
    #[must_use]
    pub fn dominates(&self, statement: StatementId, of: StatementId) -> bool {
        self.task[statement.index()] == self.task[of.index()]
            && contains(&self.dominators[self.task[of.index()]], statement, of)
    }

    /// Whether every path from `of` to the end of the task passes `statement`. An endless loop ends at its head.
    #[must_use]
    pub fn postdominates(&self, statement: StatementId, of: StatementId) -> bool {
        self.task[statement.index()] == self.task[of.index()] && contains(&self.postdominators, statement, of)
    }
}

fn contains(dominators: &Dominators<NodeIndex>, statement: StatementId, of: StatementId) -> bool {
    dominators.dominators(index(of)).is_some_and(|mut all| all.any(|one| one == index(statement)))
}

/// Reachable sets, one strongly connected component after another, successors first.
fn reach<N>(graph: &DiGraph<N, ()>, components: &[Vec<NodeIndex>]) -> Vec<FixedBitSet> {
    let mut reach = vec![FixedBitSet::with_capacity(graph.node_count()); graph.node_count()];
    for component in components {
        let mut all = FixedBitSet::with_capacity(graph.node_count());
        for member in component {
            for next in graph.neighbors(*member) {
                all.insert(next.index());
                all.union_with(&reach[next.index()]);
            }
        }
        for member in component {
            reach[member.index()].clone_from(&all);
        }
    }
    reach
}

/// The graph with one more node, which follows every statement without successors and the head of every endless loop.
fn with_stop(program: &Program, components: &[Vec<NodeIndex>]) -> (DiGraph<(), ()>, NodeIndex) {
    let graph = program.graph();
    let mut extended = graph.map(|_, _| (), |_, ()| ());
    let stop = extended.add_node(());
    let reachable: Vec<_> = program.tasks().iter().map(|task| index(task.entry)).collect();
    for component in components {
        let leaves = component.iter().any(|member| graph.neighbors(*member).any(|next| !component.contains(&next)));
        if leaves {
            continue;
        }
        // A head is where control enters the loop from outside, or where the task begins.
        for member in component {
            let entered = graph
                .neighbors_directed(*member, petgraph::Direction::Incoming)
                .any(|before| !component.contains(&before));
            if entered || reachable.contains(member) {
                extended.add_edge(*member, stop, ());
            }
        }
    }
    (extended, stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action;

    #[test]
    fn a_statement_of_an_endless_loop_is_followed_by_those_between_it_and_the_head() {
        let program: Program = "P: loop { send a; recv b; set x }  Q: loop { recv a; send b }".parse().unwrap();
        let flow = Flow::new(&program);
        let find = |action| program.statements_with(action).next().unwrap();
        let send = find(Action::Send(program.channel("a").unwrap()));
        let receive = find(Action::Receive(program.channel("b").unwrap()));
        let write = find(Action::Write(program.watch("x").unwrap()));
        assert!(flow.postdominates(write, receive) && flow.postdominates(receive, send));
        assert!(!flow.postdominates(send, write));
        assert!(flow.reaches(write, send) && flow.reaches(send, send));
        assert!(flow.dominates(send, write) && !flow.dominates(write, send));
    }

    #[test]
    fn statements_of_other_tasks_are_unrelated() {
        let program: Program = "P: send a  Q: recv a".parse().unwrap();
        let flow = Flow::new(&program);
        for one in program.statements() {
            for other in program.statements().filter(|other| program.node_of(*other) != program.node_of(one)) {
                assert!(!flow.reaches(one, other) && !flow.dominates(one, other) && !flow.postdominates(one, other));
            }
        }
    }
}
