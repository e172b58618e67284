//! The same sorting with the clocks of the `crdts` crate.
use crate::input::Piece;
use crdts::{CmRDT as _, CvRDT as _, VClock};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use stillpoint_core::EventKind;
use stillpoint_core::log::Record;
use stillpoint_trace::{Event, EventId, Past};

/// A send: which event, and its clock.
type Sent = (EventId, VClock<u8>);

/// As we do it: a record is taken where it was read, and waits in a queue of its node only if it must; clocks of sends
/// wait in one for each channel, and the sink is lent the event and the clock. Only a send's clock is copied.
pub fn lean(nodes: usize, pieces: &[Piece], mut each: impl FnMut(&Event, &VClock<u8>)) {
    let mut lean = Lean {
        sent: (0..nodes).map(|_| Default::default()).collect(),
        clocks: vec![VClock::new(); nodes],
        ready: Vec::new(),
    };
    let mut queues = vec![VecDeque::<Record>::new(); nodes];
    for (node, records) in pieces {
        let node = usize::from(*node);
        let mut records = &records[..];
        if queues[node].is_empty() {
            while let Some((record, rest)) = records.split_first() {
                if !lean.take(node, record, &mut each) {
                    break;
                }
                records = rest;
            }
        }
        queues[node].extend(records);
        while let Some(node) = lean.ready.pop() {
            while let Some(record) = queues[node].front() {
                if !lean.take(node, record, &mut each) {
                    break;
                }
                queues[node].pop_front();
            }
        }
    }
}

struct Lean {
    /// For each node and port, its messages that were not received: which event sent it, and the clock of that.
    sent: Vec<[VecDeque<Sent>; 2]>,
    clocks: Vec<VClock<u8>>,
    ready: Vec<usize>,
}

impl Lean {
    /// Takes the next record of a node, unless its send is still to come.
    #[inline(always)]
    fn take(&mut self, node: usize, record: &Record, each: &mut impl FnMut(&Event, &VClock<u8>)) -> bool {
        let (nodes, kind, port) = (self.clocks.len(), record.event.kind, usize::from(record.event.arg));
        let (clock, mut partner) = (&mut self.clocks[node], None);
        if kind == EventKind::Receive {
            let from = (node + nodes - (port - 1)) % nodes;
            let Some((sender, sent)) = self.sent[from][port - 2].pop_front() else { return false };
            clock.merge(sent);
            partner = Some(sender);
        }
        let tick = clock.inc(node as u8);
        clock.apply(tick);
        let event = event_of(node, record, partner);
        each(&event, clock);
        if kind == EventKind::Send {
            self.sent[node][port].push_back((event.id, clock.clone()));
            self.ready.push((node + port + 1) % nodes);
        }
        true
    }
}

/// As one writes it first: every record goes through the queue of its node, every event has a clock of its own, and those
/// of sends are in a map by message.
pub fn natural(nodes: usize, pieces: &[Piece], mut each: impl FnMut(&Event, &VClock<u8>)) {
    type Fixed = BuildHasherDefault<DefaultHasher>;
    let mut sent: HashMap<(u8, u16, u32), Sent, Fixed> = HashMap::default();
    let (mut clocks, mut queues) = (vec![VClock::<u8>::new(); nodes], vec![VecDeque::<Record>::new(); nodes]);
    for (node, records) in pieces {
        queues[usize::from(*node)].extend(records);
        let mut ready = vec![usize::from(*node)];
        while let Some(node) = ready.pop() {
            while let Some(record) = queues[node].front() {
                let (kind, port, message) = (record.event.kind, record.event.arg, record.message.unwrap_or(0));
                let mut partner = None;
                if kind == EventKind::Receive {
                    let from = ((node + nodes - (usize::from(port) - 1)) % nodes) as u8;
                    let Some((sender, clock)) = sent.remove(&(from, port - 2, message)) else { break };
                    clocks[node].merge(clock);
                    partner = Some(sender);
                }
                let tick = clocks[node].inc(node as u8);
                clocks[node].apply(tick);
                let (event, clock) = (event_of(node, record, partner), clocks[node].clone());
                each(&event, &clock);
                if kind == EventKind::Send {
                    sent.insert((node as u8, port, message), (event.id, clock));
                    ready.push((node + usize::from(port) + 1) % nodes);
                }
                queues[node].pop_front();
            }
        }
    }
}

fn event_of(node: usize, record: &Record, partner: Option<EventId>) -> Event {
    Event {
        id: EventId { node: node as u8, number: record.number.0 },
        time: Some(record.time),
        wall: 0,
        what: record.event,
        message: record.message,
        partner,
        past: Past::Known,
    }
}
