//! Core registers, by their number in DCRSR.

use super::control::XPSR;
use super::cpu_state::CpuState;
use super::{Board, BoardError};
use serde_json::json;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// The stub's numbers of D0 and FPSCR, on a core with a floating-point unit.
const D0: u32 = 26;
const FPSCR: u32 = D0 + 16;

/// `msr <special>, r0`, by SYSm number.
fn msr(special: u8) -> [u8; 4] {
    [0x80, 0xF3, special, 0x88]
}
const MSP: u8 = 8;
const PSP: u8 = 9;
const PRIMASK: u8 = 16;
const BASEPRI: u8 = 17;
const FAULTMASK: u8 = 19;
const CONTROL: u8 = 20;
/// Added to a SYSm number, the non-secure register as the secure state reaches it.
const NON_SECURE_ALIAS: u8 = 0x80;

/// DCRSR's numbers of CONTROL and the masks of each security state.
const MASKS_S: u32 = 0x22;
const MASKS_NS: u32 = 0x23;

impl Board {
    /// Points the stub at a core.
    pub(super) fn select(&mut self, core: usize) -> Result<(), BoardError> {
        if self.selected != Some(core) {
            self.gdb.order(&format!("Hg{}", super::control::thread(core)))?;
            self.selected = Some(core);
        }
        Ok(())
    }

    /// A register of the stub's own numbering: R0 to R15, and xPSR.
    pub(super) fn core_register(&mut self, core: usize, number: u32) -> Result<u32, BoardError> {
        self.select(core)?;
        Ok(self.gdb.register(number)? as u32)
    }

    pub(super) fn set_core_register(&mut self, core: usize, number: u32, value: u32) -> Result<(), BoardError> {
        self.select(core)?;
        Ok(self.gdb.set_register(number, &value.to_le_bytes())?)
    }

    /// Reads a register by its number in DCRSR.
    pub(super) fn read_register(&mut self, core: usize, number: u32) -> Result<u32, BoardError> {
        match number {
            0..=15 => self.core_register(core, number),
            16 => self.core_register(core, XPSR),
            17 | 18 | 20 | 24..=31 | MASKS_S | MASKS_NS => {
                let state = self.cpu_state(core)?;
                let sp = self.core_register(core, 13)?;
                Ok(match number {
                    17 => state.stack_pointers(sp).main,
                    18 => state.stack_pointers(sp).process,
                    20 => state.masks_of(state.security()),
                    MASKS_S => state.masks_of(1),
                    MASKS_NS => state.masks_of(0),
                    24 => state.stack_pointers_of(0, sp).main,
                    25 => state.stack_pointers_of(0, sp).process,
                    26 => state.stack_pointers_of(1, sp).main,
                    27 => state.stack_pointers_of(1, sp).process,
                    28 => state.limits_of(1).main,
                    29 => state.limits_of(1).process,
                    30 => state.limits_of(0).main,
                    _ => state.limits_of(0).process,
                })
            }
            33 => self.float_register(core, FPSCR, number).map(|value| value as u32),
            64..=95 => {
                let double = self.float_register(core, D0 + (number - 64) / 2, number)?;
                Ok((double >> (32 * (number & 1))) as u32)
            }
            _ => Err(BoardError::NoSuchRegister { core, register: number, access: "read" }),
        }
    }

    /// Writes a register by its number in DCRSR.
    pub(super) fn write_register(&mut self, core: usize, number: u32, value: u32) -> Result<(), BoardError> {
        match number {
            0..=14 => self.set_core_register(core, number, value),
            15 => self.set_core_register(core, 15, value & !1),
            16 => self.set_core_register(core, XPSR, value),
            17 => self.inject(core, "set its main stack pointer", &msr(MSP), [value, 0]),
            18 => self.inject(core, "set its process stack pointer", &msr(PSP), [value, 0]),
            20 => self.write_masks(core, None, value),
            MASKS_S => self.write_masks(core, Some(1), value),
            MASKS_NS => self.write_masks(core, Some(0), value),
            33 => {
                self.float_register(core, FPSCR, number)?;
                Ok(self.gdb.set_register(FPSCR, &value.to_le_bytes())?)
            }
            64..=95 => {
                let register = D0 + (number - 64) / 2;
                let shift = 32 * (number & 1);
                let kept = self.float_register(core, register, number)? & !(u64::from(u32::MAX) << shift);
                let double = kept | u64::from(value) << shift;
                Ok(self.gdb.set_register(register, &double.to_le_bytes())?)
            }
            _ => Err(BoardError::NoSuchRegister { core, register: number, access: "written" }),
        }
    }

    /// Writes CONTROL and the masks of one security state; of the current one if none is named.
    fn write_masks(&mut self, core: usize, bank: Option<usize>, value: u32) -> Result<(), BoardError> {
        let state = self.cpu_state(core)?;
        let bank = bank.unwrap_or(state.security());
        let alias = match (state.security(), bank) {
            (current, wanted) if current == wanted => 0,
            (1, _) => NON_SECURE_ALIAS,
            _ => {
                let reason =
                    "the core is in the non-secure state, which cannot write the secure CONTROL and masks".into();
                return Err(BoardError::Refused { during: "", reason });
            }
        };
        let old = state.masks_of(bank).to_le_bytes();
        let new = value.to_le_bytes();
        // CONTROL last: without privilege the others could not be written any more.
        for (byte, special) in [PRIMASK, BASEPRI, FAULTMASK, CONTROL].into_iter().enumerate() {
            if old[byte] != new[byte] {
                self.inject(core, "set CONTROL or a mask", &msr(special | alias), [new[byte].into(), 0])?;
            }
        }
        let now = self.cpu_state(core)?.masks_of(bank);
        if now == value {
            Ok(())
        } else {
            let reason = format!("CONTROL and masks are {now:#010x} and not {value:#010x}; is the core unprivileged?");
            Err(BoardError::Refused { during: "", reason })
        }
    }

    fn float_register(&mut self, core: usize, stub: u32, number: u32) -> Result<u64, BoardError> {
        self.select(core)?;
        self.gdb.register(stub).map_err(|error| match error {
            crate::gdb::GdbError::Refused { .. } => {
                BoardError::NoSuchRegister { core, register: number, access: "used" }
            }
            other => other.into(),
        })
    }

    /// The special registers of a core, from a saved state.
    fn cpu_state(&mut self, core: usize) -> Result<CpuState, BoardError> {
        // QEMU opens the file through our own table of open files: it has no name that could be left behind.
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.state_file.as_raw_fd());
        self.qmp.execute("xen-save-devices-state", json!({ "filename": path }))?;
        let unusable = |reason: String| BoardError::Refused { during: "", reason };
        let len = self.state_file.metadata().map_err(|e| unusable(e.to_string()))?.len();
        let mut saved = vec![0; usize::try_from(len).unwrap_or(0)];
        self.state_file.read_exact_at(&mut saved, 0).map_err(|e| unusable(e.to_string()))?;
        CpuState::parse(&saved, core).ok_or_else(|| unusable("it saved the cores in an unknown form".into()))
    }
}
