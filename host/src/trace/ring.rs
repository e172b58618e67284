//! A log ring in the memory of a board that runs.
use crate::memory::read_bytes;
use crate::{Memory, MemoryError};

/// The ring of one node: four words (written, read, dropped, size), then the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    address: u32,
}

/// What a look at the ring found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Where the bytes begin, counted for ever.
    pub position: u32,
    pub dropped: u32,
    pub bytes: Vec<u8>,
    /// The ring's counts could not be right; it was emptied.
    pub repaired: bool,
}

/// The counts of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// Bytes written, counted for ever.
    pub written: u32,
    pub dropped: u32,
    pub size: u32,
}

const READ: u32 = 4;
const BYTES: u32 = 16;

impl Ring {
    pub fn new(address: u32) -> Self {
        Self { address }
    }

    /// Everything that can be read, always whole records: a node publishes nothing less.
    pub fn look(&self, memory: &mut dyn Memory) -> Result<Look, MemoryError> {
        let mut words = [0; 4];
        memory.read(self.address, &mut words)?;
        let [written, read, dropped, size] = words;
        let ready = written.wrapping_sub(read);
        if !size.is_power_of_two() || size > 1 << 24 {
            // It is not made yet, or is being made anew.
            return Ok(Look { position: read, dropped, bytes: Vec::new(), repaired: false });
        }
        if ready > size {
            // A reset in the middle of our last access: the ring began anew and holds our old count.
            memory.write(self.address + READ, &[written])?;
            return Ok(Look { position: written, dropped, bytes: Vec::new(), repaired: true });
        }
        let at = read & (size - 1);
        let first = ready.min(size - at);
        let start = self.address + BYTES;
        let mut bytes = read_bytes(memory, start + at, first as usize)?;
        if first < ready {
            bytes.extend(read_bytes(memory, start, (ready - first) as usize)?);
        }
        let mut after = [0; 2];
        memory.read(self.address, &mut after)?;
        if after[1] != read || after[0].wrapping_sub(read) < ready {
            // A reset while we read: the ring began anew, and the bytes may be of both lives.
            bytes.clear();
        }
        Ok(Look { position: read, dropped, bytes, repaired: false })
    }

    /// How far it is written, and what was dropped.
    pub fn counts(&self, memory: &mut dyn Memory) -> Result<Counts, MemoryError> {
        let mut words = [0; 4];
        memory.read(self.address, &mut words)?;
        let [written, _, dropped, size] = words;
        // A ring that is not made yet holds nothing.
        let size = if size.is_power_of_two() && size <= 1 << 24 { size } else { 0 };
        Ok(Counts { written, dropped, size })
    }

    /// Bytes from a position on, not more than the ring holds.
    pub fn bytes(
        &self,
        memory: &mut dyn Memory,
        counts: &Counts,
        from: u32,
        length: u32,
    ) -> Result<Vec<u8>, MemoryError> {
        if length == 0 || counts.size == 0 {
            return Ok(Vec::new());
        }
        let at = from & (counts.size - 1);
        let first = length.min(counts.size - at);
        let start = self.address + BYTES;
        let mut bytes = read_bytes(memory, start + at, first as usize)?;
        if first < length {
            bytes.extend(read_bytes(memory, start, (length - first) as usize)?);
        }
        Ok(bytes)
    }

    /// Reads all of the ring, whatever it holds, and says how many bytes that is.
    pub fn read_whole(&self, memory: &mut dyn Memory) -> Result<usize, MemoryError> {
        let mut words = [0; 4];
        memory.read(self.address, &mut words)?;
        let size = words[3].min(1 << 24) as usize;
        Ok(read_bytes(memory, self.address + BYTES, size)?.len())
    }

    /// Frees what a look found.
    pub fn free(&self, memory: &mut dyn Memory, look: &Look) -> Result<(), MemoryError> {
        let next = look.position.wrapping_add(look.bytes.len() as u32);
        memory.write(self.address + READ, &[next])
    }
}
