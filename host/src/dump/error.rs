//! Why there is no dump, or none that can be read.
use super::FrameError;
use crate::SystemError;
use crate::config::ConfigError;
use std::io;
use std::path::PathBuf;

/// Why a system was not saved, or a saved one cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not begin as a dump does.
    #[error("{path} is no dump: it does not begin with \"STILLDU1\"; make one with `stillpoint dump FILE`", path = .0.display())]
    NotADump(PathBuf),
    /// Both copies of its header, without which nothing can be read, are damaged.
    #[error("{path} is damaged at byte {offset}: {why}; nothing can be read without its header", path = path.display())]
    NoHeader {
        /// Which file.
        path: PathBuf,
        /// Where the first damage is.
        offset: u64,
        /// What is wrong.
        why: FrameError,
    },
    /// The system file in it is none.
    #[error("the system file in the dump cannot be used: {0}")]
    SystemFile(ConfigError),
    /// A board of the dump is in no system file.
    #[error("the dump has a board {board}, and the system file has none of that name; leave --system out")]
    NoSuchBoard {
        /// Which board.
        board: String,
    },
    /// The ELF file is not to be had.
    #[error(
        "board {board}: the dump was saved without its firmware, or it is damaged, and {path} cannot be read: {source}; put \
         the ELF file with the CRC-64/XZ {identity} there, or name it in a system file and say --system",
        path = path.display()
    )]
    NoFirmware {
        /// Of which board.
        board: String,
        /// CRC-64/XZ of the file that is needed.
        identity: String,
        /// Where it was looked for.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The ELF file is that of another build.
    #[error("board {board} ran {saved}, and {found} is another build: the dump can be read only with the first")]
    OtherFirmware {
        /// Which board.
        board: String,
        /// Path and CRC-64/XZ of what ran.
        saved: String,
        /// Path and CRC-64/XZ of what was found.
        found: String,
    },
    /// The ELF file that is inside cannot be put anywhere.
    #[error("cannot unpack the firmware in the dump: {0}; name another folder in TMPDIR")]
    Unpack(io::Error),
    /// The system runs.
    #[error("{} not halted, so there is no one moment to save; run `stillpoint halt` first, or save what there is with --force", are(.0))]
    Running(Vec<String>),
    /// Boards are missing.
    #[error("{}; save what is there with --force", .0.join("; "))]
    Missing(Vec<String>),
    /// The boards cannot be read.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The ELF file of a board cannot be read.
    #[error("cannot read the firmware {path}: {source}; without it the dump could not be read", path = path.display())]
    Firmware {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file exists.
    #[error("{path} exists; a dump is never written over: name another file", path = .0.display())]
    Exists(PathBuf),
    /// It cannot be written.
    #[error("cannot write {path}: {source}; nothing is left of it, and the boards are as they were", path = path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why: the disk is full, for one.
        source: io::Error,
    },
}

fn are(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}
