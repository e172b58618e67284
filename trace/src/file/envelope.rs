//! What traces and dumps have in common: a body behind its length and its checksum.
use std::fmt;

/// Bytes of a frame before its body.
pub const PREFIX: usize = 8;

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// They end before the frame does.
    Truncated,
    /// The length cannot be.
    Length(u32),
    /// The checksum is wrong.
    Checksum,
    /// There is no frame of this kind in this version.
    Kind(u8),
    /// The body is not what its kind says.
    Body(String),
    /// Another trace begins here.
    Concatenated,
    /// There is a second header, which speaks of another recording.
    SecondHeader,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the file ends in the middle of a frame"),
            Self::Length(length) => write!(f, "a frame claims to be {length} bytes long"),
            Self::Checksum => f.write_str("the checksum of a frame is wrong"),
            Self::Kind(kind) => write!(f, "a frame is of the unknown kind {kind}: it was written by a newer version"),
            Self::Concatenated => {
                f.write_str("another trace begins here: files were joined; cut them apart to read both")
            }
            Self::SecondHeader => f.write_str("there is a second header: what follows is of another recording"),
            Self::Body(why) => write!(f, "the body of a frame cannot be read: {why}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// CRC-32 as in zip and Ethernet, over the length and the body.
fn checksum(length: [u8; 4], body: &[u8]) -> u32 {
    const CRC: crc::Crc<u32, crc::Table<16>> = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISO_HDLC);
    let mut digest = CRC.digest();
    digest.update(&length);
    digest.update(body);
    digest.finalize()
}

/// Puts length and checksum in front of a body, for which the first [`PREFIX`] bytes have room.
///
/// # Example: sealed and opened
/// ```
/// use stillpoint_trace::frame::{FrameError, PREFIX, seal, unseal};
/// let frame = seal([&[0; PREFIX][..], b"body"].concat());
/// assert_eq!(unseal(&frame, 100), Ok(&b"body"[..]));
/// assert_eq!(unseal(&frame, 3), Err(FrameError::Length(4)));
/// ```
///
/// # Panics
/// If there is no room.
#[must_use]
pub fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = ((bytes.len() - PREFIX) as u32).to_le_bytes();
    let sum = checksum(length, &bytes[PREFIX..]).to_le_bytes();
    bytes[..4].copy_from_slice(&length);
    bytes[4..PREFIX].copy_from_slice(&sum);
    bytes
}

/// The body of the frame at the front of `bytes`, if its length and checksum are right. None is longer than `most`.
pub fn unseal(bytes: &[u8], most: usize) -> Result<&[u8], FrameError> {
    let (length, rest) = bytes.split_first_chunk().ok_or(FrameError::Truncated)?;
    let (sum, rest) = rest.split_first_chunk().ok_or(FrameError::Truncated)?;
    let size = u32::from_le_bytes(*length);
    let long = size as usize;
    if long == 0 || long > most {
        return Err(FrameError::Length(size));
    }
    let body = rest.get(..long).ok_or(FrameError::Truncated)?;
    if checksum(*length, body) == u32::from_le_bytes(*sum) { Ok(body) } else { Err(FrameError::Checksum) }
}
