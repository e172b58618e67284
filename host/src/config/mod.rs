//! The system file `stillpoint.toml`: which boards there are, how each is reached, and how emulated ones are wired.
//!
//! ```toml
//! [[board]]
//! name = "A"
//! chip = "mps2-an521"            # as probe-rs names it
//! probe = "qemu"                 # or VID:PID, or VID:PID:SERIAL
//! firmware = "token_ring"        # ELF file, relative to this file
//! arguments = ["board=A"]        # emulated boards: the firmware's command line
//!
//! [[board]]
//! name = "B"
//! chip = "mps2-an521"
//! probe = "qemu"
//! firmware = "token_ring"
//! arguments = ["board=B"]
//!
//! [[link]]                       # emulated boards: which UARTs are joined
//! between = ["A.uart1", "B.uart1"]
//! ```
//!
//! What nodes record to begin with can be chosen for all, for a board, and for a node, each in place of what lies around it:
//! ```toml
//! record = "off"                 # at the top: full, off, replay, or kinds of events
//!
//! [[board]]
//! name = "B"
//! record = "full"
//! # ...
//!
//! [[node]]
//! name = "right1"                # or board and core, as in B.1
//! record = "send,recv,trace(lap)"
//! ```
//!
//! Optional for a board: `nodes = ["left0", "left1"]` names its nodes, core 0's first; `speed_khz`, `under_reset` and
//! `chip_description` (a file in the format of probe-rs, for a chip that it does not know) are for real probes. Nodes, ports, watches and versions are not repeated here: they are read from the control blocks and the ELF file.
mod check;
mod error;
mod find;
mod raw;

pub use error::ConfigError;
pub use find::find_system_file;

use crate::recording::Choice;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A checked system file.
#[derive(Clone, Debug)]
pub struct SystemFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its boards, in the order of the file.
    pub boards: Vec<BoardConfig>,
    /// What is recorded where nothing nearer is chosen; everything if it does not say.
    pub record: Option<Choice>,
    /// What is chosen for nodes.
    pub nodes: Vec<NodeConfig>,
    /// The wires between emulated boards.
    pub links: Vec<LinkConfig>,
    text: String,
}

/// What a system file chooses for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its name, or board and core, as in `A.0`; names may be the firmware's, so this is checked when the boards are there.
    pub name: String,
    /// What it records.
    pub record: Choice,
}

/// One board of a system file.
#[derive(Clone, Debug)]
pub struct BoardConfig {
    /// Its name.
    pub name: String,
    /// The chip, as probe-rs names it.
    pub chip: String,
    /// A file that describes the chip, if probe-rs does not know it.
    pub chip_description: Option<PathBuf>,
    /// How it is reached.
    pub probe: ProbeConfig,
    /// The ELF file of its firmware.
    pub firmware: PathBuf,
    /// The command line that the firmware of an emulated board finds.
    pub arguments: Vec<String>,
    /// Names for its nodes, core 0's first; what is missing is named by the firmware or by number.
    pub nodes: Vec<String>,
    /// What its nodes record where nothing nearer is chosen.
    pub record: Option<Choice>,
    spans: Spans,
}

impl BoardConfig {
    /// As much of a board as is needed to reach it.
    pub(crate) fn bare(name: String, chip: String, probe: ProbeConfig) -> Self {
        let (firmware, arguments, nodes) = (PathBuf::new(), Vec::new(), Vec::new());
        Self {
            name,
            chip,
            chip_description: None,
            probe,
            firmware,
            arguments,
            nodes,
            record: None,
            spans: Spans::default(),
        }
    }
}

/// Where the parts of a board stand in the file, for what turns out to be wrong later.
#[derive(Clone, Debug, Default)]
struct Spans {
    chip: Range<usize>,
    probe: Range<usize>,
    firmware: Range<usize>,
}

/// A part of a board's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its chip.
    Chip,
    /// Its probe.
    Probe,
    /// Its firmware.
    Firmware,
}

/// How a board is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeConfig {
    /// It is emulated.
    Qemu,
    /// Through a debug probe.
    Probe {
        /// `VID:PID` or `VID:PID:SERIAL`.
        selector: String,
        /// The speed of the debug clock, if the probe's own is not right.
        speed_khz: Option<u32>,
        /// Whether the chip must be held in reset to attach.
        under_reset: bool,
    },
}

/// One UART of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UartEnd {
    /// Which board, by its place in [`SystemFile::boards`].
    pub board: usize,
    /// Which UART.
    pub uart: usize,
}

/// A wire between two UARTs of emulated boards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Its two ends.
    pub between: [UartEnd; 2],
}

impl SystemFile {
    /// Reads and checks a system file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text =
            crate::input_file::read_text(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        Self::parse(path, text)
    }

    /// Checks the text of a system file that lies at `path`.
    pub fn parse(path: &Path, text: String) -> Result<Self, ConfigError> {
        check::check(path, text)
    }

    /// What is written in it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The folder that paths in the file are relative to.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// An error that points at a part of a board's description.
    #[must_use]
    pub fn blame(&self, board: &BoardConfig, part: Part, message: impl Into<String>) -> ConfigError {
        let span = match part {
            Part::Chip => &board.spans.chip,
            Part::Probe => &board.spans.probe,
            Part::Firmware => &board.spans.firmware,
        };
        ConfigError::at(&self.path, &self.text, span.clone(), message.into())
    }

    /// The board of this name.
    #[must_use]
    pub fn board(&self, name: &str) -> Option<(usize, &BoardConfig)> {
        self.boards.iter().enumerate().find(|(_, board)| board.name == name)
    }
}
