//! Events as reports show them.
use crate::pattern::last_up_to;
use crate::{Event, EventId, History};
use serde::Serialize;
use std::fmt;
use stillpoint_core::EventKind;

/// An event in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Which.
    pub id: EventId,
    /// The same with names: `left0 #41 send(out)`.
    pub event: String,
    /// What it has to do with the report.
    pub role: String,
    /// Where in the source the event happens, if the trace says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Where in the source the watch or call is declared that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// The last event of every other node that happened before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<String>,
}

impl Shown {
    /// An event by itself.
    pub(crate) fn new(history: &History, index: usize, role: impl Into<String>) -> Self {
        let event = &history.events[index];
        Self {
            id: event.id,
            event: history.describe(event),
            role: role.into(),
            place: history.header.place(event.id.node, &event.what).map(str::to_owned),
            declared: declared_at(history, event),
            past: Vec::new(),
        }
    }

    /// An event with its past in short.
    pub(crate) fn with_past(history: &History, index: usize, role: impl Into<String>) -> Self {
        let event = &history.events[index];
        let clock = history.clock(index).iter().enumerate();
        let others = clock.filter(|(node, known)| *node != usize::from(event.id.node) && **known != 0);
        let name = |(node, known): (usize, &u32)| {
            let id = EventId { node: node as u8, number: *known };
            match last_up_to(history, id.node, id.number) {
                Some(last) if history.events[last].id == id => history.describe(&history.events[last]),
                _ => format!("{} (not recorded)", history.header.event_name(id)),
            }
        };
        Self { past: others.map(name).collect(), ..Self::new(history, index, role) }
    }
}

impl Shown {
    /// What a picture writes beside the event: its role and its line of source.
    #[must_use]
    pub fn beside(&self) -> String {
        let place = self.place.as_ref().or(self.declared.as_ref());
        let parts = [Some(&self.role).filter(|role| !role.is_empty()), place];
        parts.into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
    }
}

/// Where in the source the watch or call of an event is declared. The record does not say which line set the watch or made
/// the call.
fn declared_at(history: &History, event: &Event) -> Option<String> {
    let header = &history.header;
    let node = header.node(event.id.node)?;
    let (kind, number) = match event.kind() {
        EventKind::Call | EventKind::Return => (header.side(event.id.node, event.what.arg).name_kind(), event.what.arg),
        EventKind::Watch => ("watch", *node.watches.get(usize::from(event.what.arg))?),
        _ => return None,
    };
    let names = &header.boards.get(node.board)?.names;
    names.iter().find(|name| name.kind == kind && name.number == number)?.place.clone()
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "    {}", self.event)?;
        if !self.role.is_empty() {
            write!(f, "  {}", self.role)?;
        }
        if let Some(place) = &self.place {
            write!(f, "  at {place}")?;
        }
        if let Some(place) = &self.declared {
            write!(f, "  declared at {place}")?;
        }
        writeln!(f)?;
        if self.past.is_empty() { Ok(()) } else { writeln!(f, "      knew of {}", self.past.join(", ")) }
    }
}
