//! The on-target runner of Stillpoint: ports, log rings, stop and resume, logical time.
//!
//! Everything but [`platform`]'s one folder per chip is written against the [`Platform`](platform::Platform) trait, so
//! it builds without a chip and is tested on the host; the feature named after a chip adds that chip.
#![no_std]

pub mod agent;
pub mod channel;
mod core_bound;
pub mod doorbell;
#[cfg(target_os = "none")]
pub mod executor;
pub mod faulty;
mod lane;
pub mod log;
pub mod mailbox;
pub mod name;
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
mod on_chip;
mod per_core;
pub mod platform;
pub mod port;
pub mod sabotage;
pub mod serial;
pub mod time;

pub use channel::Channel;
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
pub use on_chip::{Executor, Inbox, Outbox, Serial};
pub use per_core::{CoreWaker, PerCore};
pub use platform::CoreId;
pub use serial::Line;
pub use stillpoint_core::link::Config as LinkConfig;
pub use stillpoint_core::{Event, NodeId, PortId, StampKind};

#[cfg(test)]
mod fake;
