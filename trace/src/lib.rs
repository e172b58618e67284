//! Recorded traces of a Stillpoint system, and what happened before what in them.
//!
//! Needs no board: a trace carries all names with it.
#![forbid(unsafe_code)]
mod causality;
pub mod check;
mod collapsed;
mod concurrent;
mod coverage;
pub mod detect;
pub mod diff;
#[cfg(test)]
mod ends_tests;
mod event;
mod event_name;
pub mod export;
pub mod expr;
mod file;
mod follow;
mod history;
pub mod learn;
mod local;
#[cfg(test)]
mod logged;
mod names;
mod nearest;
mod note;
mod order;
mod pattern;
mod place;
mod printable;
pub mod races;
#[cfg(test)]
mod random_run;
mod restricted;
#[cfg(test)]
mod restricted_tests;
mod row;
pub mod show;
mod shown;
mod side;
mod sketch;
mod spans;
#[cfg(test)]
mod spans_tests;
mod view;

pub use causality::CausalityStream;
pub use event::{Event, EventId, Past, Why};
pub use event_name::EventNameError;
pub use file::envelope as frame;
pub use file::{
    BoardInfo, ChannelInfo, Chunk, Damage, Entry, FrameError, Header, Item, MAGIC, MAX_BODY, NameInfo, NodeInfo,
    NodeSum, Part, PortInfo, Stream, Summary, Sync, TraceError, TraceFile, TraceReader, WriteError, Writer,
};
pub use follow::Follower;
pub use history::{Builder, History, Progress, Relation};
pub use names::kind_name;
pub use nearest::{did_you_mean, nearest};
pub use note::Note;
pub use order::CausalOrder;
pub use printable::{JsonEscapes, Printable, is_unprintable};
pub use restricted::{Edge, EdgeKind, Restricted};
pub use row::Row;
pub use shown::Shown;
pub use side::Side;
pub use sketch::Sketch;
pub use spans::Span;
pub use view::{View, ViewError};
