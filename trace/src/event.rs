//! Events as a trace has them.
use serde::Serialize;
use std::fmt;
use stillpoint_core::time::Ticks;
use stillpoint_core::{EventKind, EventNumber};

/// One event: which node, and its number there, with the epoch in the upper 8 bits.
///
/// A halt or resume happens between events and has the number of the event it came after.
///
/// # Example: the third event of node 2 after its first reset
/// ```
/// use stillpoint_trace::EventId;
/// let id = EventId { node: 2, number: (1 << 24) + 3 };
/// assert_eq!((id.epoch(), id.count()), (1, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EventId {
    /// Which node.
    pub node: u8,
    /// Its number there.
    pub number: u32,
}

impl EventId {
    /// How often the node had started anew.
    #[must_use]
    pub fn epoch(self) -> u8 {
        EventNumber(self.number).epoch()
    }

    /// The event's place within the epoch.
    #[must_use]
    pub fn count(self) -> u32 {
        EventNumber(self.number).count()
    }
}

/// An event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Which.
    pub id: EventId,
    /// When, in the node's ticks; none where the log does not say.
    pub time: Option<Ticks>,
    /// When the recorder read it, in microseconds since it began.
    pub wall: u64,
    /// What happened: kind, what it is about, value.
    pub what: stillpoint_core::Event,
    /// For a send or receive, which message of its channel: the first is 1.
    pub message: Option<u32>,
    /// The send of a receive; in a [`History`](crate::History) also the receive of a send. None if it is not in the trace.
    pub partner: Option<EventId>,
    /// Whether all that happened before it is known.
    pub past: Past,
}

impl Event {
    /// What kind of event.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        self.what.kind
    }

    /// Whether it counts as an event of its node: halts and resumes happen between two.
    #[must_use]
    pub fn counts(&self) -> bool {
        counts(self.what.kind)
    }
}

pub(crate) fn counts(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Halt | EventKind::Resume)
}

/// What is known of the past of an event.
///
/// An unknown past is a lower bound: everything in the event's clock did happen before it, and more may have.
///
/// A node that was reset begins anew and knows nothing: what it knew in a former life and did not record leaves nothing
/// unknown in the present one. What it recorded then did happen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Past {
    /// Everything that happened before is in its clock.
    Known,
    /// Something that happened before it is not known.
    Unknown {
        /// Why.
        why: Why,
    },
}

impl Past {
    /// Whether all of it is known.
    #[must_use]
    pub fn is_known(self) -> bool {
        self == Self::Known
    }
}

/// Why something that happened before an event is not known. The number is the node's that the trace does not say it of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A message was sent when the node's log had a gap, or did not record sends.
    NotRecorded(u8),
    /// A message was sent before the node's part of the recording began.
    Before(u8),
    /// A message was sent after the node's part of the recording ended.
    After(u8),
    /// The node is not in the trace.
    Missing(u8),
    /// The node was silent for longer than the reader wanted to wait.
    Silent(u8),
    /// The node was reset before all of its log was read, which may have told of a message.
    Unread(u8),
    /// The node's log contradicts others.
    Damage(u8),
}

impl Why {
    /// The node of which something is not known.
    #[must_use]
    pub fn node(self) -> u8 {
        match self {
            Self::NotRecorded(node)
            | Self::Before(node)
            | Self::After(node)
            | Self::Missing(node)
            | Self::Silent(node)
            | Self::Unread(node)
            | Self::Damage(node) => node,
        }
    }

    /// The same in words, with the name of the node.
    #[must_use]
    pub fn say(self, node: impl fmt::Display) -> String {
        match self {
            Self::NotRecorded(_) => format!("{node} did not record a message that led here"),
            Self::Before(_) => format!("{node} sent a message that led here before its recording began"),
            Self::After(_) => format!("{node} sent a message that led here after its recording ended"),
            Self::Missing(_) => format!("{node} is not in the trace"),
            Self::Silent(_) => format!("{node} was silent for too long"),
            Self::Unread(_) => format!("{node} was reset before all of its log was read"),
            Self::Damage(_) => format!("the log of {node} is damaged"),
        }
    }
}
