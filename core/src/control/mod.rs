//! The block of RAM through which a debug probe talks to a node.
//!
//! The host finds it by symbol, checks magic, version and size, and reads and writes it word by word while the node runs
//! or is parked. Everything is a 32-bit little-endian word. Commands carry a sequence number and a checksum, so that a
//! block scribbled over by a wild pointer is reported and never executed.
mod block;
mod command;
mod fault;
mod image;
mod layout;
mod parts;
mod refusal;
mod registers;
mod ring;
mod slot;
mod state;

pub use block::ControlBlock;
pub use command::{CommandError, CommandWords, command_checksum};
pub use fault::FaultBlock;
pub use image::image_id;
pub use layout::{ControlLayout, HeaderError};
pub use parts::{AnswerBlock, CommandBlock, Location, PortBlock, WatchBlock};
pub use refusal::{Refusal, RefusalCode};
pub use registers::SavedRegisters;
pub use ring::RingLayout;
pub use slot::{SlotBlock, SlotState};
pub use state::StateCode;

/// First word of every control block: `STLP`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"STLP");
/// In the number of names of a halting order: the debugger's command stopped the node, before a marker or an event of its own.
pub const BY_DEBUGGER: u32 = 1 << 31;

/// Version of everything in `docs/WIRE.md`: control block, frames, stamps, markers and records.
pub const VERSION: u32 = 5;

/// An agent exports a symbol of this name, so that a host can refuse an image before it reads a byte of its RAM.
pub const VERSION_SYMBOL: &str = "STILLPOINT_WIRE_VERSION_5";
