//! All boards together.
use crate::channel_name::{ChannelName, NoCertificate, end_name};
use crate::expr::{NotOneNode, one_node};
use crate::owner::{Control, OwnerError};
use crate::{Board, BoardError, Cut, CutError, HaltProof, Lost, Node};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use stillpoint_core::control::StateCode;
use stillpoint_core::{Command, HaltId, NodeId, Violation};

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
pub enum UnknownNode {
    /// No node has it.
    #[error("there is no node {name}{hint} (there are: {names})")]
    None {
        /// What was asked for.
        name: String,
        /// The nearest name, as a question.
        hint: String,
        /// All names.
        names: String,
    },
    /// Several nodes have it.
    #[error("several nodes are called {name}; say {places}")]
    Several {
        /// What was asked for.
        name: String,
        /// How to tell them apart.
        places: String,
    },
}

/// A node that two boards have.
fn same_node(ids: impl Iterator<Item = (usize, NodeId)>) -> Option<(NodeId, [usize; 2])> {
    let mut seen: Vec<(usize, NodeId)> = Vec::new();
    for (board, id) in ids {
        if let Some((first, _)) = seen.iter().find(|(other, of)| *of == id && *other != board) {
            return Some((id, [*first, board]));
        }
        seen.push((board, id));
    }
    None
}

/// Why a system did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// Two boards say that they are the same.
    #[error(
        "boards {one} and {other} both have node {id}, so they cannot be told apart: each node of a system has its own \
         number; check the firmware of both and, in the system file, their `arguments`"
    )]
    SameNode {
        /// The number of the node.
        id: u8,
        /// One board.
        one: String,
        /// The other.
        other: String,
    },
    /// One of its boards did not.
    #[error("board {board}: {source}")]
    Board {
        /// Which board.
        board: String,
        /// Why.
        source: BoardError,
    },
    /// A board's probe could not.
    #[error("board {board}: {source}")]
    Session {
        /// Which board.
        board: String,
        /// Why.
        source: crate::SessionError,
    },
    /// A board is missing or cannot be read, so no node was released.
    #[error("nothing was resumed: {}", missing_boards(.0))]
    NotAllThere(Vec<Lost>),
    /// Not every node came to where it should be.
    #[error("{} did not {what} within {limit:?}; see `stillpoint status`", waiting.join(", "))]
    TimeOut {
        /// Which nodes.
        waiting: Vec<String>,
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The halted state is not one consistent moment.
    #[error(transparent)]
    Cut(#[from] NoCertificate),
    /// The process that owns the boards could not be asked.
    #[error(transparent)]
    Owner(#[from] crate::owner::OwnerError),
    /// Somebody wants no more of it.
    #[error("interrupted while waiting for {0}; the boards go on by themselves")]
    Interrupted(&'static str),
}

fn missing_boards(lost: &[Lost]) -> String {
    let name = |Lost { board, nodes, why }: &Lost| format!("board {board} ({}) is missing: {why}", nodes.join(", "));
    lost.iter().map(name).collect::<Vec<_>>().join("; ")
}

/// How long the links of parked nodes may take to come to rest.
const QUIET_LIMIT: Duration = Duration::from_secs(5);

/// How long a violation must be seen before it is believed: a node that stands says what a link brought it a moment after
/// the link has acknowledged it, so that another may have parked on the word of that before the host can read it here.
const BELIEVED_AFTER: Duration = Duration::from_millis(250);

/// All boards of a system.
pub struct System {
    boards: Vec<Board>,
    /// Boards of the system file that could not be attached to.
    pub(crate) missing: Vec<Lost>,
    interrupt: Option<Arc<AtomicBool>>,
}

/// What can be seen of a node.
pub struct Sight {
    /// Where it is.
    pub at: NodeAddress,
    /// Its name.
    pub name: String,
    /// What its control block says, or why that cannot be read.
    pub node: Result<Node, BoardError>,
}

impl System {
    /// A system of these boards.
    #[must_use]
    pub fn new(boards: Vec<Board>) -> Self {
        Self { boards, missing: Vec::new(), interrupt: None }
    }

    /// Has every wait end with [`SystemError::Interrupted`] once this is set.
    #[must_use]
    pub fn interrupted_by(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Fails once somebody wants no more of it.
    pub(crate) fn check_interrupt(&self, waiting_for: &'static str) -> Result<(), SystemError> {
        match &self.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(SystemError::Interrupted(waiting_for)),
            _ => Ok(()),
        }
    }

    /// Takes control of the boards for a moment; `None` while another process controls them.
    ///
    /// # Errors
    /// Their owner cannot be asked.
    pub fn control_briefly(&self) -> Result<Option<Control>, SystemError> {
        let Some(state) = self.boards.iter().find_map(Board::owned_in) else { return Ok(Some(Control::default())) };
        match crate::owner::control(state, true) {
            Ok(control) => Ok(Some(control)),
            Err(OwnerError::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes it apart.
    #[must_use]
    pub fn into_boards(self) -> Vec<Board> {
        self.boards
    }

    /// Boards of the system file that could not be attached to.
    #[must_use]
    pub fn missing(&self) -> &[Lost] {
        &self.missing
    }

    /// Its boards.
    pub fn boards(&mut self) -> &mut [Board] {
        &mut self.boards
    }

    /// The name of a node: from the system file, or what the firmware calls it, or board and core, as in `A.0`.
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
        let place = |at: &NodeAddress| format!("{}.{}", self.boards[at.board].name(), at.core);
        let names: Vec<_> = addresses.iter().map(|at| [vec![self.node_name(*at)], vec![place(at)]]).collect();
        one_node(name, &names).map(|index| addresses[index]).map_err(|why| match why {
            NotOneNode::None => {
                let names: Vec<String> = addresses.iter().map(|at| self.node_name(*at)).collect();
                let hint = crate::did_you_mean(name, names.iter().map(String::as_str));
                UnknownNode::None { name: name.to_owned(), hint, names: names.join(", ") }
            }
            NotOneNode::Several(places) => UnknownNode::Several { name: name.to_owned(), places: places.join(" or ") },
        })
    }

    /// Every node that can be seen, and why the others cannot.
    pub fn look(&mut self) -> Vec<Sight> {
        let addresses = self.addresses();
        let see = |at: NodeAddress| {
            let board = &mut self.boards[at.board];
            let node = board.node(at.core);
            Sight { at, name: board.node_name(at.core), node }
        };
        addresses.into_iter().map(see).collect()
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
        let read = |at: &NodeAddress| self.on(at.board, |board| board.node(at.core));
        let nodes: Vec<Node> = addresses.iter().map(read).collect::<Result<_, _>>()?;
        let started = |node: &Node| !matches!(node.state, None | Some(StateCode::Starting));
        let ids = addresses.iter().zip(&nodes).filter(|(_, node)| started(node)).map(|(at, node)| (at.board, node.id));
        match same_node(ids) {
            Some((id, boards)) => {
                let [one, other] = boards.map(|board| self.boards[board].name().to_owned());
                Err(SystemError::SameNode { id: id.0, one, other })
            }
            None => Ok(nodes),
        }
    }

    /// One node as it is now.
    pub fn node(&mut self, at: NodeAddress) -> Result<Node, SystemError> {
        self.on(at.board, |board| board.node(at.core))
    }

    /// Lets go of every board and leaves cores stopped that are.
    pub fn leave_halted(self) -> Result<(), SystemError> {
        for board in self.boards {
            let name = board.name().to_owned();
            board.leave_halted().map_err(|source| SystemError::Session { board: name, source })?;
        }
        Ok(())
    }

    /// Gives one node a command.
    pub fn command(&mut self, at: NodeAddress, command: &Command<'_>) -> Result<(), SystemError> {
        self.on(at.board, |board| board.command(at.core, command))
    }

    /// Checks that the halted state is one consistent moment, from the raw rings.
    pub fn prove(&mut self) -> Result<HaltProof, SystemError> {
        let since = Instant::now();
        loop {
            let proof = self.prove_once();
            let patience = match &proof {
                // Frames still move: one end's ledger is older than what the other end heard of it.
                Err(SystemError::Cut(NoCertificate { why: CutError::Sessions(_), .. })) => QUIET_LIMIT,
                Err(SystemError::Cut(_)) => BELIEVED_AFTER,
                _ => return proof,
            };
            if since.elapsed() > patience {
                return proof;
            }
            crate::poll::pause();
        }
    }

    fn prove_once(&mut self) -> Result<HaltProof, SystemError> {
        let cut = self.read_cut()?;
        cut.prove().or_else(|error| Err(self.explain(error, &cut.nodes)?.into()))
    }

    /// What every node and every ring says.
    pub(crate) fn read_cut(&mut self) -> Result<Cut, SystemError> {
        let nodes = self.nodes()?;
        let mut rings = Vec::new();
        for (at, node) in self.addresses().into_iter().zip(&nodes) {
            for port in &node.ports {
                let ring = self.on(at.board, |board| board.ring_with_messages(port.queue))?;
                rings.push(((node.id, port.id), ring));
            }
        }
        Ok(Cut { nodes, rings })
    }

    /// Looks at the messages themselves to tell a repeated one from a late one, and finds the names of the channel.
    pub(crate) fn explain(&mut self, mut why: CutError, nodes: &[Node]) -> Result<NoCertificate, SystemError> {
        let Some(channel) = why.channel() else { return Ok(NoCertificate { channel: None, why }) };
        let addresses = self.addresses();
        let find = |id| nodes.iter().zip(&addresses).find(|(node, _)| node.id == id);
        let (Some((from, sender)), Some((to, receiver))) = (find(channel.from), find(channel.to)) else {
            return Ok(NoCertificate { channel: None, why });
        };
        if let CutError::Violated(Violation::AfterMarker { message, .. }) = why
            && let Some(port) = from.ports.iter().find(|port| port.id == channel.out)
            && self.on(sender.board, |board| board.ends_twice(port.queue))?
        {
            why = CutError::Violated(Violation::DuplicateMessage { channel, message });
        }
        let name = ChannelName {
            from: end_name(from, channel.out, self.boards[sender.board].firmware()),
            to: end_name(to, channel.into, self.boards[receiver.board].firmware()),
        };
        Ok(NoCertificate { channel: Some(name), why })
    }

    /// Releases a halt at one node and waits until every node has left it.
    pub fn release(&mut self, at: NodeAddress, halt: HaltId, limit: Duration) -> Result<(), SystemError> {
        self.command(at, &Command::Release(halt))?;
        self.wait_released(halt, limit).map(drop)
    }

    pub(crate) fn on<R>(
        &mut self,
        board: usize,
        f: impl FnOnce(&mut Board) -> Result<R, BoardError>,
    ) -> Result<R, SystemError> {
        let board = &mut self.boards[board];
        f(board).map_err(|source| SystemError::Board { board: board.name().to_owned(), source })
    }
}

pub(crate) fn newest_halt<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> HaltId {
    let halts = nodes.into_iter().map(|node| node.last_halt);
    halts.fold(HaltId(0), |newest, halt| if halt.is_newer_than(newest) { halt } else { newest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_boards_with_one_node_are_found_and_two_cores_of_a_board_are_not() {
        let ids = |ids: [(usize, u8); 4]| same_node(ids.into_iter().map(|(board, id)| (board, NodeId(id))));
        assert_eq!(ids([(0, 0), (0, 1), (1, 2), (1, 3)]), None);
        assert_eq!(ids([(0, 0), (0, 1), (1, 0), (1, 1)]), Some((NodeId(0), [0, 1])));
    }
}
