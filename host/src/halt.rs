//! Halting all nodes consistently: begun, waited for, proven. The CLI, breakpoints and tests halt by this path only.
use crate::poll::HaltLimit;
use crate::system::newest_halt;
use crate::{Board, BoardError, HaltProof, NoCertificate, Node, NodeAddress, NodeState, Sight, System, SystemError};
use std::time::{Duration, Instant};
use stillpoint_core::control::{RefusalCode, StateCode};
use stillpoint_core::{Command, HaltId, NodeId};

/// A board that cannot be reached, and so the nodes on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which board.
    pub board: String,
    /// The nodes on it.
    pub nodes: Vec<String>,
    /// Why.
    pub why: String,
}

/// A node that did not come to a halt in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    /// Its name.
    pub node: String,
    /// What it does instead, or which marker it lacks.
    pub why: String,
}

/// What became of a halt.
#[derive(Debug)]
pub struct Halted {
    /// Which halt.
    pub halt: HaltId,
    /// Whether every node was in it before anything was asked.
    pub already: bool,
    /// Every node that could be read at the end, with its name.
    pub nodes: Vec<(NodeAddress, String, Node)>,
    /// The boards that could not.
    pub lost: Vec<Lost>,
    /// The nodes that can be reached and did not halt in time.
    pub waiting: Vec<Late>,
    /// The certificate, or what is wrong. There is none without every node.
    pub proof: Option<Result<HaltProof, NoCertificate>>,
    /// How long it took.
    pub took: HaltTimes,
}

/// How long the parts of a halt took, each from its beginning, as the host saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HaltTimes {
    /// Until the application of every node that can be reached stood still.
    pub reached: Duration,
    /// Until every marker was delivered and every node parked.
    pub drained: Duration,
    /// Until the certificate was there.
    pub proven: Duration,
}

impl Halted {
    /// Whether all nodes stand at one proven consistent moment.
    #[must_use]
    pub fn is_certified(&self) -> bool {
        matches!(self.proof, Some(Ok(_)))
    }

    /// The halt with its certificate, or what is wrong with it; an error if a node did not halt within `limit`.
    pub(crate) fn outcome(self, limit: Duration) -> Result<(HaltId, Result<HaltProof, NoCertificate>), SystemError> {
        let Self { halt, lost, waiting, proof, .. } = self;
        let lost = lost.into_iter().flat_map(|lost| lost.nodes);
        let late = || SystemError::TimeOut {
            waiting: waiting.into_iter().map(|late| late.node).chain(lost).collect(),
            what: "halt",
            limit,
        };
        proof.map(|proof| (halt, proof)).ok_or_else(late)
    }

    /// The certificate; without one, the reason as an error.
    fn certificate(self, limit: Duration) -> Result<HaltProof, SystemError> {
        Ok(self.outcome(limit)?.1?)
    }
}

/// When the host commands nodes to a halt that has not reached them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Help {
    /// Never: the markers alone carry it.
    Never,
    /// This long after it began.
    After(Duration),
}

/// What became of a command to halt.
#[derive(Default)]
struct Commanded {
    /// How many nodes take part.
    joined: usize,
    /// The newest halt that a node knows of which refused.
    newest: Option<HaltId>,
    /// Why the first of the others could not be commanded.
    failed: Option<SystemError>,
}

/// A halt that began at one node is left to the markers for so long. On a link that is down they do not pass.
const MARKERS_ALONE: Duration = Duration::from_secs(2);
/// The control blocks are read whole at least so often: a board may be reset or lost meanwhile.
const WHOLE_LOOK: Duration = Duration::from_millis(50);
/// How often a halt is begun anew that nodes refuse because they know of a newer one.
const ATTEMPTS: usize = 4;

impl System {
    /// Halts all nodes consistently and waits until every node that can be reached is parked.
    ///
    /// The host is the debugger process of Miller & Choi's extended model: it commands one halt to every node at once. With
    /// `at` it commands that node alone, and markers halt the others. A halted system stays as it is and is certified again.
    pub fn halt_all(&mut self, at: Option<NodeAddress>, limit: Duration) -> Result<Halted, SystemError> {
        let began = Instant::now();
        let (nodes, lost) = self.sort(Vec::new());
        if lost.is_empty() && nodes.iter().all(|(_, _, node)| node.is_parked()) {
            return self.await_halt(began, true, limit, Help::Never, true);
        }
        let everyone = nodes.iter().map(|(at, _, _)| *at).collect();
        self.begin(next_halt(&nodes), &at.map_or(everyone, |at| vec![at]))?;
        let help = if at.is_some() { MARKERS_ALONE } else { Duration::ZERO };
        self.await_halt(began, false, limit, Help::After(help), true)
    }

    /// Halts all nodes by a command to one of them.
    ///
    /// # Errors
    /// A node did not halt within `limit`, or the halted state is not one consistent moment.
    pub fn halt(&mut self, initiator: NodeAddress, limit: Duration) -> Result<HaltProof, SystemError> {
        self.halt_all(Some(initiator), limit)?.certificate(limit)
    }

    /// Waits until every node is parked in a halt that has begun at some node, by a breakpoint, a crash or the application,
    /// and proves it. The host commands the nodes that it has not reached.
    ///
    /// # Errors
    /// A node did not halt within `limit`, or a board cannot be read.
    pub fn complete_halt(
        &mut self,
        limit: Duration,
    ) -> Result<(HaltId, Result<HaltProof, NoCertificate>), SystemError> {
        self.await_halt(Instant::now(), false, limit, Help::After(Duration::ZERO), true)?.outcome(limit)
    }

    /// Waits until no node that is in a halt waits for a marker, without commanding those that are not in it, as a resume does:
    /// some may be parked alone. Nothing is proven.
    pub(crate) fn wait_halted(&mut self, limit: Duration) -> Result<Halted, SystemError> {
        self.await_halt(Instant::now(), false, limit, Help::Never, false)
    }

    /// Waits until markers have halted every node. Returns the halt.
    ///
    /// # Errors
    /// A node did not halt within `limit`, or the halted state is not one consistent moment.
    pub fn wait_parked(&mut self, limit: Duration) -> Result<HaltId, SystemError> {
        let halted = self.await_halt(Instant::now(), false, limit, Help::Never, true)?;
        halted.certificate(limit).map(|proof| proof.halt)
    }

    /// Begins a halt at these nodes, all at once, and does not wait for the others.
    ///
    /// # Errors
    /// No node could be commanded; the first reason.
    pub fn begin_halt(&mut self, at: &[NodeAddress]) -> Result<(), SystemError> {
        let (nodes, _) = self.sort(Vec::new());
        self.begin(next_halt(&nodes), at)
    }

    /// Begins this halt. A node that knows of a newer one refuses; then all are commanded to the one after that.
    fn begin(&mut self, mut halt: HaltId, at: &[NodeAddress]) -> Result<(), SystemError> {
        for _ in 0..ATTEMPTS {
            let Commanded { joined, newest, failed } = self.command_halt(halt, at);
            match (joined, newest) {
                (0, Some(newest)) => halt = newest.next(),
                (0, None) => return failed.map_or(Ok(()), Err),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Commands these nodes to take part in a halt.
    fn command_halt(&mut self, halt: HaltId, to: &[NodeAddress]) -> Commanded {
        let mut commanded = Commanded::default();
        for (board, answers) in self.command_together(to, &Command::Halt(halt)).into_iter().enumerate() {
            for answer in answers {
                match answer {
                    Ok(()) => commanded.joined += 1,
                    Err(BoardError::Refused { refusal, .. }) if refusal.code == RefusalCode::OldHalt => {
                        let known = HaltId(refusal.value as u16);
                        let is_newer = commanded.newest.is_none_or(|newest| known.is_newer_than(newest));
                        commanded.newest = if is_newer { Some(known) } else { commanded.newest };
                    }
                    Err(source) => {
                        let board = self.boards()[board].name().to_owned();
                        commanded.failed = commanded.failed.or(Some(SystemError::Board { board, source }));
                    }
                }
            }
        }
        commanded
    }

    /// Releases a halt at these nodes, all at once. One of them is enough: the others leave it by releases in band.
    ///
    /// # Errors
    /// No node could be commanded; the first reason.
    pub(crate) fn release_at(&mut self, at: &[NodeAddress], halt: HaltId) -> Result<(), SystemError> {
        let mut failed = None;
        for (board, answers) in self.command_together(at, &Command::Release(halt)).into_iter().enumerate() {
            for answer in answers {
                match answer {
                    Ok(()) => return Ok(()),
                    Err(source) => {
                        let board = self.boards()[board].name().to_owned();
                        failed = failed.or(Some(SystemError::Board { board, source }));
                    }
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Gives nodes one command: written to all of them first, then all bells are rung, boards at the same time. Returns the
    /// answers of each board's nodes.
    fn command_together(&mut self, to: &[NodeAddress], command: &Command<'_>) -> Vec<Vec<Result<(), BoardError>>> {
        let cores = |board: usize| to.iter().filter(move |at| at.board == board).map(|at| at.core);
        let posted =
            self.on_each(|index, board| cores(index).map(|core| (core, board.post(core, command))).collect::<Vec<_>>());
        let rung = self.on_each(|index, board| {
            let ring =
                |(core, sequence): &(usize, Result<u32, BoardError>)| sequence.is_ok().then(|| board.ring(*core));
            posted[index].iter().map(ring).collect::<Vec<_>>()
        });
        let asked = posted.into_iter().zip(rung);
        let asked = asked.map(|(posted, rung)| posted.into_iter().zip(rung));
        let answer = |board: &mut Board, ((core, sequence), rung): ((usize, Result<u32, BoardError>), _)| {
            let sequence = sequence?;
            if let Some(Err(error)) = rung {
                board.give_up_command();
                return Err(error);
            }
            board.await_answer(core, sequence)
        };
        let answered = asked.zip(self.boards());
        answered.map(|(asked, board)| asked.map(|asked| answer(board, asked)).collect()).collect()
    }

    /// Does something with every board at the same time.
    fn on_each<R: Send>(&mut self, work: impl Fn(usize, &mut Board) -> R + Sync) -> Vec<R> {
        let work = &work;
        std::thread::scope(|scope| {
            let boards = self.boards().iter_mut().enumerate();
            let threads: Vec<_> = boards.map(|(index, board)| scope.spawn(move || work(index, board))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a command to a board does not panic")).collect()
        })
    }

    /// Waits until every node that can be reached is parked in one halt with all the markers it can get, and proves it if asked.
    fn await_halt(
        &mut self,
        began: Instant,
        already: bool,
        limit: Duration,
        help: Help,
        proves: bool,
    ) -> Result<Halted, SystemError> {
        let mut took = HaltTimes::default();
        let mut helps = help != Help::Never;
        let mut patience = HaltLimit::new(began, limit);
        loop {
            let (nodes, lost) = self.sort(self.missing.clone());
            let halt = newest_halt(nodes.iter().map(|(_, _, node)| node));
            let there: Vec<NodeId> = nodes.iter().map(|(_, _, node)| node.id).collect();
            let waiting = nodes.iter().filter(|(_, _, node)| !is_settled(node, halt, &there));
            let late =
                |(_, name, node): &(_, String, Node)| Late { node: name.clone(), why: lacks(node, halt, &nodes) };
            let waiting: Vec<Late> = waiting.map(late).collect();
            let running: Vec<NodeAddress> =
                nodes.iter().filter(|(_, _, node)| !is_in(node, halt)).map(|(at, _, _)| *at).collect();
            if took.reached.is_zero() && running.is_empty() {
                took.reached = began.elapsed();
            }
            let is_late = patience.is_over(nodes.iter().map(|(_, _, node)| node));
            if waiting.is_empty() || is_late {
                took.drained = began.elapsed();
                // If all of them stand, the proof says where a marker is missing.
                let stands = nodes.iter().all(|(_, _, node)| node.is_parked() && node.last_halt == halt);
                let proof = if proves && lost.is_empty() && stands { Some(self.proof()?) } else { None };
                took.proven = began.elapsed();
                return Ok(Halted { halt, already, nodes, lost, waiting, proof, took });
            }
            self.check_interrupt("the halt")?;
            if let Help::After(after) = help
                && helps
                && began.elapsed() >= after
                && running.len() < nodes.len()
                && !running.is_empty()
            {
                helps = false;
                // One that cannot be commanded is among those that are waited for. One that refuses has left this halt.
                self.command_halt(halt, &running);
            }
            self.watch_halt(&nodes, began, &mut took)?;
        }
    }

    /// Looks at the first words of each control block until all nodes are parked, and for [`WHOLE_LOOK`] at most.
    fn watch_halt(
        &mut self,
        nodes: &[(NodeAddress, String, Node)],
        began: Instant,
        took: &mut HaltTimes,
    ) -> Result<(), SystemError> {
        let until = Instant::now() + WHOLE_LOOK;
        while Instant::now() < until {
            let mut states = Vec::with_capacity(nodes.len());
            for (at, _, _) in nodes {
                states.push(self.on(at.board, |board| board.state(at.core))?);
            }
            let halted = |state: &Option<StateCode>| matches!(state, Some(StateCode::Draining | StateCode::Parked));
            if took.reached.is_zero() && states.iter().all(halted) {
                took.reached = began.elapsed();
            }
            if states.iter().all(|state| *state == Some(StateCode::Parked)) {
                break;
            }
            self.check_interrupt("the halt")?;
            crate::poll::pause();
        }
        Ok(())
    }

    /// The certificate of a halted state, or what is wrong with it; an error only if a board cannot be read.
    pub fn proof(&mut self) -> Result<Result<HaltProof, NoCertificate>, SystemError> {
        match self.prove() {
            Ok(proof) => Ok(Ok(proof)),
            Err(SystemError::Cut(error)) => Ok(Err(error)),
            Err(other) => Err(other),
        }
    }

    /// The nodes that can be read, and the boards that cannot, added to `lost`.
    pub(crate) fn sort(&mut self, mut lost: Vec<Lost>) -> (Vec<(NodeAddress, String, Node)>, Vec<Lost>) {
        let mut nodes = Vec::new();
        for Sight { at, name, node } in self.look() {
            match node {
                Ok(node) => nodes.push((at, name, node)),
                Err(error) => {
                    let board = self.boards()[at.board].name().to_owned();
                    match lost.iter_mut().find(|lost| lost.board == board) {
                        Some(lost) => lost.nodes.push(name),
                        None => lost.push(Lost { board, nodes: vec![name], why: error.to_string() }),
                    }
                }
            }
        }
        (nodes, lost)
    }
}

/// The halt that some node is in, otherwise the next one.
fn next_halt(nodes: &[(NodeAddress, String, Node)]) -> HaltId {
    let newest = newest_halt(nodes.iter().map(|(_, _, node)| node));
    if nodes.iter().any(|(_, _, node)| is_in(node, newest)) { newest } else { newest.next() }
}

/// Whether a node takes part in this halt.
fn is_in(node: &Node, halt: HaltId) -> bool {
    matches!(node.state, Some(StateCode::Draining | StateCode::Parked)) && node.last_halt == halt
}

/// Whether a node stands, with a marker on every channel from a node that is there.
fn is_settled(node: &Node, halt: HaltId, there: &[NodeId]) -> bool {
    let comes = |peer: NodeId| there.contains(&peer);
    let all_markers = node.ports.iter().all(|port| port.marker.is_some() || !comes(port.peer));
    node.is_parked() && node.last_halt == halt && all_markers
}

/// Why a node is not settled in a halt.
fn lacks(node: &Node, halt: HaltId, nodes: &[(NodeAddress, String, Node)]) -> String {
    let state = node.state.map_or("in no known state", |state| NodeState::of(state).word());
    if node.last_halt != halt {
        return format!("{state}, last in halt {}", node.last_halt.0);
    }
    let mut from: Vec<&str> = nodes
        .iter()
        .filter(|(_, _, peer)| node.ports.iter().any(|port| port.peer == peer.id && port.marker.is_none()))
        .map(|(_, name, _)| name.as_str())
        .collect();
    from.sort_unstable();
    match from.as_slice() {
        [] => state.to_owned(),
        from => format!("{state}, no marker from {}", from.join(", ")),
    }
}
