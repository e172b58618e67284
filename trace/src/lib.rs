//! Recorded traces of a Stillpoint system, and what happened before what in them.
//!
//! Needs no board: a trace carries all names with it.
#![forbid(unsafe_code)]
mod file;

pub use file::{
    BoardInfo, ChannelInfo, Chunk, Damage, Entry, FrameError, Header, Item, MAGIC, MAX_BODY, NameInfo, NodeInfo,
    PortInfo, Stream, Sync, TraceError, TraceFile, WriteError, Writer,
};
