//! A program from the Rust sources of its tasks.
//!
//! The caller says which task function runs on which node and which port each of its parameters is. A statement whose port
//! or watch is not known stands for any port or watch of its node, and a [`Note`] says so.
//!
//! # Limits
//! These are neither followed nor noted, so a result is no promise for sources that have them:
//! - calls by RPC, and methods that the sources do not define and that take no known port or watch;
//! - methods of a port other than its sends and receives, and ports inside structs that are passed on;
//! - names that a closure, `match`, `for` or destructuring `let` binds anew;
//! - a send or receive on a port without a channel in that direction, and `break` out of a labelled block;
//! - default methods of traits, functions inside functions, and the second of two functions with one name;
//! - interrupt handlers, unless the caller lists them as tasks.
mod lower;

use crate::{Builder, ChannelId, Program, ProgramError, StatementId};
use lower::Lowering;
use std::collections::HashMap;
use stillpoint_core::NodeId;

/// A source file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as places show it.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// A channel with the names of its ports at both ends.
#[derive(Clone, Debug)]
pub struct Port {
    /// The sending node and its port.
    pub from: (NodeId, String),
    /// The receiving node and its port.
    pub to: (NodeId, String),
}

/// A task that was spawned.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The node it runs on.
    pub node: NodeId,
    /// The function of the task.
    pub function: String,
    /// The parameters that are ports, and the name of each port.
    pub ports: Vec<(String, String)>,
    /// Whether it runs in an interrupt executor.
    pub preempts: bool,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Something in the sources that is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub place: Place,
    /// What it is taken for.
    pub text: String,
}

/// Why no program can be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// A source file is not Rust.
    #[error("{}:{} does not parse: {text}", place.file, place.line)]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser says.
        text: String,
    },
    /// The sources do not have the function of a task.
    #[error("the sources have no function `{0}`; they may not be those of the firmware")]
    NoFunction(String),
    /// A parameter is bound to a port that its node does not have.
    #[error("node {node} has no port `{port}`, which `{function}` uses")]
    NoPort {
        /// The node.
        node: u8,
        /// The port.
        port: String,
        /// The task.
        function: String,
    },
    /// The program is not well formed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// A program with the places of its statements.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// The program.
    pub program: Program,
    /// What was not followed.
    pub notes: Vec<Note>,
    places: HashMap<StatementId, Place>,
}

impl Extracted {
    /// Where a statement is in the sources.
    #[must_use]
    pub fn place(&self, id: StatementId) -> Option<&Place> {
        self.places.get(&id)
    }
}

/// Extracts the program of the given tasks. Channels are named by the sender's port as `NODE.PORT`, watches as `NODE.WATCH`.
///
/// # Example: two tasks
/// ```
/// use stillpoint_analysis::{Instance, Port, Source, extract};
/// use stillpoint_core::NodeId;
/// let text = "async fn make(out: Outbox) { loop { out.send(&1).await; } }  async fn take(from: Inbox) { from.recv().await; }";
/// let ports = [Port { from: (NodeId(0), "out".into()), to: (NodeId(1), "in".into()) }];
/// let task = |node, function: &str, parameter: &str, port: &str| Instance {
///     node: NodeId(node),
///     function: function.into(),
///     ports: vec![(parameter.into(), port.into())],
///     preempts: false,
/// };
/// let tasks = [task(0, "make", "out", "out"), task(1, "take", "from", "in")];
/// let found = extract(&[Source { file: "two.rs".into(), text: text.into() }], &ports, &tasks)?;
/// assert!(found.notes.is_empty());
/// assert_eq!(found.program.channels().len(), 1);
/// # Ok::<(), stillpoint_analysis::ExtractError>(())
/// ```
pub fn extract(sources: &[Source], ports: &[Port], tasks: &[Instance]) -> Result<Extracted, ExtractError> {
    let mut functions: HashMap<String, Vec<lower::Function>> = HashMap::new();
    for Source { file, text } in sources {
        let parsed = syn::parse_file(text).map_err(|error| ExtractError::Syntax {
            place: Place { file: file.clone(), line: error.span().start().line },
            text: error.to_string(),
        })?;
        lower::collect(file, &parsed.items, &mut functions);
    }
    let mut builder = Builder::default();
    let channels: Vec<ChannelId> = ports
        .iter()
        .map(|port| builder.channel(&format!("{}.{}", port.from.0.0, port.from.1), port.from.0, port.to.0))
        .collect();
    let mut lowering = Lowering::new(builder, &functions, ports, &channels);
    for task in tasks {
        lowering.task(task)?;
    }
    let (builder, notes, places) = lowering.finish();
    Ok(Extracted { program: builder.finish()?, notes, places })
}
