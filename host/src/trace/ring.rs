//! A log ring in the memory of a board that runs. `docs/WIRE.md` has its layout.
use crate::memory::read_bytes;
use crate::{Memory, MemoryError};

/// The ring of one node: five words (written, read, dropped, size, oldest), then the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    address: u32,
}

/// What was read of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Where the bytes begin, counted for ever.
    pub position: u32,
    pub dropped: u32,
    pub bytes: Vec<u8>,
}

/// The words in front of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes written, counted for ever.
    pub written: u32,
    /// Up to where a recorder has read.
    pub read: u32,
    /// Records that were longer than the ring.
    pub dropped: u32,
    /// The size, 0 if the ring is not made yet.
    pub size: u32,
    /// Where the oldest record begins that is not overwritten.
    pub oldest: u32,
}

const WORDS: usize = 5;
const READ: u32 = 4;
const BYTES: u32 = 4 * WORDS as u32;

impl Head {
    /// Whether the bytes from a position on are in the ring.
    fn holds(&self, from: u32) -> bool {
        self.written.wrapping_sub(from) <= self.written.wrapping_sub(self.oldest)
    }
}

impl Ring {
    pub fn new(address: u32) -> Self {
        Self { address }
    }

    /// Everything that no recorder has read yet, always whole records: a node publishes nothing less.
    pub fn look(&self, memory: &mut dyn Memory) -> Result<Look, MemoryError> {
        let head = self.head(memory)?;
        let from = if head.holds(head.read) { head.read } else { head.oldest };
        self.look_from(memory, &head, from)
    }

    /// Everything from a position on, without what is overwritten by now.
    pub fn look_from(&self, memory: &mut dyn Memory, head: &Head, from: u32) -> Result<Look, MemoryError> {
        let from = if head.holds(from) { from } else { head.oldest };
        let ready = head.written.wrapping_sub(from);
        let dropped = head.dropped;
        if head.size == 0 || ready > head.size {
            // It is not made yet, or is being made anew.
            return Ok(Look { position: head.written, dropped, bytes: Vec::new() });
        }
        let mut bytes = self.bytes(memory, head, from, ready)?;
        let after = self.head(memory)?;
        if (after.written.wrapping_sub(head.written) as i32) < 0 || after.size != head.size {
            // A reset while we read: the ring began anew, and the bytes may be of both lives.
            bytes.clear();
        }
        // What lies in front of the oldest record now may have been overwritten while it was read.
        let lost = (after.oldest.wrapping_sub(from) as i32).max(0) as u32;
        bytes.drain(..bytes.len().min(lost as usize));
        Ok(Look { position: from.wrapping_add(lost), dropped, bytes })
    }

    /// Reads the words in front of the ring.
    pub fn head(&self, memory: &mut dyn Memory) -> Result<Head, MemoryError> {
        let mut words = [0; WORDS];
        memory.read(self.address, &mut words)?;
        let [written, read, dropped, size, oldest] = words;
        let size = if size.is_power_of_two() && size <= 1 << 24 { size } else { 0 };
        Ok(Head { written, read, dropped, size, oldest })
    }

    /// Bytes from a position on, not more than the ring holds.
    fn bytes(&self, memory: &mut dyn Memory, head: &Head, from: u32, length: u32) -> Result<Vec<u8>, MemoryError> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let at = from & (head.size - 1);
        let first = length.min(head.size - at);
        let start = self.address + BYTES;
        let mut bytes = read_bytes(memory, start + at, first as usize)?;
        if first < length {
            bytes.extend(read_bytes(memory, start, (length - first) as usize)?);
        }
        Ok(bytes)
    }

    /// Reads all of the ring, whatever it holds, and says how many bytes that is.
    pub fn read_whole(&self, memory: &mut dyn Memory) -> Result<usize, MemoryError> {
        let size = self.head(memory)?.size as usize;
        Ok(read_bytes(memory, self.address + BYTES, size)?.len())
    }

    /// Notes that what a look found is recorded.
    pub fn note_read(&self, memory: &mut dyn Memory, look: &Look) -> Result<(), MemoryError> {
        let next = look.position.wrapping_add(look.bytes.len() as u32);
        memory.write(self.address + READ, &[next])
    }
}
