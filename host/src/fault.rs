//! Why a node crashed, as its control block says it.
use crate::{Memory, MemoryError};
use core::mem::offset_of;
use stillpoint_core::control::{ControlLayout, FaultBlock};

/// Why a node crashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A panic, a crash that the firmware declared, or the number of an exception.
    pub cause: u32,
    /// Program counter, link register, stack pointer and status register; 0 if not known.
    pub registers: [u32; 4],
    /// What the hardware says of it, or the firmware's own code.
    pub status: [u32; 2],
    place: [u32; 3],
    message: [u32; 2],
}

/// The number of the exception that faults become which have no handler of their own.
const HARD_FAULT: u32 = 3;
/// The instruction `bkpt 0xAB`.
const SEMIHOSTING_CALL: u32 = 0xBEAB;
/// Texts of a crash are no longer than this.
const TEXT_LIMIT: u32 = 256;

impl Fault {
    pub(crate) fn parse(layout: &ControlLayout, word: &impl Fn(usize) -> u32) -> Option<Self> {
        let field = |offset: usize, index: usize| word(layout.fault() + offset + 4 * index);
        let cause = field(offset_of!(FaultBlock, cause), 0);
        (cause != 0).then(|| Self {
            cause,
            registers: core::array::from_fn(|index| field(offset_of!(FaultBlock, registers), index)),
            status: core::array::from_fn(|index| field(offset_of!(FaultBlock, status), index)),
            place: core::array::from_fn(|index| field(offset_of!(FaultBlock, place), index)),
            message: core::array::from_fn(|index| field(offset_of!(FaultBlock, message), index)),
        })
    }

    /// What happened and where, in one line; texts are read from the board.
    pub fn describe(&self, memory: &mut dyn Memory) -> Result<String, MemoryError> {
        let what = match self.cause {
            FaultBlock::PANIC => "panic".to_owned(),
            FaultBlock::DECLARED => format!("declared by the firmware, code {:#x}", self.status[0]),
            HARD_FAULT => "HardFault".to_owned(),
            4 => "MemManage fault".to_owned(),
            5 => "BusFault".to_owned(),
            6 => "UsageFault".to_owned(),
            7 => "SecureFault".to_owned(),
            exception => format!("exception {exception}"),
        };
        let [pc, ..] = self.registers;
        let [file, length, line] = self.place;
        let file = text(memory, file, length)?;
        let place = match (file.is_empty(), pc) {
            (false, _) => format!(" at {file}:{line}"),
            (true, 0) => String::new(),
            (true, pc) => format!(" at {pc:#010x}"),
        };
        let message = match self.cause == HARD_FAULT && is_semihosting_call(memory, pc) {
            true => "a semihosting call, which only a debugger that offers semihosting answers".into(),
            false => text(memory, self.message[0], self.message[1])?,
        };
        let message = if message.is_empty() { message } else { format!(": {message}") };
        Ok(format!("{what}{place}{message}"))
    }
}

/// Whether the instruction at an address is `bkpt 0xAB`. Without an answer it is a fault.
fn is_semihosting_call(memory: &mut dyn Memory, pc: u32) -> bool {
    let mut word = [0];
    let half = |word: u32| if pc & 2 == 0 { word & 0xFFFF } else { word >> 16 };
    pc != 0 && memory.read(pc & !3, &mut word).is_ok() && half(word[0]) == SEMIHOSTING_CALL
}

/// A text of the firmware, from wherever it lies.
fn text(memory: &mut dyn Memory, address: u32, length: u32) -> Result<String, MemoryError> {
    if address == 0 || length == 0 {
        return Ok(String::new());
    }
    let length = length.min(TEXT_LIMIT);
    let first = address & !3;
    let mut words = vec![0; (address - first + length).div_ceil(4) as usize];
    memory.read(first, &mut words)?;
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let text = &bytes[(address - first) as usize..][..length as usize];
    Ok(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that starts at this address.
    struct Bytes(u32, Vec<u8>);

    impl Memory for Bytes {
        fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
            let bytes = self.1[(address - self.0) as usize..].chunks(4);
            for (word, bytes) in into.iter_mut().zip(bytes) {
                *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            }
            Ok(())
        }

        fn write(&mut self, _: u32, _: &[u32]) -> Result<(), MemoryError> {
            unreachable!("nothing is written to describe a fault")
        }
    }

    #[test]
    fn a_panic_is_told_with_its_place_and_message_wherever_the_texts_lie() {
        let mut memory = Bytes(0x1000, b"__a/b.rs..boom!".to_vec());
        let nowhere = Fault { cause: 1, registers: [0; 4], status: [0; 2], place: [0; 3], message: [0; 2] };
        assert_eq!(nowhere.describe(&mut memory).unwrap(), "panic");
        let placed = Fault { place: [0x1002, 6, 12], message: [0x100A, 5], ..nowhere.clone() };
        assert_eq!(placed.describe(&mut memory).unwrap(), "panic at a/b.rs:12: boom!");
        let exception = Fault { cause: HARD_FAULT, registers: [0x1002, 0, 0, 0], ..nowhere };
        assert_eq!(exception.describe(&mut memory).unwrap(), "HardFault at 0x00001002");
    }

    #[test]
    fn a_fault_at_a_semihosting_call_is_called_that_at_either_half_of_a_word() {
        let fault =
            |pc| Fault { cause: HARD_FAULT, registers: [pc, 0, 0, 0], status: [0; 2], place: [0; 3], message: [0; 2] };
        let mut memory = Bytes(0x1000, vec![0xAB, 0xBE, 0x2A, 0xDE, 0x2A, 0xDE, 0xAB, 0xBE]);
        for (pc, is_call) in [(0x1000, true), (0x1002, false), (0x1004, false), (0x1006, true)] {
            let text = fault(pc).describe(&mut memory).unwrap();
            assert_eq!(text.contains(": a semihosting call, which"), is_call, "{text}");
        }
    }
}
