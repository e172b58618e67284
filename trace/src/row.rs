//! An event with everything spelled out: what programs outside read.
use crate::{Event, EventId, Header, History, Past, kind_name};
use serde::Serialize;
use stillpoint_core::EventKind;
use stillpoint_core::time::Ticks;

/// An event as exports and `--json` write it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row<'a> {
    /// Its place in the causal order, from 0.
    pub place: usize,
    /// Its name: `left0#41`.
    pub event: String,
    /// The name of its node.
    pub node: String,
    /// How often the node had started anew.
    pub epoch: u8,
    /// Its number in the epoch; for a halt or resume, of the event it came after.
    pub number: u32,
    /// When, in the node's ticks.
    pub time: Option<Ticks>,
    /// When, in microseconds of the node's board, if the firmware says how long a tick is. Boards have no common clock.
    pub micros: Option<f64>,
    /// When the recorder read it, in microseconds since it began.
    pub wall: u64,
    /// What kind: `send`, `recv`, `trace` and so on.
    pub kind: &'static str,
    /// What it is: `send(ring)`.
    pub action: String,
    /// The number of what it is about.
    pub arg: u16,
    /// The value that belongs to it, for the kinds that have one.
    pub value: Option<i32>,
    /// For a message, which of its channel.
    pub message: Option<u32>,
    /// The other end of a message: `left1#40`.
    pub partner: Option<String>,
    /// Why something that happened before it is not known; none if all is.
    pub unknown: Option<String>,
    /// For each node, by its number, the last event that happened before or is this one; the epoch is in the upper 8 bits.
    pub clock: &'a [u32],
}

impl<'a> Row<'a> {
    /// The event at a place of a history.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn of(history: &'a History, place: usize) -> Self {
        Self::new(&history.header, place, &history.events[place], history.clock(place))
    }

    /// An event with its clock, at a place of the order of the system that a header describes.
    #[must_use]
    pub fn new(header: &Header, place: usize, event: &Event, clock: &'a [u32]) -> Self {
        let EventId { node, .. } = event.id;
        let board = header.node(node).and_then(|node| header.boards.get(node.board));
        let rate = board.and_then(crate::BoardInfo::tick_rate);
        let has_value = matches!(
            event.kind(),
            EventKind::Access | EventKind::Watch | EventKind::Fault | EventKind::Now | EventKind::Input
        );
        Self {
            place,
            event: header.event_name(event.id),
            node: header.node_name(node),
            epoch: event.id.epoch(),
            number: event.id.count(),
            time: event.time,
            micros: event.time.zip(rate).and_then(|(time, rate)| rate.micros(time)),
            wall: event.wall,
            kind: kind_name(event.kind()),
            action: header.action(node, &event.what),
            arg: event.what.arg,
            value: has_value.then_some(event.what.value as i32),
            message: event.message,
            partner: event.partner.map(|partner| header.event_name(partner)),
            unknown: match event.past {
                Past::Known => None,
                Past::Unknown { why } => Some(why.say(header.node_name(why.node()))),
            },
            clock,
        }
    }
}
