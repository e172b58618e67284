//! Halt many cores and boards at one consistent moment.
//!
//! A [`Board`] is one debug probe's worth of nodes, found by the symbols of its firmware; a [`System`] is all of them. The
//! library reads their control blocks through the probe, sends commands, and proves halted states with
//! [`stillpoint_core::Certificate`].
#![forbid(unsafe_code)]

mod board;
mod cut;
mod firmware;
mod memory;
mod node;
mod system;

pub use board::{Board, BoardError};
pub use cut::{ChannelState, Cut, CutError, HaltProof};
pub use firmware::{Firmware, FirmwareError};
pub use memory::{Memory, MemoryError, ProbeMemory};
pub use node::{Node, Port};
pub use system::{NodeAddress, System, SystemError};
