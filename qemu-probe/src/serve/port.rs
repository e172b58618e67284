//! An ADIv5 debug port with one memory access port per core.
//!
//! Only what a debugger of memory-mapped cores uses. Runs of equal transfers, which is how blocks are read and written, are
//! joined to one access to the machine.

use super::target::Target;
use std::collections::VecDeque;
use std::sync::Arc;

const DPIDR: u32 = 0x2BA0_1477;
const AP_IDR: u32 = 0x1477_0015;
const AP_BASE: u32 = 0xE00F_F003;
const CSW_RESET: u32 = 0x2300_0052;
/// Registers from here on have side effects: never read ahead.
const PRIVATE: u32 = 0xE000_0000;

const ACK_OK_DATA: u8 = 0x01;
const ACK_OK: u8 = 0x11;
const ACK_FAULT: u8 = 0x14;

/// A transfer as the tool asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfer {
    /// Bit 0: access port; bit 1: read; bits 2 and 3: address.
    header: u8,
    value: u32,
}

impl Transfer {
    fn is_read(self) -> bool {
        self.header & 2 != 0
    }
}

/// A transfer that the target answers FAULT.
struct Fault;

#[derive(Clone, Copy, Debug)]
struct AccessPort {
    csw: u32,
    tar: u32,
}

/// The state of the port between transfers.
pub(super) struct DebugPort {
    target: Arc<Target>,
    input: Vec<u8>,
    select: u32,
    control: u32,
    /// A posted read has faulted, and the tool does not know yet.
    faulted: bool,
    read_buffer: u32,
    ports: Vec<AccessPort>,
    /// Words read ahead of a run of reads.
    ahead: VecDeque<u32>,
    /// Words collected of a run of writes, and where they begin.
    collected: (u32, Vec<u8>),
}

impl DebugPort {
    pub(super) fn new(target: Arc<Target>) -> Self {
        let ports = vec![AccessPort { csw: CSW_RESET, tar: 0 }; target.cores()];
        Self {
            target,
            input: Vec::new(),
            select: 0,
            control: 0,
            faulted: false,
            read_buffer: 0,
            ports,
            ahead: VecDeque::new(),
            collected: (0, Vec::new()),
        }
    }

    /// Serves the whole transfers in the stream, and returns their acknowledgements and data.
    pub(super) fn transfer(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.input.extend_from_slice(bytes);
        let transfers = take_transfers(&mut self.input);
        let mut reply = Vec::new();
        let mut index = 0;
        while let Some(transfer) = transfers.get(index) {
            let same = transfers[index..].iter().take_while(|other| other.header == transfer.header).count();
            match self.serve(*transfer, same) {
                Ok(Some(value)) => {
                    reply.push(ACK_OK_DATA);
                    reply.extend_from_slice(&value.to_le_bytes());
                }
                Ok(None) => reply.push(ACK_OK),
                Err(Fault) => {
                    self.fail();
                    // Once told, a fault is over: the driver leaves clearing it to the probe.
                    self.faulted = false;
                    reply.push(ACK_FAULT);
                    // The tool stops listening at the first fault, so the rest of what it sent at once is not served.
                    break;
                }
            }
            index += 1;
        }
        reply
    }

    fn fail(&mut self) {
        (self.faulted, self.collected) = (true, (0, Vec::new()));
        self.ahead.clear();
    }

    /// `same`: how many transfers of this kind follow, this one included.
    fn serve(&mut self, transfer: Transfer, same: usize) -> Result<Option<u32>, Fault> {
        let register = transfer.header & 0xC;
        if transfer.header & 1 == 0 {
            return match (transfer.is_read(), register) {
                (true, 0xC) if self.faulted => Err(Fault),
                (true, _) => Ok(Some(self.read_port(register))),
                (false, _) => {
                    self.write_port(register, transfer.value);
                    Ok(None)
                }
            };
        }
        if self.faulted {
            return Err(Fault);
        }
        let register = self.select as u8 & 0xF0 | register;
        if transfer.is_read() {
            // Reads are posted: the value comes with the next read, or from the read buffer, and so does a fault.
            let value = match self.read_access(register, same) {
                Ok(value) => value,
                Err(Fault) => {
                    self.fail();
                    0
                }
            };
            Ok(Some(std::mem::replace(&mut self.read_buffer, value)))
        } else {
            self.write_access(register, transfer.value, same).map(|()| None)
        }
    }

    fn read_port(&mut self, register: u8) -> u32 {
        match register {
            0x0 => DPIDR,
            0x4 if self.select & 0xF == 0 => {
                // Power is there as soon as it is asked for.
                let asked = self.control & 0x5000_0000;
                asked | asked << 1 | self.control & 1 | u32::from(self.faulted) << 5
            }
            0xC => {
                self.ahead.clear();
                self.read_buffer
            }
            _ => 0,
        }
    }

    fn write_port(&mut self, register: u8, value: u32) {
        match register {
            0x0 => self.faulted = false,
            0x4 if self.select & 0xF == 0 => self.control = value,
            0x8 => self.select = value,
            _ => {}
        }
    }

    /// The selected access port; `None` if there is none of that number.
    fn selected(&self) -> Option<usize> {
        let number = (self.select >> 24) as usize;
        (number < self.ports.len()).then_some(number)
    }

    fn read_access(&mut self, register: u8, same: usize) -> Result<u32, Fault> {
        let Some(core) = self.selected() else { return Ok(0) };
        let AccessPort { csw, tar } = self.ports[core];
        match register {
            0x00 => Ok(csw | 1 << 6),
            0x04 => Ok(tar),
            0x0C => self.read_data(core, same),
            0x10 | 0x14 | 0x18 | 0x1C => self.read_word(core, banked(tar, register)),
            0xF8 => Ok(AP_BASE),
            0xFC => Ok(AP_IDR),
            _ => Ok(0),
        }
    }

    fn write_access(&mut self, register: u8, value: u32, same: usize) -> Result<(), Fault> {
        let Some(core) = self.selected() else { return Ok(()) };
        match register {
            0x00 => self.ports[core].csw = value,
            0x04 => self.ports[core].tar = value,
            0x0C => return self.write_data(core, value, same),
            0x10 | 0x14 | 0x18 | 0x1C => {
                let address = banked(self.ports[core].tar, register);
                return self.write_bytes(core, address, value.to_le_bytes().to_vec(), 4);
            }
            _ => {}
        }
        Ok(())
    }

    fn read_data(&mut self, core: usize, same: usize) -> Result<u32, Fault> {
        let AccessPort { csw, tar } = self.ports[core];
        let (width, step) = (width(csw), increment(csw));
        if let Some(word) = self.ahead.pop_front() {
            self.ports[core].tar = tar.wrapping_add(4);
            return Ok(word);
        }
        let value = if width == 4 && step == 4 && same > 1 && tar < PRIVATE {
            // The address does not carry over a kilobyte, so a run ends there.
            let words = same.min(((0x400 - (tar & 0x3FF)) / 4) as usize);
            let bytes = self.read_bytes(core, tar, 4 * words)?;
            self.ahead = bytes.chunks_exact(4).map(le_word).collect();
            self.ahead.pop_front().unwrap_or(0)
        } else {
            let bytes = self.read_bytes(core, tar, width)?;
            le_word(&bytes) << (8 * (tar & 3))
        };
        self.ports[core].tar = tar.wrapping_add(step);
        Ok(value)
    }

    fn write_data(&mut self, core: usize, value: u32, same: usize) -> Result<(), Fault> {
        let AccessPort { csw, tar } = self.ports[core];
        let (width, step) = (width(csw), increment(csw));
        self.ports[core].tar = tar.wrapping_add(step);
        if width == 4 && step == 4 && tar < PRIVATE {
            if self.collected.1.is_empty() {
                self.collected.0 = tar;
            }
            self.collected.1.extend_from_slice(&value.to_le_bytes());
            if same > 1 {
                return Ok(());
            }
            let (address, bytes) = std::mem::take(&mut self.collected);
            return self.write_bytes(core, address, bytes, 4);
        }
        let lanes = (value >> (8 * (tar & 3))).to_le_bytes();
        self.write_bytes(core, tar, lanes[..width].to_vec(), width)
    }

    fn read_word(&self, core: usize, address: u32) -> Result<u32, Fault> {
        self.read_bytes(core, address, 4).map(|bytes| le_word(&bytes))
    }

    fn read_bytes(&self, core: usize, address: u32, len: usize) -> Result<Vec<u8>, Fault> {
        self.target.read(core, address, len).map_err(|_| Fault)
    }

    fn write_bytes(&self, core: usize, address: u32, bytes: Vec<u8>, width: usize) -> Result<(), Fault> {
        self.target.write(core, address, bytes, width).map_err(|_| Fault)
    }
}

/// Takes the whole transfers from the front of the stream; line sequences, which have no answer, are dropped.
fn take_transfers(input: &mut Vec<u8>) -> Vec<Transfer> {
    let mut transfers = Vec::new();
    let mut used = 0;
    while let Some(header) = input.get(used).copied() {
        let sequence = header & 0xE0 == 0x20;
        let len = if sequence || header & 2 == 0 { 5 } else { 1 };
        let Some(bytes) = input.get(used..used + len) else { break };
        if !sequence {
            transfers.push(Transfer { header: header & 0xF, value: le_word(&bytes[1..]) });
        }
        used += len;
    }
    input.drain(..used);
    transfers
}

fn banked(tar: u32, register: u8) -> u32 {
    tar & !0xF | u32::from(register & 0xC)
}

/// Bytes per access.
fn width(csw: u32) -> usize {
    match csw & 7 {
        0 => 1,
        1 => 2,
        _ => 4,
    }
}

/// How far the address moves per access.
fn increment(csw: u32) -> u32 {
    if csw >> 4 & 3 == 1 { width(csw) as u32 } else { 0 }
}

/// Up to four bytes, the first lowest.
fn le_word(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_taken_whole_and_line_sequences_dropped() {
        // A line reset, a read of DPIDR, a write of SELECT of which the last byte has not come yet.
        let mut input = vec![0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0x08, 0x10, 0x20, 0x30];
        assert_eq!(take_transfers(&mut input), [Transfer { header: 0x02, value: 0 }]);
        input.push(0x40);
        assert_eq!(take_transfers(&mut input), [Transfer { header: 0x08, value: 0x4030_2010 }]);
        assert!(input.is_empty());
    }

    #[test]
    fn the_address_moves_by_the_width_only_if_asked_to() {
        assert_eq!(increment(0x2300_0052), 4);
        assert_eq!(increment(0x2300_0050), 1);
        assert_eq!(increment(0x2300_0042), 0);
    }
}
