//! Why something was refused, one small error per kind of verb. Whatever is refused leaves its state machine unchanged.
use super::account::TimeRanBack;
use super::{Delay, ThreadId};
use crate::NodeId;
use core::fmt;

/// Why a thread or a node was refused.
///
/// # Example
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, AccessError, Delay, ThreadId}};
/// let access = Access::<1, 1>::NONE;
/// let refused = access.ask(ThreadId(0), NodeId(0), Delay::default()).unwrap_err();
/// assert_eq!(refused, AccessError::MayNotEnter(ThreadId(0), NodeId(0)));
/// assert_eq!(refused.to_string(), "thread 0 may not enter node 0; allow it in the access table");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AccessError {
    /// The number is not below `T`; use a smaller one or a larger table.
    UnknownThread(ThreadId),
    /// The number is not below `N`; use a smaller one or a larger table.
    UnknownNode(NodeId),
    /// The table does not let this thread enter this node; allow it there.
    MayNotEnter(ThreadId, NodeId),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownThread(thread) => write!(f, "there is no thread {}; make the table larger", thread.0),
            Self::UnknownNode(node) => write!(f, "there is no node {}; make the table larger", node.0),
            Self::MayNotEnter(thread, node) => {
                write!(f, "thread {} may not enter node {}; allow it in the access table", thread.0, node.0)
            }
        }
    }
}

impl core::error::Error for AccessError {}

/// Why a thread did not move.
///
/// # Example
/// ```
/// use stillpoint_core::delay::{MoveError, ThreadId};
/// let refused = MoveError::ReturnWithoutCall(ThreadId(2));
/// assert_eq!(refused.to_string(), "thread 2 returns from a call that was not made or was abandoned; drop the reply");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MoveError {
    /// The table does not know the thread, or does not let it in here.
    Access(AccessError),
    /// It is here, or at the door, or starts here while a call it made from here is open.
    AlreadyHere(ThreadId),
    /// It is not on this node, so it cannot leave it.
    NotHere(ThreadId),
    /// It did not arrive, or was admitted already.
    NotAtDoor(ThreadId),
    /// It is stopped or frozen here; resume it first.
    Suspended(ThreadId),
    /// No call stands behind this return: it was not made, or was abandoned; drop the reply.
    ReturnWithoutCall(ThreadId),
    /// Something newer is known of the thread, or its delay would shrink: the message is out of date; drop it.
    Stale {
        /// Who moves.
        thread: ThreadId,
        /// How far behind it is known to have been.
        known: Delay,
        /// The older or smaller delay that was stated.
        told: Delay,
    },
    /// It has 255 open calls here; a recursion across nodes that deep is refused.
    TooDeep(ThreadId),
    /// `now` is before an earlier `now`; pass a counter that only rises.
    TimeRanBack {
        /// The latest time seen.
        latest: u64,
        /// The time passed in.
        now: u64,
    },
}

impl From<AccessError> for MoveError {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

impl From<TimeRanBack> for MoveError {
    fn from(TimeRanBack { latest, now }: TimeRanBack) -> Self {
        Self::TimeRanBack { latest, now }
    }
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(error) => error.fmt(f),
            Self::AlreadyHere(thread) => write!(f, "thread {} is here already; let it leave first", thread.0),
            Self::NotHere(thread) => write!(f, "thread {} is not on this node; admit it first", thread.0),
            Self::NotAtDoor(thread) => write!(f, "thread {} does not wait at the door; let it arrive first", thread.0),
            Self::Suspended(thread) => write!(f, "thread {} is suspended; resume it first", thread.0),
            Self::ReturnWithoutCall(thread) => {
                write!(f, "thread {} returns from a call that was not made or was abandoned; drop the reply", thread.0)
            }
            Self::Stale { thread, known, told } => {
                write!(
                    f,
                    "thread {} is {} ticks behind, not {}: the message is out of date, drop it",
                    thread.0, known.ticks, told.ticks
                )
            }
            Self::TooDeep(thread) => write!(f, "thread {} has 255 open calls here; end the recursion", thread.0),
            Self::TimeRanBack { latest, now } => {
                write!(f, "time ran back from {latest} to {now}; pass a counter that only rises")
            }
        }
    }
}

impl core::error::Error for MoveError {}

/// Why a thread or node was not stopped, resumed or made to wait.
///
/// # Example
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, PauseError, Satellite, ThreadId}};
/// let mut node = Satellite::<1, 1>::new(NodeId(0), Access::NONE);
/// assert_eq!(node.stop(ThreadId(0), 5).unwrap_err(), PauseError::NotHere(ThreadId(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PauseError {
    /// It is not on this node; ask the node it is on.
    NotHere(ThreadId),
    /// There is no such thread to wait for.
    UnknownThread(ThreadId),
    /// `now` is before an earlier `now`; pass a counter that only rises.
    TimeRanBack {
        /// The latest time seen.
        latest: u64,
        /// The time passed in.
        now: u64,
    },
}

impl From<TimeRanBack> for PauseError {
    fn from(TimeRanBack { latest, now }: TimeRanBack) -> Self {
        Self::TimeRanBack { latest, now }
    }
}

impl fmt::Display for PauseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere(thread) => write!(f, "thread {} is not on this node; ask the node it is on", thread.0),
            Self::UnknownThread(thread) => write!(f, "there is no thread {} to wait for", thread.0),
            Self::TimeRanBack { latest, now } => {
                write!(f, "time ran back from {latest} to {now}; pass a counter that only rises")
            }
        }
    }
}

impl core::error::Error for PauseError {}

/// Why a notice was not believed.
///
/// # Example
/// ```
/// use stillpoint_core::delay::{Delay, NoticeError, ThreadId};
/// let (known, told) = (Delay { ticks: 9, turn: 2 }, Delay { ticks: 4, turn: 1 });
/// let refused = NoticeError::Stale { thread: ThreadId(1), known, told };
/// assert_eq!(refused.to_string(), "thread 1 is 9 ticks behind, not 4: the notice is out of date, drop it");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NoticeError {
    /// It is about a thread that the table does not know; check that both sides have the same table.
    UnknownThread(ThreadId),
    /// Something newer is known of the thread, or its delay would shrink: this notice was overtaken; drop it.
    Stale {
        /// Whom it is about.
        thread: ThreadId,
        /// How far behind it is known to have been.
        known: Delay,
        /// The older or smaller delay that was stated.
        told: Delay,
    },
    /// `now` is before an earlier `now`; pass a counter that only rises.
    TimeRanBack {
        /// The latest time seen.
        latest: u64,
        /// The time passed in.
        now: u64,
    },
}

impl From<TimeRanBack> for NoticeError {
    fn from(TimeRanBack { latest, now }: TimeRanBack) -> Self {
        Self::TimeRanBack { latest, now }
    }
}

impl fmt::Display for NoticeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownThread(thread) => {
                write!(f, "there is no thread {} here; give both sides the same access table", thread.0)
            }
            Self::Stale { thread, known, told } => {
                write!(
                    f,
                    "thread {} is {} ticks behind, not {}: the notice is out of date, drop it",
                    thread.0, known.ticks, told.ticks
                )
            }
            Self::TimeRanBack { latest, now } => {
                write!(f, "time ran back from {latest} to {now}; pass a counter that only rises")
            }
        }
    }
}

impl core::error::Error for NoticeError {}

/// Why a question was not weighed.
///
/// # Example
/// ```
/// use stillpoint_core::delay::{AskError, ThreadId};
/// let refused = AskError::AlreadyHeld(ThreadId(1));
/// assert_eq!(refused.to_string(), "thread 1 is held at a door already; ask once per call or return");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AskError {
    /// This central does not guard that node; ask the one that does.
    NotGuarded(NodeId),
    /// It asked before and has not been admitted yet; ask once per call or return.
    AlreadyHeld(ThreadId),
    /// It does not wait at a door guarded here, so it cannot be turned away.
    NotHeld(ThreadId),
    /// Something newer is known of the thread, or its delay would shrink: the question is out of date; drop it.
    Stale {
        /// Who asks.
        thread: ThreadId,
        /// How far behind it is known to have been.
        known: Delay,
        /// The older or smaller delay that was stated.
        told: Delay,
    },
    /// `now` is before an earlier `now`; pass a counter that only rises.
    TimeRanBack {
        /// The latest time seen.
        latest: u64,
        /// The time passed in.
        now: u64,
    },
}

impl From<TimeRanBack> for AskError {
    fn from(TimeRanBack { latest, now }: TimeRanBack) -> Self {
        Self::TimeRanBack { latest, now }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGuarded(node) => write!(f, "node {} is guarded by another central; ask that one", node.0),
            Self::NotHeld(thread) => write!(f, "thread {} is not held at a door guarded here", thread.0),
            Self::AlreadyHeld(thread) => {
                write!(f, "thread {} is held at a door already; ask once per call or return", thread.0)
            }
            Self::Stale { thread, known, told } => {
                write!(
                    f,
                    "thread {} is {} ticks behind, not {}: the question is out of date, drop it",
                    thread.0, known.ticks, told.ticks
                )
            }
            Self::TimeRanBack { latest, now } => {
                write!(f, "time ran back from {latest} to {now}; pass a counter that only rises")
            }
        }
    }
}

impl core::error::Error for AskError {}
