//! The memory of a board.
use probe_rs::{MemoryInterface as _, Session};

/// Why memory could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The probe could not.
    #[error("the probe cannot access {address:#010x}: {}", causes(source))]
    Probe {
        /// Where.
        address: u32,
        /// Why.
        source: probe_rs::Error,
    },
    /// The emulator could not.
    #[error("the emulator cannot access {address:#010x}: {reason}")]
    Emulator {
        /// Where.
        address: u32,
        /// Why.
        reason: String,
    },
    /// The process that owns the board could not be asked.
    #[error(transparent)]
    Owner(crate::owner::OwnerError),
    /// The process that owns the board could not: what it says.
    #[error("{0}")]
    Remote(String),
    /// No debugger could be attached, and nothing else is.
    #[error("{address:#010x} cannot be accessed: the board was detached when a debugger could not attach")]
    Detached {
        /// Where.
        address: u32,
    },
    /// The dump does not have it.
    #[error("{address:#010x} is not in the dump: only memory that the firmware writes is saved")]
    NotSaved {
        /// Where.
        address: u32,
    },
    /// The dump had it.
    #[error("{address:#010x} is missing: the dump is damaged where it was")]
    Damaged {
        /// Where.
        address: u32,
    },
    /// What was saved is not changed.
    #[error("{address:#010x} cannot be written: this is a dump, not a board")]
    IsADump {
        /// Where.
        address: u32,
    },
}

/// An error of probe-rs with what it was caused by, which is what tells: alone it says little more than its kind.
pub(crate) fn causes(error: &probe_rs::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{}: {more}", text.trim_end_matches('.'));
        }
        cause = error.source();
    }
    text
}

/// Words of a board's memory, while it runs or is stopped.
pub trait Memory: Send {
    /// Reads words from an address that is a multiple of four.
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError>;
    /// Writes words to an address that is a multiple of four.
    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError>;
}

/// The memory behind a probe-rs session, through its first core.
pub struct ProbeMemory(pub Session);

impl Memory for ProbeMemory {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        let fail = |source| MemoryError::Probe { address, source };
        self.0.core(0).map_err(fail)?.read_32(address.into(), into).map_err(fail)
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        let fail = |source| MemoryError::Probe { address, source };
        let mut core = self.0.core(0).map_err(fail)?;
        core.write_32(address.into(), from).map_err(fail)?;
        core.flush().map_err(fail)
    }
}

/// Reads bytes from anywhere: memory is read in words.
pub(crate) fn read_bytes(memory: &mut dyn Memory, address: u32, length: usize) -> Result<Vec<u8>, MemoryError> {
    let before = (address % 4) as usize;
    let mut words = vec![0; (before + length).div_ceil(4)];
    memory.read(address - before as u32, &mut words)?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).skip(before).take(length).collect())
}
