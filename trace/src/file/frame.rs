//! One frame of a trace: length, checksum, body. The form is in `docs/TRACE.md`.
use super::{Chunk, Header};
use std::fmt;

/// What a trace file begins with.
pub const MAGIC: [u8; 8] = *b"STILLTR1";

/// No frame has a longer body: a length beyond it is damage, not a reason to read on.
pub const MAX_BODY: usize = 1 << 25;

/// Bytes of a frame before its body.
pub(crate) const PREFIX: usize = 8;

const HEADER: u8 = 1;
const LOG: u8 = 2;
const END: u8 = 3;

/// What a frame says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// What was recorded: once, at the beginning.
    Header(Box<Header>),
    /// A piece of a node's log.
    Log(Chunk),
    /// The recorder ended in order, so many microseconds after it began.
    End(u64),
}

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

/// Puts length and checksum in front of a body, for which there is room.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = ((bytes.len() - PREFIX) as u32).to_le_bytes();
    let sum = checksum(length, &bytes[PREFIX..]).to_le_bytes();
    bytes[..4].copy_from_slice(&length);
    bytes[4..PREFIX].copy_from_slice(&sum);
    bytes
}

impl Chunk {
    /// The bytes of a frame with this piece of log.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PREFIX + 18 + self.bytes.len());
        bytes.resize(PREFIX, 0);
        bytes.extend([LOG, self.node]);
        bytes.extend(self.wall.to_le_bytes());
        bytes.extend(self.position.to_le_bytes());
        bytes.extend(self.dropped.to_le_bytes());
        bytes.extend(&self.bytes);
        seal(bytes)
    }
}

impl Body {
    /// The bytes of a frame with this body.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; PREFIX];
        match self {
            Self::Header(header) => {
                bytes.push(HEADER);
                // A header is made of numbers and texts: nothing in it can fail to be written.
                bytes.extend(serde_json::to_vec(header).unwrap_or_default());
            }
            Self::Log(chunk) => return chunk.encode(),
            Self::End(wall) => {
                bytes.push(END);
                bytes.extend(wall.to_le_bytes());
            }
        }
        seal(bytes)
    }

    /// Reads the frame at the front of `bytes`; `None` at their end. Says how long it is.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, FrameError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.starts_with(&MAGIC) {
            return Err(FrameError::Concatenated);
        }
        let (length, rest) = bytes.split_first_chunk().ok_or(FrameError::Truncated)?;
        let (sum, rest) = rest.split_first_chunk().ok_or(FrameError::Truncated)?;
        let size = u32::from_le_bytes(*length);
        let long = size as usize;
        if long == 0 || long > MAX_BODY {
            return Err(FrameError::Length(size));
        }
        let body = rest.get(..long).ok_or(FrameError::Truncated)?;
        if checksum(*length, body) != u32::from_le_bytes(*sum) {
            return Err(FrameError::Checksum);
        }
        Ok(Some((Self::parse(body)?, PREFIX + long)))
    }

    fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let short = || FrameError::Body("it is too short".into());
        let (kind, rest) = body.split_first().ok_or_else(short)?;
        match *kind {
            HEADER => {
                let header = serde_json::from_slice(rest).map_err(|error| FrameError::Body(error.to_string()))?;
                Ok(Self::Header(Box::new(header)))
            }
            LOG => {
                let ([node], rest) = rest.split_first_chunk().ok_or_else(short)?;
                let (wall, rest) = rest.split_first_chunk().ok_or_else(short)?;
                let (position, rest) = rest.split_first_chunk().ok_or_else(short)?;
                let (dropped, rest) = rest.split_first_chunk().ok_or_else(short)?;
                Ok(Self::Log(Chunk {
                    node: *node,
                    wall: u64::from_le_bytes(*wall),
                    position: u32::from_le_bytes(*position),
                    dropped: u32::from_le_bytes(*dropped),
                    bytes: rest.to_vec(),
                }))
            }
            END => rest.try_into().map(|wall| Self::End(u64::from_le_bytes(wall))).map_err(|_| short()),
            other => Err(FrameError::Kind(other)),
        }
    }
}
