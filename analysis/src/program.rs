//! The distributed control flow graph (section 2).
use petgraph::graph::{DiGraph, NodeIndex};
use stillpoint_core::NodeId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the program's list.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A statement of a program.
    StatementId,
    /// A task of a program.
    TaskId,
    /// A channel of a program.
    ChannelId,
    /// A watch of a program.
    WatchId
}

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Nothing that other nodes or conditions can see.
    Local,
    /// Waits for something other than a message, for example for a timer.
    Wait,
    /// Sends a message. A send may wait for room.
    Send(ChannelId),
    /// Takes a message. A receive that may fail is a branch to this statement or past it.
    Receive(ChannelId),
    /// Sets a watch.
    Write(WatchId),
}

/// One statement of a task.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// The task it belongs to.
    pub task: TaskId,
    /// What it does.
    pub action: Action,
}

/// One sequential thread of control of a node.
#[derive(Clone, Debug)]
pub struct Task {
    /// The node it runs on.
    pub node: NodeId,
    /// Its first statement.
    pub entry: StatementId,
    /// Whether it may run between any two statements of the node's other tasks, as an interrupt handler does. Other tasks
    /// take turns only where they wait.
    pub preempts: bool,
}

/// A directed FIFO edge between two nodes.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// The sending node.
    pub from: NodeId,
    /// The receiving node.
    pub to: NodeId,
}

/// A named variable of a node.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Its name.
    pub name: String,
    /// The node it belongs to.
    pub node: NodeId,
}

/// A distributed control flow graph: statements joined by the control flow of tasks and by channels (definition 2.1).
///
/// # Example: two nodes, one message
/// ```
/// use stillpoint_analysis::{Action, Program};
/// let program: Program = "P: send a  Q: recv a; set x".parse()?;
/// assert_eq!(program.channels().len(), 1);
/// assert_eq!(program.statements_with(Action::Send(program.channel("a").unwrap())).count(), 1);
/// # Ok::<(), stillpoint_analysis::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    graph: DiGraph<Statement, ()>,
    tasks: Vec<Task>,
    channels: Vec<Channel>,
    watches: Vec<Watch>,
}

impl Program {
    /// All statements, in the order of their numbers.
    pub fn statements(&self) -> impl Iterator<Item = StatementId> + use<> {
        (0..self.graph.node_count() as u32).map(StatementId)
    }

    /// The statements with this action.
    pub fn statements_with(&self, action: Action) -> impl Iterator<Item = StatementId> + '_ {
        self.statements().filter(move |id| self.action(*id) == action)
    }

    /// One statement.
    #[must_use]
    pub fn statement(&self, id: StatementId) -> &Statement {
        &self.graph[index(id)]
    }

    /// What a statement does.
    #[must_use]
    pub fn action(&self, id: StatementId) -> Action {
        self.statement(id).action
    }

    /// The node that executes a statement.
    #[must_use]
    pub fn node_of(&self, id: StatementId) -> NodeId {
        self.tasks[self.statement(id).task.index()].node
    }

    /// The statements that control may reach next.
    pub fn successors(&self, id: StatementId) -> impl Iterator<Item = StatementId> + '_ {
        self.graph.neighbors(index(id)).map(|next| StatementId(next.index() as u32))
    }

    /// The tasks.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The channels.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// The watches.
    #[must_use]
    pub fn watches(&self) -> &[Watch] {
        &self.watches
    }

    /// The nodes that have a task, in ascending order.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<_> = self.tasks.iter().map(|task| task.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// A channel by its name.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<ChannelId> {
        self.channels.iter().position(|channel| channel.name == name).map(|at| ChannelId(at as u32))
    }

    /// A watch by its name.
    #[must_use]
    pub fn watch(&self, name: &str) -> Option<WatchId> {
        self.watches.iter().position(|watch| watch.name == name).map(|at| WatchId(at as u32))
    }

    pub(crate) fn graph(&self) -> &DiGraph<Statement, ()> {
        &self.graph
    }
}

pub(crate) fn index(id: StatementId) -> NodeIndex {
    NodeIndex::new(id.index())
}

/// Why a program is not well formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A statement uses a channel at the wrong end.
    #[error("node {node} is not the {end} of channel `{channel}`")]
    WrongEnd {
        /// The node of the statement.
        node: u8,
        /// `sender` or `receiver`.
        end: &'static str,
        /// The channel.
        channel: String,
    },
    /// A statement sets a watch of another node.
    #[error("node {node} sets `{watch}`, which belongs to another node")]
    ForeignWatch {
        /// The node of the statement.
        node: u8,
        /// The watch.
        watch: String,
    },
    /// Control flows from one task into another.
    #[error("control flows from statement {from} into another task, to statement {to}")]
    AcrossTasks {
        /// The number of the statement before.
        from: u32,
        /// The number of the statement after.
        to: u32,
    },
    /// A number that no channel, watch, task or statement has.
    #[error("there is no {what} {number}")]
    Unknown {
        /// What is missing.
        what: &'static str,
        /// Its number.
        number: u32,
    },
}

/// Builds a [`Program`] statement by statement.
///
/// # Example: a loop that counts messages
/// ```
/// use stillpoint_analysis::{Action, Builder};
/// use stillpoint_core::NodeId;
/// let mut builder = Builder::default();
/// let (ring, laps) = (builder.channel("ring", NodeId(0), NodeId(1)), builder.watch("laps", NodeId(1)));
/// let start = builder.task(NodeId(1), false);
/// let receive = builder.statement(start, Action::Receive(ring));
/// let write = builder.statement(start, Action::Write(laps));
/// let entry = builder.entry(start);
/// for (from, to) in [(entry, receive), (receive, write), (write, receive)] {
///     builder.edge(from, to);
/// }
/// assert_eq!(builder.finish()?.statements().count(), 3);
/// # Ok::<(), stillpoint_analysis::ProgramError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    graph: DiGraph<Statement, ()>,
    tasks: Vec<Task>,
    channels: Vec<Channel>,
    watches: Vec<Watch>,
}

impl Builder {
    /// Adds a channel.
    pub fn channel(&mut self, name: &str, from: NodeId, to: NodeId) -> ChannelId {
        self.channels.push(Channel { name: name.into(), from, to });
        ChannelId(self.channels.len() as u32 - 1)
    }

    /// Adds a watch.
    pub fn watch(&mut self, name: &str, node: NodeId) -> WatchId {
        self.watches.push(Watch { name: name.into(), node });
        WatchId(self.watches.len() as u32 - 1)
    }

    /// Adds a task that has an entry and nothing else yet.
    pub fn task(&mut self, node: NodeId, preempts: bool) -> TaskId {
        let id = TaskId(self.tasks.len() as u32);
        let entry = self.statement(id, Action::Local);
        self.tasks.push(Task { node, entry, preempts });
        id
    }

    /// The entry of a task.
    ///
    /// # Panics
    /// If the task is not one of this builder.
    #[must_use]
    pub fn entry(&self, task: TaskId) -> StatementId {
        self.tasks[task.index()].entry
    }

    /// Adds a statement to a task.
    pub fn statement(&mut self, task: TaskId, action: Action) -> StatementId {
        StatementId(self.graph.add_node(Statement { task, action }).index() as u32)
    }

    /// Lets control flow from one statement to another.
    ///
    /// # Panics
    /// If a statement is not one of this builder.
    pub fn edge(&mut self, from: StatementId, to: StatementId) {
        self.graph.update_edge(index(from), index(to), ());
    }

    /// How many statements there are so far.
    pub(crate) fn len(&self) -> usize {
        self.graph.node_count()
    }

    /// The actions of the statements from a number on.
    pub(crate) fn actions(&self, first: usize) -> impl Iterator<Item = Action> + '_ {
        self.graph.node_weights().skip(first).map(|statement| statement.action)
    }

    /// Checks the program.
    pub fn finish(self) -> Result<Program, ProgramError> {
        let unknown = |what, number| ProgramError::Unknown { what, number };
        for statement in self.graph.node_weights() {
            let task = self.tasks.get(statement.task.index()).ok_or(unknown("task", statement.task.0))?;
            self.check(task.node, statement.action)?;
        }
        for edge in self.graph.raw_edges() {
            if self.graph[edge.source()].task != self.graph[edge.target()].task {
                let (from, to) = (edge.source().index() as u32, edge.target().index() as u32);
                return Err(ProgramError::AcrossTasks { from, to });
            }
        }
        let Self { graph, tasks, channels, watches } = self;
        Ok(Program { graph, tasks, channels, watches })
    }

    fn check(&self, node: NodeId, action: Action) -> Result<(), ProgramError> {
        let unknown = |what, number| ProgramError::Unknown { what, number };
        match action {
            Action::Local | Action::Wait => Ok(()),
            Action::Send(id) | Action::Receive(id) => {
                let channel = self.channels.get(id.index()).ok_or(unknown("channel", id.0))?;
                let sends = matches!(action, Action::Send(_));
                let (owner, end) = if sends { (channel.from, "sender") } else { (channel.to, "receiver") };
                if owner == node {
                    return Ok(());
                }
                Err(ProgramError::WrongEnd { node: node.0, end, channel: channel.name.clone() })
            }
            Action::Write(id) => {
                let watch = self.watches.get(id.index()).ok_or(unknown("watch", id.0))?;
                if watch.node == node {
                    return Ok(());
                }
                Err(ProgramError::ForeignWatch { node: node.0, watch: watch.name.clone() })
            }
        }
    }
}
