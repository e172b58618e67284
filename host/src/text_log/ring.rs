//! The ring of a core's text log, in the memory of a board that runs or is halted, or in what was saved of it.
use crate::memory::read_bytes;
use crate::{Memory, MemoryError};

/// The first word of a ring that was made.
const MAGIC: u32 = 0xDEF7_1066;
/// Bytes before the buffer.
const HEADER: u32 = 64;
const READ: u32 = 12;
const SHOWN: u32 = 20;

/// Where a ring lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    address: u32,
    /// Bytes of its buffer, at most.
    room: u32,
}

/// What the words of a ring say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub size: u32,
    pub written: u32,
    pub read: u32,
    /// What lies before has been shown to somebody.
    pub shown: u32,
    /// Lines that were dropped after the last one in the ring.
    pub pending: u32,
    /// Another one when the ring is made anew.
    pub life: u32,
}

impl Ring {
    /// At this address, so many bytes in all.
    pub fn new(address: u32, size: u32) -> Self {
        Self { address, room: size.saturating_sub(HEADER) }
    }

    /// What its words say; `None` while it is not made, or if something wrote over it.
    pub fn head(&self, memory: &mut dyn Memory) -> Result<Option<Head>, MemoryError> {
        let mut words = [0; 8];
        memory.read(self.address, &mut words)?;
        let [magic, size, written, read, _, shown, pending, life] = words;
        let sane = magic == MAGIC && size.is_power_of_two() && size <= self.room && written.wrapping_sub(read) <= size;
        // Somebody who wrote nonsense there has shown nothing.
        let shown = if shown.wrapping_sub(read) <= written.wrapping_sub(read) { shown } else { read };
        Ok(sane.then_some(Head { size, written, read, shown, pending, life }))
    }

    /// The bytes from a position up to what was written when the head was read.
    pub fn bytes(&self, memory: &mut dyn Memory, head: &Head, from: u32) -> Result<Vec<u8>, MemoryError> {
        let length = head.written.wrapping_sub(from);
        let at = from & (head.size - 1);
        let first = length.min(head.size - at);
        let mut bytes = read_bytes(memory, self.address + HEADER + at, first as usize)?;
        if first < length {
            bytes.extend(read_bytes(memory, self.address + HEADER, (length - first) as usize)?);
        }
        Ok(bytes)
    }

    /// Lets everything before `read` be written over, and says that everything before `shown` has been shown.
    pub fn free(&self, memory: &mut dyn Memory, read: u32, shown: u32) -> Result<(), MemoryError> {
        // In this order: whoever comes after a host that ended in between shows nothing twice.
        memory.write(self.address + SHOWN, &[shown])?;
        memory.write(self.address + READ, &[read])
    }
}
