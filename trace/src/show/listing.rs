//! One line an event.
use super::{PlacedNotes, Selection, place_notes, time_text};
use crate::{Event, History, Past};
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
        notes.into_iter().chain([line(history, *place)])
    });
    general.into_iter().chain(events)
}

fn line(history: &History, place: usize) -> Line {
    let event = &history.events[place];
    Line::Event {
        name: history.header.event_name(event.id),
        time: time_text(&history.header, event),
        action: history.header.action(event.id.node, &event.what),
        partner: partner(history, event),
        unknown: match event.past {
            Past::Known => None,
            Past::Unknown { why } => Some(why.say(history.node_name(why.node()))),
        },
    }
}

/// Where a message goes to or comes from: the event if the trace has it, otherwise the node.
pub(super) fn partner(history: &History, event: &Event) -> String {
    let arrow = match event.kind() {
        EventKind::Send => "->",
        EventKind::Receive => "<-",
        _ => return String::new(),
    };
    match event.partner {
        Some(id) => format!("{arrow} {}", history.header.event_name(id)),
        None => {
            let ports = history.header.node(event.id.node).into_iter().flat_map(|node| &node.ports);
            let peer = ports.into_iter().find(|port| u16::from(port.id) == event.what.arg).map(|port| port.peer);
            format!("{arrow} {} ?", peer.map_or_else(|| "?".into(), |peer| history.node_name(peer)))
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
