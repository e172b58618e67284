//! Whether what is on a board is what its ELF file says.
use crate::{Memory, MemoryError};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

/// The bytes of an ELF file that are loaded, and a few of them that tell it from any other.
#[derive(Clone, Debug, Default)]
pub struct Image {
    pieces: Vec<Piece>,
    /// Places to look at to tell images apart quickly.
    samples: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    address: u32,
    bytes: Vec<u8>,
}

/// How what is on a board compares with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// It is this image.
    Same,
    /// It is another.
    Other,
    /// There is nothing on the board.
    Blank,
}

/// An image without a build identity is compared in so many places, so many bytes each.
const SAMPLES: usize = 8;
const SAMPLE_BYTES: usize = 128;

impl Image {
    pub(crate) fn of(file: &object::File<'_>) -> Self {
        let mut pieces = Vec::new();
        for segment in file.segments() {
            // Where it is loaded, not where it runs: initialised data is copied by the firmware.
            let address = load_address(file, segment.address());
            if let Ok(bytes) = segment.data()
                && !bytes.is_empty()
            {
                pieces.push(Piece { address, bytes: bytes.to_vec() });
            }
        }
        // A note that is not loaded has no address.
        let identity = file.section_by_name(".note.gnu.build-id").filter(|section| section.address() != 0);
        let samples = match identity.and_then(|section| Some((section.address() as u32, section.data().ok()?))) {
            Some((address, bytes)) => vec![Piece { address, bytes: bytes.to_vec() }],
            None => sample(&pieces),
        };
        Self { pieces, samples }
    }

    /// Compares a few telling places: quick enough to be done whenever a board is attached to.
    pub fn glance(&self, memory: &mut dyn Memory) -> Result<Likeness, MemoryError> {
        compare(&self.samples, memory)
    }

    /// Compares every byte.
    pub fn compare(&self, memory: &mut dyn Memory) -> Result<Likeness, MemoryError> {
        compare(&self.pieces, memory)
    }

    /// What is loaded from an address on, as far as it goes.
    pub(crate) fn bytes_at(&self, address: u32) -> Option<&[u8]> {
        self.pieces.iter().find_map(|piece| piece.bytes.get(address.checked_sub(piece.address)? as usize..))
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    /// Whether there is nothing to load.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The physical address of the segment that runs at this address.
fn load_address(file: &object::File<'_>, runs_at: u64) -> u32 {
    use object::read::elf::ProgramHeader as _;
    if let object::File::Elf32(elf) = file {
        let endian = elf.endian();
        let header = elf.elf_program_headers().iter().find(|header| {
            header.p_type(endian) == object::elf::PT_LOAD && u64::from(header.p_vaddr(endian)) == runs_at
        });
        if let Some(header) = header {
            return header.p_paddr(endian);
        }
    }
    runs_at as u32
}

/// The beginning of each piece (vectors, for one), and places spread evenly over all of them.
fn sample(pieces: &[Piece]) -> Vec<Piece> {
    let total: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
    let stride = (total / SAMPLES).max(SAMPLE_BYTES) & !3;
    let cut = |piece: &Piece, at: usize| {
        let end = (at + SAMPLE_BYTES).min(piece.bytes.len());
        Piece { address: piece.address + at as u32, bytes: piece.bytes[at..end].to_vec() }
    };
    pieces.iter().flat_map(|piece| (0..piece.bytes.len()).step_by(stride).map(move |at| cut(piece, at))).collect()
}

fn compare(pieces: &[Piece], memory: &mut dyn Memory) -> Result<Likeness, MemoryError> {
    let (mut same, mut blank) = (true, true);
    for piece in pieces {
        let first = piece.address & !3;
        let ahead = (piece.address - first) as usize;
        let mut words = vec![0; (ahead + piece.bytes.len()).div_ceil(4)];
        memory.read(first, &mut words)?;
        let found: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).skip(ahead).take(piece.bytes.len()).collect();
        same &= found == piece.bytes;
        // Empty RAM reads as zeros, erased flash as ones.
        blank &= found.iter().all(|byte| *byte == 0) || found.iter().all(|byte| *byte == 0xFF);
        if !same && !blank {
            return Ok(Likeness::Other);
        }
    }
    Ok(if same { Likeness::Same } else { Likeness::Blank })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl Memory for Bytes {
        fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
            for (index, word) in into.iter_mut().enumerate() {
                let at = address as usize + 4 * index;
                let byte = |offset: usize| self.0.get(at + offset).copied().unwrap_or(0);
                *word = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
            }
            Ok(())
        }

        fn write(&mut self, _: u32, _: &[u32]) -> Result<(), MemoryError> {
            unreachable!("nothing is written to compare")
        }
    }

    fn image(address: u32, bytes: &[u8]) -> Image {
        let pieces = vec![Piece { address, bytes: bytes.to_vec() }];
        Image { samples: sample(&pieces), pieces }
    }

    #[test]
    fn the_same_another_and_no_image_are_told_apart() {
        let bytes: Vec<u8> = (0..40_000_u32).map(|number| (number * 7 + number / 256) as u8).collect();
        let image = image(2, &bytes);
        let mut memory = vec![0, 0];
        memory.extend(&bytes);
        assert_eq!(image.compare(&mut Bytes(memory.clone())).unwrap(), Likeness::Same);
        assert_eq!(image.glance(&mut Bytes(memory.clone())).unwrap(), Likeness::Same);
        assert_eq!(image.glance(&mut Bytes(vec![0; 50_000])).unwrap(), Likeness::Blank);
        assert_eq!(image.glance(&mut Bytes(vec![0xFF; 50_000])).unwrap(), Likeness::Blank);
        for place in [2, 20_000, 40_001] {
            let mut other = memory.clone();
            other[place] ^= 0x10;
            assert_eq!(image.compare(&mut Bytes(other)).unwrap(), Likeness::Other, "one bit at {place}");
        }
        // A glance sees an image that was built from other source, where everything behind the change moved.
        let mut other = memory.clone();
        other.insert(30_000, 1);
        assert_eq!(image.glance(&mut Bytes(other)).unwrap(), Likeness::Other);
    }
}
