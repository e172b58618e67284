//! What the firmware is told at its start: a block at the end of the shared RAM, which the host fills before QEMU runs.
//!
//! Little-endian: the magic number, a word of flags (bit 0: semihosting calls are answered), the length of the text, and the
//! words, each followed by a space.

use super::{MachineError, Region};

/// Length of the block at the end of the shared RAM.
pub const WORDS_LEN: u32 = 256;

const MAGIC: u32 = 0x5D0F_C0DE;
const SEMIHOSTING: u32 = 1;
const HEADER: usize = 12;

/// The block, and where it lies.
pub(super) fn encode(ram: Region, words: &[String], semihosting: bool) -> Result<(u32, Vec<u8>), MachineError> {
    let refused = |reason| Err(MachineError::Refused { what: "words".into(), reason });
    if let Some(word) = words.iter().find(|word| word.contains([' ', '\0'])) {
        return refused(format!("{word:?} contains a space or a zero byte, which separate words"));
    }
    let text: String = words.iter().flat_map(|word| [word, " "]).collect();
    let room = WORDS_LEN as usize - HEADER;
    if text.len() > room {
        return refused(format!("they are {} bytes long and the machine has room for {room}", text.len()));
    }
    let header = [MAGIC, if semihosting { SEMIHOSTING } else { 0 }, text.len() as u32];
    let block = header.iter().flat_map(|word| word.to_le_bytes()).chain(text.bytes()).collect();
    Ok((ram.base + (ram.len - WORDS_LEN), block))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAM: Region = Region { base: 0x8000_0000, len: 0x1000 };

    #[test]
    fn the_block_is_at_the_end_of_the_ram_and_holds_every_word() {
        let (address, block) = encode(RAM, &["board=A".into(), "bug=x".into()], true).unwrap();
        assert_eq!(address, 0x8000_0F00);
        assert_eq!(block, [b"\xDE\xC0\x0F\x5D\x01\0\0\0\x0E\0\0\0".as_slice(), b"board=A bug=x "].concat());
    }

    #[test]
    fn words_that_do_not_fit_or_cannot_be_told_apart_are_refused() {
        assert!(encode(RAM, &["x".repeat(243)], false).is_ok());
        assert!(encode(RAM, &["x".repeat(244)], false).unwrap_err().to_string().contains("room for 244"));
        assert!(encode(RAM, &["a b".into()], false).unwrap_err().to_string().contains("\"a b\""));
    }
}
