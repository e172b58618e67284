//! One frame of a dump: length, checksum, body. The form is in `docs/DUMP.md`.
use super::{Header, Registers};
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use std::io::Read as _;
pub use stillpoint_trace::frame::FrameError;
use stillpoint_trace::frame::{PREFIX, seal, unseal};

/// What a dump begins with.
pub const MAGIC: [u8; 8] = *b"STILLDU1";

/// No frame has a longer body: a length beyond it is damage, not a reason to read on.
pub const MAX_BODY: usize = 1 << 20;

/// How much memory or ELF file one frame holds at most: so much is lost with it.
pub const PIECE: usize = 1 << 16;

/// No text in a frame is longer than this once it is unpacked.
const MAX_TEXT: usize = 1 << 26;

const HEADER: u8 = 1;
const REGISTERS: u8 = 2;
const REPORT: u8 = 3;
const BREAKPOINTS: u8 = 4;
const MEMORY: u8 = 5;
const ELF: u8 = 6;
const END: u8 = 7;

/// What a frame says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// What was saved: at the beginning, and once more before the end.
    Header(Box<Header>),
    /// The registers of a core.
    Registers { board: u8, core: u8, registers: Registers },
    /// What the cut showed when it was saved, as JSON.
    Report(serde_json::Value),
    /// What was written for each breakpoint, as JSON.
    Breakpoints(serde_json::Value),
    /// A piece of a board's memory.
    Memory { board: u8, address: u32, bytes: Vec<u8> },
    /// A piece of an ELF file.
    Elf { file: u8, offset: u32, bytes: Vec<u8> },
    /// Everything was written: so many frames before this one.
    End(u32),
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    // Reading from a slice into a vector cannot fail.
    let _ = DeflateEncoder::new(bytes, Compression::default()).read_to_end(&mut packed);
    packed
}

/// Unpacks at most so many bytes: a frame cannot make a reader fill its memory.
fn unpack(packed: &[u8], most: usize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::new();
    let mut limited = DeflateDecoder::new(packed).take(most as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(|error| FrameError::Body(error.to_string()))?;
    if bytes.len() > most { Err(FrameError::Body("it is longer than it says".into())) } else { Ok(bytes) }
}

/// What is made of numbers and texts can always be written.
fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn from_json<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(text).map_err(|error| FrameError::Body(error.to_string()))
}

impl Body {
    /// The bytes of a frame with this body.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = vec![0; PREFIX];
        match self {
            Self::Header(header) => frame.extend([&[HEADER], &*json(header)].concat()),
            Self::Registers { board, core, registers } => {
                frame.extend([REGISTERS, *board, *core]);
                frame.extend(json(registers));
            }
            Self::Report(value) => frame.extend([&[REPORT], &*pack(&json(value))].concat()),
            Self::Breakpoints(value) => frame.extend([&[BREAKPOINTS], &*pack(&json(value))].concat()),
            Self::Memory { board, address, bytes } => encode_piece(&mut frame, [MEMORY, *board], *address, bytes),
            Self::Elf { file, offset, bytes } => encode_piece(&mut frame, [ELF, *file], *offset, bytes),
            Self::End(frames) => {
                frame.push(END);
                frame.extend(frames.to_le_bytes());
            }
        }
        seal(frame)
    }

    /// Reads the frame at the front of `bytes`. Says how long it is.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), FrameError> {
        let body = checked(bytes)?;
        Ok((Self::parse(body)?, PREFIX + body.len()))
    }

    fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let short = || FrameError::Body("it is too short".into());
        let (kind, rest) = body.split_first().ok_or_else(short)?;
        Ok(match *kind {
            HEADER => Self::Header(from_json(rest)?),
            REGISTERS => {
                let ([board, core], rest) = rest.split_first_chunk().ok_or_else(short)?;
                Self::Registers { board: *board, core: *core, registers: from_json(rest)? }
            }
            REPORT => Self::Report(from_json(&unpack(rest, MAX_TEXT)?)?),
            BREAKPOINTS => Self::Breakpoints(from_json(&unpack(rest, MAX_TEXT)?)?),
            MEMORY => {
                let (board, address, bytes) = parse_piece(rest)?;
                Self::Memory { board, address, bytes }
            }
            ELF => {
                let (file, offset, bytes) = parse_piece(rest)?;
                Self::Elf { file, offset, bytes }
            }
            END => Self::End(rest.try_into().map(u32::from_le_bytes).map_err(|_| short())?),
            other => return Err(FrameError::Kind(other)),
        })
    }
}

/// The body of the frame at the front of `bytes`, if its length and checksum are right.
pub(super) fn checked(bytes: &[u8]) -> Result<&[u8], FrameError> {
    unseal(bytes, MAX_BODY)
}

/// What a piece is of, where it lies and how long it is; then its bytes, packed, or nothing for zeros.
fn encode_piece(frame: &mut Vec<u8>, head: [u8; 2], at: u32, bytes: &[u8]) {
    frame.extend(head);
    frame.extend(at.to_le_bytes());
    frame.extend((bytes.len() as u32).to_le_bytes());
    if bytes.iter().any(|byte| *byte != 0) {
        frame.extend(pack(bytes));
    }
}

fn parse_piece(rest: &[u8]) -> Result<(u8, u32, Vec<u8>), FrameError> {
    let short = || FrameError::Body("it is too short".into());
    let ([of], rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (at, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (length, packed) = rest.split_first_chunk().ok_or_else(short)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > PIECE {
        return Err(FrameError::Body(format!("it claims to hold {length} bytes")));
    }
    let bytes = if packed.is_empty() { vec![0; length] } else { unpack(packed, length)? };
    if bytes.len() != length {
        return Err(FrameError::Body(format!("it holds {} bytes instead of {length}", bytes.len())));
    }
    Ok((*of, u32::from_le_bytes(*at), bytes))
}
