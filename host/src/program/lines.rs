//! The source lines of events.
use super::{SystemProgram, places_text};
use std::collections::HashMap;
use stillpoint_analysis::{Action, ChannelId, Place};
use stillpoint_core::EventKind;

/// Which source lines send on, receive from or set what, by node and number of the port or watch.
///
/// A record carries no address. Where only one line of a node sends on a port, the line is certain; where there are several,
/// all of them are candidates.
#[derive(Clone, Debug, Default)]
pub struct LineIndex {
    lines: HashMap<Of, Vec<Place>>,
}

/// A node, the kind of event, and the number of the port or watch.
type Of = (u8, &'static str, u16);

impl LineIndex {
    /// The lines of a program.
    #[must_use]
    pub fn new(program: &SystemProgram) -> Self {
        let mut lines = HashMap::new();
        let found = &program.extracted;
        let mut add = |node: u8, kind: &'static str, number: u16, action: Action| {
            let places = found.lines(action).into_iter().cloned().collect();
            lines.insert((node, kind, number), places);
        };
        let known = program.header.channels.iter().filter(|channel| {
            let has = |node: u8, port: u8| {
                let of = program.header.nodes.iter().find(|one| one.id == node);
                of.is_some_and(|of| of.ports.iter().any(|one| one.id == port))
            };
            has(channel.from, channel.out) && has(channel.to, channel.into)
        });
        for (at, channel) in known.enumerate() {
            let id = ChannelId(at as u32);
            add(channel.from, "send", channel.out.into(), Action::Send(id));
            add(channel.to, "recv", channel.into.into(), Action::Receive(id));
        }
        for node in &program.header.nodes {
            for (number, name) in node.watches.iter().enumerate() {
                let text = program.header.text(node.id, "watch", *name).unwrap_or_default();
                if let Some(watch) = found.program.watch(&format!("{}.{text}", node.id)) {
                    add(node.id, "watch", number as u16, Action::Write(watch));
                }
            }
        }
        Self { lines }
    }

    /// The line of an event, or its candidates: `token_ring.rs:87`, `token_ring.rs:87 or :97`. `None` if nothing is known.
    #[must_use]
    pub fn of(&self, node: u8, kind: EventKind, argument: u16) -> Option<String> {
        let kind = match kind {
            EventKind::Send => "send",
            EventKind::Receive => "recv",
            EventKind::Watch => "watch",
            _ => return None,
        };
        let places = self.lines.get(&(node, kind, argument)).filter(|places| !places.is_empty())?;
        let text = places_text(places);
        Some(match text.rsplit_once(", ") {
            Some((before, last)) => format!("{before} or {last}"),
            None => text,
        })
    }
}
