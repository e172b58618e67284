//! A board of which only memory is needed: nothing that is done here stops a core.
//!
//! A `Session` of probe-rs halts every core, one after another, when it attaches and when it ends. Looking at nodes, commanding
//! them and reading their logs need memory and a doorbell only.
use crate::config::BoardConfig;
use crate::session::Claim;
use crate::state::StateDir;
use crate::{Memory, MemoryError, Session, SessionError};

/// A board that is attached to without stopping its cores.
pub(crate) struct Quiet {
    board: Box<dyn LiveBoard>,
    state: StateDir,
    config: BoardConfig,
    /// The cores that a killed debugger had left stopped and that run again since this was opened.
    released: Vec<usize>,
    // Free when the board is. `None` if another process owns it.
    claim: Option<Claim>,
}

/// The memory of a board while it runs, and what is known of its cores without asking them.
pub(crate) trait LiveBoard: Memory {
    /// How many cores the chip has.
    fn cores(&self) -> usize;
    /// Whether a debugger has halted each core; `None` if a debugger was killed and has left something to put right.
    fn halted(&self) -> Option<Vec<bool>>;
    /// Whether the board is still there, as far as can be told without asking it.
    fn is_there(&self) -> bool {
        true
    }
    /// Keeps others from commanding nodes until [`LiveBoard::end_command`], which is called once for each of these.
    fn begin_command(&mut self) -> Result<(), MemoryError> {
        Ok(())
    }
    /// A command was answered, or is given up.
    fn end_command(&mut self) {}
    /// Writes to the doorbell of a core, which may be a register that only the core's own access port reaches.
    fn ring(&mut self, _core: usize, address: u32, value: u32) -> Result<(), MemoryError> {
        self.write(address, &[value])
    }
}

impl Quiet {
    /// A board that this process has.
    pub(crate) fn new(board: Box<dyn LiveBoard>, state: StateDir, config: BoardConfig, claim: Claim) -> Self {
        Self { board, state, config, released: Vec::new(), claim: Some(claim) }
    }

    /// A board that another process has, and that is reached through it.
    pub(crate) fn owned(board: Box<dyn LiveBoard>, state: StateDir, config: BoardConfig, released: Vec<usize>) -> Self {
        Self { board, state, config, released, claim: None }
    }

    /// The folder of the system, if another process owns the board.
    pub(crate) fn owned_in(&self) -> Option<&StateDir> {
        self.claim.is_none().then_some(&self.state)
    }

    pub(crate) fn released(&self) -> &[usize] {
        &self.released
    }

    pub(crate) fn begin_command(&mut self) -> Result<(), MemoryError> {
        self.board.begin_command()
    }

    pub(crate) fn end_command(&mut self) {
        self.board.end_command();
    }

    pub(crate) fn cores(&self) -> usize {
        self.board.cores()
    }

    /// What probe-rs knows of its chip.
    pub(crate) fn target(&self) -> Result<probe_rs::config::Target, SessionError> {
        crate::chip::target(&self.config)
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
        let Self { board, state, config, claim, .. } = self;
        // A probe can be opened once, and an owner closes the board for this process.
        drop(board);
        let claim = claim.map_or_else(|| Claim::take(&state, &config), Ok)?;
        Session::attach(&state, &config, claim)
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
