//! Simultaneous events, recognised by shipped nodes as a plan of the analysis asks for, on random schedules.
#[path = "../../analysis/tests/simultaneous/random.rs"]
mod random;

use proptest::prelude::*;
use random::Shape;
use stillpoint_analysis::{
    Action, Builder, ChannelId, Class, Component, Hold, Point, Program, Recognition, Release, StatementId,
    carriers_of_stages, plans, recognise,
};
use stillpoint_core::predicate::{Detector, Generation, Op, Plan, ProgramBuilder, Relation, SlotId};
use stillpoint_core::{Command, EventKind, NodeId, PortSet};
use stillpoint_tests::sim::{Lane, Setup, System, Violation};

const SLOT: SlotId = SlotId::ALL[0];
const GENERATION: Generation = Generation(1);

/// Ways to break the rule on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    None,
    /// The recognising node does not compare counts.
    NoCount,
    /// What was said outlives the session of a link.
    OldSession,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ran {
    fired: bool,
    /// Whether every component holds in the halted state.
    shown: bool,
}

/// A program on simulated nodes, and its event.
struct Run<'a, const N: usize> {
    program: &'a Program,
    event: &'a [Component],
    plan: &'a Recognition,
    system: System<N>,
    next: Vec<Option<StatementId>>,
    /// The task of each node that goes on before another may, because it does not wait.
    busy: [Option<usize>; N],
    random: u64,
}

impl<'a, const N: usize> Run<'a, N> {
    fn new(program: &'a Program, event: &'a [Component], plan: &'a Recognition, seed: u64) -> Self {
        let edges: Vec<_> =
            program.channels().iter().map(|one| (usize::from(one.from.0), usize::from(one.to.0))).collect();
        let system = System::new(Setup { capacity: 2, ..Setup::new(&edges) });
        let next = program.tasks().iter().map(|task| Some(task.entry)).collect();
        Self { program, event, plan, system, next, busy: [None; N], random: seed | 1 }
    }

    fn below(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below
    }

    /// Arms the event by its plan. `Ok(false)`: a node does not agree.
    fn arm(&mut self, mutant: Mutant) -> Result<(), Violation> {
        let ends = |channel: stillpoint_analysis::ChannelId| {
            let name = self.system.channels[channel.index()].name;
            (name.out, name.into)
        };
        let mut parts = plans(self.program, self.plan, ends).expect("two components fit");
        for plan in parts.values_mut() {
            match mutant {
                Mutant::None => {}
                Mutant::NoCount => plan.sent = [None; 4],
                Mutant::OldSession => plan.guarded = PortSet::EMPTY,
            }
        }
        let (slot, generation, detector) = (SLOT, GENERATION, Detector::Simultaneous);
        for node in 0..N {
            let own = self.event.iter().find(|component| usize::from(component.node.0) == node);
            let builder = ProgramBuilder::new(1);
            let program = match own {
                // The only watch of a node in these programs.
                Some(_) => builder.push_condition_term(
                    1,
                    1,
                    &[Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: 1 }],
                ),
                None => builder,
            };
            let (program, id) = (program.finish().unwrap(), stillpoint_core::NodeId(node as u8));
            let plan = parts.get(&id).copied().unwrap_or(Plan::NOTHING);
            self.system.command(node, Command::Install { slot, generation, detector, program: program.as_bytes() })?;
            self.system.command(node, Command::Plan { slot, generation, plan })?;
        }
        for node in 0..N {
            self.system.command(node, Command::Enable { slot, generation, silent: PortSet::EMPTY })?;
        }
        Ok(())
    }

    fn waits(&self, id: StatementId) -> bool {
        let entry = self.program.tasks().iter().any(|task| task.entry == id);
        entry || matches!(self.program.action(id), Action::Wait | Action::Send(_) | Action::Receive(_))
    }

    /// One statement of a random task, if it can go on.
    fn step(&mut self) -> Result<(), Violation> {
        let task = self.below(self.next.len());
        let (tasks, Some(at)) = (self.program.tasks(), self.next[task]) else { return Ok(()) };
        let node = usize::from(tasks[task].node.0);
        let busy = self.busy[node];
        let interrupts = tasks[task].preempts && busy.is_none_or(|busy| !tasks[busy].preempts);
        if !(busy.is_none_or(|busy| busy == task) || interrupts) {
            return Ok(());
        }
        let done = match self.program.action(at) {
            Action::Local | Action::Wait => self.system.members[node].runs(),
            Action::Send(channel) => self.system.send(channel.index(), None)?,
            Action::Receive(channel) => self.system.receive(channel.index())?,
            Action::Write(_) => {
                let value = self.below(2) as i32;
                self.system.watch(node, 0, value)?
            }
        };
        if !done {
            return Ok(());
        }
        let after: Vec<_> = self.program.successors(at).collect();
        self.next[task] = if after.is_empty() { None } else { Some(after[self.below(after.len())]) };
        if !interrupts || busy.is_none() {
            self.busy[node] = self.next[task].filter(|next| !self.waits(*next)).map(|_| task);
        }
        Ok(())
    }

    /// A node is reset; everybody who has to know hears of it before anything else happens.
    fn reset(&mut self, node: usize) -> Result<(), Violation> {
        self.system.reset(node, true)?;
        self.busy[node] = None;
        for (next, task) in self.next.iter_mut().zip(self.program.tasks()) {
            if usize::from(task.node.0) == node {
                *next = Some(task.entry);
            }
        }
        self.system.settle()
    }

    fn run(mut self, steps: usize, resets: usize, mutant: Mutant) -> Result<Ran, Violation> {
        self.system.start()?;
        self.arm(mutant)?;
        for at in 0..steps {
            if resets > 0 && at % (steps / (resets + 1)) == steps / (resets + 1) - 1 {
                let node = self.below(N);
                self.reset(node)?;
            }
            self.step()?;
            if self.below(3) == 0 {
                let (edge, lane) = (self.below(self.system.channels.len()), Lane::BOTH[self.below(2)]);
                self.system.deliver(edge, lane)?;
            }
            if !self.system.fired.is_empty() {
                // The others go on for a while; markers reach them at some time.
                for _ in 0..self.below(30) {
                    self.step()?;
                }
                self.system.settle()?;
                self.system.check_halted()?;
                let holds = |component: &Component| {
                    let node = &self.system.members[usize::from(component.node.0)].node;
                    node.predicates().watch(0) == Some(1)
                };
                return Ok(Ran { fired: true, shown: self.event.iter().all(holds) });
            }
        }
        Ok(Ran::default())
    }
}

fn run(
    program: &Program,
    event: &[Component],
    plan: &Recognition,
    seed: u64,
    resets: usize,
    mutant: Mutant,
) -> Result<Ran, Violation> {
    let steps = 400;
    match program.nodes().last().map_or(0, |last| last.0) {
        0..2 => Run::<2>::new(program, event, plan, seed).run(steps, resets, mutant),
        2 => Run::<3>::new(program, event, plan, seed).run(steps, resets, mutant),
        3 => Run::<4>::new(program, event, plan, seed).run(steps, resets, mutant),
        _ => panic!("at most four nodes"),
    }
}

fn parse(text: &str) -> Program {
    text.parse().unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn component(program: &Program, name: &str) -> Component {
    let watch = program.watch(name).expect("the program sets it");
    Component { node: program.watches()[watch.index()].node, watches: vec![watch], monotonic: false }
}

/// How many of `runs` runs fired, and in how many of those the halted state did not show the event.
fn count(
    program: &Program,
    names: [&str; 2],
    plan: &Recognition,
    runs: u64,
    resets: usize,
    mutant: Mutant,
) -> [u32; 2] {
    let event = names.map(|name| component(program, name)).to_vec();
    let (mut fired, mut broken) = (0, 0);
    for seed in 0..runs {
        let ran = run(program, &event, plan, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 77, resets, mutant);
        let ran = ran.unwrap_or_else(|violation| panic!("{violation:?} with seed {seed}"));
        fired += u32::from(ran.fired);
        broken += u32::from(ran.fired && !ran.shown);
    }
    [fired, broken]
}

fn recognised_by(program: &Program, names: [&str; 2], node: u8) -> Recognition {
    let event = names.map(|name| component(program, name)).to_vec();
    recognise(program, &event).0.into_iter().find(|plan| plan.node.0 == node).expect("the analysis lets it")
}

/// The demo `barrier`: two workers, a gate, and a node that only passes messages on.
const BARRIER: &str = "
    GATE: loop { recv near; recv up; send go_near; send down }
    NEAR: loop { set x; send near; recv go_near }
    WIRE: loop { recv far; send up }  WIRE/back: loop { recv down; send go_far }
    FAR: loop { set y; send far; recv go_far }";

#[test]
fn every_halt_at_a_barrier_shows_both_conditions() {
    let program = parse(BARRIER);
    let plan = recognised_by(&program, ["x", "y"], 0);
    let [fired, broken] = count(&program, ["x", "y"], &plan, 300, 0, Mutant::None);
    assert!(fired > 250, "{fired} of 300 runs fired");
    assert_eq!(broken, 0);
}

#[test]
fn every_halt_at_a_barrier_with_resets_shows_both_conditions() {
    let program = parse(BARRIER);
    let plan = recognised_by(&program, ["x", "y"], 0);
    let [fired, broken] = count(&program, ["x", "y"], &plan, 300, 2, Mutant::None);
    assert!(fired > 50, "{fired} of 300 runs fired");
    assert_eq!(broken, 0);
}

const LOOPS: &str = "P: loop { send a; recv b; set p }  Q: loop { send b; recv a; set x }";

#[test]
fn without_counts_a_message_already_under_way_is_overlooked() {
    let program = parse(LOOPS);
    let plan = recognised_by(&program, ["x", "p"], 0);
    assert_eq!(count(&program, ["x", "p"], &plan, 300, 0, Mutant::None)[1], 0);
    let [_, broken] = count(&program, ["x", "p"], &plan, 300, 0, Mutant::NoCount);
    assert!(broken > 0, "a recognising node that does not compare counts is found out");
}

#[test]
fn a_value_that_outlives_the_session_of_a_link_is_found_out() {
    let program = parse(BARRIER);
    let plan = recognised_by(&program, ["x", "y"], 0);
    let [_, broken] = count(&program, ["x", "y"], &plan, 2000, 2, Mutant::OldSession);
    assert!(broken > 0);
}

/// A plan that the analysis did not make: `carrier` brings the first component, `release` is said to hold it back.
fn forged(program: &Program, carrier: &str, release: &str, write: &str) -> Recognition {
    let channel = |name| program.channel(name).unwrap();
    let release = Some(Release { sent: channel(release), received: channel(release) });
    let first = Hold { component: 0, class: Class::GeneralisedDependent, carriers: vec![channel(carrier)], release };
    let own = Hold { component: 1, class: Class::Dependent, carriers: Vec::new(), release: None };
    let write = program.watch(write).unwrap();
    let points = vec![Point::Receive(channel(carrier)), Point::Write(write)];
    Recognition { node: program.watches()[write.index()].node, points, holds: vec![first, own] }
}

#[test]
fn a_path_that_the_analysis_forgets_is_found_out() {
    let program = parse(
        "P: loop { set x; send up; either { set x } or { skip }; recv down }  Q: loop { recv up; set y; send down }",
    );
    let [_, broken] = count(&program, ["x", "y"], &forged(&program, "up", "down", "y"), 300, 0, Mutant::None);
    assert!(broken > 0);
}

#[test]
fn a_sister_task_that_the_analysis_ignores_is_found_out() {
    let program =
        parse("P: loop { send up; recv down }  P/two: loop { wait; set x }  Q: loop { recv up; set y; send down }");
    let [_, broken] = count(&program, ["x", "y"], &forged(&program, "up", "down", "y"), 300, 0, Mutant::None);
    assert!(broken > 0);
}

/// What a node looks for in a stage of a linked predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// Its watch is 1.
    Holds,
    /// An event of this kind.
    Event(EventKind),
}

/// For each stage the nodes that look for it, and for what; every node at most once in a stage.
type Stages = Vec<Vec<(usize, Term)>>;

/// Each firing: after how many steps, on which node, and at which of its events.
type Firings = Vec<(usize, usize, u32)>;

impl<const N: usize> Run<'_, N> {
    /// Arms a linked predicate whose stages travel on these channels only.
    fn arm_linked(&mut self, stages: &Stages, carriers: &[ChannelId]) -> Result<(), Violation> {
        let (slot, generation, detector) = (SLOT, GENERATION, Detector::Causal);
        let mut silent = [PortSet::EMPTY; N];
        for (at, (channel, edge)) in self.program.channels().iter().zip(&self.system.channels).enumerate() {
            if !carriers.contains(&ChannelId(at as u32)) {
                let node = usize::from(channel.from.0);
                silent[node] = silent[node].with(edge.name.out);
            }
        }
        for node in 0..N {
            let mut builder = ProgramBuilder::new(stages.len() as u8);
            for (stage, (_, term)) in (1..)
                .zip(stages)
                .flat_map(|(stage, terms)| terms.iter().map(move |one| (stage, one)))
                .filter(|(_, (of, _))| *of == node)
            {
                let holds = [Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: 1 }];
                builder = match term {
                    Term::Holds => builder.push_condition_term(stage, 1, &holds),
                    Term::Event(kind) => builder.push_event_term(stage, 1, *kind, None),
                };
            }
            let program = builder.finish().expect("a few terms fit");
            self.system.command(node, Command::Install { slot, generation, detector, program: program.as_bytes() })?;
        }
        for (node, silent) in silent.into_iter().enumerate() {
            self.system.command(node, Command::Enable { slot, generation, silent })?;
        }
        Ok(())
    }

    /// Every firing of a linked predicate, also of those that come before markers reach everyone.
    fn run_linked(mut self, stages: &Stages, carriers: &[ChannelId]) -> Result<Firings, Violation> {
        self.system.start()?;
        self.arm_linked(stages, carriers)?;
        let (mut firings, mut left): (Firings, usize) = (Vec::new(), 800);
        for at in 0.. {
            if left == 0 {
                break;
            }
            left -= 1;
            self.step()?;
            if self.below(3) == 0 {
                let (edge, lane) = (self.below(self.system.channels.len()), Lane::BOTH[self.below(2)]);
                self.system.deliver(edge, lane)?;
            }
            for (node, _) in self.system.fired.iter().skip(firings.len()) {
                firings.push((at, *node, self.system.members[*node].node.number().0));
                left = left.min(60);
            }
        }
        Ok(firings)
    }
}

/// A random program of four nodes that never stop talking: every channel has a task that takes from it for ever and may send
/// on, and every node one that sends by itself. Tasks set the node's watch now and then.
fn chatty(below: &mut impl FnMut(usize) -> usize) -> Program {
    let mut builder = Builder::default();
    let mut channels = Vec::new();
    for from in 0..4u8 {
        for to in (0..4u8).filter(|to| *to != from) {
            if channels.is_empty() || below(3) == 0 {
                let name = format!("{from}{to}");
                channels.push((from, to, builder.channel(&name, NodeId(from), NodeId(to))));
            }
        }
    }
    for node in 0..4u8 {
        let watch = builder.watch(&format!("w{node}"), NodeId(node));
        let out: Vec<_> = channels.iter().filter(|one| one.0 == node).map(|one| one.2).collect();
        let taken = channels.iter().filter(|one| one.1 == node).map(|one| Action::Receive(one.2));
        for first in taken.chain([Action::Wait]) {
            let task = builder.task(NodeId(node), false);
            let mut last = builder.entry(task);
            let mut actions = vec![first];
            actions.extend((below(3) == 0).then_some(Action::Write(watch)));
            let sends = !out.is_empty() && (first == Action::Wait || below(2) == 0);
            actions.extend(sends.then(|| Action::Send(out[below(out.len())])));
            let mut head = None;
            for action in actions {
                let id = builder.statement(task, action);
                builder.edge(last, id);
                (head, last) = (head.or(Some(id)), id);
            }
            head.into_iter().for_each(|head| builder.edge(last, head));
        }
    }
    builder.finish().expect("it keeps to the rules")
}

/// The firings of a random linked predicate on a random program of four nodes: with every channel, and with these.
fn linked_firings(
    seed: u64,
    choose: impl Fn(&Program, Vec<ChannelId>) -> Vec<ChannelId>,
) -> ([Firings; 2], [usize; 2]) {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |most: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % most
    };
    let program = chatty(&mut below);
    let count = 2 + below(2);
    let mut stages: Stages = Vec::new();
    for _ in 0..count {
        let mut nodes: Vec<usize> = (0..program.nodes().len()).collect();
        let terms = (0..1 + usize::from(below(4) == 0)).map(|_| {
            let node = nodes.swap_remove(below(nodes.len()));
            let kinds = [EventKind::Send, EventKind::Receive, EventKind::Watch];
            (node, if below(2) == 0 { Term::Holds } else { Term::Event(kinds[below(3)]) })
        });
        stages.push(terms.collect());
    }
    let nodes: Vec<Vec<NodeId>> =
        stages.iter().map(|terms| terms.iter().map(|(node, _)| NodeId(*node as u8)).collect()).collect();
    let carriers = choose(&program, carriers_of_stages(&program, &nodes, &[]));
    let all: Vec<_> = (0..program.channels().len() as u32).map(ChannelId).collect();
    let nothing = Recognition { node: NodeId(0), points: Vec::new(), holds: Vec::new() };
    let firings = [&all, &carriers].map(|carriers| {
        let run = Run::<4>::new(&program, &[], &nothing, seed | 1);
        run.run_linked(&stages, carriers).unwrap_or_else(|violation| panic!("{violation:?} with seed {seed}"))
    });
    (firings, [all.len() - carriers.len(), all.len()])
}

#[test]
fn a_linked_predicate_fires_alike_when_only_channels_between_its_stages_carry() {
    let (mut fired, mut silent, mut channels) = (0, 0, 0);
    let runs = cases(1000).cases as usize;
    for seed in 0..runs as u64 {
        let ([all, some], [quiet, of]) = linked_firings(seed, |_, carriers| carriers);
        assert_eq!(all, some, "seed {seed}");
        fired += usize::from(!all.is_empty());
        (silent, channels) = (silent + quiet, channels + of);
    }
    let seen = format!("{fired} of {runs} runs fired; {silent} of {channels} channels carried nothing");
    println!("{seen}");
    // Many expressions cannot fire: no message leads from one stage to the next.
    assert!(fired * 5 > runs && silent * 3 > channels, "{seen}");
}

#[test]
fn a_channel_that_the_analysis_forgets_between_stages_is_found_out() {
    let forgets = |seed: u64| {
        let ([all, some], _) = linked_firings(seed, |_, carriers| carriers.into_iter().skip(1).collect());
        all != some
    };
    assert!((0..200).any(forgets));
}

/// Every case as many times as `CASES` says; about a second of them without it.
fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn no_random_program_halts_in_a_state_that_does_not_show_its_event(
        choices in prop::collection::vec(any::<u8>(), 0..60), seed in any::<u64>(), resets in 0usize..2
    ) {
        let (program, event) = random::program(&choices, Shape { nodes: 3, loops: true, tasks: 2 });
        for plan in recognise(&program, &event[..2]).0 {
            let ran = run(&program, &event[..2], &plan, seed, resets, Mutant::None).unwrap();
            prop_assert!(!ran.fired || ran.shown, "{plan:?} of {program:?}");
        }
    }
}
