//! A program from the Rust sources of its firmware.
//!
//! The caller says which nodes there are and how their ports are joined; the sources say which task runs on which node and
//! what it does with its ports. `main` is followed as far as names of nodes and ports, and variables that hold ports, reach:
//! through `match`, tuples, arrays, structs, closures and functions of the sources.
//!
//! # What is not followed
//! A [`Note`] with file and line says what is not followed. It stands for any port or watch of its node, so a result is the
//! same or weaker, never wrong. Where code is kept that may use ports later, that may happen at any time.
//!
//! A function outside of the sources can use only the ports and watches that it is given. One that gets none is left out
//! without a note.
//!
//! # What is assumed
//! - Names of nodes, ports and watches are given by `name!` and `watch!`, and a node has the ports that the caller says.
//! - A receive that returns took a message. It is refused without one only before its node has started, or with a stamp
//!   that a faulty link has spoiled.
//! - Unsafe code makes no ports or watches up.
mod branch;
mod calls;
mod expression;
mod futures;
mod inert;
mod kit;
mod lower;
mod setup;
mod sources;
mod value;

use crate::{Builder, Program, ProgramError, StatementId, TaskId};
pub use sources::modules;

use lower::{Lowering, System};
use sources::Index;
use std::collections::{HashMap, HashSet};
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

/// A node of the system.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// The firmware that it runs, by its place in the list of firmwares.
    pub firmware: usize,
    /// The names of its ports.
    pub ports: Vec<String>,
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
    /// No agent of the sources begins under the name of a node.
    #[error("the sources begin no node `{0}`; they may not be those of the firmware")]
    NoNode(String),
    /// The tasks of a node have no end.
    #[error("the tasks of node `{0}` are too many to follow")]
    TooLarge(String),
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
    names: Vec<String>,
}

impl Extracted {
    /// Where a statement is in the sources.
    #[must_use]
    pub fn place(&self, id: StatementId) -> Option<&Place> {
        self.places.get(&id)
    }

    /// The function of a task.
    #[must_use]
    pub fn task_name(&self, task: TaskId) -> &str {
        self.names.get(task.index()).map_or("", String::as_str)
    }

    /// The lines with an action, in ascending order.
    #[must_use]
    pub fn lines(&self, action: crate::Action) -> Vec<&Place> {
        let mut places: Vec<_> = self.program.statements_with(action).filter_map(|id| self.place(id)).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Extracts the program of a system. `firmwares` has the sources of each firmware. Channels are named by the sender's port as
/// `NODE.PORT`, watches as `NODE.WATCH`, both by the number of the node.
///
/// # Example: two nodes
/// ```
/// use stillpoint_analysis::{Node, Port, Source, extract};
/// use stillpoint_core::NodeId;
/// let text = r#"
///     system!(AGENTS of Agent: nodes = 2, ports = 1, log = 1024);
///     #[task] async fn make(mut out: Outbox<u32>) { loop { out.send(&1).await.unwrap(); } }
///     #[task] async fn take(mut from: Inbox<u32>) { loop { from.recv().await.unwrap(); } }
///     #[entry] fn main() -> ! {
///         start_core1(|| {
///             let agent = AGENTS.begin(name!(node "taker"), ONE, StampKind::Vector).unwrap();
///             let from = agent.inbox(name!("in"), &NUMBERS, ZERO, CoreId::ZERO).unwrap();
///             executor.run(|spawner| spawner.spawn(take(from)))
///         });
///         let agent = AGENTS.begin(name!(node "maker"), ZERO, StampKind::Vector).unwrap();
///         let out = agent.outbox(name!("out"), &NUMBERS, ONE, CoreId::ONE).unwrap();
///         executor.run(|spawner| spawner.spawn(make(out)))
///     }"#;
/// let node = |id, name: &str, port: &str| Node {
///     id: NodeId(id),
///     name: name.into(),
///     firmware: 0,
///     ports: vec![port.into()],
/// };
/// let nodes = [node(0, "maker", "out"), node(1, "taker", "in")];
/// let channels = [Port { from: (NodeId(0), "out".into()), to: (NodeId(1), "in".into()) }];
/// let sources = vec![Source { file: "two.rs".into(), text: text.into() }];
/// let found = extract(&[sources], &nodes, &channels)?;
/// assert!(found.notes.is_empty());
/// assert_eq!(found.program.tasks().len(), 2);
/// # Ok::<(), stillpoint_analysis::ExtractError>(())
/// ```
pub fn extract(firmwares: &[Vec<Source>], nodes: &[Node], channels: &[Port]) -> Result<Extracted, ExtractError> {
    let mut system = System::new(Builder::default(), channels);
    for (number, sources) in firmwares.iter().enumerate() {
        let index = Index::new(sources)?;
        let inert = inert::inert_functions(&index);
        let mut called = HashSet::new();
        let own: Vec<_> = nodes.iter().filter(|node| node.firmware == number).collect();
        for node in &own {
            Lowering::new(&mut system, (&index, &inert), node, &mut called).firmware()?;
        }
        for node in &own {
            Lowering::new(&mut system, (&index, &inert), node, &mut called).unspawned();
        }
        if let (Some(place), false) = (&index.interrupt_executor, own.is_empty()) {
            let text = "with an interrupt executor, any task is taken to interrupt any other";
            system.notes.push(Note { place: place.clone(), text: text.into() });
        }
    }
    system.finish();
    let System { builder, notes, places, names, .. } = system;
    Ok(Extracted { program: builder.finish()?, notes, places, names })
}
