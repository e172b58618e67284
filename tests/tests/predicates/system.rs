//! A message system of three nodes, run through the shipped detectors or through a mutant of their driver.
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use stillpoint_core::predicate::{
    Carry, Detector, EvalContext, Generation, Op, Outcome, Predicates, Program, ProgramBuilder, Reached, Relation,
    SlotId, VerifyError,
};
use stillpoint_core::{Event, EventKind, PortId};

/// How many nodes the system has; every node has a channel to every other.
pub const NODES: usize = 3;
/// The slot that is used.
pub const SLOT: SlotId = SlotId::ALL[2];

/// What one term looks for.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A tracepoint with this tag.
    Tag(u16),
    /// A message to this node.
    SendTo(usize),
    /// A message from this node.
    ReceiveFrom(usize),
    /// Watch 0 is above this.
    Above(i32),
}

/// A simple predicate: `node`, what, `^n`.
#[derive(Clone, Copy, Debug)]
pub struct Simple {
    pub node: usize,
    pub what: What,
    pub n: u16,
}

/// Stages of terms: `DP -> DP -> ...`.
pub type Linked = Vec<Vec<Simple>>;

/// The part of `linked` that `node` looks for, if it fits.
pub fn program_for(linked: &Linked, node: usize) -> Result<Program, VerifyError> {
    let mut builder = ProgramBuilder::new(linked.len() as u8);
    for (index, stage) in linked.iter().enumerate() {
        for simple in stage.iter().filter(|simple| simple.node == node) {
            let stage = index as u8 + 1;
            let event = |builder: ProgramBuilder, kind, arg| builder.push_event_term(stage, simple.n, kind, Some(arg));
            builder = match simple.what {
                What::Tag(tag) => event(builder, EventKind::Local, tag),
                What::SendTo(peer) => event(builder, EventKind::Send, peer as u16),
                What::ReceiveFrom(peer) => event(builder, EventKind::Receive, peer as u16),
                What::Above(0) => {
                    let above = Op::WatchCompare { watch: 0, relation: Relation::Greater, constant: 0 };
                    builder.push_condition_term(stage, simple.n, &[above])
                }
                // The long way, so that both ways of the evaluator are used.
                What::Above(constant) => {
                    let above = [Op::Watch(0), Op::Const(constant), Op::Compare(Relation::Greater)];
                    builder.push_condition_term(stage, simple.n, &above)
                }
            };
        }
    }
    builder.finish()
}

/// One step of the schedule. A receive on an empty channel does nothing.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Local {
        node: usize,
        tag: u16,
    },
    SetWatch {
        node: usize,
        value: i32,
    },
    Send {
        from: usize,
        to: usize,
    },
    Receive {
        from: usize,
        to: usize,
    },
    /// From the first channel that has something, beginning with that of `first`.
    ReceiveAny {
        first: usize,
        to: usize,
    },
}

/// An event of the run, with what an oracle needs to know of it.
#[derive(Clone, Copy, Debug)]
pub struct Happened {
    pub node: usize,
    pub event: Event,
    /// Watch 0 after the event.
    pub watch: i32,
    /// For a receive: the index of the send.
    pub sent_by: Option<usize>,
}

/// A deliberate mistake in how the shipped table is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    None,
    /// A node without the program does not pass on what it hears.
    UnarmedNodeForgets,
    /// A condition counts at every event at which it is true.
    LevelInsteadOfEdge,
    /// An event goes on to the next stage.
    ManyStagesPerEvent,
    /// What a message says of an earlier use of the slot is taken for the present one.
    StaleGenerationObeyed,
    /// The stage is attached before the send is evaluated.
    CarryBeforeSend,
    /// The receive is evaluated before what it brought is merged.
    MergeAfterReceive,
}

/// Nodes with their tables and channels; markers are delivered when the test says so.
pub struct System {
    pub nodes: Vec<Predicates>,
    mutant: Mutant,
    channels: BTreeMap<(usize, usize), VecDeque<(Carry, usize)>>,
    watches: [i32; NODES],
    /// Predicate markers under way: to whom, from whom, what.
    pub markers: VecDeque<(usize, usize, Reached)>,
    pub happened: Vec<Happened>,
    /// Slots that fired, by the index of the event.
    pub fired: Vec<(usize, SlotId)>,
}

impl System {
    pub fn new(mutant: Mutant) -> Self {
        Self {
            nodes: vec![Predicates::new(); NODES],
            mutant,
            channels: BTreeMap::new(),
            watches: [0; NODES],
            markers: VecDeque::new(),
            happened: Vec::new(),
            fired: Vec::new(),
        }
    }

    /// As the host does it: remove the last use of the slot, install everywhere, then enable everywhere. A node
    /// without terms gets no program at all, as if it had missed the download.
    pub fn arm(&mut self, slot: SlotId, generation: Generation, detector: Detector, linked: &Linked) {
        let has_terms = |node| linked.iter().flatten().any(|simple| simple.node == node);
        let armed: Vec<usize> = (0..NODES).filter(|&node| has_terms(node)).collect();
        self.nodes.iter_mut().for_each(|node| node.remove(slot));
        for &node in &armed {
            let program = program_for(linked, node).expect("small predicates fit");
            self.nodes[node].install(slot, generation, detector, &program).expect("a new generation");
        }
        for &node in &armed {
            self.nodes[node].enable(slot, generation).expect("just installed");
        }
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Step::Local { node, tag } => {
                self.event(node, Event::local(tag), None);
            }
            Step::SetWatch { node, value } => {
                self.watches[node] = value;
                self.nodes[node].set_watch(0, value).expect("watch 0 exists");
                self.event(node, Event::watch(0, value), None);
            }
            Step::Send { from, to } if from != to => {
                let before = self.nodes[from].carry();
                let index = self.event(from, Event::send(PortId(to as u8)), None);
                let after = self.nodes[from].carry();
                let carry = if self.mutant == Mutant::CarryBeforeSend { before } else { after };
                self.channels.entry((from, to)).or_default().push_back((through_the_wire(carry), index));
            }
            Step::Receive { from, to } => {
                let message = self.channels.get_mut(&(from, to)).and_then(VecDeque::pop_front);
                if let Some((carry, sent_by)) = message {
                    let receive = Event::receive(PortId(from as u8));
                    if self.mutant == Mutant::MergeAfterReceive {
                        self.event(to, receive, Some(sent_by));
                        self.merge(to, carry);
                    } else {
                        self.merge(to, carry);
                        self.event(to, receive, Some(sent_by));
                    }
                }
            }
            Step::ReceiveAny { first, to } => {
                let has_message = |from: &usize| self.channels.get(&(*from, to)).is_some_and(|queue| !queue.is_empty());
                if let Some(from) = (0..NODES).map(|by| (first + by) % NODES).find(has_message) {
                    self.step(Step::Receive { from, to });
                }
            }
            Step::Send { .. } => {}
        }
    }

    fn merge(&mut self, node: usize, mut carry: Carry) {
        let table = &mut self.nodes[node];
        let present = table.installed(SLOT).map(|(generation, ..)| generation);
        match (self.mutant, present) {
            (Mutant::UnarmedNodeForgets, None) => return,
            (Mutant::StaleGenerationObeyed, Some(present)) => {
                let stages: Vec<Reached> = carry.iter().collect();
                for reached in stages {
                    carry.set(Reached::new(reached.slot(), present, reached.stage()).expect("was valid"));
                }
            }
            _ => {}
        }
        table.merge(&carry);
    }

    fn event(&mut self, node: usize, event: Event, sent_by: Option<usize>) -> usize {
        let index = self.happened.len();
        let watch = self.watches[node];
        self.happened.push(Happened { node, event, watch, sent_by });
        let table = &mut self.nodes[node];
        let context = EvalContext { count: index as u32, epoch: 0, clock: &[] };
        if self.mutant == Mutant::LevelInsteadOfEdge {
            // An event that nothing matches, at which no condition is true: the next one looks like an edge.
            table.set_watch(0, i32::MIN).expect("watch 0 exists");
            let _ = table.after_event(&Event::new(EventKind::Now, 0), &context);
            table.set_watch(0, watch).expect("watch 0 exists");
        }
        let mut outcome = table.after_event(&event, &context);
        self.note(node, index, outcome);
        while self.mutant == Mutant::ManyStagesPerEvent && !outcome.is_empty() {
            outcome = self.nodes[node].after_event(&event, &context);
            self.note(node, index, outcome);
        }
        index
    }

    fn note(&mut self, node: usize, index: usize, outcome: Outcome) {
        self.fired.extend(outcome.fired.iter().map(|slot| (index, slot)));
        for slot in outcome.announce.iter() {
            let reached = self.nodes[node].reached(slot).expect("it has just advanced");
            self.flood(node, node, reached);
        }
    }

    /// Sends a marker to everybody but `node` itself and the one it came from.
    fn flood(&mut self, node: usize, came_from: usize, reached: Reached) {
        let others = (0..NODES).filter(|&to| to != node && to != came_from);
        self.markers.extend(others.map(|to| (to, node, reached)));
    }

    /// Lets every marker arrive, and those that they cause; returns how many arrived.
    pub fn deliver_markers(&mut self) -> usize {
        let mut arrived = 0;
        while let Some((to, from, reached)) = self.markers.pop_front() {
            arrived += 1;
            if self.nodes[to].on_marker(Reached::from_bytes(reached.to_bytes()).expect("valid on the wire")) {
                self.flood(to, from, reached);
            }
        }
        arrived
    }

    /// The events at which `slot` fired.
    pub fn fired_in(&self, slot: SlotId) -> Vec<usize> {
        self.fired.iter().filter(|(_, which)| *which == slot).map(|(index, _)| *index).collect()
    }
}

fn through_the_wire(carry: Carry) -> Carry {
    let mut bytes = [0; Carry::MAX_BYTES];
    let len = carry.encode(&mut bytes).expect("the buffer has the stated size");
    let (decoded, read) = Carry::decode(&bytes[..len]).expect("its own wire form");
    assert_eq!((decoded, read), (carry, len));
    decoded
}

/// Schedules in which messages really travel, over few tags and values so that much occurs.
pub fn schedules(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let node = 0..NODES;
    let step = prop_oneof![
        3 => (node.clone(), 0..2u16).prop_map(|(node, tag)| Step::Local { node, tag }),
        2 => (node.clone(), 0..3i32).prop_map(|(node, value)| Step::SetWatch { node, value }),
        2 => (node.clone(), 1..NODES).prop_map(|(from, by)| Step::Send { from, to: (from + by) % NODES }),
        3 => (node.clone(), node).prop_map(|(first, to)| Step::ReceiveAny { first, to }),
    ];
    prop::collection::vec(step, longest / 2..longest)
}

/// Predicates of up to four stages with up to three terms each.
pub fn linked_predicates() -> impl Strategy<Value = Linked> {
    let what = prop_oneof![
        4 => (0..2u16).prop_map(What::Tag),
        1 => (0..NODES).prop_map(What::SendTo),
        1 => (0..NODES).prop_map(What::ReceiveFrom),
        3 => (0..2i32).prop_map(What::Above),
    ];
    let n = prop_oneof![6 => Just(1u16), 2 => Just(2), 1 => Just(3)];
    let simple = (0..NODES, what, n).prop_map(|(node, what, n)| Simple { node, what, n });
    let fits = |linked: &Linked| (0..NODES).all(|node| program_for(linked, node).is_ok());
    prop::collection::vec(prop::collection::vec(simple, 1..=3), 1..=4).prop_filter("fits every node", fits)
}
