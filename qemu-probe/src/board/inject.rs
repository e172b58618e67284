//! Making a stopped core execute one instruction for the debugger.
//!
//! Needed where the gdbstub cannot help: writes to devices, and to special registers. The instruction is put where the core
//! stands, executed by a single step with all other cores frozen, and removed again; registers are put back.

use super::control::{PC, XPSR};
use super::{Board, BoardError};

/// xPSR bits of an IF-THEN block, inside which the instruction would be conditional.
pub(super) const IT_BITS: u32 = 0x0600_FC00;

/// One bit for each interrupt that a core listens to.
const NVIC_ENABLED: u32 = 0xE000_E100;

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
        let old = (self.core_register(core, 0)?, self.core_register(core, 1)?);
        let (xpsr, pc) = (self.core_register(core, XPSR)?, self.core_register(core, PC)?);
        let mut code = vec![0; instruction.len()];
        self.select(core)?;
        self.gdb.read(pc, &mut code)?;

        self.set_core_register(core, 0, r0)?;
        self.set_core_register(core, 1, r1)?;
        self.set_core_register(core, XPSR, xpsr & !IT_BITS)?;
        self.gdb.write(pc, instruction)?;
        let stepped = self.step_awake(core, true);
        self.select(core)?;
        self.gdb.write(pc, &code)?;
        stepped?;
        let after = self.core_register(core, PC)?;
        let (done, unmoved) = (after == pc.wrapping_add(instruction.len() as u32), after == pc);
        if !done && !unmoved {
            return Err(BoardError::Faulted { core, what });
        }
        for (register, value) in [(0, old.0), (1, old.1), (XPSR, xpsr), (PC, pc)] {
            self.set_core_register(core, register, value)?;
        }
        if done { Ok(()) } else { Err(BoardError::Unmoved { core, what }) }
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
                    Err(crate::machine::MachineError::NoDebugPort) => Ok(false),
                    Err(error) => Err(error.into()),
                };
            }
        }
        Ok(false)
    }
}
