//! The on-target runner of Stillpoint: ports, log rings, stop and resume, logical time.
//!
//! Everything but [`platform`]'s one folder per chip is written against the [`Platform`](platform::Platform) trait, so
//! it builds without a chip and is tested on the host; the feature named after a chip adds that chip.
//!
//! The feature `enabled`, on unless taken away, is the kit. Without it the same program builds to plain channels and links
//! between the same cores, and nothing of the kit is in it: `plain/` has what then stands in its place. Two parts of the kit
//! are features of their own, on unless taken away: `predicates` and `calls`.
#![no_std]
#![cfg_attr(loom_agent, allow(dead_code, reason = "a model uses a part of it"))]

#[cfg(feature = "enabled")]
pub mod agent;
#[cfg(not(feature = "enabled"))]
#[path = "plain/agent.rs"]
pub mod agent;
pub mod channel;
#[cfg(any(all(feature = "mps2-an521", target_os = "none"), test))]
mod cmsdk_uart;
mod core_bound;
pub mod doorbell;
#[cfg(target_os = "none")]
pub mod executor;
pub mod fault;
pub mod faulty;
#[cfg(feature = "enabled")]
mod lane;
#[cfg(any(all(feature = "mps2-an521", target_os = "none"), test))]
mod lock;
pub mod log;
mod macros;
#[cfg(feature = "enabled")]
pub mod name;
#[cfg(not(feature = "enabled"))]
#[path = "plain/name.rs"]
pub mod name;
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
mod on_chip;
mod open_error;
mod per_core;
pub mod platform;
pub mod port;
#[cfg(any(all(feature = "mps2-an521", target_os = "none"), test))]
mod receive_ring;
#[cfg(feature = "replay")]
pub mod replay;
#[cfg(feature = "enabled")]
pub mod retained;
#[cfg(feature = "calls")]
pub mod rpc;
#[cfg(not(feature = "calls"))]
#[path = "plain/rpc.rs"]
pub mod rpc;
mod rpc_error;
#[cfg(feature = "enabled")]
pub mod sabotage;
pub mod serial;
#[cfg(feature = "enabled")]
pub mod shared;
#[cfg(not(feature = "enabled"))]
#[path = "plain/shared.rs"]
pub mod shared;
mod sync;
#[cfg(feature = "enabled")]
mod tap;
#[cfg(not(feature = "enabled"))]
#[path = "plain/tap.rs"]
mod tap;
pub mod time;

pub use channel::Channel;
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
pub use on_chip::{Client, Executor, Inbox, Outbox, Rpc, Serial, Server};
pub use per_core::{CoreWaker, PerCore};
pub use platform::CoreId;
#[cfg(not(feature = "calls"))]
pub use rpc::Access;
pub use rpc::Envelope;
pub use serial::{CancelSafe, Line};
pub use shared::{Shared, SharedHandle};
#[cfg(feature = "calls")]
pub use stillpoint_core::delay::Access;
pub use stillpoint_core::delay::ThreadId;
pub use stillpoint_core::link::Config as LinkConfig;
pub use stillpoint_core::{Event, NodeId, PortId, StampKind};

#[cfg(test)]
mod fake;
#[cfg(all(feature = "calls", test, loom_agent))]
mod model;
#[cfg(all(feature = "calls", test, not(loom_agent)))]
mod preempt;
