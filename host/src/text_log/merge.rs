//! Many logs become one, in an order that no message contradicts.
//!
//! A line of node j after its event n came before a line of another node if the clock of that one knows more than n
//! events of j. Whatever happened before a line was in its ring when the line was read; but the rings are read one after
//! the other, so it may be read only with the next round. A line is therefore held until the round after its own is in.
//! What is concurrent goes by time.
use super::entry::Said;
use super::tap::Bound;
use std::collections::VecDeque;
use stillpoint_core::{EventNumber, NodeId};

/// An entry that waits for its turn.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The number of the event of its node after which it was written; `None` if that is not known.
    pub number: Option<u32>,
    /// What its node knew, node 0 first.
    pub clock: Option<Vec<u32>>,
    pub time: Option<u64>,
    pub said: Said,
    /// How far in its ring it reaches, if it is the last to say something of it.
    pub bound: Option<Bound>,
}

impl Pending {
    /// Something that is no line.
    pub fn note(said: Said, bound: Bound) -> Self {
        Self { number: None, clock: None, time: None, said, bound: Some(bound) }
    }
}

/// The lines of one node, oldest first, each with the round in which it was read.
struct Queue {
    id: NodeId,
    waiting: VecDeque<(u64, Pending)>,
    /// The time of the last one given out: that of those who have none.
    time: u64,
}

/// Puts the entries of several logs into one order.
pub(super) struct Merge {
    queues: Vec<Queue>,
    round: u64,
}

/// Whether an event comes before another of its node; 0 is known of a node of which nothing is, and comes before all.
fn is_before(number: u32, than: u32) -> bool {
    EventNumber(than).is_newer_than(EventNumber(number))
}

impl Merge {
    pub fn new(ids: impl Iterator<Item = NodeId>) -> Self {
        Self { queues: ids.map(|id| Queue { id, waiting: VecDeque::new(), time: 0 }).collect(), round: 0 }
    }

    /// Takes the next entry of a log, read in the present round.
    pub fn push(&mut self, place: usize, pending: Pending) {
        self.queues[place].waiting.push_back((self.round, pending));
    }

    /// Changes the entries that were read in the rounds before the present one.
    pub fn each_due(&mut self, mut change: impl FnMut(usize, &mut Pending)) {
        for (place, queue) in self.queues.iter_mut().enumerate() {
            let due = queue.waiting.iter_mut().take_while(|(round, _)| *round < self.round);
            due.for_each(|(_, pending)| change(place, pending));
        }
    }

    /// Ends the round: gives out what was read in the rounds before it, and what must come before that.
    pub fn release(&mut self, mut each: impl FnMut(usize, Pending)) {
        let bounds = self.bounds();
        while let Some(place) = self.next(&bounds) {
            let queue = &mut self.queues[place];
            if let Some((_, pending)) = queue.waiting.pop_front() {
                queue.time = pending.time.unwrap_or(queue.time);
                each(place, pending);
            }
        }
        self.round += 1;
    }

    /// For each log: entries before this number of an event come before something that is due.
    fn bounds(&self) -> Vec<Option<u32>> {
        let due = || self.queues.iter().flat_map(|queue| queue.waiting.iter()).filter(|(round, _)| *round < self.round);
        let of = |queue: &Queue| {
            let known = due().filter_map(|(_, pending)| pending.clock.as_ref()?.get(usize::from(queue.id.0)).copied());
            known.reduce(|most, known| if is_before(most, known) { known } else { most })
        };
        self.queues.iter().map(of).collect()
    }

    /// The log whose first entry is next; `None` if no more is due.
    fn next(&self, bounds: &[Option<u32>]) -> Option<usize> {
        let numbers: Vec<Option<u32>> = self.queues.iter().map(Queue::first_number).collect();
        let due = |place: &usize| {
            let queue = &self.queues[*place];
            let waits = queue.waiting.front().is_some_and(|(round, _)| *round < self.round);
            waits
                || matches!((numbers[*place], bounds[*place]), (Some(number), Some(bound)) if is_before(number, bound))
        };
        let is_blocked_by = |place: usize, other: usize| {
            let Some((_, first)) = self.queues[place].waiting.front() else { return false };
            let known = first.clock.as_ref().and_then(|clock| clock.get(usize::from(self.queues[other].id.0)));
            other != place
                && matches!((numbers[other], known), (Some(number), Some(known)) if is_before(number, *known))
        };
        let all = 0..self.queues.len();
        let due: Vec<usize> = all.clone().filter(due).collect();
        let free = due.iter().copied().filter(|place| !all.clone().any(|other| is_blocked_by(*place, other)));
        let time = |place: &usize| (self.queues[*place].first_time(), *place);
        free.min_by_key(time).or_else(|| {
            // Each waits for another. If one waits for what is not due yet, the next round brings it; if not, the clocks
            // contradict each other, which only damage can do, and time decides.
            let is_due = |other: usize| due.contains(&other);
            let waits = |place: &usize| all.clone().any(|other| is_blocked_by(*place, other) && !is_due(other));
            if due.iter().any(waits) { None } else { due.iter().copied().min_by_key(time) }
        })
    }
}

impl Queue {
    /// The number of the first entry of which it is known; those before it have none that is greater.
    fn first_number(&self) -> Option<u32> {
        self.waiting.iter().find_map(|(_, pending)| pending.number)
    }

    fn first_time(&self) -> u64 {
        self.waiting.front().and_then(|(_, pending)| pending.time).unwrap_or(self.time)
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
