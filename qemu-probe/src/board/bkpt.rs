//! BKPT instructions.
//!
//! QEMU takes BKPT as a fault, whether or not a debugger is attached; on silicon it halts a core whose C_DEBUGEN is set. Two
//! kinds are made to halt here. An instruction that the debugger itself writes into memory, as gdb does for a plain `break`,
//! gets a breakpoint of QEMU at its address. One that is part of the firmware is found when its fault arrives at a HardFault handler
//! that is caught (VC_HARDERR): the entry into the handler is then undone.

use super::control::{PC, XPSR};
use super::journal::Borrowed;
use super::{Board, BoardError};
use crate::gdb::GdbError;
use crate::machine::MachineError;

const CFSR: u32 = 0xE000_ED28;
const HFSR: u32 = 0xE000_ED2C;
/// HFSR: another exception became this HardFault.
const FORCED: u32 = 1 << 30;
const HARD_FAULT: u32 = 3;

/// Longer writes are downloads, in which data may look like a BKPT.
const LONGEST_PATCH: usize = 4;

/// `bx lr`
const RETURN: [u8; 2] = [0x70, 0x47];
const SP: u32 = 13;
const LR: u32 = 14;
/// Set in EXC_RETURN if the frame is on the process stack.
const SPSEL: u32 = 1 << 2;
/// Where a frame holds the return address.
const FRAME_PC: u32 = 24;

/// Whether debuggers put this instruction where a core shall stop: BKPT, or one of the two undefined instructions that gdb
/// takes when it believes in an operating system, as `gdb-multiarch` of Debian does by default.
fn is_patch(code: [u8; 4]) -> bool {
    is_bkpt([code[0], code[1]]) || code.starts_with(&[0x01, 0xDE]) || code == [0xF0, 0xF7, 0x00, 0xA0]
}

fn is_bkpt(code: [u8; 2]) -> bool {
    code[1] == 0xBE
}

impl Board {
    /// Notes where in memory the debugger has put an instruction to stop at, and where it has put back the old one. It may
    /// write byte by byte, so what counts is what the memory holds now.
    pub(super) fn note_patches(&mut self, address: u32, len: usize) -> Result<(), BoardError> {
        let (first, last) = ((address & !1).saturating_sub(2), address.saturating_add(len as u32 - 1) & !1);
        self.patched.retain(|at| !(first..=last).contains(at));
        if len > LONGEST_PATCH {
            return Ok(());
        }
        for at in (first..=last).step_by(2) {
            let mut code = [0; 4];
            match self.gdb.read(at, &mut code) {
                Ok(()) if is_patch(code) => {
                    self.patched.insert(at);
                }
                // At the edge of memory there is no room for one.
                Ok(()) | Err(GdbError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether a core is about to execute a BKPT that halts it.
    pub(super) fn is_at_bkpt(&mut self, core: usize, pc: u32) -> Result<bool, BoardError> {
        Ok(self.cores[core].halts_at_bkpt() && self.code_at(core, pc)?.is_some_and(is_bkpt))
    }

    /// A core has just entered HardFault and stands at its handler. If a BKPT took it there, puts it back to that BKPT.
    pub(super) fn undo_bkpt_fault(&mut self, core: usize, exception: u32) -> Result<bool, BoardError> {
        if exception != HARD_FAULT || !self.cores[core].halts_at_bkpt() {
            return Ok(false);
        }
        let exception_return = self.core_register(core, LR)?;
        let stack =
            if exception_return & SPSEL == 0 { self.core_register(core, SP)? } else { self.read_register(core, 18)? };
        let from = self.read_word(core, stack.wrapping_add(FRAME_PC))?;
        if !self.code_at(core, from)?.is_some_and(is_bkpt) {
            return Ok(false);
        }
        // A fault that was not taken must not be reported either. Beside a fault that CFSR names, the bit may be of that one.
        if self.read_word(core, CFSR)? == 0 {
            self.write_device(core, HFSR, &FORCED.to_le_bytes())?;
        }
        let pc = self.core_register(core, PC)?;
        let mut code = RETURN.to_vec();
        self.gdb.read(pc, &mut code)?;
        let (xpsr, r0, r1) =
            (self.core_register(core, XPSR)?, self.core_register(core, 0)?, self.core_register(core, 1)?);
        self.journal
            .keep(&Borrowed { core, pc, xpsr, r0, r1, code: code.clone() })
            .map_err(MachineError::io("noting what the next debugger must put back"))?;
        self.gdb.write(pc, &RETURN)?;
        self.step_awake(core, true)?;
        self.gdb.write(pc, &code)?;
        self.journal.clear().map_err(MachineError::io("noting that everything is put back"))?;
        Ok(self.core_register(core, PC)? == from)
    }
}
