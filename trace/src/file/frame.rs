//! One frame of a trace: length, checksum, body. The form is in `docs/TRACE.md`.
use super::envelope::{FrameError, PREFIX, seal, unseal};
use super::{Chunk, Header};

/// What a trace file begins with.
pub const MAGIC: [u8; 8] = *b"STILLTR1";

/// No frame has a longer body: a length beyond it is damage, not a reason to read on.
pub const MAX_BODY: usize = 1 << 25;

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
        let body = unseal(bytes, MAX_BODY)?;
        Ok(Some((Self::parse(body)?, PREFIX + body.len())))
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
