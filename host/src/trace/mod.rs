//! Recorded traces: the logs of all nodes, drained while they run, in one append-only file.
//!
//! A [`Recorder`] empties the log rings and appends what it finds to a file, frame by frame. Everything else about traces
//! needs no board, is in the crate `stillpoint-trace`, and can be named from here.
mod header;
mod last;
mod recorder;
mod ring;
mod tail;
mod watcher;

pub use header::header_of;
pub use last::stop_of;
pub use recorder::{RecordError, Recorder};
pub(crate) use ring::Ring;
pub use stillpoint_trace::*;
pub use tail::Tails;
pub use watcher::Watcher;

#[cfg(test)]
mod tests;
