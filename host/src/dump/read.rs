//! Reading a dump back, around whatever is damaged.
use super::frame::{Body, FrameError, MAGIC, checked};
use super::header::Header;
use super::memory::Piece;
use super::{DumpError, Registers};
use crate::input_file::{MAX_BINARY, read_bytes};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// A part of a dump that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the first frame that cannot be read begins.
    pub offset: u64,
    /// How many bytes from there on are not read.
    pub lost: u64,
    /// What is wrong.
    pub why: FrameError,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged at byte {}: {}; {} bytes from there on are not read", self.offset, self.why, self.lost)
    }
}

impl Serialize for Damage {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What is known of one board.
#[derive(Clone, Debug, Default)]
pub(super) struct BoardParts {
    pub pieces: Vec<Piece>,
    pub registers: Vec<Option<Registers>>,
}

/// A saved system, as far as its file can be read.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The file.
    pub path: PathBuf,
    /// What was saved.
    pub header: Header,
    /// What cannot be read.
    pub damage: Vec<Damage>,
    /// What the cut showed when it was saved, as JSON.
    pub report: Option<serde_json::Value>,
    /// What was written for each breakpoint, as JSON.
    pub breakpoints: Option<serde_json::Value>,
    pub(super) boards: Vec<BoardParts>,
    /// The ELF files that are inside, whole or not at all.
    pub(super) elfs: Vec<Option<Vec<u8>>>,
}

/// How many bytes are summed up in the search for the next sound frame: enough for any real damage, and an end to the
/// search in a file that was made to have none.
const SEARCH: usize = 1 << 28;

impl Dump {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let bytes = read_bytes(path, MAX_BINARY).map_err(|source| DumpError::Read { path: path.to_owned(), source })?;
        Self::parse(&bytes, path)
    }

    /// Reads the bytes of a file; `path` is for messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, DumpError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(DumpError::NotADump(path.to_owned()));
        }
        let (bodies, damage) = frames(bytes);
        // There are two copies of the header, far apart.
        let header = bodies.iter().find_map(|body| match body {
            Body::Header(header) => Some((**header).clone()),
            _ => None,
        });
        let Some(header) = header else {
            let (offset, why) =
                damage.first().map_or((MAGIC.len() as u64, FrameError::Truncated), |of| (of.offset, of.why.clone()));
            return Err(DumpError::NoHeader { path: path.to_owned(), offset, why });
        };
        Ok(Self::put_together(path, header, bodies, damage))
    }

    /// The pieces of a board's memory: address and bytes.
    ///
    /// # Panics
    /// When the dump has no such board.
    pub fn memory(&self, board: usize) -> impl Iterator<Item = (u32, &[u8])> {
        self.boards[board].pieces.iter().map(|piece| (piece.address, &*piece.bytes))
    }

    fn put_together(path: &Path, header: Header, bodies: Vec<Body>, damage: Vec<Damage>) -> Self {
        let parts =
            header.boards.iter().map(|of| BoardParts { pieces: Vec::new(), registers: vec![None; of.stopped.len()] });
        let mut boards: Vec<BoardParts> = parts.collect();
        let mut elfs: Vec<Vec<u8>> = vec![Vec::new(); header.firmware.len()];
        let (mut report, mut breakpoints) = (None, None);
        for body in bodies {
            match body {
                Body::Header(_) | Body::End(_) => {}
                Body::Report(value) => report = Some(value),
                Body::Breakpoints(value) => breakpoints = Some(value),
                Body::Registers { board, core, registers } => {
                    let of_board = boards.get_mut(usize::from(board));
                    if let Some(place) = of_board.and_then(|of| of.registers.get_mut(usize::from(core))) {
                        *place = Some(registers);
                    }
                }
                Body::Memory { board, address, bytes } => {
                    if let Some(of) = boards.get_mut(usize::from(board)) {
                        of.pieces.push(Piece { address, bytes });
                    }
                }
                Body::Elf { file, offset, bytes } => {
                    // A piece in front of this one that is missing leaves the file short, and that is seen below.
                    if let Some(elf) = elfs.get_mut(usize::from(file)).filter(|elf| elf.len() == offset as usize) {
                        elf.extend(bytes);
                    }
                }
            }
        }
        let whole = |(elf, of): (Vec<u8>, &super::SavedFirmware)| {
            (of.inside && crate::firmware::identity(&elf) == of.identity).then_some(elf)
        };
        let elfs = elfs.into_iter().zip(&header.firmware).map(whole).collect();
        Self { path: path.to_owned(), header, damage, report, breakpoints, boards, elfs }
    }
}

/// Every frame that can be read, and what lies between them.
fn frames(bytes: &[u8]) -> (Vec<Body>, Vec<Damage>) {
    let (mut bodies, mut damage) = (Vec::new(), Vec::<Damage>::new());
    let (mut at, mut budget, mut ended) = (MAGIC.len(), SEARCH, false);
    while at < bytes.len() {
        match Body::decode(&bytes[at..]) {
            Ok((Body::End(count), length)) => {
                ended = bodies.len() as u64 == u64::from(count) || !damage.is_empty();
                at += length;
            }
            Ok((body, length)) => {
                bodies.push(body);
                at += length;
            }
            Err(why) => {
                let next = next_sound(bytes, at + 1, &mut budget).unwrap_or(bytes.len());
                damage.push(Damage { offset: at as u64, lost: (next - at) as u64, why });
                at = next;
            }
        }
    }
    if !ended && damage.is_empty() {
        damage.push(Damage { offset: bytes.len() as u64, lost: 0, why: FrameError::Truncated });
    }
    (bodies, damage)
}

/// Where the next frame begins whose length and checksum are right.
fn next_sound(bytes: &[u8], from: usize, budget: &mut usize) -> Option<usize> {
    for at in from..bytes.len() {
        let summed = match checked(&bytes[at..]) {
            Ok(_) => return Some(at),
            Err(FrameError::Checksum) => bytes[at..].first_chunk().map_or(0, |length| u32::from_le_bytes(*length)),
            Err(_) => 0,
        };
        *budget = budget.checked_sub(summed as usize)?;
    }
    None
}
