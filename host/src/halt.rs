//! Halting and resuming whatever is there: boards that died are named, the others do what they can.
use crate::poll::HaltLimit;
use crate::system::newest_halt;
use crate::{HaltProof, NoCertificate, Node, NodeAddress, NodeState, NodeStatus, Sight, System, SystemError};
use std::time::{Duration, Instant};
use stillpoint_core::control::StateCode;
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
    /// Every node that could be seen at the end, with its name.
    pub nodes: Vec<(NodeAddress, String, Node)>,
    /// The boards that could not.
    pub lost: Vec<Lost>,
    /// The nodes that are there, but did not come to the halt in time.
    pub waiting: Vec<Late>,
    /// The certificate, or what is wrong. There is none without every node.
    pub proof: Option<Result<HaltProof, NoCertificate>>,
    /// From the command to the last node parked, as the host saw it.
    pub took: Duration,
}

impl Halted {
    /// Whether all nodes stand at one proven consistent moment.
    #[must_use]
    pub fn is_certified(&self) -> bool {
        matches!(self.proof, Some(Ok(_)))
    }
}

/// What became of a resume.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The nodes that were halted or stopped before and run now.
    pub resumed: Vec<String>,
    /// The nodes that can be reached and do not run, as they are now.
    pub stayed: Vec<NodeStatus>,
}

/// Releasing again is for what the first release has missed, so it may take its time.
const PATIENCE: Duration = Duration::from_millis(200);

impl System {
    /// Initiates a consistent halt (at `from`, otherwise at the first node that answers) and waits until every node that can
    /// be reached is parked in it. A system that is halted stays as it is, and is certified again.
    pub fn halt_all(&mut self, from: Option<NodeAddress>, limit: Duration) -> Result<Halted, SystemError> {
        let began = Instant::now();
        let sights = self.look();
        let already = sights.iter().all(|sight| sight.node.as_ref().is_ok_and(Node::is_parked));
        if !already {
            self.initiate(from)?;
        }
        self.await_halt(began, already, limit)
    }

    fn initiate(&mut self, from: Option<NodeAddress>) -> Result<(), SystemError> {
        if let Some(at) = from {
            return self.command(at, &Command::Halt);
        }
        let mut failed = None;
        for at in self.addresses() {
            match self.command(at, &Command::Halt) {
                Ok(()) => return Ok(()),
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Waits until every node that can be reached is parked in one halt with all the markers it can get.
    fn await_halt(&mut self, began: Instant, already: bool, limit: Duration) -> Result<Halted, SystemError> {
        let mut patience = HaltLimit::new(Instant::now(), limit);
        loop {
            let (nodes, lost) = self.sort(self.missing.clone());
            let halt = newest_halt(nodes.iter().map(|(_, _, node)| node));
            let there: Vec<NodeId> = nodes.iter().map(|(_, _, node)| node.id).collect();
            let waiting = nodes.iter().filter(|(_, _, node)| !is_settled(node, halt, &there));
            let late =
                |(_, name, node): &(_, String, Node)| Late { node: name.clone(), why: lacks(node, halt, &nodes) };
            let waiting: Vec<Late> = waiting.map(late).collect();
            let took = began.elapsed();
            if waiting.is_empty() || patience.is_over(nodes.iter().map(|(_, _, node)| node)) {
                let proof = if lost.is_empty() && waiting.is_empty() { Some(self.proof()?) } else { None };
                return Ok(Halted { halt, already, nodes, lost, waiting, proof, took });
            }
            self.check_interrupt("the halt")?;
            crate::poll::pause();
        }
    }

    /// The certificate of a halted state, or what is wrong with it; an error only if a board cannot be read.
    pub fn proof(&mut self) -> Result<Result<HaltProof, NoCertificate>, SystemError> {
        match self.prove() {
            Ok(proof) => Ok(Ok(proof)),
            Err(SystemError::Cut(error)) => Ok(Err(error)),
            Err(other) => Err(other),
        }
    }

    /// The nodes that can be seen, and the boards that cannot, added to `lost`.
    fn sort(&mut self, mut lost: Vec<Lost>) -> (Vec<(NodeAddress, String, Node)>, Vec<Lost>) {
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

    /// The nodes whose cores the probe has stopped: they cannot take part in anything.
    pub fn stopped(&mut self) -> Result<Vec<String>, SystemError> {
        let mut names = Vec::new();
        for board in self.boards() {
            let Some(session) = board.session() else { continue };
            let stopped = session.halted();
            let stopped = stopped.map_err(|source| SystemError::Session { board: board.name().into(), source })?;
            names.extend((0..).zip(stopped).filter(|(_, stopped)| *stopped).map(|(core, _)| board.node_name(core)));
        }
        Ok(names)
    }

    /// Lets every core run that the probe has stopped. Returns the names of their nodes.
    pub fn run_stopped(&mut self) -> Result<Vec<String>, SystemError> {
        let names = self.stopped()?;
        for board in self.boards() {
            let Some(session) = board.session() else { continue };
            // What runs is not disturbed.
            let run = session.halted().and_then(|cores| if cores.contains(&true) { session.run() } else { Ok(()) });
            run.map_err(|source| SystemError::Session { board: board.name().into(), source })?;
        }
        Ok(names)
    }

    /// Lets every node run: starts cores that the probe has stopped, ends the halt that nodes are parked in, and the delayed
    /// halt of a single one. Then reads the nodes back, so that what it returns is what was seen afterwards.
    ///
    /// A halt that is still under way is waited for first: released too early, a late marker would park its receiver alone.
    pub fn resume_all(&mut self, limit: Duration) -> Result<Resumed, SystemError> {
        let began = Instant::now();
        let mut held = self.run_stopped()?;
        let mut add = |name: &String| {
            if !held.contains(name) {
                held.push(name.clone());
            }
        };
        let (nodes, _) = self.sort(Vec::new());
        let released = newest_halt(nodes.iter().map(|(_, _, node)| node));
        let is_halted = |node: &Node| matches!(node.state, Some(StateCode::Draining | StateCode::Parked));
        let halted: Vec<&String> =
            nodes.iter().filter(|(_, _, node)| is_halted(node)).map(|(_, name, _)| name).collect();
        halted.iter().copied().for_each(&mut add);
        if !halted.is_empty() {
            // Some may be parked alone, and then no newer halt will ever reach the rest: do not insist.
            let halted = self.await_halt(began, true, limit.min(PATIENCE * 5))?;
            if let Some((at, _, node)) = halted.nodes.iter().find(|(_, _, node)| node.is_parked()) {
                self.command(*at, &Command::Release(node.last_halt))?;
            }
            self.wait_released(halted.halt, limit)?;
        }
        let (nodes, _) = self.sort(Vec::new());
        for (at, name, _) in nodes.iter().filter(|(_, _, node)| node.state == Some(StateCode::Suspended)) {
            self.command(*at, &Command::Continue)?;
            add(name);
        }
        let stayed = self.await_running(released, began + limit)?;
        held.retain(|name| stayed.iter().all(|node| node.name != *name));
        Ok(Resumed { resumed: held, stayed })
    }

    /// Waits until every node that can be reached runs, or is in a halt newer than `released`: a breakpoint may stop the
    /// system again at its next event. Returns those that do neither at the end; a crashed node is not waited for.
    fn await_running(&mut self, released: HaltId, until: Instant) -> Result<Vec<NodeStatus>, SystemError> {
        loop {
            let runs = |node: &NodeStatus| {
                node.state == NodeState::Running || node.halt.is_some_and(|halt| halt.is_newer_than(released))
            };
            let stays = |node: &NodeStatus| node.state == NodeState::Faulted || !runs(node);
            let mut stayed = self.stands();
            stayed.retain(|node| stays(node) && node.state != NodeState::Missing);
            if stayed.iter().all(|node| node.state == NodeState::Faulted) || Instant::now() > until {
                return Ok(stayed);
            }
            self.check_interrupt("the nodes to run")?;
            crate::poll::pause();
        }
    }

    /// Waits until no node that can be seen is in this halt or an older one. One that stays is released again by itself: a
    /// release that came before a marker, or could not pass a dead board, has missed it. Returns how often that was needed.
    ///
    /// A node in a newer halt has left this one: a breakpoint may stop the system again at its next event.
    pub(crate) fn wait_released(&mut self, halt: HaltId, limit: Duration) -> Result<usize, SystemError> {
        let until = Instant::now() + limit;
        let mut again_at = Instant::now() + PATIENCE;
        let mut repeated = 0;
        loop {
            let (nodes, _) = self.sort(Vec::new());
            let halted = |node: &Node| {
                let stands = matches!(node.state, Some(StateCode::Draining | StateCode::Parked));
                stands && !node.last_halt.is_newer_than(halt)
            };
            let waiting: Vec<_> = nodes.iter().filter(|(_, _, node)| halted(node)).collect();
            if waiting.is_empty() {
                return Ok(repeated);
            }
            self.check_interrupt("the release")?;
            let now = Instant::now();
            if now > until {
                let waiting = waiting.into_iter().map(|(_, name, _)| name.clone()).collect();
                return Err(SystemError::TimeOut { waiting, what: "the release", limit });
            }
            if now > again_at {
                for (at, _, node) in waiting.into_iter().filter(|(_, _, node)| node.is_parked()) {
                    self.command(*at, &Command::Release(node.last_halt))?;
                    repeated += 1;
                }
                again_at = now + PATIENCE;
            }
            crate::poll::pause();
        }
    }
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
