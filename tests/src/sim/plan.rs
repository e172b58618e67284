//! Random systems and schedules from plain numbers, so that whoever generates them can also shrink them.
use super::{HaltMode, Lane, Member, PORTS, Recorded, Setup, System, Violation};
use crate::faulty::Random;
use std::fmt;
use stillpoint_core::log::Recording;
use stillpoint_core::predicate::Detector;
use stillpoint_core::{EventKind, HaltId, KindSet, StampKind};

/// What else may go wrong in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adversity {
    /// Links go down and come up again with nothing lost.
    pub links: bool,
    /// Nodes are reset, and remember where they stood.
    pub resets: bool,
    /// What was not read of a node's log is gone with its reset; otherwise somebody reads it just before.
    pub unread: bool,
    /// Some channels have a second one beside them.
    pub twins: bool,
    /// Nodes that are reset remember nothing, if all their peers know in which epoch they were.
    pub forgetful: bool,
    /// The host releases before everybody has stopped, and drivers lose patience while draining.
    pub haste: bool,
    /// A debugger commands halts to every node at once; its commands arrive whenever they do.
    pub debugger: bool,
}

/// A system, and the schedule that it is put through: each choice is one step.
///
/// # Example: the same numbers, the same run
/// ```
/// use stillpoint_tests::sim::{Adversity, Plan};
/// let plan = Plan::random(3, 7, vec![1, 2, 3, 40, 50], Adversity::default());
/// assert_eq!(plan.run().unwrap(), plan.run().unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many nodes, 2 to 5.
    pub nodes: usize,
    /// The system.
    pub setup: Setup,
    /// Who looks for the two stages of a linked predicate, if one is armed.
    pub linked: Option<(usize, usize)>,
    /// How its stages travel.
    pub detector: Detector,
    /// Who is asked for the first halt after the schedule.
    pub first: usize,
    /// The schedule.
    pub choices: Vec<u32>,
    /// What else may happen.
    pub adversity: Adversity,
}

/// What was seen in a run in which everything held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Halted states that were checked.
    pub halts: u32,
    /// Messages in flight in all of them together.
    pub in_flight: u32,
    /// Events on all nodes.
    pub events: u32,
    /// Records compared with the truth.
    pub records: u32,
    /// Records that found the ring full.
    pub dropped: u32,
    /// Messages lost by resets.
    pub lost: u32,
    /// Frames that a serial line made its link send again.
    pub repeated: u32,
}

/// A run that broke a promise, told step by step.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which promise.
    pub violation: Violation,
    /// What happened up to there.
    pub story: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.violation)?;
        self.story.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

impl Plan {
    /// A random connected system: `shape` decides who is connected to whom and how the drivers behave.
    #[must_use]
    pub fn random(nodes: usize, shape: u64, choices: Vec<u32>, adversity: Adversity) -> Self {
        let mut random = Random::new(shape);
        let mut edges = Vec::new();
        // Connected in any direction: the control lanes go both ways.
        for node in 1..nodes {
            let other = random.below(node as u32) as usize;
            edges.push(if random.chance(5_000) { (node, other) } else { (other, node) });
        }
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            if from != to && !edges.contains(&(from, to)) && random.chance(4_000) {
                edges.push((from, to));
            }
        }
        if adversity.twins {
            add_twins(&mut edges, nodes, shape);
        }
        let mode = if random.chance(5_000) { HaltMode::OnArrival } else { HaltMode::InQueueOrder };
        let stamps = if random.chance(2_000) { StampKind::Event } else { StampKind::Vector };
        let recordings = (0..nodes).map(|_| random_recording(&mut random, stamps)).collect();
        let capacity = 1 + random.below(4) as usize;
        let setup = Setup { capacity, mode, stamps, recordings, ..Setup::new(&edges) };
        let mut node = || random.below(nodes as u32) as usize;
        let (first, linked) = (node(), Some((node(), node())));
        // A reset clears what its node looks for.
        let linked = linked.filter(|_| !adversity.resets);
        // Predicate markers are not said again when a link comes up.
        let detector = if !adversity.links && shape.is_multiple_of(2) { Detector::Marker } else { Detector::Causal };
        Self { nodes, setup, linked, detector, first, choices, adversity }
    }

    /// Puts the system through the schedule, then halts, releases, halts again, releases, and checks everything.
    ///
    /// # Errors
    /// The first broken promise, with the story of the run.
    pub fn run(&self) -> Result<Seen, Failure> {
        self.run_with_ring::<8192>()
    }

    /// The same with log rings of `S` bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with_ring<const S: usize>(&self) -> Result<Seen, Failure> {
        match self.nodes {
            2 => self.run_sized::<2, S>(),
            3 => self.run_sized::<3, S>(),
            4 => self.run_sized::<4, S>(),
            _ => self.run_sized::<5, S>(),
        }
    }

    /// The logs of the run with rings of `S` bytes, and what truly happened.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn record<const S: usize>(&self) -> Result<Recorded, Failure> {
        match self.nodes {
            2 => self.record_sized::<2, S>(),
            3 => self.record_sized::<3, S>(),
            4 => self.record_sized::<4, S>(),
            _ => self.record_sized::<5, S>(),
        }
    }

    fn record_sized<const N: usize, const S: usize>(&self) -> Result<Recorded, Failure> {
        let mut system = System::<N, S>::new(self.setup.clone());
        match self.drive(&mut system) {
            Ok(_) => Ok(Recorded::of(&system)),
            Err(violation) => Err(Failure { violation, story: Vec::new() }),
        }
    }

    fn run_sized<const N: usize, const S: usize>(&self) -> Result<Seen, Failure> {
        let mut quiet = System::<N, S>::new(self.setup.clone());
        self.drive(&mut quiet).map_err(|_| {
            // Once more, and this time tell.
            let mut told = System::<N, S>::new(self.setup.clone());
            told.story = Some(Vec::new());
            let violation = self.drive(&mut told).expect_err("a schedule fails the same way every time");
            Failure { violation, story: told.story.unwrap_or_default() }
        })
    }

    fn drive<const N: usize, const S: usize>(&self, system: &mut System<N, S>) -> Result<Seen, Violation> {
        let mut seen = Seen::default();
        system.start()?;
        if let Some((first, second)) = self.linked {
            system.arm(first, second, self.detector)?;
        }
        for choice in &self.choices {
            self.choose(system, *choice)?;
            system.tick_wires()?;
        }
        self.calm(system)?;
        let first = self.first % N;
        for at in [first, (first + 1) % N] {
            // The second halt comes straight after the first is released.
            if !system.members.iter().any(Member::is_halted) {
                system.halt(at)?;
                system.settle()?;
            }
            let certificate = system.check_halted()?;
            seen.halts += 1;
            seen.in_flight += certificate.in_flight;
            system.release((at + 1) % N, certificate.halt)?;
            if at == first {
                let _started = system.halt((at + 1) % N)?;
            }
            system.settle()?;
        }
        self.wake(system)?;
        system.check_running()?;
        system.check_last_halt()?;
        system.check_nothing_lost()?;
        self.account(system, &mut seen)?;
        Ok(seen)
    }

    /// One step.
    fn choose<const N: usize, const S: usize>(&self, system: &mut System<N, S>, choice: u32) -> Result<(), Violation> {
        let pick = (choice >> 8) as usize;
        let (node, edge) = (pick % N, pick % system.channels.len());
        let last = system.members[node].node.last_halt();
        match choice % 256 {
            0..=69 => drop(system.send(edge, None)?),
            70..=134 => drop(system.receive(edge)?),
            135..=184 => drop(system.deliver(edge, Lane::BOTH[pick / system.channels.len() % 2])?),
            226..=232 if self.adversity.debugger => drop(system.take_command(node)?),
            185..=229 => drop(system.local(node, TAGS[pick / N % TAGS.len()])?),
            233..=234 if self.adversity.debugger && pick.is_multiple_of(2) => system.halt_everyone(),
            230..=232 => drop(system.watch(node, 0, pick as i32)?),
            233..=234 => drop(system.halt(node)?),
            235 => drop(system.fault(node)?),
            236..=241 if self.adversity.haste || system.halt_of_all().is_ok() => drop(system.release(node, last)?),
            242 if self.adversity.haste => drop(system.drain_limit(node)?),
            243..=245 => system.read_log(node)?,
            246..=249 => drop(system.suspend(node, choice % 256 == 246)?),
            250..=252 if self.adversity.links => drop(system.link_down(edge)? || system.link_up(edge)),
            // Two that forget at the same time, each what the other was, are beyond help.
            253..=254 if self.adversity.forgetful && !system.members.iter().all(Member::has_started) => {}
            253..=254 if self.adversity.resets => {
                if !self.adversity.unread {
                    system.read_log(node)?;
                }
                system.reset(node, !self.adversity.forgetful || !system.peers_know(node))?
            }
            // A release of a halt that is long over must change nothing.
            255 => {
                let stale = HaltId(last.0.wrapping_sub(1));
                if system.released.contains(&stale) {
                    system.release(node, stale)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Lets everything come to rest: either all run or all are parked in one halt.
    fn calm<const N: usize, const S: usize>(&self, system: &mut System<N, S>) -> Result<(), Violation> {
        for edge in 0..system.channels.len() {
            system.link_up(edge);
        }
        system.settle()?;
        system.check_heard()?;
        let disturbed = self.adversity.links || self.adversity.resets;
        for _ in 0..3 {
            let halted = (0..N).filter(|node| system.members[*node].is_halted()).count();
            if halted == 0 || halted == N {
                break;
            }
            if !disturbed {
                // Half of the system halted with nothing on its way: somebody did not stop, or did not go on.
                return system.halt_of_all().map(drop);
            }
            // A release was lost with a reset, or a halt while a link was down: the host sees it, and repeats itself.
            for node in 0..N {
                let last = system.members[node].node.last_halt();
                system.release(node, last)?;
            }
            system.settle()?;
        }
        Ok(())
    }

    /// Whoever was stopped alone goes on.
    fn wake<const N: usize, const S: usize>(&self, system: &mut System<N, S>) -> Result<(), Violation> {
        for node in 0..N {
            system.suspend(node, false)?;
        }
        system.settle()
    }

    fn account<const N: usize, const S: usize>(
        &self,
        system: &mut System<N, S>,
        seen: &mut Seen,
    ) -> Result<(), Violation> {
        seen.events = system.reference.history.iter().map(|events| events.len() as u32).sum();
        seen.lost = system.channels.iter().map(|channel| channel.lost).sum();
        seen.repeated = system.channels.iter().filter_map(|channel| channel.wire.as_ref()).map(|w| w.repeated()).sum();
        for node in 0..N {
            system.read_log(node)?;
            seen.records += system.check_log(node)?;
            seen.dropped += system.members[node].log.lost();
        }
        if !self.adversity.resets && seen.dropped == 0 {
            system.check_order_from_logs()?;
        }
        Ok(())
    }
}

/// Tracepoints with short and long wire forms, among them the stages of the linked predicate.
const TAGS: [u16; 8] = [1, 2, 1, 2, 0, 40, 126, 300];

/// Puts a second channel beside some, as far as there are ports.
fn add_twins(edges: &mut Vec<(usize, usize)>, nodes: usize, shape: u64) {
    let mut random = Random::new(!shape);
    let ports = |edges: &[(usize, usize)], node| edges.iter().filter(|(from, to)| *from == node || *to == node).count();
    for (from, to) in edges.clone() {
        let has_room = ports(edges, from) < PORTS && ports(edges, to) < PORTS;
        if has_room && (nodes == 2 || random.chance(4_000)) {
            edges.push((from, to));
        }
    }
}

fn random_recording(random: &mut Random, stamps: StampKind) -> Recording {
    // Event stamps are sound only where every node records every send and receive.
    match random.below(6) {
        _ if stamps == StampKind::Event => Recording::FULL,
        0 => Recording::restricted(KindSet::EMPTY.with(EventKind::Local), random.next() as u32),
        1 => Recording::restricted(KindSet::EMPTY.with(EventKind::Receive).with(EventKind::Watch), 0),
        2 => Recording::FULL.with_causes(),
        3 => Recording::OFF,
        _ => Recording::FULL,
    }
}
