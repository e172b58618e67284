//! A channel between two boards: the shipped link on a line that loses, flips, repeats and delays.
//!
//! The channel keeps what is in flight in order, as every channel does; the wire decides when each item has arrived, and
//! whether it is still the item that was sent.
use super::{Control, Lane};
use crate::faulty::{Faults, Faulty, Line, Pipe};
use std::collections::VecDeque;
use stillpoint_core::link::{Config, Lane as LinkLane, Link, wire_bytes};
use stillpoint_core::time::{TickRate, Ticks};

const WINDOW: usize = 4;
const FRAME: usize = 64;
/// Ticks per byte: one megabaud in microseconds.
const BYTE_TIME: u32 = 10;

/// What the line does: now and then each of what lines do, and something in every few frames.
const FAULTS: Faults = Faults {
    flip: 50,
    lose: 20,
    noise: 20,
    drop: 500,
    truncate: 200,
    duplicate: 500,
    delay: 500,
    cut: 20,
    longest_delay: 5_000,
    longest_cut: 30_000,
};

/// Two links and the line between them; the first is the sender's.
#[derive(Clone, Debug)]
pub struct Wire {
    links: [Link<WINDOW, FRAME>; 2],
    lines: [Faulty<Line>; 2],
    /// What the links had no room for yet.
    waiting: [VecDeque<(LinkLane, Vec<u8>)>; 2],
    now: u32,
    /// Something else arrived than was sent.
    pub damaged: bool,
}

impl Wire {
    /// A line with faults that follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let config = Config { retry_limit: None, ..Config::BAUD_1M };
        let line = |end: u64| Faulty::new(Line::new(BYTE_TIME), FAULTS, seed.wrapping_mul(2).wrapping_add(end));
        let (links, lines) =
            ([1, 1].map(|incarnation| Link::new(config, TickRate::MEGAHERTZ, incarnation)), [line(0), line(1)]);
        Self { links, lines, waiting: Default::default(), now: 0, damaged: false }
    }

    /// Hands a message to the sender's link.
    pub fn send_message(&mut self, bytes: &[u8]) {
        self.waiting[0].push_back((LinkLane::Data, bytes.to_vec()));
    }

    /// Hands a control message to the link of the end that sends on `lane`.
    pub fn send_control<const N: usize>(&mut self, lane: Lane, control: &Control<N>) {
        self.waiting[lane as usize].push_back((LinkLane::Control, encode(control)));
    }

    /// Whether a message has arrived at the receiver.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.links[1].front(LinkLane::Data).is_some()
    }

    /// Whether a control message has arrived on `lane`.
    #[must_use]
    pub fn has_control(&self, lane: Lane) -> bool {
        self.links[1 - lane as usize].front(LinkLane::Control).is_some()
    }

    /// Takes the message that arrived, which must be this one.
    pub fn take_message(&mut self, expected: &[u8]) {
        self.take(1, LinkLane::Data, expected);
    }

    /// Takes the control message that arrived, which must be this one.
    pub fn take_control<const N: usize>(&mut self, lane: Lane, expected: &Control<N>) {
        self.take(1 - lane as usize, LinkLane::Control, &encode(expected));
    }

    fn take(&mut self, end: usize, lane: LinkLane, expected: &[u8]) {
        self.damaged |= self.links[end].front(lane).is_none_or(|item| item.bytes != expected);
        self.links[end].take(lane);
    }

    /// Lets time pass at both ends.
    pub fn tick(&mut self) {
        self.now += 20 * BYTE_TIME;
        for end in 0..2 {
            while let Some((lane, bytes)) = self.waiting[end].front() {
                if self.links[end].send(*lane, bytes).is_err() {
                    break;
                }
                self.waiting[end].pop_front();
            }
            let _never_down = self.links[end].on_tick(Ticks(self.now));
            let mut frame = [0; wire_bytes(FRAME)];
            while self.lines[end].is_ready(self.now) {
                let Ok(Some(length)) = self.links[end].poll_transmit(Ticks(self.now), &mut frame) else { break };
                self.lines[end].put(&frame[..length], self.now);
            }
            while let Some(byte) = self.lines[1 - end].get(self.now) {
                let _up = self.links[end].on_byte(byte, Ticks(self.now));
            }
        }
    }

    /// Whether anything was sent that is not known to have arrived.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let open = |end: usize| {
            let lanes = [LinkLane::Data, LinkLane::Control];
            !self.waiting[end].is_empty() || lanes.iter().any(|lane| self.links[end].unacknowledged(*lane) > 0)
        };
        open(0) || open(1)
    }

    /// How many messages are in flight, as the two ends count it: accepted and not taken, plus what the sender sent
    /// above the last accepted; never both.
    #[must_use]
    pub fn in_flight(&self) -> Option<usize> {
        let [sender, receiver] = [0, 1].map(|end: usize| self.links[end].ledger(LinkLane::Data));
        let waiting = self.waiting[0].iter().filter(|(lane, _)| *lane == LinkLane::Data).count();
        sender.in_flight_to(&receiver).map(|between| usize::from(between) + waiting)
    }

    /// How often something had to be sent again.
    #[must_use]
    pub fn repeated(&self) -> u32 {
        self.links.iter().map(|link| link.counters().retransmits).sum()
    }
}

fn encode<const N: usize>(control: &Control<N>) -> Vec<u8> {
    match control {
        Control::Marker { marker, again } => {
            let mut bytes = vec![0; 64];
            let length = marker.write(&mut bytes).expect("there is room");
            bytes.truncate(length);
            bytes.extend([b'm', u8::from(*again)]);
            bytes
        }
        Control::Arrived(id) => [&id.0.to_le_bytes()[..], b"a"].concat(),
        Control::Release(id) => [&id.0.to_le_bytes()[..], b"r"].concat(),
        Control::Predicate(reached) => [&reached.to_bytes()[..], b"p"].concat(),
        Control::Hello(hello) => [&hello.to_bytes()[..], b"h"].concat(),
    }
}
