//! Potential and guaranteed interactions of sends and receives: the sets PRE, POST1 and POST2 (sections 3.2.1 and 3.2.2).
//!
//! PRE is an overestimate: it contains every chain of messages that some run shows. POST1 and POST2 are underestimates,
//! for programs without loops whose messages are all taken; nothing is promised on them.
use crate::{Action, Flow, Pairs, Program, StatementId};
use fixedbitset::FixedBitSet;
use std::collections::VecDeque;

/// The sets PRE, POST1 and POST2 of every statement.
///
/// # Example: a message that is passed on
/// ```
/// use stillpoint_analysis::{Flow, Interactions, Pairs, Program, StatementId};
/// let program: Program = "P: send a  Q: recv a; send b  R: recv b".parse()?;
/// let sets = Interactions::new(&program, &Flow::new(&program), &Pairs::new(&program));
/// let (send_a, recv_b) = (StatementId(1), StatementId(6));
/// assert!(sets.pre(recv_b).contains(send_a.index()));
/// assert!(sets.post1(recv_b).contains(send_a.index()));
/// # Ok::<(), stillpoint_analysis::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Interactions {
    pre: Vec<FixedBitSet>,
    post1: Vec<FixedBitSet>,
    post2: Vec<FixedBitSet>,
}

impl Interactions {
    /// Solves the equations of the paper.
    #[must_use]
    pub fn new(program: &Program, flow: &Flow, pairs: &Pairs) -> Self {
        let ends = Ends::of(program);
        // Any receive of a node reaches any send of another task of it.
        let passes = |receive: StatementId, send: StatementId| {
            let [from, to] = [receive, send].map(|id| program.statement(id).task);
            if from == to { flow.reaches(receive, send) } else { program.node_of(receive) == program.node_of(send) }
        };
        let pre = Equations {
            program,
            inner: edges(&ends.receives, &ends.sends, passes),
            across: paired(&ends.sends, |send| pairs.receives(send)),
        };
        let post1 = Equations {
            program,
            inner: edges(&ends.receives, &ends.sends, |receive, send| flow.postdominates(send, receive)),
            across: paired(&ends.sends, |send| only(pairs.receives(send))),
        };
        let post2 = Equations {
            program,
            inner: edges(&ends.sends, &ends.receives, |send, receive| flow.dominates(receive, send)),
            across: paired(&ends.receives, |receive| only(pairs.sends(receive))),
        };
        Self { pre: pre.solve(&ends.sends), post1: post1.solve(&ends.sends), post2: post2.solve(&ends.receives) }
    }

    /// The sends from which a chain of messages may lead to this send or receive.
    #[must_use]
    pub fn pre(&self, of: StatementId) -> &FixedBitSet {
        &self.pre[of.index()]
    }

    /// The sends whose execution leads to the execution of this send or receive.
    #[must_use]
    pub fn post1(&self, of: StatementId) -> &FixedBitSet {
        &self.post1[of.index()]
    }

    /// The receives that are executed only after this send or receive was.
    #[must_use]
    pub fn post2(&self, of: StatementId) -> &FixedBitSet {
        &self.post2[of.index()]
    }
}

/// The statements that communicate.
struct Ends {
    sends: Vec<StatementId>,
    receives: Vec<StatementId>,
}

impl Ends {
    fn of(program: &Program) -> Self {
        let sends = program.statements().filter(|id| matches!(program.action(*id), Action::Send(_)));
        let receives = program.statements().filter(|id| matches!(program.action(*id), Action::Receive(_)));
        Self { sends: sends.collect(), receives: receives.collect() }
    }
}

/// The list, if it has exactly one member.
fn only(list: &[StatementId]) -> &[StatementId] {
    if list.len() == 1 { list } else { &[] }
}

/// The edges from each statement to those that it is paired with.
fn paired<'a>(
    from: &[StatementId],
    with: impl Fn(StatementId) -> &'a [StatementId],
) -> Vec<(StatementId, StatementId)> {
    from.iter().flat_map(|from| with(*from).iter().map(|to| (*from, *to))).collect()
}

fn edges(
    from: &[StatementId],
    to: &[StatementId],
    joined: impl Fn(StatementId, StatementId) -> bool,
) -> Vec<(StatementId, StatementId)> {
    let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to)));
    pairs.filter(|(from, to)| joined(*from, *to)).collect()
}

/// A system of set equations: sets flow along the edges; one that goes to another process loses the members that are of
/// that process already.
struct Equations<'a> {
    program: &'a Program,
    /// Edges inside a process.
    inner: Vec<(StatementId, StatementId)>,
    /// Edges between processes.
    across: Vec<(StatementId, StatementId)>,
}

impl Equations<'_> {
    /// The least solution in which every statement of `seeds` has itself.
    fn solve(&self, seeds: &[StatementId]) -> Vec<FixedBitSet> {
        let count = self.program.statements().count();
        let mut sets = vec![FixedBitSet::with_capacity(count); count];
        let mut after: Vec<Vec<(StatementId, bool)>> = vec![Vec::new(); count];
        self.inner.iter().for_each(|(from, to)| after[from.index()].push((*to, false)));
        self.across.iter().for_each(|(from, to)| after[from.index()].push((*to, true)));
        let own: Vec<FixedBitSet> = self.own_statements(count);
        // First in, first out, each statement at most once: sets grow by rounds, not path by path.
        let mut work: VecDeque<StatementId> = seeds.iter().copied().collect();
        let mut waits = FixedBitSet::with_capacity(count);
        for seed in seeds {
            sets[seed.index()].insert(seed.index());
            waits.insert(seed.index());
        }
        while let Some(from) = work.pop_front() {
            waits.set(from.index(), false);
            for (to, across) in &after[from.index()] {
                let mut more = sets[from.index()].clone();
                if *across {
                    more.difference_with(&own[usize::from(self.program.node_of(*to).0)]);
                }
                if !more.is_subset(&sets[to.index()]) {
                    sets[to.index()].union_with(&more);
                    if !waits.put(to.index()) {
                        work.push_back(*to);
                    }
                }
            }
        }
        sets
    }

    /// The statements of each process, by its number.
    fn own_statements(&self, count: usize) -> Vec<FixedBitSet> {
        let mut own = vec![FixedBitSet::with_capacity(count); usize::from(u8::MAX) + 1];
        for id in self.program.statements() {
            own[usize::from(self.program.node_of(id).0)].insert(id.index());
        }
        own
    }
}
