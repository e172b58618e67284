//! Why calls are not opened or have no result, with the kit and without it.
use crate::port::{ReceiveError, SendError};
use stillpoint_core::delay::ThreadId;

/// Why a gate could not begin, or a client or server not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcError {
    /// The gate of this core has begun already.
    AlreadyBegun,
    /// The gate of this core has not begun: call [`Rpc::begin`](crate::rpc::Rpc::begin) first.
    NotBegun,
    /// All doors of this core are taken: give [`Rpc`](crate::rpc::Rpc) more of them.
    NoDoorLeft,
    /// The thread has begun already, or the access table does not let it be on this node.
    MayNotStart(ThreadId),
}

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// There was no reply in time. If one comes later it is dropped and counted.
    TimedOut,
    /// The request did not leave.
    Send(SendError),
    /// The reply could not be read.
    Receive(ReceiveError),
}
