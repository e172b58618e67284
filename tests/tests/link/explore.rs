//! Every order of every step of two links on a line that loses, repeats and swaps frames: explored to exhaustion.
//!
//! The state holds the links that ship, not a model of them. Time stands still and every timeout is over at once, so
//! "too early" and "too late" are just two of the orders.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
};

use stillpoint_core::link::{Config, Lane, Link, LinkEvent, LinkPhase, wire_bytes};
use stillpoint_core::time::{Micros, TickRate, Ticks};

type End = Link<1, 48>;

/// How much may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Messages end 0 sends on the data lane.
    pub data: u8,
    /// Messages end 0 sends on the control lane.
    pub control: u8,
    pub losses: u8,
    pub repetitions: u8,
    /// How often a frame overtakes the one before it.
    pub swaps: u8,
    pub resets: u8,
    /// Whether a reset end starts with the number it had, on a line that is empty by then.
    pub forgetful: bool,
    pub retry_limit: Option<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    ends: [End; 2],
    incarnations: [u8; 2],
    /// The frames on the way to each end.
    wires: [VecDeque<Vec<u8>>; 2],
    left: Budget,
    /// Per lane: what end 0 has sent, and the number that end 1 may take next.
    sent: [u8; 2],
    next: [u8; 2],
}

/// What was found.
#[derive(Debug)]
pub struct Explored {
    pub states: usize,
    /// States in which everything has arrived and both ends are at rest.
    pub ends: usize,
}

const LANES: [Lane; 2] = [Lane::Data, Lane::Control];

impl State {
    fn new(budget: Budget) -> Self {
        let config =
            Config { window: 1, timeout: Micros(0), retry_limit: budget.retry_limit, hello_interval: Micros(0) };
        let end = End::new(config, TickRate::MEGAHERTZ, 1);
        Self {
            ends: [end.clone(), end],
            incarnations: [1; 2],
            wires: Default::default(),
            left: budget,
            sent: [0; 2],
            next: [0; 2],
        }
    }

    fn is_done(&self) -> bool {
        let is_up = self.ends.iter().all(|end| end.phase() == LinkPhase::Up);
        let nothing_left = self.left.data == 0 && self.left.control == 0 && self.sent == self.next;
        let acknowledged = LANES.iter().all(|&lane| self.ends[0].unacknowledged(lane) == 0);
        is_up && nothing_left && acknowledged
    }

    fn successors(&self) -> Result<Vec<Self>, &'static str> {
        let mut all = Vec::new();
        self.send(&mut all);
        self.take(&mut all)?;
        for index in 0..2 {
            let mut ticked = self.clone();
            let event = ticked.ends[index].on_tick(Ticks(0));
            ticked.hear(index, event)?;
            all.push(ticked);
            self.transmit(index, &mut all);
            self.carry(index, &mut all)?;
            self.reset(index, &mut all);
        }
        Ok(all)
    }

    fn send(&self, all: &mut Vec<Self>) {
        for (index, lane) in LANES.into_iter().enumerate() {
            let mut next = self.clone();
            let left = if lane == Lane::Data { &mut next.left.data } else { &mut next.left.control };
            if *left > 0 && next.ends[0].send(lane, &[next.sent[index]]).is_ok() {
                *left -= 1;
                next.sent[index] += 1;
                all.push(next);
            }
        }
    }

    fn take(&self, all: &mut Vec<Self>) -> Result<(), &'static str> {
        for (index, lane) in LANES.into_iter().enumerate() {
            let mut next = self.clone();
            let Some(item) = next.ends[1].front(lane) else { continue };
            let number = item.bytes[0];
            // A reset of end 1 may have swallowed some, which end 0 or the reset itself accounted for.
            if number != next.next[index] {
                return Err("a message was taken out of turn");
            }
            next.next[index] = number + 1;
            next.ends[1].take(lane);
            all.push(next);
        }
        Ok(())
    }

    fn transmit(&self, index: usize, all: &mut Vec<Self>) {
        // As many frames as a driver and a line hold at a time.
        if self.wires[1 - index].len() < 2 {
            let mut next = self.clone();
            let mut wire = [0; wire_bytes(48)];
            if let Some(length) =
                next.ends[index].poll_transmit(Ticks(0), &mut wire).expect("the buffer is long enough")
            {
                next.wires[1 - index].push_back(wire[..length].to_vec());
                all.push(next);
            }
        }
    }

    fn carry(&self, index: usize, all: &mut Vec<Self>) -> Result<(), &'static str> {
        let Some(frame) = self.wires[index].front() else { return Ok(()) };
        let mut arrived = self.clone();
        for &byte in frame {
            let event = arrived.ends[index].on_byte(byte, Ticks(0));
            arrived.hear(index, event)?;
        }
        if self.left.repetitions > 0 {
            let mut repeated = arrived.clone();
            repeated.left.repetitions -= 1;
            all.push(repeated);
        }
        arrived.wires[index].pop_front();
        all.push(arrived);
        if self.left.losses > 0 {
            let mut lost = self.clone();
            lost.left.losses -= 1;
            lost.wires[index].pop_front();
            all.push(lost);
        }
        if self.left.swaps > 0 && self.wires[index].len() > 1 {
            let mut swapped = self.clone();
            swapped.left.swaps -= 1;
            swapped.wires[index].swap(0, 1);
            all.push(swapped);
        }
        Ok(())
    }

    /// What end 0 reports lost with a reset of end 1 need not arrive any more.
    fn hear(&mut self, index: usize, event: Option<LinkEvent>) -> Result<(), &'static str> {
        let Some(LinkEvent::PeerReset { lost_data, lost_control }) = event else { return Ok(()) };
        if index == 1 {
            return if lost_data + lost_control == 0 { Ok(()) } else { Err("end 1 lost what it never sent") };
        }
        for (lane, lost) in [lost_data, lost_control].into_iter().enumerate() {
            // Some of the lost may have been taken by the old incarnation; none can be missing unreported.
            if self.next[lane] < self.sent[lane] - lost {
                return Err("a message is missing that nobody reported lost");
            }
            self.next[lane] = self.sent[lane];
        }
        Ok(())
    }

    fn reset(&self, index: usize, all: &mut Vec<Self>) {
        // Only the receiver: what a sender forgets in a reset it cannot account for.
        if index == 0 || self.left.resets == 0 {
            return;
        }
        let mut next = self.clone();
        next.left.resets -= 1;
        if self.left.forgetful {
            next.wires.iter_mut().for_each(VecDeque::clear);
        } else {
            next.incarnations[index] += 1;
        }
        for (lane, number) in LANES.into_iter().zip(&mut next.next) {
            // What it had accepted dies with it.
            *number += next.ends[index].ledger(lane).waiting;
        }
        let config =
            Config { window: 1, timeout: Micros(0), retry_limit: self.left.retry_limit, hello_interval: Micros(0) };
        next.ends[index] = End::new(config, TickRate::MEGAHERTZ, next.incarnations[index]);
        all.push(next);
    }
}

fn fingerprint(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// Visits every state; fails if one breaks a rule, or if from one the end can no longer be reached.
pub fn explore(budget: Budget) -> Result<Explored, &'static str> {
    let first = State::new(budget);
    let mut seen = HashMap::from([(fingerprint(&first), 0_u32)]);
    let mut parents: Vec<Vec<u32>> = vec![Vec::new()];
    let mut done = Vec::new();
    let mut frontier = VecDeque::from([(0_u32, first)]);
    while let Some((id, state)) = frontier.pop_front() {
        if state.is_done() {
            done.push(id);
        }
        for next in state.successors()? {
            let fresh = parents.len() as u32;
            let next_id = match seen.entry(fingerprint(&next)) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    parents.push(Vec::new());
                    frontier.push_back((fresh, next));
                    *entry.insert(fresh)
                }
            };
            parents[next_id as usize].push(id);
        }
    }
    let ends = done.len();
    let mut can_end = vec![false; parents.len()];
    while let Some(id) = done.pop() {
        if !std::mem::replace(&mut can_end[id as usize], true) {
            done.extend(&parents[id as usize]);
        }
    }
    if can_end.iter().all(|&can| can) {
        Ok(Explored { states: parents.len(), ends })
    } else {
        Err("a state from which the end cannot be reached")
    }
}
