//! A halted system in one file, to be looked at later and elsewhere: RAM, registers, the certificate, names, ELF files.
//!
//! [`System::dump`](crate::System::dump) writes it, [`Dump::open`] reads it, and [`Dump::system`] is a [`System`](crate::System)
//! whose boards are memory that refuses to be written: whatever only looks at boards works on it as on real ones, and
//! certificates are checked anew. The form of the file is in `docs/DUMP.md`.
mod compare;
mod error;
mod frame;
mod header;
mod memory;
mod open;
mod read;
mod regions;
mod registers;
#[cfg(test)]
mod tests;
mod write;
mod writer;

pub use compare::differences;
pub use error::DumpError;
pub use frame::{FrameError, MAGIC, MAX_BODY, PIECE};
pub use header::{Header, MissingBoard, SavedBoard, SavedFirmware};
pub use memory::DumpMemory;
pub use open::Saved;
pub use read::{Damage, Dump};
pub use registers::Registers;
pub use write::{DumpOptions, DumpStep, Written};
