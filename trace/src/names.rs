//! Names for what a trace has numbers for.
use crate::Side;
use crate::{Event, EventId, Header, NodeInfo};
use stillpoint_core::EventKind;

/// The name by which people and command lines know a kind.
#[must_use]
pub fn kind_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Local => "trace",
        EventKind::Send => "send",
        EventKind::Receive => "recv",
        EventKind::Call => "call",
        EventKind::Return => "return",
        EventKind::Timer => "timer",
        EventKind::Access => "access",
        EventKind::Watch => "watch",
        EventKind::Enter => "enter",
        EventKind::Leave => "leave",
        EventKind::Halt => "halt",
        EventKind::Resume => "resume",
        EventKind::Fault => "fault",
        EventKind::Reset => "reset",
        EventKind::LinkUp => "up",
        EventKind::LinkDown => "down",
        EventKind::Poll => "poll",
        EventKind::RecvNone => "recv_none",
        EventKind::SendFull => "send_full",
        EventKind::Now => "now",
        EventKind::Input => "input",
    }
}

impl Header {
    /// What is known of a node.
    #[must_use]
    pub fn node(&self, id: u8) -> Option<&NodeInfo> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, id: u8) -> String {
        self.node(id).map_or_else(|| format!("node {id}"), |node| node.name.clone())
    }

    /// The name of a port of a node.
    #[must_use]
    pub fn port_name(&self, node: u8, port: u8) -> String {
        let ports = self.node(node).into_iter().flat_map(|node| &node.ports);
        let mut found = ports.filter(|info| info.id == port);
        found.next().map_or_else(|| format!("port {port}"), |port| port.name.clone())
    }

    /// The text behind a number in the firmware of a node, if the firmware has one.
    #[must_use]
    pub fn text(&self, node: u8, kind: &str, number: u16) -> Option<&str> {
        let board = self.boards.get(self.node(node)?.board)?;
        let mut names = board.names.iter().filter(|name| name.kind == kind && name.number == number);
        names.next().map(|name| name.text.as_str())
    }

    /// The event's name: `left0#41`, or `left0@2#41` for epoch 2. [`History::find`](crate::History::find) reads it.
    #[must_use]
    pub fn event_name(&self, id: EventId) -> String {
        let (name, epoch, count) = (self.node_name(id.node), id.epoch(), id.count());
        if epoch == 0 { format!("{name}#{count}") } else { format!("{name}@{epoch}#{count}") }
    }

    /// The name of what an event is about, or its number if it has none: a port, procedure, tracepoint, watch, object.
    #[must_use]
    pub fn about(&self, node: u8, what: &stillpoint_core::Event) -> Option<String> {
        let names = match what.kind {
            EventKind::Send
            | EventKind::Receive
            | EventKind::LinkUp
            | EventKind::LinkDown
            | EventKind::RecvNone
            | EventKind::SendFull => return Some(self.port_name(node, what.arg as u8)),
            EventKind::Watch => {
                let number = self.node(node).and_then(|node| node.watches.get(usize::from(what.arg)));
                let name = number.and_then(|number| self.text(node, "watch", *number));
                return Some(name.map_or_else(|| what.arg.to_string(), str::to_owned));
            }
            EventKind::Local => "trace",
            EventKind::Call | EventKind::Return => self.side(node, what.arg).name_kind(),
            EventKind::Enter | EventKind::Leave => "span",
            EventKind::Access => "shared",
            EventKind::Timer
            | EventKind::Halt
            | EventKind::Resume
            | EventKind::Poll
            | EventKind::Now
            | EventKind::Input => return Some(what.arg.to_string()),
            EventKind::Fault | EventKind::Reset => return None,
        };
        Some(self.text(node, names, what.arg).map_or_else(|| what.arg.to_string(), str::to_owned))
    }

    /// Which end of a remote procedure the events with this name are at.
    pub(crate) fn side(&self, node: u8, name: u16) -> Side {
        if self.text(node, Side::Server.name_kind(), name).is_some() { Side::Server } else { Side::Caller }
    }

    /// What an event is, as the expressions of breakpoints write it: `send(out)`, `call(add)`, `watch(total) = 3`.
    #[must_use]
    pub fn action(&self, node: u8, what: &stillpoint_core::Event) -> String {
        let value = what.value as i32;
        let kind = match what.kind {
            EventKind::Access if what.value & 1 == 1 => "write",
            EventKind::Access => "read",
            EventKind::Call => self.side(node, what.arg).call_word(),
            EventKind::Return => self.side(node, what.arg).return_word(),
            kind => kind_name(kind),
        };
        match (self.about(node, what), what.kind) {
            // A whole span, see [`History::collapsed`](crate::History::collapsed).
            (Some(about), EventKind::Enter) if value > 0 => format!("span({about}), {value} events"),
            (Some(about), EventKind::Watch | EventKind::Now | EventKind::Input) => format!("{kind}({about}) = {value}"),
            (Some(about), _) => format!("{kind}({about})"),
            (None, EventKind::Fault) => format!("{kind} {:#x}", what.value),
            (None, _) => kind.into(),
        }
    }

    /// `left0#41 send(out)`.
    #[must_use]
    pub fn describe(&self, event: &Event) -> String {
        format!("{} {}", self.event_name(event.id), self.action(event.id.node, &event.what))
    }
}
