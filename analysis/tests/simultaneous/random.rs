//! Random programs, made from a list of choices so that a failing one shrinks.
use stillpoint_analysis::{Action, Builder, ChannelId, Component, Program, StatementId, TaskId, WatchId};
use stillpoint_core::NodeId;

/// The shape of random programs.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The most nodes; there are at least two.
    pub nodes: u8,
    /// Whether tasks may be endless loops and contain loops.
    pub loops: bool,
    /// The most tasks of a node.
    pub tasks: u8,
}

struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    /// A number below `most`; 0 when the choices have run out.
    fn below(&mut self, most: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or_default()) % most.max(1)
    }
}

struct Generator<'a> {
    choices: Choices<'a>,
    builder: Builder,
    shape: Shape,
}

/// A program, and one component for each node, which reads the node's only watch.
pub fn program(choices: &[u8], shape: Shape) -> (Program, Vec<Component>) {
    let mut generator = Generator { choices: Choices(choices.iter()), builder: Builder::default(), shape };
    let nodes = 2 + generator.choices.below(usize::from(shape.nodes) - 1) as u8;
    let ids = || (0..nodes).map(NodeId);
    let channels: Vec<_> = ids()
        .flat_map(|from| ids().filter(move |to| from != *to).map(move |to| (from, to)))
        .map(|(from, to)| (generator.builder.channel(&format!("{}{}", from.0, to.0), from, to), from, to))
        .collect();
    let watches: Vec<_> = ids().map(|node| generator.builder.watch(&format!("w{}", node.0), node)).collect();
    for node in ids() {
        for _ in 0..=generator.choices.below(usize::from(shape.tasks)) {
            let preempts = generator.choices.below(6) == 5;
            let task = generator.builder.task(node, preempts);
            let uses = Uses {
                sends: channels.iter().filter(|(_, from, _)| *from == node).map(|(id, ..)| *id).collect(),
                receives: channels.iter().filter(|(_, _, to)| *to == node).map(|(id, ..)| *id).collect(),
                watch: watches[usize::from(node.0)],
            };
            let mut ends = vec![generator.builder.entry(task)];
            let whole_loop = shape.loops && generator.choices.below(3) > 0;
            if whole_loop {
                let head = generator.statement(task, Action::Local, &ends);
                ends = generator.block(task, &uses, vec![head], 2);
                ends.iter().for_each(|last| generator.builder.edge(*last, head));
            } else {
                generator.block(task, &uses, ends, 2);
            }
        }
    }
    let program = generator.builder.finish().expect("the generator keeps to the rules");
    let component =
        |(node, watch): (u8, &WatchId)| Component { node: NodeId(node), watches: vec![*watch], monotonic: false };
    (program, (0..nodes).zip(&watches).map(component).collect())
}

struct Uses {
    sends: Vec<ChannelId>,
    receives: Vec<ChannelId>,
    watch: WatchId,
}

impl Generator<'_> {
    fn statement(&mut self, task: TaskId, action: Action, from: &[StatementId]) -> StatementId {
        let id = self.builder.statement(task, action);
        from.iter().for_each(|last| self.builder.edge(*last, id));
        id
    }

    fn block(&mut self, task: TaskId, uses: &Uses, mut from: Vec<StatementId>, depth: u8) -> Vec<StatementId> {
        for _ in 0..1 + self.choices.below(4) {
            let kinds = if depth == 0 { 9 } else { 12 };
            from = match self.choices.below(kinds) {
                0..3 => {
                    let channel = uses.sends[self.choices.below(uses.sends.len())];
                    vec![self.statement(task, Action::Send(channel), &from)]
                }
                3..6 => {
                    let channel = uses.receives[self.choices.below(uses.receives.len())];
                    vec![self.statement(task, Action::Receive(channel), &from)]
                }
                6..8 => vec![self.statement(task, Action::Write(uses.watch), &from)],
                8 => vec![self.statement(task, Action::Wait, &from)],
                9 if self.shape.loops => {
                    let head = self.statement(task, Action::Local, &from);
                    let ends = self.block(task, uses, vec![head], depth - 1);
                    ends.iter().for_each(|last| self.builder.edge(*last, head));
                    vec![head]
                }
                _ => {
                    let mut ends = self.block(task, uses, from.clone(), depth - 1);
                    ends.append(&mut if self.choices.below(2) == 0 {
                        from
                    } else {
                        self.block(task, uses, from, depth - 1)
                    });
                    ends
                }
            };
        }
        from
    }
}
