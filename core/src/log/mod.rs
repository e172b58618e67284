//! The log of a node: what is recorded, how it is written, how it is read.
//!
//! A [`LogWriter`] turns events into a few bytes each and puts them into a [`LogRing`]; a [`LogReader`] turns the bytes
//! back. A full ring keeps the newest records, and nothing is lost silently: each [`SyncRecord`] says how many records there were
//! before it, and a reader goes on from it exactly.
//!
//! The wire form is in `docs/WIRE.md`.
mod reader;
mod recording;
mod ring;
mod text;
mod varint;
mod writer;

pub use reader::{Causes, LogError, LogItem, LogReader, Record, SyncRecord};
pub use recording::{Recording, RecordingMode};
#[cfg(loom)]
#[allow(unused_imports, reason = "the tests of the ring alone use it")]
pub(crate) use ring::Quarters;
pub use ring::{LogRing, Piece};
pub use text::{TextError, TextItem, TextPlacer, TextReader};
pub use writer::{LogWriter, NOT_STARTED, Origins, Standing};

use crate::EventKind;

/// A tracepoint with its tag in the same byte; `LOCAL | LOCAL_ESCAPE` means that the tag follows.
const LOCAL: u8 = 0x80;
const LOCAL_ESCAPE: u8 = 0x7F;
/// A send, with its port in the same byte.
const SEND: u8 = 0x40;
/// A receive, with its port in the same byte.
const RECEIVE: u8 = 0x60;
const PORT: u8 = 0x1F;
/// What is in none of these classes is a kind's number, or one of these.
const CAUSES: u8 = 0x20;
// 0x21 was a sync record without origins: a reader must not mistake one form for the other.
const SYNC: u8 = 0x23;
/// Beside the mode in a sync record: records that follow say what changed.
const WITH_CAUSES: u8 = 4;

/// Whether records of this kind carry a value.
const fn has_value(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access | EventKind::Watch | EventKind::Fault | EventKind::Now | EventKind::Input)
}

/// Whether this kind counts as an event of the node. Halting and resuming happen between events.
#[must_use]
pub(crate) const fn counts(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Halt | EventKind::Resume)
}

#[cfg(any(all(test, not(loom)), on_target))]
mod tests;
