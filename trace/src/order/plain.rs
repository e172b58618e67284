//! The quick way for what nearly every record is: one event more of a node of which nothing is missing or in doubt.
//!
//! It does what [`deliver`](CausalOrder::deliver) does where nothing was lost, nothing was left out, no life begins and
//! no message is in question. Whatever else there is goes the long way.
use super::channel::{Asks, Next};
use super::clock::{newer, raise};
use super::deliver::event_of;
use super::node::Wait;
use super::{CausalOrder, Out};
use crate::{EventId, Past};
use stillpoint_core::log::Record;
use stillpoint_core::{EventKind, MAX_PORTS};

/// What became of a record.
pub(super) enum Plain {
    /// It is an event now.
    Delivered,
    /// It is an event now, and a message that this node waited for.
    Wakes(u8),
    /// Something has to come first.
    Waits(Wait),
    /// It must go the long way. Nothing was changed.
    Odd,
}

impl CausalOrder {
    /// Delivers the next record of a node that is plain.
    #[inline(always)]
    pub(super) fn deliver_plain(&mut self, node: usize, record: &Record, wall: u64, each: Out<'_>) -> Plain {
        let Some(state) = self.nodes.get_mut(node) else { return Plain::Odd };
        let (kind, number) = (record.event.kind, record.number.0);
        let odd = matches!(kind, EventKind::Halt | EventKind::Resume | EventKind::Reset);
        if odd || !state.last.is_some_and(|last| newer(number, last)) {
            return Plain::Odd;
        }
        let mut partner = None;
        if kind == EventKind::Receive {
            match self.receive_plain(node, record) {
                Ok(sent) => partner = Some(sent),
                Err(other) => return other,
            }
        }
        let Some(state) = self.nodes.get_mut(node) else { return Plain::Odd };
        let clock = state.clock.as_flattened_mut();
        raise(&mut clock[node], number);
        state.last = Some(number);
        let mut waiter = None;
        if kind == EventKind::Send {
            let message = record.message.unwrap_or(0);
            let port = &mut state.ports[usize::from(record.event.arg) % MAX_PORTS];
            port.count = message;
            if let Some(at) = port.channel {
                let channel = &mut self.channels[at];
                waiter = channel.waiter;
                if let Some(session) = channel.current() {
                    session.send(message, number, &state.clock, None);
                }
            }
        }
        let event = event_of(node, number, record, wall, partner, Past::Known);
        each(&event, &state.clock.as_flattened()[..self.width]);
        waiter.map_or(Plain::Delivered, Plain::Wakes)
    }

    /// Learns what led to the message that a plain node takes. Says which event sent it.
    #[inline(always)]
    fn receive_plain(&mut self, node: usize, record: &Record) -> Result<EventId, Plain> {
        let (place, message) = (usize::from(record.event.arg) % MAX_PORTS, record.message.unwrap_or(0));
        let port = &self.nodes[node].ports[place];
        let Some(at) = port.channel else { return Err(Plain::Odd) };
        let from = self.channels[at].from;
        // A session's first message says in which life the sender is; a plain record does not.
        let knows = port.knows.filter(|_| message != 1);
        let caught_up = knows.is_some_and(|known| {
            let sender = self.nodes.get(usize::from(from)).and_then(|sender| sender.last);
            sender.is_some_and(|sender| !newer(known.number, sender))
        });
        let state = &mut self.nodes[node];
        let asks = Asks { ordinal: state.ordinal, knows, caught_up };
        match self.channels[at].next(&asks, message, &mut state.clock) {
            Next::Sent { number } => {
                let port = &mut state.ports[place];
                port.count = message;
                if message == 1 {
                    port.knows = None;
                }
                Ok(EventId { node: port.peer.unwrap_or(node as u8), number })
            }
            Next::NotYet(count) if self.nodes.get(usize::from(from)).is_some_and(|sender| !sender.is_done()) => {
                Err(Plain::Waits(Wait::Message { node: from, channel: at, after: Some(count) }))
            }
            Next::NotYet(_) | Next::Odd => Err(Plain::Odd),
        }
    }
}
