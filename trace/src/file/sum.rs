//! What the log of one node amounts to, summed up piece by piece.
use super::{Chunk, Item, Stream};
use serde::Serialize;

/// The figures of one node's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeSum {
    /// The node's number.
    pub id: u8,
    /// Its name.
    pub name: String,
    /// Records of events.
    pub events: u64,
    /// Bytes of log.
    pub bytes: u64,
    /// Pieces of log.
    pub frames: u64,
    /// Records that found the ring full: those that a gap in the log tells of, and those that the ring had counted by the
    /// last piece and no record told of yet.
    pub dropped: u64,
    /// Records before the first sync record.
    pub unplaced: u64,
    /// How often the log began anew: resets of the node's board.
    pub restarts: u64,
    /// Places at which the bytes are not a log.
    pub broken: u64,
    /// The number of the first event.
    pub first: Option<u32>,
    /// The number of the last event.
    pub last: Option<u32>,
}

/// Sums up the log of one node. Whoever makes a recording and whoever reads it get the same figures from it.
///
/// # Example
/// ```
/// use stillpoint_trace::{Chunk, Summary};
/// let mut summary = Summary::new(0, "left0");
/// // The ring was full and had dropped 12 records when it was read, at a halt: no record tells of them.
/// summary.add(&Chunk { node: 0, wall: 0, position: 0, dropped: 12, bytes: Vec::new() });
/// assert_eq!(summary.sum().dropped, 12);
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    stream: Stream,
    sum: NodeSum,
    ring: Option<Ring>,
}

/// What the node's ring has counted, as far as the pieces tell.
#[derive(Clone, Copy, Debug)]
struct Ring {
    /// Records dropped so far, with the last piece.
    dropped: u64,
    /// Those of them that gaps in these pieces tell of.
    told: u64,
    /// Those that were told of before the first piece, at most.
    before: u64,
}

impl Ring {
    fn untold(self) -> u64 {
        self.dropped.saturating_sub(self.before).saturating_sub(self.told)
    }
}

impl Summary {
    /// A summary of a log of which nothing is read yet.
    #[must_use]
    pub fn new(id: u8, name: impl Into<String>) -> Self {
        Self { stream: Stream::new(), sum: NodeSum { id, name: name.into(), ..NodeSum::default() }, ring: None }
    }

    /// Adds the next piece.
    pub fn add(&mut self, chunk: &Chunk) {
        let Self { stream, sum, ring } = self;
        sum.bytes += chunk.bytes.len() as u64;
        sum.frames += 1;
        let (mut told, mut begins_anew) = (0, false);
        stream.push(chunk.position, &chunk.bytes, |item| match item {
            Item::Record(record) => {
                sum.events += 1;
                sum.first = sum.first.or(Some(record.number.0));
                sum.last = Some(record.number.0);
            }
            Item::Unplaced(_) => sum.unplaced += 1,
            Item::Gap(dropped) => told += u64::from(dropped),
            Item::Restart => {
                sum.restarts += 1;
                begins_anew = true;
            }
            Item::Broken(_) => sum.broken += 1,
            Item::Causes { .. } | Item::Sync(_) => {}
        });
        let dropped = u64::from(chunk.dropped);
        // A count that went down is that of a ring made anew.
        let is_smaller = ring.is_some_and(|ring| dropped < ring.dropped);
        let goes_on = ring.filter(|_| !begins_anew && !is_smaller);
        let mut now = goes_on.unwrap_or(Ring {
            dropped: 0,
            told: 0,
            // A ring that was read before may have told its earlier reader of some.
            before: if chunk.position == 0 || is_smaller { 0 } else { u64::MAX },
        });
        now.dropped = dropped;
        now.told += told;
        now.before = now.before.min(dropped.saturating_sub(now.told));
        // What was untold with the last piece is told by now, or still untold; in a life that is over it stays so.
        sum.dropped -= goes_on.map_or(0, Ring::untold);
        sum.dropped += told + now.untold();
        *ring = Some(now);
    }

    /// The figures so far.
    #[must_use]
    pub fn sum(&self) -> &NodeSum {
        &self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
    use stillpoint_core::time::Ticks;
    use stillpoint_core::{Event, EventNumber, NodeId};

    /// A node with a small ring.
    struct Node {
        ring: LogRing<256>,
        log: LogWriter<1>,
        events: u32,
    }

    impl Node {
        fn new() -> Self {
            Self { ring: LogRing::new(), log: LogWriter::new(), events: 0 }
        }

        fn run(&mut self, events: u32) {
            for _ in 0..events {
                self.events += 1;
                let number = EventNumber(self.events);
                let (me, clock, recording) = (NodeId(0), &[self.events], Recording::FULL);
                let standing = Standing { me, number, clock, counts: &[], origins: &[], recording };
                self.log.push(&self.ring, &Event::local(7), Ticks(self.events), &standing);
            }
        }

        /// A board's reset, which keeps the RAM.
        fn reset(&mut self) {
            self.ring.init();
            self.log = LogWriter::new();
        }

        fn drain(&self, into: &mut Summary) {
            let mut bytes = vec![0; 256];
            let (position, dropped) = (self.ring.position(), self.ring.dropped());
            let length = self.ring.peek(&mut bytes);
            bytes.truncate(length);
            self.ring.consume(length);
            into.add(&Chunk { node: 0, wall: 0, position, dropped, bytes });
        }
    }

    #[test]
    fn every_event_was_recorded_or_dropped_whenever_the_ring_is_read() {
        let (mut node, mut summary) = (Node::new(), Summary::new(0, "a"));
        for events in [1000, 3, 20, 500, 1, 999] {
            node.run(events);
            node.drain(&mut summary);
            let sum = summary.sum();
            assert_eq!((sum.events + sum.dropped, sum.restarts), (node.events.into(), 0), "{sum:?}");
            assert_eq!(sum.dropped, u64::from(node.ring.dropped()));
        }
    }

    /// What was dropped while the first recorder read is in its own figures; what was dropped between the two is a gap at
    /// the beginning of the second.
    #[test]
    fn a_second_recording_counts_what_is_missing_from_it_and_not_from_the_first() {
        let (mut node, mut first, mut second) = (Node::new(), Summary::new(0, "a"), Summary::new(0, "a"));
        node.run(1000);
        node.drain(&mut first);
        node.run(5);
        node.drain(&mut first);
        let dropped = first.sum().dropped;
        assert!(dropped > 500);
        // A recorder asks for a sync record when it begins.
        node.log.resynchronise(Ticks(node.events.into()));
        node.run(10);
        node.drain(&mut second);
        assert_eq!((second.sum().events, second.sum().dropped), (10, 0));
        node.run(1000);
        node.drain(&mut second);
        let sum = second.sum();
        assert_eq!((sum.events + sum.dropped, dropped + sum.dropped), (1010, node.ring.dropped().into()), "{sum:?}");
    }

    #[test]
    fn drops_of_the_life_before_a_reset_stay_counted() {
        let (mut node, mut summary) = (Node::new(), Summary::new(0, "a"));
        node.run(1000);
        node.drain(&mut summary);
        let dropped = summary.sum().dropped;
        node.reset();
        node.run(10);
        node.drain(&mut summary);
        assert_eq!(summary.sum().dropped, dropped);
        node.run(1000);
        node.drain(&mut summary);
        let sum = summary.sum();
        assert_eq!((sum.events + sum.dropped, sum.restarts), (node.events.into(), 1), "{sum:?}");
    }
}
