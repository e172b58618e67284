//! Breakpoints, and the stop at a fault handler that is called vector catch.
//!
//! QEMU knows one set of breakpoints for all cores. It is given those of the cores that are about to run, so a halted core
//! does not slow the others down; a core that meets another one's breakpoint is stepped over it.

use super::control::XPSR;
use super::{Board, BoardError};
use std::collections::BTreeSet;

const VTOR: u32 = 0xE000_ED08;

/// Bits of DEMCR, and the exception whose handler they stop at. Faults that are not enabled end in HardFault.
const CATCHES: [(u32, u32); 5] = [
    (1 << 10, 3),    // HardFault
    (1 << 4, 4),     // MemManage
    (1 << 8, 5),     // BusFault
    (0b111 << 5, 6), // UsageFault: no coprocessor, checking, state
    (1 << 11, 7),    // SecureFault
];

impl Board {
    /// Brings QEMU's breakpoints in line with what the running cores want.
    pub(super) fn insert_breakpoints(&mut self) -> Result<(), BoardError> {
        let mut wanted = BTreeSet::new();
        for core in 0..self.cores.len() {
            if !self.cores[core].is_halted() {
                wanted.extend(self.cores[core].breakpoints());
                if self.cores[core].halts_at_bkpt() {
                    wanted.extend(&self.patched);
                }
                wanted.extend(self.handlers(core)?.into_iter().map(|(address, _)| address));
            }
        }
        let stale: Vec<u32> = self.inserted.difference(&wanted).copied().collect();
        for address in stale {
            self.gdb.order(&format!("z1,{address:x},2"))?;
            self.inserted.remove(&address);
        }
        let missing: Vec<u32> = wanted.difference(&self.inserted).copied().collect();
        for address in missing {
            self.gdb.order(&format!("Z1,{address:x},2"))?;
            self.inserted.insert(address);
        }
        Ok(())
    }

    /// The exception that a core at `pc` has just entered, if the core is to be stopped at it.
    pub(super) fn caught(&mut self, core: usize, pc: u32) -> Result<Option<u32>, BoardError> {
        let handlers = self.handlers(core)?;
        if !handlers.iter().any(|(address, _)| *address == pc) {
            return Ok(None);
        }
        let exception = self.core_register(core, XPSR)? & 0x1FF;
        Ok(handlers.contains(&(pc, exception)).then_some(exception))
    }

    /// The handlers a core shall be stopped at, and their exception numbers.
    fn handlers(&mut self, core: usize) -> Result<Vec<(u32, u32)>, BoardError> {
        let caught = self.cores[core].vector_catch();
        if caught == 0 {
            return Ok(Vec::new());
        }
        let table = self.read_word(core, VTOR)?;
        let mut handlers = Vec::new();
        for (_, exception) in CATCHES.iter().filter(|(bits, _)| caught & bits != 0) {
            // A table in unmapped memory has no handlers to stop at.
            if let Ok(handler) = self.read_word(core, table.wrapping_add(4 * exception)) {
                handlers.push((handler & !1, *exception));
            }
        }
        Ok(handlers)
    }
}
