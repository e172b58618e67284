//! The machine behind the debug port: without a debugger as long as that will do.
//!
//! A tool that only reads and writes memory, rings doorbells and asks whether cores are halted stops nothing here, as it
//! would stop nothing on silicon. A debugger is attached when a tool first wants more, and stays attached then.

use crate::board::{BoardError, BoardHandle, NVIC_ISPR, at_rest};
use crate::machine::{Debuggable, LiveMemory, Machine, MachineError};
use crate::probe::memory;
use std::sync::{Mutex, MutexGuard};

/// A machine that is served.
#[derive(Debug)]
pub(super) struct Target {
    machine: Debuggable,
    memory: LiveMemory,
    board: Mutex<Option<BoardHandle>>,
}

impl Target {
    /// Attaches a debugger only to a machine of which nobody has noted how its cores stand.
    pub(super) fn of(machine: &Machine) -> Result<Self, MachineError> {
        let debuggable = machine.debuggable()?;
        let board = match debuggable.halted() {
            Some(_) => None,
            None => Some(BoardHandle::attach_to(&debuggable)?),
        };
        Ok(Self { machine: debuggable, memory: machine.live_memory(), board: Mutex::new(board) })
    }

    pub(super) fn cores(&self) -> usize {
        self.machine.kind.cores()
    }

    /// Fails if the machine has ended.
    pub(super) fn check(&self) -> Result<(), BoardError> {
        if let Some(board) = &*self.lock() {
            return board.views().map(drop);
        }
        if self.machine.is_alive() {
            return Ok(());
        }
        let said = self.machine.last_words();
        let reason = if said.is_empty() { "It said nothing.".into() } else { format!("It said: {said}") };
        Err(BoardError::Lost { during: "serve tools", reason })
    }

    /// The machine with a debugger, which is attached if there is none.
    pub(super) fn board(&self) -> Result<BoardHandle, MachineError> {
        let mut board = self.lock();
        match &*board {
            Some(board) => Ok(board.clone()),
            None => Ok(board.insert(BoardHandle::attach_to(&self.machine)?).clone()),
        }
    }

    /// Lets the cores run that a tool has halted and not let go.
    pub(super) fn release(&self) -> Result<(), BoardError> {
        let board = self.lock().clone();
        board.map_or(Ok(()), |board| board.run(|board| board.release()))
    }

    pub(super) fn read(&self, core: usize, address: u32, len: usize) -> Result<Vec<u8>, BoardError> {
        self.check()?;
        if self.is_memory(address, len) && self.runs() {
            let mut bytes = vec![0; len];
            return self.memory.read(address, &mut bytes).map(|()| bytes).map_err(BoardError::from);
        }
        if let (Some(halted), 4) = (self.halted_without_debugger(), len)
            && let Some(value) = halted.get(core).and_then(|halted| at_rest(*halted, address))
        {
            return Ok(value.to_le_bytes().to_vec());
        }
        memory::read(&self.board()?, None, core, address, len)
    }

    pub(super) fn write(&self, core: usize, address: u32, bytes: Vec<u8>, width: usize) -> Result<(), BoardError> {
        self.check()?;
        // While nothing runs the write goes through QEMU, which then also notices that code may have changed.
        if self.memory.can_write(address, bytes.len()) && self.runs() {
            return self.memory.write(address, &bytes).map_err(BoardError::from);
        }
        if let Some(lines) = pended(address, &bytes)
            && lines.iter().all(|irq| *irq < self.machine.kind.interrupts())
            && self.runs()
        {
            return lines.into_iter().try_for_each(|irq| self.machine.pulse(core, irq)).map_err(BoardError::from);
        }
        memory::write(&self.board()?, None, core, address, bytes, width)
    }

    /// Whether any core runs.
    fn runs(&self) -> bool {
        match &*self.lock() {
            Some(board) => board.any_running(),
            None => self.machine.halted().is_some_and(|halted| halted.contains(&false)),
        }
    }

    /// Whether each core was left halted, while no debugger is attached.
    fn halted_without_debugger(&self) -> Option<Vec<bool>> {
        if self.lock().is_some() { None } else { self.machine.halted() }
    }

    fn is_memory(&self, address: u32, len: usize) -> bool {
        u32::try_from(len)
            .is_ok_and(|len| self.machine.kind.memory().iter().any(|region| region.contains(address, len)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<BoardHandle>> {
        self.board.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The interrupts that a write sets pending: a pulse of their lines does the same.
fn pended(address: u32, bytes: &[u8]) -> Option<Vec<u16>> {
    let word = u32::from_le_bytes(bytes.try_into().ok()?);
    let register = u16::try_from(address.checked_sub(NVIC_ISPR)? / 4).ok().filter(|register| *register < 16)?;
    (address.is_multiple_of(4))
        .then(|| (0..32).filter(|bit| word >> bit & 1 != 0).map(|bit| 32 * register + bit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_to_the_set_pending_registers_names_its_interrupts() {
        assert_eq!(pended(0xE000_E200, &[0x81, 0, 0, 0]), Some(vec![0, 7]));
        assert_eq!(pended(0xE000_E204, &[0, 0, 0, 0x80]), Some(vec![63]));
        assert_eq!(pended(0xE000_E240, &[1, 0, 0, 0]), None, "beyond the last");
        assert_eq!(pended(0xE000_E1FC, &[1, 0, 0, 0]), None, "before the first");
        assert_eq!(pended(0xE000_E200, &[1]), None, "one byte");
    }
}
