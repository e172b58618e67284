//! Which channels have to carry the stages of a linked predicate (sections 1 and 4).
//!
//! A stage that was satisfied travels on messages until a node hears of it that looks for the next one. A channel on no path of
//! messages between two such nodes need not carry anything. Paths are those of PRE, an overestimate: a message may pass from one
//! channel to the next if the receive may come before the send, in one task or in different ones.
use crate::recognition::{channels_of, passes_on};
use crate::{Action, ChannelId, Flow, Program};
use stillpoint_core::NodeId;

/// Finds the channels that carry the stages of a linked predicate. `stages` has the nodes that look for each stage, the first
/// stage first; `sharing` the groups of nodes that tell each other of stages through shared objects.
///
/// A node that looks for a stage has to hear that the stage before it was satisfied, and that its own was: then it stops looking.
/// Whether the predicate is satisfied at an event is the same as if every channel carried, as long as no node is reset. A node
/// that was reset hears again what reaches it on these channels.
///
/// # Example: nothing flows back
/// ```
/// use stillpoint_analysis::{Program, carriers_of_stages};
/// let program: Program = "P: loop { send a; recv b }  Q: loop { recv a; send c; send b }  R: loop { recv c }".parse()?;
/// let nodes = program.nodes();
/// let carried = carriers_of_stages(&program, &[vec![nodes[0]], vec![nodes[1]]], &[]);
/// assert_eq!(carried, [program.channel("a").unwrap()]);
/// # Ok::<(), stillpoint_analysis::TextError>(())
/// ```
#[must_use]
pub fn carriers_of_stages(program: &Program, stages: &[Vec<NodeId>], sharing: &[Vec<NodeId>]) -> Vec<ChannelId> {
    let flow = Flow::new(program);
    let graph = Passing::new(program, &flow, sharing);
    let mut carries = vec![false; program.channels().len()];
    for (at, from) in stages.iter().enumerate() {
        let next = stages.get(at + 1).into_iter().flatten();
        for source in from {
            for target in next.clone().chain(from).filter(|target| *target != source) {
                graph.mark(*source, *target, &mut carries);
            }
        }
    }
    let all = (0..).map(ChannelId).zip(carries);
    all.filter(|(_, carries)| *carries).map(|(id, _)| id).collect()
}

/// Which channels may carry on what another one brought.
struct Passing<'a> {
    program: &'a Program,
    sharing: &'a [Vec<NodeId>],
    /// For each channel those that may follow it.
    after: Vec<Vec<ChannelId>>,
}

impl<'a> Passing<'a> {
    fn new(program: &'a Program, flow: &Flow, sharing: &'a [Vec<NodeId>]) -> Self {
        let mut passing = Self { program, sharing, after: Vec::new() };
        let after = |from: ChannelId| {
            let to = program.channels()[from.index()].to;
            let next = channels_of(program, |channel| passing.shares(to, channel.from)).filter(|next| {
                // Through a shared object a stage may leave by any channel of a node that shares it.
                program.channels()[next.index()].from != to || passes_on(program, flow, from, *next)
            });
            next.filter(|next| passing.is_used(*next)).collect()
        };
        let after = (0..program.channels().len() as u32).map(|id| after(ChannelId(id))).collect();
        passing.after = after;
        passing
    }

    /// Whether two nodes are the same, or tell each other through shared objects.
    fn shares(&self, one: NodeId, other: NodeId) -> bool {
        one == other || self.sharing.iter().any(|group| group.contains(&one) && group.contains(&other))
    }

    /// Whether messages are sent and taken.
    fn is_used(&self, id: ChannelId) -> bool {
        self.program.statements_with(Action::Send(id)).next().is_some()
            && self.program.statements_with(Action::Receive(id)).next().is_some()
    }

    /// Marks every channel on a path of messages from one node to another that passes neither of them on the way.
    fn mark(&self, source: NodeId, target: NodeId, carries: &mut [bool]) {
        let channels = self.program.channels();
        let is_end = |id: ChannelId, node: NodeId| self.shares(channels[id.index()].to, node);
        let first = channels_of(self.program, |channel| self.shares(channel.from, source));
        let mut work: Vec<ChannelId> = first.filter(|id| self.is_used(*id)).collect();
        let mut reached = vec![false; channels.len()];
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut reached[at.index()], true) && channels[at.index()].to != target {
                work.extend(self.after[at.index()].iter().filter(|next| channels[next.index()].from != source));
            }
        }
        // Backwards from the target, over what was reached. Neither end has to be told by others.
        let is_between = |id: &ChannelId| ![source, target].contains(&channels[id.index()].from);
        let mut leads: Vec<bool> = (0..channels.len() as u32).map(|id| is_end(ChannelId(id), target)).collect();
        let mut grows = true;
        while grows {
            grows = false;
            for at in (0..channels.len()).filter(|at| reached[*at]) {
                let next = &self.after[at];
                let leads_on = next.iter().any(|next| leads[next.index()] && is_between(next));
                grows |= leads_on && !std::mem::replace(&mut leads[at], true);
            }
        }
        for at in (0..channels.len()).filter(|at| reached[*at] && leads[*at] && channels[*at].from != target) {
            carries[at] = true;
        }
    }
}
