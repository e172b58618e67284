//! What travels between the roles: passages with calls, questions and notices one-to-one.
use super::{NodeSet, ThreadId, ThreadSet};
use crate::NodeId;

/// How far behind a thread is, and how often this has been told.
///
/// It travels with the thread. Every notice about a thread has the next `turn`, so one that was overtaken on its way, by
/// a newer notice or by the thread itself, is known for what it is.
///
/// # Example: newer across the wrap
/// ```
/// use stillpoint_core::delay::Delay;
/// let old = Delay { ticks: 40, turn: u32::MAX };
/// let new = Delay { ticks: 55, turn: 0 };
/// assert!(old.is_older_than(new) && !new.is_older_than(old) && !new.is_older_than(new));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delay {
    /// For how long it was stopped, held or frozen, in ticks.
    pub ticks: u64,
    /// How many notices about it have been told.
    pub turn: u32,
}

impl Delay {
    /// Whether `other` was told later.
    #[must_use]
    pub const fn is_older_than(self, other: Self) -> bool {
        (other.turn.wrapping_sub(self.turn) as i32) > 0
    }
}

/// How a thread moves from node to node.
///
/// # Example
/// ```
/// use stillpoint_core::delay::Step;
/// assert_ne!(Step::Call, Step::Return);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Step {
    /// Into a procedure of another node.
    Call,
    /// Back to the node that called.
    Return,
}

/// What a request or reply carries about the thread that moves with it.
///
/// # Example
/// ```
/// use stillpoint_core::delay::{Delay, Passage, Step, ThreadId};
/// let passage = Passage { thread: ThreadId(3), step: Step::Call, delay: Delay::default() };
/// assert_eq!(passage.thread, ThreadId(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Passage {
    /// Who moves.
    pub thread: ThreadId,
    /// By a call or by a return.
    pub step: Step,
    /// How far behind it is.
    pub delay: Delay,
}

/// "May this thread enter this node now?" A question that [`Access::ask`](super::Access::ask) found well formed.
///
/// It has no wire form of its own, so that one that comes from outside is checked again: send its numbers.
///
/// # Example
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, Delay, ThreadId}};
/// let mut access = Access::<1, 1>::NONE;
/// access.allow(ThreadId(0), NodeId(0)).unwrap();
/// let ask = access.ask(ThreadId(0), NodeId(0), Delay::default()).unwrap();
/// assert_eq!((ask.thread(), ask.server()), (ThreadId(0), NodeId(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "the thread waits at the door until its central has been asked"]
pub struct Ask {
    pub(super) thread: ThreadId,
    pub(super) server: NodeId,
    pub(super) delay: Delay,
}

impl Ask {
    /// Who wants to enter.
    #[must_use]
    pub const fn thread(self) -> ThreadId {
        self.thread
    }

    /// Where.
    #[must_use]
    pub const fn server(self) -> NodeId {
        self.server
    }

    /// How far behind it is.
    #[must_use]
    pub const fn delay(self) -> Delay {
        self.delay
    }
}

/// That a thread's delay grows from now on, or has stopped growing.
///
/// # Example: a stop waits for nobody, a hold waits for somebody
/// ```
/// use stillpoint_core::delay::{Delay, Notice, ThreadId, ThreadSet};
/// let (delay, waits_for) = (Delay { ticks: 0, turn: 1 }, ThreadSet::EMPTY);
/// let stopped = Notice::Suspended { thread: ThreadId(0), delay, waits_for };
/// let held = Notice::Suspended { thread: ThreadId(1), delay, waits_for: waits_for.with(ThreadId(0)) };
/// assert_ne!(stopped.thread(), held.thread());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Notice {
    /// The thread is stopped, held or frozen. Told again when what it waits for changes.
    Suspended {
        /// Who.
        thread: ThreadId,
        /// How far behind it was when this was told.
        delay: Delay,
        /// Everybody it waits for, directly or through others; empty if it waits for the user alone.
        waits_for: ThreadSet,
    },
    /// The thread goes on.
    Resumed {
        /// Who.
        thread: ThreadId,
        /// How far behind it is, exactly, until it is suspended again.
        delay: Delay,
    },
}

impl Notice {
    /// Whom it is about.
    #[must_use]
    pub const fn thread(self) -> ThreadId {
        match self {
            Self::Suspended { thread, .. } | Self::Resumed { thread, .. } => thread,
        }
    }

    /// How far behind it says that thread is.
    #[must_use]
    pub const fn delay(self) -> Delay {
        match self {
            Self::Suspended { delay, .. } | Self::Resumed { delay, .. } => delay,
        }
    }
}

/// A notice and the nodes it concerns: both roles of each of them hear it, the teller's own node first.
///
/// # Example
/// ```
/// use stillpoint_core::delay::{Delay, NodeSet, Notice, Tell, ThreadId};
/// let notice = Notice::Resumed { thread: ThreadId(0), delay: Delay { ticks: 9, turn: 2 } };
/// let tell = Tell { to: NodeSet(0b101), notice };
/// assert_eq!(tell.to.iter().count(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tell {
    /// The nodes that the thread may enter.
    pub to: NodeSet,
    /// What they are told.
    pub notice: Notice,
}
