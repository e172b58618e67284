//! How every node stands: what `stillpoint status` shows.
use crate::config::SystemFile;
use crate::{Board, BoardError, Node, NodeAddress, OpenError, System};
use std::time::Duration;
use stillpoint_core::control::StateCode;
use stillpoint_core::{Command, HaltId};

/// How a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Before its first event.
    Starting,
    /// Running, and it answers.
    Running,
    /// Stopped alone by a delayed halt.
    Suspended,
    /// Halted, its markers on their way.
    Draining,
    /// Halted at a consistent moment.
    Parked,
    /// Its core is stopped by the probe.
    Stopped,
    /// Its application crashed.
    Faulted,
    /// It runs but does not answer: it has masked its doorbell, or runs wild.
    Silent,
    /// Another process uses its board.
    InUse,
    /// It cannot be reached, or never started.
    Missing,
}

impl NodeState {
    /// What a control block says of its node.
    pub(crate) fn of(state: StateCode) -> Self {
        match state {
            StateCode::Starting => Self::Starting,
            StateCode::Running => Self::Running,
            StateCode::Suspended => Self::Suspended,
            StateCode::Draining => Self::Draining,
            StateCode::Parked => Self::Parked,
            StateCode::Faulted => Self::Faulted,
        }
    }

    /// As one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Draining => "draining",
            Self::Parked => "parked",
            Self::Stopped => "stopped",
            Self::Faulted => "faulted",
            Self::Silent => "silent",
            Self::InUse => "in use",
            Self::Missing => "missing",
        }
    }

    /// Whether somebody should look into it.
    #[must_use]
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Faulted | Self::Silent | Self::InUse | Self::Missing)
    }
}

/// A node and how it stands.
#[derive(Clone, Debug)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its board.
    pub board: String,
    /// How it stands.
    pub state: NodeState,
    /// The halt it is in.
    pub halt: Option<HaltId>,
    /// Why, where that is worth a word.
    pub why: Option<String>,
}

/// How long a running node may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

impl System {
    /// How every node of a system file stands, whatever is there of it.
    #[must_use]
    pub fn status(file: &SystemFile) -> Vec<NodeStatus> {
        Self::status_of(file, &mut Self::open_each(file))
    }

    /// The same for boards that are attached already, in the order of the file.
    #[must_use]
    pub fn status_of(file: &SystemFile, boards: &mut [Result<Board, OpenError>]) -> Vec<NodeStatus> {
        let mut nodes = Vec::new();
        for (config, opened) in file.boards.iter().zip(boards) {
            match opened {
                Ok(board) => nodes.extend((0..board.cores()).map(|core| of_node(board, core))),
                Err(error) => {
                    let state = match (error.is_stopped(), error.is_in_use()) {
                        (true, _) => NodeState::Stopped,
                        (_, true) => NodeState::InUse,
                        _ => NodeState::Missing,
                    };
                    let why = Some(error.cause.to_string());
                    let names = crate::open::names_of_missing(config);
                    nodes.extend(names.into_iter().map(|name| of_lost(name, &config.name, state, why.clone())));
                }
            }
        }
        nodes
    }

    /// How every node stands, of boards that are attached or out of a dump already.
    pub fn stands(&mut self) -> Vec<NodeStatus> {
        let mut nodes = Vec::new();
        for board in self.boards() {
            nodes.extend((0..board.cores()).map(|core| of_node(board, core)));
        }
        for lost in self.missing() {
            let of_node =
                |name: &String| of_lost(name.clone(), &lost.board, NodeState::Missing, Some(lost.why.clone()));
            nodes.extend(lost.nodes.iter().map(of_node));
        }
        nodes
    }

    /// Has a running node write its control block anew, and reads it.
    pub fn fresh(&mut self, at: NodeAddress) -> Result<Node, crate::SystemError> {
        self.on(at.board, |board| {
            let node = board.node(at.core)?;
            if node.state != Some(StateCode::Running) || board.dumped().is_some() {
                return Ok(node);
            }
            board.command_within(at.core, &Command::Report, ANSWER_LIMIT)?;
            board.node(at.core)
        })
    }
}

fn of_lost(name: String, board: &str, state: NodeState, why: Option<String>) -> NodeStatus {
    NodeStatus { name, board: board.to_owned(), state, halt: None, why }
}

fn of_node(board: &mut Board, core: usize) -> NodeStatus {
    let (state, halt, why) = stand(board, core);
    NodeStatus { name: board.node_name(core), board: board.name().to_owned(), state, halt, why }
}

fn stand(board: &mut Board, core: usize) -> (NodeState, Option<HaltId>, Option<String>) {
    let node = match board.node(core) {
        Ok(node) => node,
        // A debugger that has died may have stopped it anywhere.
        Err(BoardError::Unsteady(_) | BoardError::HalfWritten(_)) if is_stopped(board, core) => {
            let why = "in the middle of a report; let it go with `stillpoint run`";
            return (NodeState::Stopped, None, Some(why.into()));
        }
        Err(error) => return (NodeState::Missing, None, Some(error.to_string())),
    };
    let halt = match node.state {
        Some(StateCode::Draining | StateCode::Parked) => Some(node.last_halt),
        _ => None,
    };
    if let Some(fault) = &node.fault {
        let what = fault.describe(board.memory()).unwrap_or_else(|error| error.to_string());
        return (NodeState::Faulted, halt, Some(what));
    }
    if is_stopped(board, core) {
        return (NodeState::Stopped, halt, None);
    }
    let Some(state) = node.state else {
        return (NodeState::Silent, None, Some("its control block holds an unknown state".into()));
    };
    // The block says how it stood when it last wrote; that it runs is shown by its answer.
    if state == StateCode::Running
        && board.dumped().is_none()
        && let Err(error) = board.command_within(core, &Command::Report, ANSWER_LIMIT)
    {
        return (NodeState::Silent, None, Some(error.to_string()));
    }
    let state = NodeState::of(state);
    (state, halt, None)
}

/// Whether a debugger has stopped a core.
fn is_stopped(board: &mut Board, core: usize) -> bool {
    board.halted().is_ok_and(|cores| cores.get(core) == Some(&true))
}
