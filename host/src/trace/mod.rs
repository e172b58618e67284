//! Recorded traces: the logs of all nodes, drained while they run, in one append-only file.
//!
//! A [`Recorder`] empties the log rings and appends what it finds to a file, frame by frame; `docs/TRACE.md` has the form.
//! A [`TraceFile`] reads it back, up to the first damage if there is any, and decodes each node's [`Stream`] of records.
mod file;
mod frame;
mod header;
mod recorder;
mod ring;
mod stream;
mod writer;

pub use file::{Chunk, Damage, TraceError, TraceFile};
pub use frame::{FrameError, MAGIC, MAX_BODY};
pub use header::{BoardInfo, ChannelInfo, Header, NameInfo, NodeInfo, PortInfo};
pub use recorder::{NodeCounters, RecordError, Recorder};
pub use stream::{Entry, Item, Stream, Sync};
pub use writer::{WriteError, Writer};

#[cfg(test)]
mod tests;
