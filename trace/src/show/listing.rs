//! One line an event.
use super::{PlacedNotes, Selection, place_notes, time_text};
use crate::{Event, Header, History, Past};
use std::fmt;
use stillpoint_core::EventKind;

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// An event: its name, time, action, and what it goes with.
    Event {
        /// `left0#41`
        name: String,
        /// In seconds or ticks of its node.
        time: String,
        /// `send(ring)`
        action: String,
        /// `-> left1#40`
        partner: String,
        /// Why its past is not all known.
        unknown: Option<String>,
    },
    /// Something missing, broken or contradictory.
    Note(String),
}

/// The lines of a selection, one after another.
pub fn listing<'a>(history: &'a History, selection: &'a Selection) -> impl Iterator<Item = Line> + 'a {
    let PlacedNotes { mut before, general } = place_notes(history);
    let say = |note: &crate::Note| Line::Note(note.say(&history.header));
    let general: Vec<Line> = general.into_iter().map(say).collect();
    let events = selection.places.iter().flat_map(move |place| {
        let notes: Vec<Line> = before.remove(place).into_iter().flatten().map(say).collect();
        notes.into_iter().chain([Line::of(&history.header, &history.events[*place])])
    });
    general.into_iter().chain(events)
}

impl Line {
    /// An event of the system that a header describes.
    #[must_use]
    pub fn of(header: &Header, event: &Event) -> Self {
        Self::Event {
            name: header.event_name(event.id),
            time: time_text(header, event),
            action: header.action(event.id.node, &event.what),
            partner: partner(header, event),
            unknown: match event.past {
                Past::Known => None,
                Past::Unknown { why } => Some(why.say(header.node_name(why.node()))),
            },
        }
    }
}

/// Where a message goes to or comes from: the event if the trace has it, otherwise the node.
pub(super) fn partner(header: &Header, event: &Event) -> String {
    let arrow = match event.kind() {
        EventKind::Send => "->",
        EventKind::Receive => "<-",
        _ => return String::new(),
    };
    match event.partner {
        Some(id) => format!("{arrow} {}", header.event_name(id)),
        None => {
            let ports = header.node(event.id.node).into_iter().flat_map(|node| &node.ports);
            let peer = ports.into_iter().find(|port| u16::from(port.id) == event.what.arg).map(|port| port.peer);
            format!("{arrow} {} ?", peer.map_or_else(|| "?".into(), |peer| header.node_name(peer)))
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(text) => write!(f, "  ~~~ {text}"),
            Self::Event { name, time, action, partner, unknown } => {
                let text = format!("{name:<14} {time:>14}  {action:<24} {partner}");
                write!(f, "{}", text.trim_end())?;
                unknown.as_ref().map_or(Ok(()), |why| write!(f, "  ({why})"))
            }
        }
    }
}
