//! Where in the source an event is.
use crate::Header;
use stillpoint_core::shared::AccessValue;
use stillpoint_core::{Event, EventKind};

impl Header {
    /// The line of source behind an event of a node, `src/main.rs:41`: of a tracepoint, of an access of a shared object, of
    /// the name of a span. None where the firmware does not say.
    #[must_use]
    pub fn place(&self, node: u8, what: &Event) -> Option<&str> {
        let (kind, number) = match what.kind {
            EventKind::Local => ("trace", what.arg),
            EventKind::Enter | EventKind::Leave => ("span", what.arg),
            EventKind::Access => ("place", AccessValue::from_bits(what.value).place),
            _ => return None,
        };
        let names = &self.boards.get(self.node(node)?.board)?.names;
        names.iter().find(|name| name.kind == kind && name.number == number)?.place.as_deref()
    }
}
