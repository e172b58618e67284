//! The words that whoever started the board gave it, in the last 256 bytes of PSRAM: `qemu-probe` writes them there.
//!
//! Little-endian: the magic number, a word of flags (bit 0: semihosting calls are answered), the length of the text, and the
//! words, each followed by a space.
use super::registers::read;

const BLOCK: usize = 0x8100_0000 - LENGTH;
const LENGTH: usize = 256;
const HEADER: usize = 12;
const MAGIC: u32 = 0x5D0F_C0DE;

/// Whether the host answers semihosting calls. Without one that does, such a call is a fault.
#[must_use]
pub fn semihosting() -> bool {
    read(BLOCK) == MAGIC && read(BLOCK + 4) & 1 != 0
}

/// Finds the word that begins with `name`, and gives `found` the rest of it.
pub fn argument<R>(name: &str, found: impl FnOnce(&[u8]) -> R) -> Option<R> {
    if read(BLOCK) != MAGIC {
        return None;
    }
    let mut text = [0; LENGTH - HEADER];
    for (index, bytes) in text.chunks_exact_mut(4).enumerate() {
        bytes.copy_from_slice(&read(BLOCK + HEADER + 4 * index).to_le_bytes());
    }
    let length = usize::try_from(read(BLOCK + 8)).ok()?;
    let mut words = text.get(..length)?.split(|&byte| byte == b' ');
    words.find_map(|word| word.strip_prefix(name.as_bytes())).map(found)
}
