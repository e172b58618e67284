#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![allow(dead_code, reason = "the debugger's end of the control sockets is used by the probe only")]

pub mod machine;
pub use machine::{Exit, Link, LinkEnd, Machine, MachineError, MachineKind, Serial, SharedRam};
