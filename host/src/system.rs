//! All boards together.
use crate::{Board, BoardError, Cut, CutError, HaltProof, Node};
use std::time::{Duration, Instant};
use stillpoint_core::{Command, HaltId};

/// Where a node is: which board, which core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// Which board.
    pub board: usize,
    /// Which of its cores.
    pub core: usize,
}

/// A name that no node has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no node {name}{hint} (there are: {names})")]
pub struct UnknownNode {
    name: String,
    hint: String,
    names: String,
}

/// Why a system did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// One of its boards did not.
    #[error("board {board}: {source}")]
    Board {
        /// Which board.
        board: usize,
        /// Why.
        source: BoardError,
    },
    /// Not every node came to where it should be.
    #[error("{waiting:?} did not come to {what} within {limit:?}")]
    TimeOut {
        /// Which nodes.
        waiting: Vec<u8>,
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The halted state is not one consistent moment.
    #[error(transparent)]
    Cut(#[from] CutError),
}

/// All boards of a system.
pub struct System {
    boards: Vec<Board>,
}

impl System {
    /// A system of these boards.
    #[must_use]
    pub fn new(boards: Vec<Board>) -> Self {
        Self { boards }
    }

    /// Its boards.
    pub fn boards(&mut self) -> &mut [Board] {
        &mut self.boards
    }

    /// The name of a node: from the system file, otherwise board and core, as in `A.0`.
    ///
    /// # Panics
    /// When the system has no such board.
    #[must_use]
    pub fn node_name(&self, at: NodeAddress) -> String {
        self.boards[at.board].node_name(at.core)
    }

    /// The node of this name; board and core, as in `A.0`, always works too.
    pub fn find(&self, name: &str) -> Result<NodeAddress, UnknownNode> {
        let addresses = self.addresses();
        let by_place = |at: &NodeAddress| format!("{}.{}", self.boards[at.board].name(), at.core) == name;
        let named = addresses.iter().find(|at| self.node_name(**at) == name);
        named.or_else(|| addresses.iter().find(|at| by_place(at))).copied().ok_or_else(|| {
            let names: Vec<String> = addresses.iter().map(|at| self.node_name(*at)).collect();
            let hint = crate::did_you_mean(name, names.iter().map(String::as_str));
            UnknownNode { name: name.to_owned(), hint, names: names.join(", ") }
        })
    }

    /// Where every node is.
    #[must_use]
    pub fn addresses(&self) -> Vec<NodeAddress> {
        let boards = self.boards.iter().enumerate();
        boards.flat_map(|(board, of)| (0..of.cores()).map(move |core| NodeAddress { board, core })).collect()
    }

    /// Every node as it is now.
    pub fn nodes(&mut self) -> Result<Vec<Node>, SystemError> {
        let addresses = self.addresses();
        addresses.into_iter().map(|at| self.on(at.board, |board| board.node(at.core))).collect()
    }

    /// Gives one node a command.
    pub fn command(&mut self, at: NodeAddress, command: &Command<'_>) -> Result<(), SystemError> {
        self.on(at.board, |board| board.command(at.core, command))
    }

    /// Initiates a consistent halt at one node and waits until every node is parked in it and saw all its markers.
    pub fn halt(&mut self, initiator: NodeAddress, limit: Duration) -> Result<HaltProof, SystemError> {
        self.command(initiator, &Command::Halt)?;
        self.wait_parked(limit)?;
        self.prove()
    }

    /// Waits until every node is parked in the same halt with a marker on each of its incoming channels.
    pub fn wait_parked(&mut self, limit: Duration) -> Result<HaltId, SystemError> {
        let until = Instant::now() + limit;
        loop {
            let nodes = self.nodes()?;
            let halt = nodes
                .iter()
                .map(|node| node.last_halt)
                .fold(HaltId(0), |newest, halt| if halt.is_newer_than(newest) { halt } else { newest });
            let settled = |node: &&Node| node.is_parked() && node.last_halt == halt && has_all_markers(node);
            let waiting: Vec<u8> = nodes.iter().filter(|node| !settled(node)).map(|node| node.id.0).collect();
            if waiting.is_empty() {
                return Ok(halt);
            }
            if Instant::now() > until {
                return Err(SystemError::TimeOut { waiting, what: "the halt", limit });
            }
            std::thread::yield_now();
        }
    }

    /// Checks that the halted state is one consistent moment, from the raw rings.
    pub fn prove(&mut self) -> Result<HaltProof, SystemError> {
        let nodes = self.nodes()?;
        let mut queues = Vec::new();
        for (at, node) in self.addresses().into_iter().zip(&nodes) {
            for port in &node.ports {
                let counts = self.on(at.board, |board| board.ring_counts(port.queue))?;
                queues.push(((node.id, port.id), counts));
            }
        }
        Ok(Cut { nodes, queues }.prove()?)
    }

    /// Releases a halt at one node and waits until every node runs.
    pub fn release(&mut self, at: NodeAddress, halt: HaltId, limit: Duration) -> Result<(), SystemError> {
        self.command(at, &Command::Release(halt))?;
        let until = Instant::now() + limit;
        loop {
            let nodes = self.nodes()?;
            let waiting: Vec<u8> = nodes.iter().filter(|node| node.is_parked()).map(|node| node.id.0).collect();
            if waiting.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(SystemError::TimeOut { waiting, what: "the release", limit });
            }
            std::thread::yield_now();
        }
    }

    fn on<R>(&mut self, board: usize, f: impl FnOnce(&mut Board) -> Result<R, BoardError>) -> Result<R, SystemError> {
        f(&mut self.boards[board]).map_err(|source| SystemError::Board { board, source })
    }
}

fn has_all_markers(node: &Node) -> bool {
    node.ports.iter().all(|port| port.marker.is_some())
}
