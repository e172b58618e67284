//! What was read of a node's log and waits for its turn.
use crate::Item;
use std::collections::VecDeque;
use stillpoint_core::log::Record;

/// Records and what stands between them, in the order of the log. Records lie side by side, so that many go in and out at
/// once.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    records: Vec<Record>,
    /// The first record that still waits.
    at: usize,
    /// When the next records were read, and up to which place.
    wall: u64,
    until: usize,
    /// The same of those that follow.
    walls: VecDeque<(usize, u64)>,
    /// What else there is.
    others: VecDeque<Other>,
}

#[derive(Clone, Debug)]
struct Other {
    /// It stands before the record at this place.
    before: usize,
    wall: u64,
    item: Item,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front<'a> {
    /// A record.
    Record(&'a Record),
    /// Something that is no event.
    Other(&'a Item),
}

/// Records taken out of the queue to be delivered, which must be put back.
pub(super) struct Run {
    records: Vec<Record>,
    from: usize,
    to: usize,
    /// When they were read.
    pub wall: u64,
}

impl Run {
    pub fn records(&self) -> &[Record] {
        self.records.get(self.from..self.to).unwrap_or_default()
    }
}

/// From so many delivered records on their room is used again.
const MOST_STALE: usize = 1024;

impl Queue {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.at == self.records.len() && self.others.is_empty()
    }

    pub fn len(&self) -> usize {
        self.records.len() - self.at + self.others.len()
    }

    /// Records that were read at `wall` come last.
    #[inline]
    pub fn push_records(&mut self, wall: u64, records: &[Record]) {
        if records.is_empty() {
            return;
        }
        let none = self.at == self.records.len();
        self.records.extend_from_slice(records);
        let until = self.records.len();
        match self.walls.back_mut() {
            Some((last, read)) if *read == wall => *last = until,
            None if none || self.wall == wall => (self.wall, self.until) = (wall, until),
            _ => self.walls.push_back((until, wall)),
        }
    }

    /// Something read at `wall` comes last.
    pub fn push(&mut self, wall: u64, item: Item) {
        match item {
            Item::Record(record) => self.push_records(wall, &[record]),
            item => self.others.push_back(Other { before: self.records.len(), wall, item }),
        }
    }

    fn other(&self) -> Option<&Other> {
        self.others.front().filter(|other| other.before == self.at)
    }

    /// What comes next.
    pub fn front(&self) -> Option<Front<'_>> {
        match self.other() {
            Some(other) => Some(Front::Other(&other.item)),
            None => self.records.get(self.at).map(Front::Record),
        }
    }

    /// When what comes next was read.
    pub fn wall(&self) -> Option<u64> {
        match self.other() {
            Some(other) => Some(other.wall),
            None => (self.at < self.records.len()).then_some(self.wall),
        }
    }

    /// Takes what comes next if it is no record.
    pub fn pop_other(&mut self) -> Option<Item> {
        self.other()?;
        self.others.pop_front().map(|other| other.item)
    }

    /// Drops the next record, of which there must be one.
    pub fn pop_record(&mut self) {
        self.advance(1);
    }

    /// Takes out the records that come next, were read at once and have nothing between them. Only they may be asked for
    /// until they are put back.
    #[inline]
    pub fn take_run(&mut self) -> Option<Run> {
        let (from, until) = (self.at, self.until);
        let to = if self.others.is_empty() { until } else { self.up_to_other(until) };
        (from < to).then(|| Run { records: std::mem::take(&mut self.records), from, to, wall: self.wall })
    }

    fn up_to_other(&self, until: usize) -> usize {
        self.others.front().map_or(until, |other| other.before.min(until))
    }

    /// Puts a run back, of which so many were delivered.
    #[inline]
    pub fn put_back(&mut self, run: Run, delivered: usize) {
        self.records = run.records;
        self.advance(delivered);
    }

    #[inline]
    fn advance(&mut self, by: usize) {
        self.at += by;
        if self.at == self.records.len() && self.others.is_empty() {
            self.records.clear();
            (self.at, self.until) = (0, 0);
            return;
        }
        if self.at == self.until
            && let Some((until, wall)) = self.walls.pop_front()
        {
            (self.until, self.wall) = (until, wall);
        }
        if self.at == self.records.len() || self.at >= MOST_STALE && self.at * 2 >= self.records.len() {
            self.reuse();
        }
    }

    /// Uses the room of delivered records again.
    fn reuse(&mut self) {
        if self.at == self.records.len() {
            self.records.clear();
        } else {
            self.records.drain(..self.at);
        }
        let walls = self.walls.iter_mut().map(|(until, _)| until);
        let others = self.others.iter_mut().map(|other| &mut other.before);
        for place in walls.chain(others).chain([&mut self.until]) {
            *place -= self.at;
        }
        self.at = 0;
    }

    /// All that is no record, in its order.
    pub fn others(&self) -> impl Iterator<Item = &Item> {
        self.others.iter().map(|other| &other.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::{Event, EventNumber};

    fn record(number: u32) -> Record {
        Record {
            event: Event::local(1),
            number: EventNumber(number),
            time: stillpoint_core::time::Ticks(0),
            message: None,
        }
    }

    /// Far more than is kept after delivery go through, a few at a time, with something between them now and then.
    #[test]
    fn a_queue_gives_back_what_went_in_in_its_order_and_reuses_the_room() {
        let (mut queue, mut next, mut out, mut others) = (Queue::default(), 0, 0, 0);
        for turn in 0_u32..20_000 {
            let records: Vec<_> = (next..next + turn % 5).map(record).collect();
            next += turn % 5;
            queue.push_records(u64::from(turn / 3), &records);
            if turn % 11 == 0 {
                queue.push(u64::from(turn), Item::Gap(next));
            }
            // A few always stay behind.
            while queue.len() > 7 {
                if let Some(Item::Gap(before)) = queue.pop_other() {
                    assert_eq!(before, out);
                    others += 1;
                } else if turn % 2 == 0 {
                    assert_eq!(queue.front(), Some(Front::Record(&record(out))));
                    queue.pop_record();
                    out += 1;
                } else {
                    let run = queue.take_run().expect("no record, and nothing else");
                    assert_eq!(run.records()[0], record(out));
                    let delivered = run.records().len().min(2);
                    queue.put_back(run, delivered);
                    out += delivered as u32;
                }
            }
            assert!(queue.records.len() <= 2 * MOST_STALE + 16, "{}", queue.records.len());
        }
        assert!(next > 30_000 && others > 1_800 && next - out <= 7);
    }

    #[test]
    fn a_run_was_read_at_once() {
        let mut queue = Queue::default();
        queue.push_records(5, &[record(1)]);
        queue.push_records(5, &[record(2)]);
        queue.push_records(6, &[record(3)]);
        let run = queue.take_run().unwrap();
        assert_eq!((run.records().len(), run.wall), (2, 5));
        queue.put_back(run, 2);
        assert_eq!((queue.len(), queue.wall()), (1, Some(6)));
    }
}
