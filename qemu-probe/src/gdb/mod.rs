//! A client of QEMU's gdbstub.

mod client;
pub(crate) mod packet;

pub(crate) use client::{Gdb, GdbError};
