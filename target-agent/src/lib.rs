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
mod lane;
pub mod log;
pub mod mailbox;
pub mod name;
mod per_core;
pub mod platform;
pub mod port;
pub mod serial;
pub mod time;

pub use per_core::{CoreWaker, PerCore};

#[cfg(test)]
mod fake;
