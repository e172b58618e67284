//! The quick way for what nearly every record is: one event more of a node of which nothing is missing or in doubt.
//!
//! It does what [`deliver`](CausalOrder::deliver) does where nothing was lost, nothing was left out, no life begins and
//! no message is in question. Whatever else there is goes the long way. All records that were read at once go through
//! here together, so that the node is looked up once.
use super::channel::Channel;
use super::clock::{LANES, newer, raise};
use super::node::{Node, Port, Wait};
use super::{CausalOrder, Sink};
use crate::{Event, EventId, Past};
use stillpoint_core::log::Record;
use stillpoint_core::time::Ticks;
use stillpoint_core::{EventKind, MAX_PORTS};

/// How far the quick way led. Nothing was changed by the first record that did not go it.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    /// So many records are events now.
    pub delivered: usize,
    /// Who waited for messages that are among them, one bit a node. They were not told.
    pub awoken: u32,
}

impl CausalOrder {
    /// Delivers the next records of a node that is plain, which were read at `wall`.
    #[inline]
    pub(super) fn deliver_plain<F>(&mut self, node: usize, records: &[Record], wall: u64, each: &mut F) -> Progress
    where
        F: Sink + ?Sized,
    {
        // As many pieces as `row` makes.
        match self.width.div_ceil(LANES) {
            0 | 1 => self.deliver_pieces::<1, F>(node, records, wall, each),
            2 => self.deliver_pieces::<2, F>(node, records, wall, each),
            3 | 4 => self.deliver_pieces::<4, F>(node, records, wall, each),
            _ => self.deliver_pieces::<8, F>(node, records, wall, each),
        }
    }

    /// The same, with clocks of so many pieces.
    #[inline(never)]
    fn deliver_pieces<const P: usize, F>(
        &mut self,
        node: usize,
        records: &[Record],
        wall: u64,
        each: &mut F,
    ) -> Progress
    where
        F: Sink + ?Sized,
    {
        let Self { nodes, channels, width, .. } = self;
        let Some(Node { clock, ports, last, .. }) = nodes.get_mut(node) else { return Progress::default() };
        let width = *width;
        let (Some(mut latest), Some(clock)) = (*last, clock.first_chunk_mut::<P>()) else { return Progress::default() };
        if node >= P * LANES || width > P * LANES {
            return Progress::default();
        }
        let id = EventId { node: node as u8, number: latest };
        let what = stillpoint_core::Event::local(0);
        let mut event = Event { id, time: Some(Ticks(0)), wall, what, message: None, partner: None, past: Past::Known };
        let (mut left, mut awoken) = (records.iter(), 0);
        while let [record, ..] = left.as_slice() {
            let (kind, number) = (record.event.kind, record.number.0);
            if !newer(number, latest) {
                break;
            }
            event.partner = None;
            match kind {
                EventKind::Halt | EventKind::Resume | EventKind::Reset => break,
                EventKind::Receive => {
                    let Some(sent) = receive(ports, channels, record, clock) else { break };
                    event.partner = Some(sent);
                    raise(&mut clock.as_flattened_mut()[node], number);
                }
                EventKind::Send => {
                    raise(&mut clock.as_flattened_mut()[node], number);
                    awoken |= send(ports, channels, record, clock);
                }
                _ => raise(&mut clock.as_flattened_mut()[node], number),
            }
            latest = number;
            event.id.number = number;
            event.time = Some(record.time);
            event.what = record.event;
            event.message = record.message;
            each(&event, &clock.as_flattened()[..width]);
            left.next();
        }
        *last = Some(latest);
        Progress { delivered: records.len() - left.len(), awoken }
    }

    /// What a node waits for that could not go the quick way with a record; none if it must go the long way.
    pub(super) fn wait_of(&mut self, node: usize, record: &Record) -> Option<Wait> {
        let (state, message) = (self.nodes.get(node)?, record.message.unwrap_or(0));
        if record.event.kind != EventKind::Receive || !newer(record.number.0, state.last?) {
            return None;
        }
        let place = usize::from(record.event.arg) % MAX_PORTS;
        let at = state.ports[place].channel?;
        let channel = self.channels.get(at)?;
        if state.ports[place].settled.is_none() && state.ports[place].peer == Some(channel.from) {
            let asks = self.asks(node, place, channel.from);
            self.nodes.get_mut(node)?.ports[place].settled = channel.settled(&asks);
        }
        let port = &self.nodes.get(node)?.ports[place];
        let (from, count) = (channel.from, channel.lacks(port.settled, message)?);
        let comes = self.nodes.get(usize::from(from)).is_some_and(|sender| !sender.is_done());
        comes.then_some(Wait::Message { node: from, channel: at, after: Some(count) })
    }
}

/// Keeps the clock of a message for its receive. Says who waited for it.
#[inline(always)]
fn send<const P: usize>(
    ports: &[Port; MAX_PORTS],
    channels: &mut [Channel],
    record: &Record,
    clock: &[[u32; LANES]; P],
) -> u32 {
    let message = record.message.unwrap_or(0);
    let port = &ports[usize::from(record.event.arg) % MAX_PORTS];
    let Some(channel) = port.channel.and_then(|at| channels.get_mut(at)) else { return 0 };
    // A node that is plain has begun a life, and with it a session of each channel.
    channel.newest.send_clear(message, record.number.0, clock);
    channel.waiter
}

/// Learns what led to a message. Says which event sent it; none if that is not known so quickly.
#[inline(always)]
fn receive<const P: usize>(
    ports: &[Port; MAX_PORTS],
    channels: &mut [Channel],
    record: &Record,
    clock: &mut [[u32; LANES]; P],
) -> Option<EventId> {
    let message = record.message.unwrap_or(0);
    let port = &ports[usize::from(record.event.arg) % MAX_PORTS];
    let channel = channels.get_mut(port.channel?)?;
    let number = channel.next(port.settled, message, clock)?;
    Some(EventId { node: channel.from, number })
}
