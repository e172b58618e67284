//! Halt many cores and boards at one consistent moment.
//!
//! A [`config::SystemFile`] says which boards there are; [`System::open`] attaches to all of them. A [`Board`] is one debug
//! probe's worth of nodes, found by the symbols of its firmware; a [`System`] is all of them. The
//! library reads their control blocks through the probe, sends commands, and proves halted states with
//! [`stillpoint_core::Certificate`].
#![forbid(unsafe_code)]

pub mod backtrace;
mod board;
pub mod breakpoint;
mod channel_name;
mod chip;
pub mod config;
mod cut;
mod cut_report;
mod debug_info;
mod delayed;
pub mod doctor;
pub mod dump;
pub mod dwarf;
pub mod emulated;
mod fault;
mod firmware;
mod flash;
mod freeze;
mod halt;
mod hardware;
mod image;
mod in_flight;
pub mod init;
pub mod input_file;
mod ledger;
mod lock;
mod memory;
mod names;
mod node;
mod open;
mod output_file;
pub mod owner;
pub mod payload;
mod poll;
pub mod print;
mod probe_halt;
pub mod program;
mod quiet;
pub mod recording;
mod recount;
mod resume;
mod ring;
mod session;
mod stamps;
mod state;
mod status;
mod steady;
mod system;
pub mod tasks;
pub mod text_log;
pub mod trace;
pub mod watch;

pub use board::{Board, BoardError};
pub use channel_name::{ChannelName, NoCertificate};
pub use cut::{ChannelState, Cut, CutError, HaltProof};
pub use cut_report::{ChannelLine, Check, CutReport, NodeMoment};
pub use debug_info::DebugInfo;
pub use fault::Fault;
pub use firmware::{Firmware, FirmwareError};
pub use flash::{FlashStep, flash};
pub use halt::{HaltTimes, Halted, Late, Lost};
pub use hardware::{ProbeSeen, connected_probes};
pub use image::{Image, Likeness};
pub use in_flight::{Held, Message};
pub use ledger::{SkewLedger, SkewLine, StopTime};
pub use lock::{BoardLock, LockError};
pub use memory::{Memory, MemoryError, ProbeMemory};
pub use names::Names;
pub use node::{Node, Port, Slot};
pub use open::{OpenCause, OpenError};
pub use output_file::OutputFile;
pub use probe_halt::{ProbeHalt, ProbeStop};
pub use resume::Resumed;
pub use session::{Session, SessionError, start_together};
pub use state::{StateDir, StateError};
pub use status::{NodeState, NodeStatus};
pub use stillpoint_trace::{Side, did_you_mean, expr, nearest};
pub use system::{NodeAddress, Sight, System, SystemError, UnknownNode};
