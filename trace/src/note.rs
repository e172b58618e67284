//! What the reader of a trace must be told besides its events.
use crate::{EventId, Header};
use serde::Serialize;

/// Something that is missing, broken or contradictory, with its place. Every view shows these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum Note {
    /// Records that were overwritten in the node's ring before they were read.
    Gap {
        /// Whose log.
        node: u8,
        /// The last event before; none if it is not known.
        after: Option<u32>,
        /// How many.
        dropped: u32,
    },
    /// The log does not go on where it ended: the board was reset, or another recorder took a piece out.
    Restart {
        /// Whose log.
        node: u8,
        /// The last event before.
        after: Option<u32>,
    },
    /// The node started in a new epoch.
    Reset {
        /// Which node.
        node: u8,
        /// Its first event in the epoch.
        number: u32,
    },
    /// The node was reset so often that its first and last events do not compare: see [`EventNumber`](stillpoint_core::EventNumber).
    ManyResets {
        /// Which node.
        node: u8,
        /// Its first event in the trace.
        first: u32,
        /// Its first event that does not compare with that one.
        number: u32,
    },
    /// Records in front of the first sync record: their numbers are not known, so they are not among the events.
    Unplaced {
        /// Whose.
        node: u8,
        /// How many.
        records: u64,
    },
    /// Bytes that are not a log.
    Broken {
        /// Whose log.
        node: u8,
        /// The last event before.
        after: Option<u32>,
        /// What is wrong with them.
        why: String,
    },
    /// A node of the system has no log in the trace.
    Missing {
        /// Which node.
        node: u8,
    },
    /// A log that goes back: pieces of two runs, or a board that forgot its epoch. What follows is left out.
    Backwards {
        /// Whose log.
        node: u8,
        /// The last event before.
        last: u32,
        /// The event that cannot follow it.
        number: u32,
        /// How many records are left out.
        left_out: u64,
    },
    /// A receive that no send can be behind.
    Impossible {
        /// The receive.
        event: EventId,
        /// What is wrong.
        why: String,
    },
    /// Events that wait for each other: the logs cannot be of one run.
    Cycle {
        /// The events.
        events: Vec<EventId>,
    },
    /// The file has no end frame: the recorder was stopped before it could finish, or the file was cut.
    NoEnd,
    /// The file is damaged; what lies before is read.
    Damage {
        /// Where and how.
        why: String,
    },
}

impl Note {
    /// One line, with the names of the trace.
    #[must_use]
    pub fn say(&self, header: &Header) -> String {
        let name = |node: &u8| header.node_name(*node);
        let place = |node: &u8, after: &Option<u32>| match after {
            Some(number) => format!("after {}", header.event_name(EventId { node: *node, number: *number })),
            None => "at the beginning".into(),
        };
        match self {
            Self::Gap { node, after, dropped } => {
                format!("{}: {dropped} records dropped {}", name(node), place(node, after))
            }
            Self::Restart { node, after } => {
                format!("{}: the log begins anew {}", name(node), place(node, after))
            }
            Self::Reset { node, number } => {
                format!("{}: reset, as {}", name(node), header.event_name(EventId { node: *node, number: *number }))
            }
            Self::ManyResets { node, first, number } => format!(
                "{}: {} and {} are 128 or more resets apart, so their order is not known; record such a run in parts",
                name(node),
                header.event_name(EventId { node: *node, number: *first }),
                header.event_name(EventId { node: *node, number: *number }),
            ),
            Self::Unplaced { node, records } => {
                format!("{}: {records} records lie before the first sync record and are left out", name(node))
            }
            Self::Broken { node, after, why } => {
                format!("{}: bytes that are no log {}: {why}", name(node), place(node, after))
            }
            Self::Missing { node } => format!("{} has no log in this trace", name(node)),
            Self::Backwards { node, last, number, left_out } => format!(
                "{}: the log goes back from {} to {}: it is of two runs, or its board forgot its epoch; {left_out} records \
                 from there on are left out",
                name(node),
                header.event_name(EventId { node: *node, number: *last }),
                header.event_name(EventId { node: *node, number: *number }),
            ),
            Self::Impossible { event, why } => format!("log damage: {}: {why}", header.event_name(*event)),
            Self::Cycle { events } => {
                let names: Vec<String> = events.iter().map(|event| header.event_name(*event)).collect();
                format!(
                    "log damage: each of these happened before the next and the last before the first: {}",
                    names.join(", ")
                )
            }
            Self::NoEnd => {
                "the recording has no end: the recorder was stopped before it could finish, or the file was cut; \
                            events may be missing at the end"
                    .into()
            }
            Self::Damage { why } => why.clone(),
        }
    }
}
