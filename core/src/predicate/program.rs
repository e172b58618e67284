//! A node's part of one predicate, as bytes that are safe to run.
//!
//! ```text
//! program   := header term*
//! header    := ttttssss                 t terms on this node (0 to 8), s stages in the whole predicate (1 to 8)
//! term      := tag [n: u16] body        n only if counted, else 1
//! tag       := 0acbssss                 s: stage, from 1; b: body is a condition; c: counted; a: event has an argument,
//!                                       or condition held when it was armed
//! body      := kind [argument: u16]     an event: the number of its EventKind
//!            | length instruction*      a condition: length in bytes, then what module `op` lists
//! ```
//! Numbers are little-endian. Example, `send(2)^3` in stage 1 and `watch0 > 10` in stage 2 of 2:
//! `22  61 03 00 01 02 00  12 02 60 0a`.
use super::{EvalContext, MAX_STAGES, MAX_TERMS, MAX_TERMS_PER_STAGE, Op, PROGRAM_BYTES, WATCHES, eval};
use crate::EventKind;
use core::fmt;

/// How deep the stack of a condition can get.
pub(super) const STACK_DEPTH: usize = 8;

/// The bits of a term's tag.
pub(super) mod tag {
    pub const STAGE: u8 = 0x0f;
    pub const CONDITION: u8 = 0x10;
    pub const COUNTED: u8 = 0x20;
    pub const ARGUMENT: u8 = 0x40;
    /// Of a condition, which has no argument.
    pub const HELD: u8 = 0x40;
    pub const RESERVED: u8 = 0x80;
}

/// A verified program: what one node has to look for in one predicate.
///
/// There is no other way to get one than [`Program::verify`], so whoever runs it need not check anything. To write
/// one, use [`ProgramBuilder`](super::ProgramBuilder); to read it, print it.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{Defect, Program, VerifyError};
/// let program = Program::verify(&[0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 2, 0x60, 10]).unwrap();
/// assert_eq!(program.to_string(), "of 2: 1: send(2)^3; 2: watch0>10");
///
/// // A condition that adds what is not there is refused, with the place.
/// let refused = Program::verify(&[0x11, 0x11, 2, 0x08, 0x10]);
/// assert_eq!(refused, Err(VerifyError { at: 4, defect: Defect::StackUnderflow }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Program([u8; PROGRAM_BYTES]);

impl Program {
    /// No program: not even a stage. Only for slots whose predicate this node does not know.
    pub(super) const NONE: Self = Self([0; PROGRAM_BYTES]);

    /// Checks every byte of a program that came from outside.
    ///
    /// # Errors
    /// The first defect and its place; see [`Defect`].
    pub fn verify(bytes: &[u8]) -> Result<Self, VerifyError> {
        let mut program = [0; PROGRAM_BYTES];
        let Some(space) = program.get_mut(..bytes.len()) else {
            return Err(VerifyError::new(PROGRAM_BYTES, Defect::TooLong(bytes.len())));
        };
        space.copy_from_slice(bytes);

        let mut cursor = Cursor::start(bytes)?;
        let mut in_stage = [0u8; MAX_STAGES as usize + 1];
        while cursor.left > 0 {
            let at = cursor.at;
            let term = cursor.term()?;
            if let Some(count) = in_stage.get_mut(usize::from(term.stage)) {
                *count = count.saturating_add(1);
                if usize::from(*count) > MAX_TERMS_PER_STAGE {
                    return Err(VerifyError::new(at, Defect::StageTooWide(term.stage)));
                }
            }
        }
        if cursor.at < bytes.len() {
            return Err(VerifyError::new(cursor.at, Defect::TrailingBytes));
        }
        Ok(Self(program))
    }

    /// The bytes that [`verify`](Self::verify) accepts again.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let mut cursor = self.cursor();
        while cursor.left > 0 && cursor.term().is_ok() {}
        self.0.get(..cursor.at).unwrap_or(&self.0)
    }

    /// How many stages the whole predicate has.
    #[inline]
    #[must_use]
    pub const fn stages(&self) -> u8 {
        self.0[0] & 0x0f
    }

    /// What this node looks for, in the order of the bytes.
    pub fn terms(&self) -> impl Iterator<Item = Term<'_>> {
        let mut cursor = self.cursor();
        core::iter::from_fn(move || if cursor.left > 0 { cursor.term().ok() } else { None })
    }

    /// The watches that its conditions read, one bit each.
    #[must_use]
    pub fn watches_read(&self) -> u8 {
        let mut read = 0;
        for term in self.terms() {
            let Matcher::Condition(mut code) = term.matcher else { continue };
            while let Ok((op, size)) = Op::decode(code) {
                if let Op::Watch(watch) | Op::WatchCompare { watch, .. } = op {
                    read |= 1u8.wrapping_shl(watch.into());
                }
                code = code.get(size..).unwrap_or_default();
            }
        }
        read
    }

    /// The same program for a node with these watches, whose last event has this context, to look on from there: a
    /// condition of the first stage that holds now does not occur until it was false.
    ///
    /// # Example
    /// ```
    /// use stillpoint_core::predicate::{EvalContext, Op, ProgramBuilder, WATCHES};
    /// let program = ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Watch(0)]).finish().unwrap();
    /// let context = EvalContext { count: 1, epoch: 0, clock: &[] };
    /// assert_eq!(program.with_held(&[0; WATCHES], &context), program);
    /// assert_eq!(program.with_held(&[1; WATCHES], &context).to_string(), "of 1: 1: watch0, which held");
    /// ```
    #[must_use]
    pub fn with_held(&self, watches: &[i32; WATCHES], context: &EvalContext<'_>) -> Self {
        let (mut held, mut cursor) = (*self, self.cursor());
        while cursor.left > 0 {
            let at = cursor.at;
            let Ok(term) = cursor.term() else { break };
            let counted = self.byte(at) & tag::COUNTED != 0;
            let body = at.wrapping_add(if counted { 3 } else { 1 });
            let is_first = matches!(term.matcher, Matcher::Condition(_)) && term.stage == 1;
            if is_first
                && eval::condition_holds(self, body, watches, context)
                && let Some(tag) = held.0.get_mut(at)
            {
                *tag |= tag::HELD;
            }
        }
        held
    }

    /// A number that tells this program from others; never 0.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let mix = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        self.0.iter().fold(0x811C_9DC5, mix) | 1
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor { bytes: &self.0, at: 1, left: self.0[0] >> 4, stages: self.stages() }
    }

    /// How many terms it has.
    #[inline]
    pub(super) const fn len(&self) -> u8 {
        self.0[0] >> 4
    }

    /// The byte at `at`, which the caller got from this program.
    #[inline]
    pub(super) const fn byte(&self, at: usize) -> u8 {
        self.0[at % PROGRAM_BYTES]
    }

    /// The two bytes at `at` as a number.
    #[inline(always)]
    pub(super) fn half_word(&self, at: usize) -> u16 {
        self.tail(at).first_chunk().map_or(0, |&bytes| u16::from_le_bytes(bytes))
    }

    /// The four bytes at `at` as a number.
    #[inline(always)]
    pub(super) fn word(&self, at: usize) -> u32 {
        self.tail(at).first_chunk().map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// The bytes from `at` to the end of the space.
    #[inline]
    pub(super) fn tail(&self, at: usize) -> &[u8] {
        self.0.get(at..).unwrap_or_default()
    }
}

/// One simple predicate: it satisfies its stage at its `occurrences`-th occurrence.
///
/// # Example
/// ```
/// use stillpoint_core::EventKind;
/// use stillpoint_core::predicate::{Matcher, ProgramBuilder};
/// let program = ProgramBuilder::new(2).push_event_term(1, 3, EventKind::Fault, None).finish().unwrap();
/// let term = program.terms().next().unwrap();
/// assert_eq!((term.stage, term.occurrences), (1, 3));
/// assert_eq!(term.matcher, Matcher::Event { kind: EventKind::Fault, argument: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term<'a> {
    /// The stage it belongs to, from 1.
    pub stage: u8,
    /// `^n`: which occurrence counts.
    pub occurrences: u16,
    /// A condition that held when it was armed: its first occurrence comes after it was false.
    pub held: bool,
    /// What an occurrence is.
    pub matcher: Matcher<'a>,
}

/// What a [`Term`] looks for.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{Matcher, Op, ProgramBuilder};
/// let program = ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Watch(5)]).finish().unwrap();
/// assert_eq!(program.terms().next().unwrap().matcher, Matcher::Condition(&[0x0d]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matcher<'a> {
    /// Occurs at every event of this kind, with this argument if one is given.
    Event {
        /// The kind.
        kind: EventKind,
        /// The port, tag, procedure ...; `None` for any.
        argument: Option<u16>,
    },
    /// Occurs when these instructions come to leave something other than 0.
    Condition(&'a [u8]),
}

/// A place in the bytes of a program that may still turn out to be bad.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// Terms yet to come.
    pub left: u8,
    pub stages: u8,
}

impl<'a> Cursor<'a> {
    /// Reads the header.
    pub fn start(bytes: &'a [u8]) -> Result<Self, VerifyError> {
        let &header = bytes.first().ok_or(VerifyError::new(0, Defect::Truncated))?;
        let (left, stages) = (header >> 4, header & 0x0f);
        if stages == 0 || stages > MAX_STAGES {
            return Err(VerifyError::new(0, Defect::StageCount(stages)));
        }
        if usize::from(left) > MAX_TERMS {
            return Err(VerifyError::new(0, Defect::TooManyTerms(left)));
        }
        Ok(Self { bytes, at: 1, left, stages })
    }

    /// Reads the next term and moves behind it.
    pub fn term(&mut self) -> Result<Term<'a>, VerifyError> {
        let tag_at = self.at;
        let tag = self.byte()?;
        let stage = tag & tag::STAGE;
        let condition = tag & tag::CONDITION != 0;
        if tag & tag::RESERVED != 0 {
            return Err(VerifyError::new(tag_at, Defect::BadTag(tag)));
        }
        if stage == 0 || stage > self.stages {
            return Err(VerifyError::new(tag_at, Defect::StageOutOfRange(stage)));
        }
        let n_at = self.at;
        let occurrences = if tag & tag::COUNTED != 0 { self.half_word()? } else { 1 };
        if occurrences == 0 {
            return Err(VerifyError::new(n_at, Defect::ZeroOccurrences));
        }
        let matcher = if condition {
            Matcher::Condition(self.condition()?)
        } else {
            let kind_at = self.at;
            let number = self.byte()?;
            let kind = EventKind::from_number(number);
            let kind = kind.ok_or(VerifyError::new(kind_at, Defect::UnknownEvent(number)))?;
            let argument = if tag & tag::ARGUMENT != 0 { Some(self.half_word()?) } else { None };
            Matcher::Event { kind, argument }
        };
        self.left = self.left.saturating_sub(1);
        Ok(Term { stage, occurrences, held: condition && tag & tag::HELD != 0, matcher })
    }

    fn condition(&mut self) -> Result<&'a [u8], VerifyError> {
        let length = usize::from(self.byte()?);
        let start = self.at;
        let truncated = VerifyError::new(self.bytes.len(), Defect::Truncated);
        let code = self.bytes.get(start..start.wrapping_add(length)).ok_or(truncated)?;
        let (mut left, mut depth) = (code, 0u8);
        while !left.is_empty() {
            let here = |defect| VerifyError::new(self.at, defect);
            let (op, size) = Op::decode(left).map_err(here)?;
            let (takes, puts) = op.stack_effect();
            depth = depth.checked_sub(takes).ok_or(here(Defect::StackUnderflow))?.saturating_add(puts);
            if usize::from(depth) > STACK_DEPTH {
                return Err(here(Defect::StackOverflow));
            }
            left = left.get(size..).unwrap_or_default();
            self.at = self.at.saturating_add(size);
        }
        if depth == 1 { Ok(code) } else { Err(VerifyError::new(self.at, Defect::NotOneResult(depth))) }
    }

    fn byte(&mut self) -> Result<u8, VerifyError> {
        let &byte = self.bytes.get(self.at).ok_or(VerifyError::new(self.at, Defect::Truncated))?;
        self.at = self.at.saturating_add(1);
        Ok(byte)
    }

    fn half_word(&mut self) -> Result<u16, VerifyError> {
        Ok(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }
}

/// Why a program was refused, and where.
///
/// # Example: it says where
/// ```
/// use stillpoint_core::predicate::Program;
/// let error = Program::verify(&[0xFF; 4]).unwrap_err();
/// assert!(!error.to_string().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct VerifyError {
    /// The offset of the byte at fault; at most [`PROGRAM_BYTES`].
    pub at: u8,
    /// What is wrong there.
    pub defect: Defect,
}

impl VerifyError {
    pub(super) const fn new(at: usize, defect: Defect) -> Self {
        Self { at: if at < PROGRAM_BYTES { at as u8 } else { PROGRAM_BYTES as u8 }, defect }
    }
}

/// What can be wrong with a program.
///
/// # Example: what is wrong, as a value
/// ```
/// use stillpoint_core::predicate::Program;
/// let (one, other) = (Program::verify(&[]).unwrap_err(), Program::verify(&[0xFF; 200]).unwrap_err());
/// assert_ne!(one.defect, other.defect);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Defect {
    /// It has more than [`PROGRAM_BYTES`] bytes; this many, as far as known.
    TooLong(usize),
    /// It ends in the middle of something.
    Truncated,
    /// Something follows the last term.
    TrailingBytes,
    /// A predicate has 1 to [`MAX_STAGES`] stages.
    StageCount(u8),
    /// A node has at most [`MAX_TERMS`] terms in a predicate.
    TooManyTerms(u8),
    /// A node has at most [`MAX_TERMS_PER_STAGE`] terms in a stage.
    StageTooWide(u8),
    /// A term belongs to stage 0 or to one after the last.
    StageOutOfRange(u8),
    /// A term would be satisfied before anything occurred.
    ZeroOccurrences,
    /// A term's first byte has bits that do not go together.
    BadTag(u8),
    /// No event has this number.
    UnknownEvent(u8),
    /// No instruction has this number; there are no jumps.
    UnknownOpcode(u8),
    /// There is no such watch.
    WatchOutOfRange(u8),
    /// There is no such node.
    NodeOutOfRange(u8),
    /// An instruction takes more than there is.
    StackUnderflow,
    /// An instruction puts down a ninth value.
    StackOverflow,
    /// A condition must leave exactly one value; it leaves this many.
    NotOneResult(u8),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.defect)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(_) => {
                write!(f, "longer than {PROGRAM_BYTES} bytes; split the predicate or shorten a condition")
            }
            Self::Truncated => f.write_str("the program ends too early; download it again"),
            Self::TrailingBytes => f.write_str("bytes follow the last term; download it again"),
            Self::StageCount(stages) => write!(f, "{stages} stages; a predicate has 1 to {MAX_STAGES}"),
            Self::TooManyTerms(terms) => write!(f, "{terms} terms; a node has at most {MAX_TERMS} in one predicate"),
            Self::StageTooWide(stage) => {
                write!(f, "more than {MAX_TERMS_PER_STAGE} terms of one node in stage {stage}; use a second slot")
            }
            Self::StageOutOfRange(stage) => write!(f, "there is no stage {stage}; they count from 1"),
            Self::ZeroOccurrences => f.write_str("^0 never occurs; count from ^1"),
            Self::BadTag(tag) => write!(f, "{tag:#04x} is not the start of a term"),
            Self::UnknownEvent(number) => write!(f, "there is no event {number}"),
            Self::UnknownOpcode(opcode) => write!(f, "there is no instruction {opcode:#04x}"),
            Self::WatchOutOfRange(watch) => {
                write!(f, "there is no watch {watch}; they are 0 to {}", super::WATCHES - 1)
            }
            Self::NodeOutOfRange(node) => write!(f, "there is no node {node}; they are 0 to {}", crate::MAX_NODES - 1),
            Self::StackUnderflow => f.write_str("the instruction needs more operands than there are"),
            Self::StackOverflow => write!(f, "more than {STACK_DEPTH} values on the stack; regroup the expression"),
            Self::NotOneResult(depth) => write!(f, "the condition leaves {depth} values instead of one"),
        }
    }
}

impl core::error::Error for VerifyError {}

#[cfg(any(test, on_target))]
#[path = "program_tests.rs"]
mod tests;
