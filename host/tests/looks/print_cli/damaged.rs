//! Files that are not as they should be: dumps of damaged memory, and ELF files with other debug information.
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use std::io::Read as _;
use stillpoint_trace::frame::{PREFIX, seal, unseal};

/// A piece of memory in a dump, as docs/DUMP.md has it.
const MEMORY: u8 = 5;

/// A dump of a board whose memory holds these bytes at an address.
pub fn overwrite(dump: &[u8], address: u32, with: &[u8]) -> Vec<u8> {
    let (mut changed, mut rest) = (dump[..8].to_vec(), &dump[8..]);
    let mut written = 0;
    while !rest.is_empty() {
        let body = unseal(rest, 1 << 20).expect("a whole frame");
        let (frame, further) = rest.split_at(PREFIX + body.len());
        let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
        if body[0] == MEMORY && (word(2)..word(2) + word(6)).contains(&address) {
            let mut bytes = vec![0; word(6) as usize];
            if body.len() > 10 {
                DeflateDecoder::new(&body[10..]).read_exact(&mut bytes).expect("as long as it says");
            }
            let at = (address - word(2)) as usize;
            bytes[at..at + with.len()].copy_from_slice(with);
            let mut body = [&[0; PREFIX], &body[..10]].concat();
            DeflateEncoder::new(&*bytes, Compression::fast()).read_to_end(&mut body).unwrap();
            changed.extend(seal(body));
            written += 1;
        } else {
            changed.extend(frame);
        }
        rest = further;
    }
    assert_eq!(written, 1, "{address:#x} is in the dump once");
    changed
}

/// A file in which every one of these texts is replaced by another of the same length.
pub fn rename(file: &[u8], names: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for (own, other) in names {
        assert_eq!(own.len(), other.len());
        let mut found = 0;
        for at in 0..=bytes.len() - own.len() {
            if bytes[at..].starts_with(own.as_bytes()) {
                bytes[at..at + other.len()].copy_from_slice(other.as_bytes());
                found += 1;
            }
        }
        assert!(found > 0, "the file has {own}");
    }
    bytes
}
