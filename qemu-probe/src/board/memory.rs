//! Memory and devices, as one core sees them.

use super::control::PC;
use super::debug_block::{Ask, DFSR_BKPT, DFSR_HALTED};
use super::{Board, BoardError};
use crate::gdb::GdbError;
use crate::machine::{MachineError, Qmp, Region};
use serde_json::json;

/// Where each core has registers of its own: these are never reached through another core.
const PRIVATE: u32 = 0xE000_0000;

/// Identification registers, which never change.
const CONSTANT: [Region; 3] = [
    Region { base: 0xE000_ED00, len: 4 },
    Region { base: 0xE000_ED40, len: 0x40 },
    Region { base: 0xE000_EF40, len: 12 },
];

impl Board {
    /// Reads memory, a device or a debug register. `width` is that of one access.
    pub(crate) fn read(&mut self, core: usize, address: u32, into: &mut [u8]) -> Result<(), BoardError> {
        self.check_core(core)?;
        if let (PRIVATE.., Ok(word)) = (address, <&mut [u8; 4]>::try_from(&mut *into)) {
            if let Some(lost) = &self.lost {
                return Err(lost.clone());
            }
            let known = self.cores[core].read(address).or_else(|| self.constants.get(&(core, address)).copied());
            if let Some(value) = known {
                *word = value.to_le_bytes();
                return Ok(());
            }
        }
        self.operate("read memory", |board| {
            board.stop_vm()?;
            board.read_stopped(core, address, into)
        })?;
        if let Ok(word) = <[u8; 4]>::try_from(&*into)
            && CONSTANT.iter().any(|region| region.contains(address, 4))
        {
            self.constants.insert((core, address), u32::from_le_bytes(word));
        }
        Ok(())
    }

    /// Writes memory, devices or debug registers in accesses of `width` bytes.
    pub(crate) fn write(&mut self, core: usize, address: u32, from: &[u8], width: usize) -> Result<(), BoardError> {
        self.check_core(core)?;
        if let (PRIVATE.., Ok(word)) = (address, <[u8; 4]>::try_from(from)) {
            let value = u32::from_le_bytes(word);
            if let Some(ask) = self.cores[core].write(address, value) {
                return self.obey(core, ask);
            }
        }
        self.operate("write memory", |board| {
            board.stop_vm()?;
            board.write_stopped(core, address, from, width)
        })
    }

    fn obey(&mut self, core: usize, ask: Ask) -> Result<(), BoardError> {
        match ask {
            Ask::Nothing => match &self.lost {
                Some(lost) => Err(lost.clone()),
                None => Ok(()),
            },
            Ask::Halt => self.operate("halt a core", |board| board.halt_core(core)),
            Ask::Run => self.operate("run a core", |board| {
                board.stop_vm()?;
                board.cores[core].run();
                Ok(())
            }),
            Ask::Step { mask_interrupts } => self.operate("step a core", |board| {
                board.stop_vm()?;
                let pc = board.core_register(core, PC)?;
                // A step of BKPT leaves the core at it.
                let bkpt = board.is_at_bkpt(core, pc)?;
                if !bkpt {
                    board.step_over(core, mask_interrupts)?;
                }
                board.cores[core].halt(if bkpt { DFSR_BKPT } else { DFSR_HALTED });
                Ok(())
            }),
            Ask::ReadRegister(number) => {
                self.must_be_halted(core)?;
                self.cores[core].data = self.operate("read a core register", |board| {
                    board.stop_vm()?;
                    board.read_register(core, number)
                })?;
                Ok(())
            }
            Ask::WriteRegister(number) => {
                self.must_be_halted(core)?;
                let value = self.cores[core].data;
                self.operate("write a core register", |board| {
                    board.stop_vm()?;
                    board.write_register(core, number, value)
                })
            }
            // Only for a core that runs; for a halted one they are inserted when it is resumed.
            Ask::Breakpoints if self.cores[core].is_halted() => Ok(()),
            Ask::Breakpoints => self.operate("set breakpoints", Self::stop_vm),
            Ask::Reset => self.operate("reset the machine", |board| board.reset(core)),
        }
    }

    fn must_be_halted(&self, core: usize) -> Result<(), BoardError> {
        if self.cores[core].is_halted() { Ok(()) } else { Err(BoardError::NotHalted { core }) }
    }

    pub(super) fn read_word(&mut self, core: usize, address: u32) -> Result<u32, BoardError> {
        let mut word = [0; 4];
        self.read_stopped(core, address, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn read_stopped(&mut self, core: usize, address: u32, into: &mut [u8]) -> Result<(), BoardError> {
        self.select(core)?;
        self.gdb.read(address, into).map_err(|error| unmapped(error, address, into.len()))
    }

    fn write_stopped(&mut self, core: usize, address: u32, from: &[u8], width: usize) -> Result<(), BoardError> {
        let len = u32::try_from(from.len()).unwrap_or(u32::MAX);
        if self.kind.memory().iter().any(|region| region.contains(address, len)) {
            self.select(core)?;
            self.gdb.write(address, from).map_err(|error| unmapped(error, address, from.len()))?;
            self.remember_flashed(Region { base: address, len });
            return if from.is_empty() { Ok(()) } else { self.note_patches(address, from.len()) };
        }
        if self.devices.is_none() {
            self.devices = Some(devices(&mut self.qmp)?);
        }
        if !self.devices.iter().flatten().any(|device| device.contains(address, len)) {
            return Err(BoardError::Unmapped { address, len: from.len() });
        }
        let mut address = address;
        for value in from.chunks(width) {
            self.write_device(core, address, value)?;
            address = address.wrapping_add(value.len() as u32);
        }
        Ok(())
    }

    /// Has a core store one value to a device: the stub's own writes never reach devices.
    pub(super) fn write_device(&mut self, core: usize, address: u32, value: &[u8]) -> Result<(), BoardError> {
        let mut word = [0; 4];
        word[..value.len()].copy_from_slice(value);
        let store = match value.len() {
            1 => [0x01, 0x70], // strb r1, [r0]
            2 => [0x01, 0x80], // strh r1, [r0]
            _ => [0x01, 0x60], // str r1, [r0]
        };
        // What all cores see alike may be written by whichever core is awake.
        let mut writer = core;
        if address < PRIVATE && !self.is_awake(core)? {
            for other in 0..self.cores.len() {
                if self.is_awake(other)? {
                    writer = other;
                    break;
                }
            }
        }
        self.inject(writer, "write to a device", &store, [address, u32::from_le_bytes(word)])
    }

    /// Notes what was written to code memory, which is the first two regions of every machine: one bank, two aliases.
    fn remember_flashed(&mut self, written: Region) {
        if !self.kind.memory().iter().take(2).any(|bank| bank.contains(written.base, written.len)) {
            return;
        }
        let end = |region: &Region| region.base.saturating_add(region.len);
        match self.flashed.iter_mut().find(|known| written.base >= known.base && written.base <= end(known)) {
            Some(known) => known.len = known.len.max(end(&written) - known.base),
            None => self.flashed.push(written),
        }
    }
}

fn unmapped(error: GdbError, address: u32, len: usize) -> BoardError {
    match error {
        GdbError::Refused { .. } => BoardError::Unmapped { address, len },
        other => other.into(),
    }
}

/// Where the cores see devices, from QEMU's own map.
fn devices(qmp: &mut Qmp) -> Result<Vec<Region>, MachineError> {
    let map = qmp.execute("human-monitor-command", json!({ "command-line": "info mtree -f" }))?;
    Ok(parse_devices(map.as_str().unwrap_or_default()))
}

fn parse_devices(map: &str) -> Vec<Region> {
    let mut devices = Vec::new();
    let mut seen_by_cores = false;
    for line in map.lines() {
        if line.starts_with("FlatView") {
            seen_by_cores = false;
        } else if line.contains("AS \"cpu-") {
            seen_by_cores = true;
        } else if let Some((range, about)) = line.trim().split_once(' ')
            && let Some((first, last)) = range.split_once('-')
            && let (Ok(first), Ok(last)) = (u64::from_str_radix(first, 16), u64::from_str_radix(last, 16))
            && let (Ok(base), Ok(len)) =
                (u32::try_from(first), u32::try_from(last.saturating_sub(first).saturating_add(1)))
            && seen_by_cores
            && about.contains("i/o)")
        {
            devices.push(Region { base, len });
        }
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_those_that_cores_see() {
        let map = "FlatView #0\n AS \"memory\", root: system\n  0000000040000000-0000000040000fff (prio 0, i/o): not-seen\n\
                   FlatView #1\n AS \"cpu-memory-0\", root: x\n AS \"cpu-secure-memory-0\", root: y\n\
                   \x20 0000000050003000-0000000050003fff (prio 0, i/o): armsse-mhu\n\
                   \x20 0000000080000000-0000000080ffffff (prio 0, ram): mps.ram\n\
                   \x20 0000000000000000-ffffffffffffffff (prio 0, i/o): everything\n";
        assert_eq!(parse_devices(map), [Region { base: 0x5000_3000, len: 0x1000 }]);
    }
}
