#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "probe"),
    allow(dead_code, reason = "the debugger's end of the sockets is used by the probe only")
)]

pub mod machine;
pub use machine::{
    DebuggerState, Exit, Link, LinkEnd, LiveMemory, Machine, MachineError, MachineKind, Serial, SharedRam,
    interrupt_connecting_by,
};

#[cfg(feature = "probe")]
mod board;
#[cfg(feature = "probe")]
mod gdb;
#[cfg(feature = "probe")]
mod group;
#[cfg(feature = "probe")]
mod probe;
#[cfg(feature = "probe")]
mod serve;
#[cfg(feature = "probe")]
mod target;

#[cfg(feature = "probe")]
pub use {
    board::{BoardError, CoreView},
    group::GroupHandle,
    probe::QemuProbe,
    serve::{ServeError, Server},
    target::{chip_description, registry},
};
