//! What a dump says of the system it was saved from.
use crate::Lost;
use serde::{Deserialize, Serialize};

/// Everything that is needed to make sense of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Who wrote it: name and version of the tool.
    pub tool: String,
    /// When it was saved, in microseconds since 1970.
    pub saved: u64,
    /// Whether all nodes were parked in a consistent halt.
    pub halted: bool,
    /// Where the system file was.
    pub system: String,
    /// What the system file says.
    pub system_text: String,
    /// The ELF files.
    pub firmware: Vec<SavedFirmware>,
    /// The boards that were there.
    pub boards: Vec<SavedBoard>,
    /// The boards that were not.
    pub missing: Vec<MissingBoard>,
}

/// An ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFirmware {
    /// Where it was.
    pub path: String,
    /// CRC-64/XZ of it, so that a dump is never read with the names of another build.
    pub identity: String,
    /// How many bytes it has.
    pub length: u32,
    /// Whether it is in the dump.
    pub inside: bool,
}

/// A board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedBoard {
    /// Its name.
    pub name: String,
    /// Its ELF file, by its place in the list.
    pub firmware: usize,
    /// For each core whether the probe, not its agent, had stopped it.
    pub stopped: Vec<bool>,
    /// The memory that was saved: first address and length.
    pub memory: Vec<(u32, u32)>,
}

/// A board that could not be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingBoard {
    /// Its name.
    pub board: String,
    /// The nodes on it.
    pub nodes: Vec<String>,
    /// Why.
    pub why: String,
}

impl From<&Lost> for MissingBoard {
    fn from(lost: &Lost) -> Self {
        Self { board: lost.board.clone(), nodes: lost.nodes.clone(), why: lost.why.clone() }
    }
}

impl From<&MissingBoard> for Lost {
    fn from(missing: &MissingBoard) -> Self {
        let why = format!("it was not there when the dump was made: {}", missing.why);
        Self { board: missing.board.clone(), nodes: missing.nodes.clone(), why }
    }
}
