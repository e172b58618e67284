//! The log ring of one core, read by the host while the core writes.
//!
//! Layout, little endian, at a multiple of 64: magic, size, bytes written, bytes read, frames dropped (one word each),
//! padding to 64, then `size` bytes. The counts run freely and wrap; the firmware advances the one, the host the other.

/// Memory of a board that the host can reach while the board runs.
pub trait BoardMemory {
    /// Reads bytes at an address of the board.
    fn read(&self, address: u32, into: &mut [u8]) -> std::io::Result<()>;
    /// Writes bytes at an address of the board.
    fn write(&self, address: u32, from: &[u8]) -> std::io::Result<()>;
}

/// The first word of an initialised ring.
const MAGIC: u32 = 0xDEF7_1066;
/// Where the bytes start.
const HEADER: u32 = 64;
const WRITTEN: u32 = 8;
const READ: u32 = 12;
const DROPPED: u32 = 16;

/// A ring that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The memory of the board could not be reached.
    #[error("the log ring at {0:#010x} cannot be read: {1}")]
    Memory(u32, std::io::Error),
    /// The header says what cannot be.
    #[error(
        "the log ring at {address:#010x} is corrupt (size {size}, written {written}, read {read}): \
         something wrote over it, or firmware and host differ in its layout"
    )]
    Corrupt {
        /// Where the ring is.
        address: u32,
        /// Its size as found.
        size: u32,
        /// Bytes written as found.
        written: u32,
        /// Bytes read as found.
        read: u32,
    },
}

/// The host's end of one core's log ring.
#[derive(Debug)]
pub struct Ring {
    address: u32,
    room: u32,
    read: u32,
}

impl Ring {
    /// A ring at `address` that takes `len` bytes, header included.
    pub fn new(address: u32, len: u32) -> Self {
        Self { address, room: len.saturating_sub(HEADER), read: 0 }
    }

    /// Whether the firmware has come far enough to set it up.
    pub fn is_ready(&self, memory: &impl BoardMemory) -> Result<bool, RingError> {
        Ok(self.word(memory, 0)? == MAGIC)
    }

    /// How many frames the firmware could not store.
    pub fn dropped(&self, memory: &impl BoardMemory) -> Result<u32, RingError> {
        if self.is_ready(memory)? { self.word(memory, DROPPED) } else { Ok(0) }
    }

    /// Takes out all that was written since the last time; nothing while the ring is not set up.
    pub fn drain(&mut self, memory: &impl BoardMemory) -> Result<Vec<u8>, RingError> {
        if !self.is_ready(memory)? {
            return Ok(Vec::new());
        }
        let size = self.word(memory, 4)?;
        let written = self.word(memory, WRITTEN)?;
        let len = written.wrapping_sub(self.read);
        if !size.is_power_of_two() || size > self.room || len > size {
            return Err(RingError::Corrupt { address: self.address, size, written, read: self.read });
        }
        let mut bytes = vec![0; len as usize];
        let start = self.read % size;
        let (tail, head) = bytes.split_at_mut(len.min(size - start) as usize);
        self.bytes(memory, HEADER + start, tail)?;
        self.bytes(memory, HEADER, head)?;
        self.read = written;
        memory.write(self.address + READ, &written.to_le_bytes()).map_err(|error| self.unreachable(error))?;
        Ok(bytes)
    }

    fn word(&self, memory: &impl BoardMemory, offset: u32) -> Result<u32, RingError> {
        let mut word = [0; 4];
        self.bytes(memory, offset, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn bytes(&self, memory: &impl BoardMemory, offset: u32, into: &mut [u8]) -> Result<(), RingError> {
        memory.read(self.address + offset, into).map_err(|error| self.unreachable(error))
    }

    fn unreachable(&self, error: std::io::Error) -> RingError {
        RingError::Memory(self.address, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const AT: u32 = 0x8000_0040;

    /// A board whose memory is a vector, with the firmware's half of a ring.
    struct Board(RefCell<Vec<u8>>);

    impl BoardMemory for Board {
        fn read(&self, address: u32, into: &mut [u8]) -> std::io::Result<()> {
            let at = (address - AT) as usize;
            into.copy_from_slice(&self.0.borrow()[at..at + into.len()]);
            Ok(())
        }
        fn write(&self, address: u32, from: &[u8]) -> std::io::Result<()> {
            let at = (address - AT) as usize;
            self.0.borrow_mut()[at..at + from.len()].copy_from_slice(from);
            Ok(())
        }
    }

    impl Board {
        fn new(size: u32, count: u32) -> Self {
            let board = Self(RefCell::new(vec![0; (HEADER + size) as usize]));
            for (offset, word) in [(0, MAGIC), (4, size), (WRITTEN, count), (READ, count)] {
                board.set(offset, word);
            }
            board
        }
        fn get(&self, offset: u32) -> u32 {
            let mut word = [0; 4];
            self.read(AT + offset, &mut word).unwrap();
            u32::from_le_bytes(word)
        }
        fn set(&self, offset: u32, word: u32) {
            self.write(AT + offset, &word.to_le_bytes()).unwrap();
        }
        fn log(&self, frame: &[u8]) {
            let (size, written) = (self.get(4), self.get(WRITTEN));
            if frame.len() as u32 > size - written.wrapping_sub(self.get(READ)) {
                return self.set(DROPPED, self.get(DROPPED) + 1);
            }
            for (i, byte) in (0..).zip(frame) {
                self.write(AT + HEADER + written.wrapping_add(i) % size, &[*byte]).unwrap();
            }
            self.set(WRITTEN, written.wrapping_add(frame.len() as u32));
        }
    }

    #[test]
    fn what_the_core_wrote_comes_out_in_order_across_the_end_of_the_ring() {
        let board = Board::new(16, 0);
        let mut ring = Ring::new(AT, HEADER + 16);
        for round in 0..10u8 {
            let frame: Vec<u8> = (0..7).map(|i| round * 7 + i).collect();
            board.log(&frame);
            assert_eq!(ring.drain(&board).unwrap(), frame);
            assert!(ring.drain(&board).unwrap().is_empty());
        }
        assert_eq!(board.get(DROPPED), 0);
    }

    #[test]
    fn the_counts_may_wrap_around() {
        let board = Board::new(16, u32::MAX - 2);
        let mut ring = Ring { address: AT, room: 16, read: u32::MAX - 2 };
        board.log(b"abcdefgh");
        assert_eq!(ring.drain(&board).unwrap(), b"abcdefgh");
        assert_eq!(board.get(READ), 5);
    }

    #[test]
    fn a_full_ring_counts_what_it_dropped_and_the_host_sees_it() {
        let board = Board::new(16, 0);
        let mut ring = Ring::new(AT, HEADER + 16);
        board.log(&[1; 12]);
        board.log(&[2; 12]);
        assert_eq!(ring.dropped(&board).unwrap(), 1);
        assert_eq!(ring.drain(&board).unwrap(), [1; 12]);
        board.log(&[3; 12]);
        assert_eq!(ring.drain(&board).unwrap(), [3; 12], "reading makes room again");
    }

    #[test]
    fn a_ring_that_is_not_set_up_yet_is_empty_and_nothing_is_written_to_it() {
        let board = Board(RefCell::new(vec![0; 80]));
        let mut ring = Ring::new(AT, 80);
        assert!(!ring.is_ready(&board).unwrap());
        assert!(ring.drain(&board).unwrap().is_empty());
        assert!(board.0.borrow().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_corrupt_header_is_refused_and_left_as_it_is() {
        for (offset, word) in [(4, 0), (4, 24), (4, 1 << 20), (WRITTEN, 17)] {
            let board = Board::new(16, 0);
            board.set(offset, word);
            let before = board.0.borrow().clone();
            let error = Ring::new(AT, HEADER + 16).drain(&board).unwrap_err();
            assert!(matches!(error, RingError::Corrupt { .. }), "{error}");
            assert_eq!(*board.0.borrow(), before);
        }
    }
}
