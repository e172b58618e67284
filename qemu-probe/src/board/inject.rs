//! Making a stopped core execute one instruction for the debugger.
//!
//! Needed where the gdbstub cannot help: writes to devices, and to special registers. The instruction is put where the core
//! stands, executed by a single step with all other cores frozen, and removed again; registers are put back. Should the debugger be
//! killed in between, the machine stands, and the next one puts them back.

use super::control::{PC, XPSR};
use super::journal::Borrowed;
use super::{Board, BoardError};
use crate::machine::MachineError;

/// xPSR bits of an IF-THEN block, inside which the instruction would be conditional.
pub(super) const IT_BITS: u32 = 0x0600_FC00;

/// One bit for each interrupt that a core listens to.
const NVIC_ENABLED: u32 = 0xE000_E100;

/// What became of an instruction.
enum End {
    Executed,
    Unmoved,
    Elsewhere,
}

impl Board {
    /// Executes one Thumb instruction with R0 and R1 preset.
    pub(super) fn inject(
        &mut self,
        core: usize,
        what: &'static str,
        instruction: &[u8],
        [r0, r1]: [u32; 2],
    ) -> Result<(), BoardError> {
        if !self.is_awake(core)? && !self.rouse(core)? {
            return Err(BoardError::Asleep { core, what });
        }
        let (r0_before, r1_before) = (self.core_register(core, 0)?, self.core_register(core, 1)?);
        let (xpsr, pc) = (self.core_register(core, XPSR)?, self.core_register(core, PC)?);
        let mut code = vec![0; instruction.len()];
        self.select(core)?;
        self.gdb.read(pc, &mut code)?;
        let borrowed = Borrowed { core, pc, xpsr, r0: r0_before, r1: r1_before, code };
        self.journal.keep(&borrowed).map_err(MachineError::io("noting what the next debugger must put back"))?;

        self.set_core_register(core, 0, r0)?;
        self.set_core_register(core, 1, r1)?;
        self.set_core_register(core, XPSR, xpsr & !IT_BITS)?;
        self.gdb.write(pc, instruction)?;
        let stepped = self.step_awake(core, true);
        let end = self.give_back(&borrowed)?;
        stepped?;
        match end {
            End::Executed => Ok(()),
            End::Unmoved => Err(BoardError::Unmoved { core, what }),
            End::Elsewhere => Err(BoardError::Faulted { core, what }),
        }
    }

    /// Puts back what a debugger borrowed that was killed before it could.
    pub(super) fn settle(&mut self) -> Result<(), BoardError> {
        match self.journal.owed() {
            Some(borrowed) if borrowed.core < self.cores.len() => self.give_back(&borrowed).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Takes the instruction away and puts the registers back. A core that went elsewhere has faulted, and its handler has
    /// the registers.
    fn give_back(&mut self, borrowed: &Borrowed) -> Result<End, BoardError> {
        let Borrowed { core, pc, xpsr, r0, r1, ref code } = *borrowed;
        self.select(core)?;
        self.gdb.write(pc, code)?;
        let after = self.core_register(core, PC)?;
        let end = match after.wrapping_sub(pc) {
            0 => End::Unmoved,
            moved if moved == code.len() as u32 => End::Executed,
            _ => End::Elsewhere,
        };
        if !matches!(end, End::Elsewhere) {
            for (register, value) in [(0, r0), (1, r1), (XPSR, xpsr), (PC, pc)] {
                self.set_core_register(core, register, value)?;
            }
        }
        self.journal.clear().map_err(MachineError::io("noting that everything is put back"))?;
        Ok(end)
    }

    /// Makes a core that sleeps leave WFI at its next step, as a debug access to a real one need not: an interrupt that it
    /// listens to becomes pending, whose handler will find nothing to do. `false` if it listens to none.
    fn rouse(&mut self, core: usize) -> Result<bool, BoardError> {
        for word in 0..u32::from(self.kind.interrupts().div_ceil(32)) {
            let enabled = self.read_word(core, NVIC_ENABLED + 4 * word)?;
            if enabled != 0 {
                let irq = (32 * word + enabled.trailing_zeros()) as u16;
                let pulsed = self.irqs.pulse(self.kind, core, irq);
                return match pulsed {
                    Ok(()) => Ok(true),
                    Err(MachineError::NoDebugPort) => Ok(false),
                    Err(error) => Err(error.into()),
                };
            }
        }
        Ok(false)
    }
}
