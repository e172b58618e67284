//! Where each core of a halted board stands in user code.
//!
//! A parked core waits in the agent, in an interrupt handler or at the end of an event. Its agent has saved its registers;
//! those of a core that does not stand by its agent are read through the probe, which has halted it. What the core did
//! before is unwound by the firmware's debug information, and the frames of the kit itself are told apart from those of the
//! user.
mod frame;
mod places;
mod stack;
mod unwind;

pub use frame::{Frame, FrameKind};
pub(crate) use frame::{short, tidy};
pub use places::Unwinders;
pub use unwind::{Unwinder, UnwinderError};

use crate::dwarf::Registers;
use crate::{Board, BoardError, SessionError};
use probe_rs::MemoryInterface as _;
use serde::Serialize;
use stack::{Stack, StackMemory};

/// Why there is no backtrace of a core.
#[derive(Debug, thiserror::Error)]
pub enum BacktraceError {
    /// The probe could not.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its control block cannot be read.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The dump has lost them.
    #[error("its registers are missing: the dump is damaged where they were")]
    Lost,
    /// The debug information is missing or damaged.
    #[error(transparent)]
    Unwinder(#[from] UnwinderError),
}

/// Where a core stands: the function it is in first, then who called it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backtrace {
    /// All frames, those of the kit among them.
    pub frames: Vec<Frame>,
    /// The same without what was inlined, with their registers.
    #[serde(skip)]
    pub(crate) raw: Vec<RawFrame>,
}

/// A frame as it was unwound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawFrame {
    /// The address of the instruction.
    pub address: u32,
    /// The registers as the function at this address has them.
    pub registers: Registers,
}

impl Backtrace {
    /// Where the core stands in user code: the innermost frame that is the user's own.
    #[must_use]
    pub fn user(&self) -> Option<&Frame> {
        self.past_the_agent().iter().find(|frame| frame.kind == FrameKind::User)
    }

    /// The frames past those in which the kit keeps the core: from the code it interrupted, or that called it, on.
    #[must_use]
    pub fn past_the_agent(&self) -> &[Frame] {
        let parked = self.frames.iter().position(|frame| frame.is_park()).unwrap_or(0);
        let behind = &self.frames[parked..];
        // Parked in an interrupt: what lies behind the exception is what the core was doing.
        if let Some(exception) = behind.iter().position(|frame| frame.kind == FrameKind::Exception) {
            return &behind[exception + 1..];
        }
        let first = behind.iter().position(|frame| frame.kind != FrameKind::Kit).unwrap_or(0);
        &behind[first..]
    }
}

impl Board {
    /// The backtrace of a core that its agent keeps where it stands, or that the probe has halted.
    pub fn backtrace(&mut self, core: usize, unwinder: &Unwinder) -> Result<Backtrace, BacktraceError> {
        if let Some(saved) = self.dumped() {
            let registers = saved.registers.get(core).and_then(Option::as_ref).ok_or(BacktraceError::Lost)?;
            let mut read = |address: u32, into: &mut [u8]| {
                saved.memory.read_bytes(address, into).map_err(|error| probe_rs::Error::Other(error.to_string()))
            };
            return Ok(unwind_saved(unwinder, registers, Stack::default(), &mut read)?);
        }
        if let Some(registers) = self.saved_registers(core)? {
            let memory = self.memory();
            let stack = stack::read(memory, &registers);
            let mut read = |address: u32, into: &mut [u8]| {
                let found = crate::memory::read_bytes(memory, address, into.len());
                into.copy_from_slice(&found.map_err(|error| probe_rs::Error::Other(error.to_string()))?);
                Ok(())
            };
            return Ok(unwind_saved(unwinder, &registers, stack, &mut read)?);
        }
        let session = self.session()?;
        let (registers, stack) = stack::capture(session, core)?;
        let fail = |source| SessionError::Probe { what: "reach a core", source };
        let mut live = session.probe().core(core).map_err(fail)?;
        let (core_type, set) = (live.core_type(), live.instruction_set().ok());
        let mut memory = StackMemory { stack, deep: &mut |address, into| live.read(address, into) };
        Ok(unwinder.unwind(&mut memory, core_type, set, registers)?)
    }
}

/// Reads memory of a core from an address on.
type Read<'a> = dyn FnMut(u32, &mut [u8]) -> Result<(), probe_rs::Error> + 'a;

/// Unwinds from registers that were saved, through memory that does not change.
fn unwind_saved(
    unwinder: &Unwinder,
    registers: &crate::dump::Registers,
    stack: Stack,
    read: &mut Read<'_>,
) -> Result<Backtrace, SessionError> {
    let mut deep = |address: u64, into: &mut [u8]| {
        if let (Some(word), Ok(into)) = (registers.control(address), <&mut [u8; 4]>::try_from(&mut *into)) {
            *into = word.to_le_bytes();
            return Ok(());
        }
        read(u32::try_from(address).unwrap_or(u32::MAX), into)
    };
    let mut memory = StackMemory { stack, deep: &mut deep };
    let (core_type, set) = (registers.core_type(), Some(registers.instruction_set()));
    unwinder.unwind(&mut memory, core_type, set, registers.for_debug())
}
