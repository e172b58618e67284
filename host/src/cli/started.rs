//! What the nodes of boards do after a command has started them: `run`, `reset` and `flash` report this.
use super::{CliError, Context, paint};
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};
use stillpoint::config::BoardConfig;
use stillpoint::{NodeState, NodeStatus, System};

/// A node and its state after a command has acted on it.
#[derive(Serialize)]
pub struct NodeSeen {
    name: String,
    board: String,
    state: &'static str,
    why: Option<String>,
    #[serde(skip)]
    known: NodeState,
}

/// The nodes that do not run after their boards were started.
pub struct Started {
    /// Those that are halted: nothing is wrong with them.
    pub halted: Vec<String>,
    /// Those that crashed, do not answer, did not start, or whose core is stopped.
    pub failed: Vec<NodeSeen>,
}

/// How long a command waits for the nodes to start.
#[derive(clap::Args, Clone, Copy)]
pub struct Patience {
    /// Give up waiting for the nodes to start after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    limit: u64,
}

/// Waits until every node of these boards has had its first event, and reads back which of them do not run.
pub fn await_start(context: &mut Context, boards: &[BoardConfig], patience: Patience) -> Result<Started, CliError> {
    let until = Instant::now() + Duration::from_secs(patience.limit);
    loop {
        context.check_interrupt("the boards go on by themselves")?;
        let mut nodes = context.on_boards(System::status_of)?;
        nodes.retain(|node| boards.iter().any(|board| board.name == node.board));
        let may_change = |node: &NodeStatus| matches!(node.state, NodeState::Starting | NodeState::Silent);
        if !nodes.iter().any(may_change) || Instant::now() > until {
            return Ok(Started::of(nodes));
        }
        std::thread::yield_now();
    }
}

impl Started {
    fn of(nodes: Vec<NodeStatus>) -> Self {
        let (mut halted, mut failed) = (Vec::new(), Vec::new());
        for node in nodes {
            match node.state {
                NodeState::Running => {}
                NodeState::Draining | NodeState::Parked | NodeState::Suspended => halted.push(node.name),
                _ => failed.push(node.into()),
            }
        }
        Self { halted, failed }
    }
}

impl From<NodeStatus> for NodeSeen {
    fn from(node: NodeStatus) -> Self {
        let NodeStatus { name, board, state, why, .. } = node;
        Self { name, board, state: state.word(), why, known: state }
    }
}

impl NodeSeen {
    /// One line: the state, the node, the reason and what to do.
    pub fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, board, state, why, known } = self;
        let advice = match known {
            NodeState::Faulted => Some(format!("`stillpoint reset {board}` starts its board anew")),
            NodeState::Starting => Some("it has not had its first event; is a link missing?".to_owned()),
            NodeState::Stopped if why.is_none() => Some("the debug probe holds its core".to_owned()),
            _ => None,
        };
        // The reason may be a blamed line of the system file, which takes several lines; its first says it.
        let why = why.as_ref().and_then(|why| why.lines().next()).map(str::to_owned);
        let reasons: Vec<String> = why.into_iter().chain(advice).collect();
        writeln!(f, "{}{state}{:#}: {name} ({})", paint::BAD, paint::BAD, reasons.join("; "))
    }
}
