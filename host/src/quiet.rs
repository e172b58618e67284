//! A board of which only memory is needed: nothing that is done here stops a core.
//!
//! A `Session` of probe-rs halts every core, one after another, when it attaches and when it ends. Looking at nodes, commanding
//! them and reading their logs need memory and a doorbell only.
use crate::config::BoardConfig;
use crate::lock::BoardLock;
use crate::state::StateDir;
use crate::{Memory, MemoryError, Session, SessionError};

/// A board that is attached to without stopping its cores.
pub(crate) struct Quiet {
    board: Box<dyn LiveBoard>,
    state: StateDir,
    config: BoardConfig,
    // Free when the board is.
    lock: BoardLock,
}

/// The memory of a board while it runs, and what is known of its cores without asking them.
pub(crate) trait LiveBoard: Memory {
    /// How many cores the chip has.
    fn cores(&self) -> usize;
    /// Whether a debugger has halted each core; `None` if a debugger was killed and has left something to put right.
    fn halted(&self) -> Option<Vec<bool>>;
    /// Writes to the doorbell of a core, which may be a register that only the core's own access port reaches.
    fn ring(&mut self, _core: usize, address: u32, value: u32) -> Result<(), MemoryError> {
        self.write(address, &[value])
    }
}

impl Quiet {
    pub(crate) fn new(board: Box<dyn LiveBoard>, state: StateDir, config: BoardConfig, lock: BoardLock) -> Self {
        Self { board, state, config, lock }
    }

    pub(crate) fn cores(&self) -> usize {
        self.board.cores()
    }

    pub(crate) fn halted(&self) -> Option<Vec<bool>> {
        self.board.halted()
    }

    /// Writes to the doorbell of a core.
    pub(crate) fn ring(&mut self, core: usize, address: u32, value: u32) -> Result<(), MemoryError> {
        self.board.ring(core, address, value)
    }

    /// Attaches a debugger. This stops the cores for a moment.
    pub(crate) fn into_session(self) -> Result<Session, SessionError> {
        let Self { board, state, config, lock } = self;
        // A probe can be opened once.
        drop(board);
        Session::attach(&state, &config, lock)
    }
}

impl Memory for Quiet {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        self.board.read(address, into)
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        self.board.write(address, from)
    }
}
