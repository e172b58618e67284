//! The tasks of a halted system: what each of them does, and the chain of futures that it waits in.
//!
//! A task that is suspended is described by its own storage: the state of its future is the line of an `.await`, and what is
//! awaited there is a future in turn. A task that a core is polling is described by the backtrace of that core, because its
//! storage still says where it was suspended the last time.
mod awaited;
mod chain;
mod circle;
mod combined;
mod find;
mod function_name;
mod link;
mod named;
mod place;
mod running;
mod storage;
mod variables;
mod wait;
mod why;

pub use link::{Link, LinkKind};
pub use variables::TaskVariable;
pub use wait::{Wait, WaitKind};

use running::read_word;

use crate::backtrace::Backtrace;
use crate::dwarf::Line;
use serde::Serialize;
use std::fmt;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// A core is in the middle of polling it.
    Running,
    /// It waits for its executor to poll it.
    Ready,
    /// It waits to be woken.
    Waiting,
    /// It has returned.
    Ended,
    /// It was never spawned.
    NeverSpawned,
    /// It is spawned, and what its core does is not known, so that it waits or runs.
    Unknown,
}

impl TaskState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Ended => "ended",
            Self::NeverSpawned => "never spawned",
            Self::Unknown => "unknown",
        }
    }
}

/// One task, or room for one.
#[derive(Clone, Debug, Serialize)]
pub struct Task {
    /// Its node; none if it was never spawned, or its executor does not say on which core it runs.
    pub node: Option<String>,
    /// Its board.
    pub board: String,
    /// Its function, without modules.
    pub name: String,
    /// Its function, with its path.
    pub path: String,
    /// Which of a pool it is, and of how many.
    pub instance: (u64, u64),
    /// Where its storage begins.
    pub address: u64,
    /// What it does.
    pub state: TaskState,
    /// Whether it was woken since its executor began to poll it. Only a task that runs.
    pub woken: bool,
    /// Where it stands in the source of its own function: the `.await`, or the line that runs.
    pub line: Option<Line>,
    /// The futures that it waits in; none for one that runs or is not spawned.
    pub chain: Option<Link>,
    /// Where its core stands in it. Only a task that runs.
    pub backtrace: Option<Backtrace>,
    /// What it waits for: several things in a `select` or a `join`. Empty unless it waits.
    pub waits: Vec<Wait>,
    /// What else there is to say.
    pub note: Option<String>,
    #[serde(skip)]
    pub(crate) at: Option<crate::NodeAddress>,
    /// The board, by its number.
    #[serde(skip)]
    pub(crate) on: usize,
    /// The chain as it was when a task that runs was suspended the last time: only to tell which ports it holds.
    #[serde(skip)]
    pub(crate) stale: Option<Link>,
}

/// The tasks of a system.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TaskReport {
    /// All of them, by node.
    pub tasks: Vec<Task>,
    /// Boards of which something is not known, and why.
    pub notes: Vec<String>,
}

impl Task {
    /// The name of its function, and which of a pool it is: `pass[1]`.
    #[must_use]
    pub fn title(&self) -> String {
        let (index, of) = self.instance;
        if of > 1 { format!("{}[{index}]", self.name) } else { self.name.clone() }
    }

    /// Its node and its title: `left0/pass[1]`. A task without a node has its board before it.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.node.as_deref().unwrap_or(&self.board), self.title())
    }

    /// Whether there is a future in its storage.
    #[must_use]
    pub fn is_spawned(&self) -> bool {
        !matches!(self.state, TaskState::Ended | TaskState::NeverSpawned)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
