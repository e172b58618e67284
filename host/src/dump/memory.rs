//! The memory of a board, out of a dump.
use crate::{Image, Memory, MemoryError};

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub address: u32,
    pub bytes: Vec<u8>,
}

impl Piece {
    fn end(&self) -> u64 {
        u64::from(self.address) + self.bytes.len() as u64
    }
}

/// What was saved of a board's memory, and the image of its firmware for what never changes. It refuses to be written.
pub struct DumpMemory {
    /// In the order of their addresses.
    pieces: Vec<Piece>,
    /// What should be there, whether or not damage took it.
    saved: Vec<(u32, u32)>,
    image: Image,
}

impl DumpMemory {
    pub(super) fn new(mut pieces: Vec<Piece>, saved: Vec<(u32, u32)>, image: Image) -> Self {
        pieces.sort_by_key(|piece| piece.address);
        Self { pieces, saved, image }
    }

    /// The ranges that were saved and are lost: first address and length.
    #[must_use]
    pub fn missing(&self) -> Vec<(u32, u32)> {
        let mut missing = Vec::new();
        for (start, length) in &self.saved {
            let (mut at, end) = (u64::from(*start), u64::from(*start) + u64::from(*length));
            for piece in &self.pieces {
                let first = u64::from(piece.address).clamp(at, end);
                if first > at && piece.end() > at {
                    missing.push((at as u32, (first - at) as u32));
                }
                at = at.max(piece.end().min(end));
            }
            if at < end {
                missing.push((at as u32, (end - at) as u32));
            }
        }
        missing
    }

    /// Reads bytes from anywhere.
    pub(crate) fn read_bytes(&self, address: u32, into: &mut [u8]) -> Result<(), MemoryError> {
        let mut done = 0;
        while done < into.len() {
            let at = u64::from(address) + done as u64;
            let rest = &mut into[done..];
            let piece = self.pieces.partition_point(|piece| piece.end() <= at);
            let held = self.pieces.get(piece).filter(|piece| u64::from(piece.address) <= at);
            let held = held.map(|piece| &piece.bytes[(at - u64::from(piece.address)) as usize..]);
            let address = u32::try_from(at).map_err(|_| MemoryError::NotSaved { address: u32::MAX })?;
            let found = held.or_else(|| self.image.bytes_at(address)).filter(|bytes| !bytes.is_empty());
            let bytes = found.ok_or_else(|| self.absent(address))?;
            let count = bytes.len().min(rest.len());
            rest[..count].copy_from_slice(&bytes[..count]);
            done += count;
        }
        Ok(())
    }

    /// Why there is nothing at an address.
    fn absent(&self, address: u32) -> MemoryError {
        let was_saved = self.saved.iter().any(|(start, length)| address.wrapping_sub(*start) < *length);
        if was_saved { MemoryError::Damaged { address } } else { MemoryError::NotSaved { address } }
    }
}

impl Memory for DumpMemory {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        let mut bytes = vec![0; 4 * into.len()];
        self.read_bytes(address, &mut bytes)?;
        for (word, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    fn write(&mut self, address: u32, _: &[u32]) -> Result<(), MemoryError> {
        Err(MemoryError::IsADump { address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> DumpMemory {
        let piece = |address: u32, bytes: &[u8]| Piece { address, bytes: bytes.to_vec() };
        let pieces = vec![piece(0x1008, &[9, 10, 11, 12]), piece(0x1000, &[1, 2, 3, 4]), piece(0x1004, &[5, 6, 7, 8])];
        DumpMemory::new(pieces, vec![(0x1000, 16), (0x2000, 4)], Image::default())
    }

    #[test]
    fn a_read_may_span_pieces_and_stops_where_one_is_missing() {
        let mut words = [0; 3];
        memory().read(0x1000, &mut words).unwrap();
        assert_eq!(words, [0x0403_0201, 0x0807_0605, 0x0C0B_0A09]);
        let mut words = [0; 4];
        assert!(matches!(memory().read(0x1000, &mut words), Err(MemoryError::Damaged { address: 0x100C })));
        assert!(matches!(memory().read(0x3000, &mut words), Err(MemoryError::NotSaved { address: 0x3000 })));
        assert!(matches!(memory().read(u32::MAX - 3, &mut words), Err(MemoryError::NotSaved { .. })));
    }

    #[test]
    fn what_was_saved_and_is_lost_is_known() {
        assert_eq!(memory().missing(), vec![(0x100C, 4), (0x2000, 4)]);
        let hole = vec![Piece { address: 4, bytes: vec![0; 4] }, Piece { address: 12, bytes: vec![0; 4] }];
        let hole = DumpMemory::new(hole, vec![(0, 16)], Image::default());
        assert_eq!(hole.missing(), vec![(0, 4), (8, 4)]);
    }

    #[test]
    fn a_dump_cannot_be_written() {
        let error = memory().write(0x1000, &[1]).unwrap_err();
        assert!(error.to_string().contains("dump"), "{error}");
    }
}
