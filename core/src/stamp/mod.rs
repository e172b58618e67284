//! What travels with a message so that its receiver knows what happened before it.
//!
//! Two kinds, chosen per system. An **event stamp** is the sender's event number only: channels are FIFO, so the host can
//! rebuild all order from the nodes' logs, as long as every node records every send and receive. A **vector stamp** is
//! differential: the entries that changed since the last message on the same channel, as differences; after a loss,
//! a reset or a reconnect it is the full vector once.
//!
//! The wire form is in `docs/WIRE.md`. The first byte is
//! `form (2 bits) | carry follows (1) | mask or difference (5)`.
mod message;
mod said;
#[cfg(any(test, on_target))]
mod tests;
mod wire;

pub(crate) use message::stamp_len;
pub use message::{MessageStamp, SenderNumber, message_stamp_len};
pub(crate) use said::Said;
pub(crate) use wire::CARRY;

use crate::{EventNumber, NodeId};
use core::fmt;
use wire::mask_bytes;

/// Which stamp the messages of a system carry.
///
/// # Example: what a first message costs
/// ```
/// use stillpoint_core::{StampKind, max_stamp_len};
/// assert_ne!(StampKind::Event, StampKind::Vector);
/// assert_eq!(max_stamp_len(4), 17);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StampKind {
    /// The sender's event number. One byte as a rule; sound only where every node records every send and receive.
    Event,
    /// The vector entries that changed. What restricted recording and race detection on the target need.
    Vector,
}

/// Why a stamp was refused; the node that was given it is unchanged.
///
/// # Example: a message without a stamp
/// ```
/// use stillpoint_core::{StampError, message_stamp_len};
/// assert_eq!(message_stamp_len::<4>(&[]), Err(StampError::Truncated));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StampError {
    /// The bytes end before the stamp does.
    Truncated,
    /// The stamp names a node that the system does not have: the sender was built for another number of nodes.
    NodeOutOfRange,
    /// A difference arrived before any full stamp: a message of this channel was lost, or the link came up anew.
    Unsynchronised,
    /// An entry is older than what this channel said before.
    RunsBackwards(NodeId),
    /// The sender claims to know events of this node that have not happened.
    FromTheFuture(EventNumber),
    /// The lent buffer cannot hold the stamp; lend `max_stamp_len` bytes.
    NoRoom,
}

impl fmt::Display for StampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the message ends before its stamp does"),
            Self::NodeOutOfRange => f.write_str("the stamp names a node that this system does not have"),
            Self::Unsynchronised => f.write_str("a differential stamp came before any full one: a message was lost"),
            Self::RunsBackwards(node) => write!(f, "the stamp's count of node {} runs backwards", node.0),
            Self::FromTheFuture(number) => write!(
                f,
                "the stamp knows event {} of epoch {} of this node, which has not happened",
                number.count(),
                number.epoch()
            ),
            Self::NoRoom => f.write_str("there is no room for the stamp: lend STAMP_ROOM bytes"),
        }
    }
}

impl core::error::Error for StampError {}

/// The length of the longest stamp in a system of this many nodes, without predicate stages.
#[must_use]
pub const fn max_stamp_len(nodes: usize) -> usize {
    1 + mask_bytes(nodes) + 4 * nodes
}

/// Whether a sender compares every entry with what it said last to find those that changed. Where there are many nodes,
/// every receive notes it for all channels instead.
pub(crate) const fn compares(nodes: usize) -> bool {
    nodes <= 8
}
