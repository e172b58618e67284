//! What was chosen where: in the system file, and since.
use super::Choice;
use crate::config::SystemFile;
use crate::{NodeAddress, StateDir, StateError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Why choices are not to be had, or not kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no folder for them.
    #[error(transparent)]
    State(#[from] StateError),
    /// The file cannot be read or written.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file says something else.
    #[error("{path} is damaged ({source}); delete it, and choose anew with `stillpoint trace mode`", path = path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// What was chosen for one place since the boards were started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// Nothing shall count here, whatever the system file says.
    Inherit,
    /// This.
    Record(Choice),
}

/// For what something is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// All of it.
    System,
    /// A board, by name.
    Board(String),
    /// A node, by board and core.
    Node(String, usize),
}

/// What was chosen since, as it is kept. Nodes are known by board and core, as in `A.0`: names may be the firmware's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Since {
    system: Option<Setting>,
    boards: BTreeMap<String, Setting>,
    nodes: BTreeMap<String, Setting>,
}

/// Everything that was chosen for a system.
#[derive(Clone, Debug)]
pub struct Choices {
    pub(super) file: Arc<SystemFile>,
    since: Since,
    path: PathBuf,
}

impl Choices {
    /// What the system file says, and what was chosen since.
    ///
    /// # Errors
    /// What was kept cannot be read.
    pub fn of(file: &Arc<SystemFile>) -> Result<Self, StoreError> {
        let path = StateDir::of(file)?.recording();
        let since = match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|source| StoreError::Damaged { path: path.clone(), source })?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Since::default(),
            Err(source) => return Err(StoreError::Io { what: "read", path, source }),
        };
        Ok(Self { file: file.clone(), since, path })
    }

    /// Whether nobody chose anything: then nodes are left alone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let file = &self.file;
        let in_file =
            file.record.is_some() || !file.nodes.is_empty() || file.boards.iter().any(|of| of.record.is_some());
        !in_file && self.since == Since::default()
    }

    /// What was chosen for a place since; none if it is as the system file says.
    #[must_use]
    pub fn since(&self, place: &Place) -> Option<&Setting> {
        match place {
            Place::System => self.since.system.as_ref(),
            Place::Board(name) => self.since.boards.get(name),
            Place::Node(board, core) => self.since.nodes.get(&key(board, *core)),
        }
    }

    /// Chooses something for a place; none for what the system file says. Nothing is kept yet: see [`Choices::keep`].
    pub fn choose(&mut self, place: &Place, setting: Option<Setting>) {
        let (map, key) = match place {
            Place::System => {
                self.since.system = setting;
                return;
            }
            Place::Board(name) => (&mut self.since.boards, name.clone()),
            Place::Node(board, core) => (&mut self.since.nodes, key(board, *core)),
        };
        match setting {
            Some(setting) => map.insert(key, setting),
            None => map.remove(&key),
        };
    }

    /// Keeps what was chosen. A reader finds the old choices or the new ones, never half of them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self) -> Result<(), StoreError> {
        let path = &self.path;
        let fail = |source| StoreError::Io { what: "write", path: path.clone(), source };
        let text = serde_json::to_vec_pretty(&self.since).map_err(|error| fail(error.into()))?;
        crate::OutputFile::at(path).write(|to| to.write_all(&text)).map(drop).map_err(fail)
    }
}

impl Place {
    /// The place of a node of an attached system.
    #[must_use]
    pub fn of(board: &str, at: NodeAddress) -> Self {
        Self::Node(board.to_owned(), at.core)
    }
}

fn key(board: &str, core: usize) -> String {
    format!("{board}.{core}")
}
