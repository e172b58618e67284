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
    /// What a picture writes beside the event: its role, and its line of source or where its watch or call is declared.
    #[must_use]
    pub fn beside(&self) -> String {
        let declared = self.declared.as_ref().map(|place| format!("declared at {place}"));
        let role = Some(self.role.clone()).filter(|role| !role.is_empty());
        [role, self.place.clone().or(declared)].into_iter().flatten().collect::<Vec<_>>().join(", ")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoardInfo, NameInfo, Sketch};

    /// A watch that is declared at line 3 and set, then a tracepoint at line 7.
    fn history() -> History {
        let mut sketch = Sketch::new(&["a"]);
        let name = |kind: &str, text: &str, place: &str| NameInfo {
            kind: kind.into(),
            number: 0,
            text: text.into(),
            place: Some(place.into()),
        };
        let names = vec![name("watch", "x", "main.rs:3"), name("trace", "t", "main.rs:7")];
        sketch.header().boards = vec![BoardInfo { names, ..BoardInfo::default() }];
        sketch.header().nodes[0].watches = vec![0];
        sketch.event(0, stillpoint_core::Event { kind: EventKind::Watch, arg: 0, value: 5 });
        sketch.local(0, 0);
        sketch.history()
    }

    /// The record of a watch does not say which line set it.
    #[test]
    fn the_declaration_of_a_watch_is_called_that_and_is_never_given_as_the_line_of_the_event() {
        let history = history();
        let set = Shown::new(&history, 0, "first");
        assert_eq!((set.place.as_deref(), set.declared.as_deref()), (None, Some("main.rs:3")));
        assert!(set.to_string().ends_with("  first  declared at main.rs:3\n"), "{set}");
        assert_eq!(set.beside(), "first, declared at main.rs:3");
        let traced = Shown::new(&history, 1, "");
        assert_eq!((traced.place.as_deref(), traced.declared.as_deref()), (Some("main.rs:7"), None));
        assert_eq!(traced.beside(), "main.rs:7");
    }
}
