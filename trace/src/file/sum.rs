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
    /// Records that the node had written before the first one here: a recorder came too late for them.
    pub before: u64,
    /// Records that were overwritten in the node's ring before they were read.
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
/// // A sync record in front of record 12, which is the event 13, and that event.
/// let sync = [0x23, 2, 0, 0].into_iter().chain([13u32, 0, 0, 12].into_iter().flat_map(u32::to_le_bytes));
/// let bytes = sync.chain([0x87, 0]).collect();
/// summary.add(&Chunk { node: 0, wall: 0, position: 0, dropped: 0, bytes });
/// assert_eq!((summary.sum().events, summary.sum().before, summary.sum().first), (1, 12, Some(13)));
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    stream: Stream,
    sum: NodeSum,
}

impl Summary {
    /// A summary of a log of which nothing is read yet.
    #[must_use]
    pub fn new(id: u8, name: impl Into<String>) -> Self {
        Self { stream: Stream::new(), sum: NodeSum { id, name: name.into(), ..NodeSum::default() } }
    }

    /// Adds the next piece.
    pub fn add(&mut self, chunk: &Chunk) {
        let Self { stream, sum } = self;
        sum.bytes += chunk.bytes.len() as u64;
        sum.frames += 1;
        stream.push(chunk.position, &chunk.bytes, |item| match item {
            Item::Record(record) => {
                sum.events += 1;
                sum.first = sum.first.or(Some(record.number.0));
                sum.last = Some(record.number.0);
            }
            Item::Unplaced(_) => sum.unplaced += 1,
            Item::Gap(missing) => sum.dropped += u64::from(missing),
            Item::Restart => sum.restarts += 1,
            Item::Broken(_) => sum.broken += 1,
            Item::Sync(sync) if sum.first.is_none() && sum.restarts == 0 => {
                sum.before = u64::from(sync.records).saturating_sub(sum.unplaced);
            }
            Item::Causes { .. } | Item::Sync(_) => {}
        });
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
                let standing = Standing { me, number, clock, counts: &[], origins: &[], recording: &recording };
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
            let piece = self.ring.peek(&mut bytes);
            bytes.truncate(piece.length);
            self.ring.consume(piece);
            into.add(&Chunk { node: 0, wall: 0, position: piece.position, dropped: self.ring.dropped(), bytes });
        }
    }

    #[test]
    fn every_event_is_recorded_or_counted_whenever_the_ring_is_read() {
        let (mut node, mut summary) = (Node::new(), Summary::new(0, "a"));
        for events in [1000, 3, 20, 500, 1, 999] {
            node.run(events);
            node.drain(&mut summary);
            let sum = summary.sum();
            assert_eq!((sum.before + sum.events + sum.dropped, sum.restarts), (node.events.into(), 0), "{sum:?}");
            assert_eq!(sum.last, Some(node.events), "the newest is there");
        }
        assert!(summary.sum().before > 800 && summary.sum().dropped > 1000);
    }

    #[test]
    fn a_second_recording_counts_what_came_before_it_apart() {
        let (mut node, mut first, mut second) = (Node::new(), Summary::new(0, "a"), Summary::new(0, "a"));
        node.run(10);
        node.drain(&mut first);
        assert_eq!((first.sum().before, first.sum().dropped), (0, 0));
        // A recorder asks for a sync record when it begins.
        node.run(2);
        node.log.resynchronise(Ticks(node.events.into()));
        node.run(10);
        node.drain(&mut second);
        let sum = second.sum();
        assert_eq!((sum.before, sum.unplaced, sum.events, sum.dropped), (10, 2, 10, 0));
        node.run(1000);
        node.drain(&mut second);
        let sum = second.sum();
        assert_eq!(sum.before + sum.unplaced + sum.events + sum.dropped, 1022, "{sum:?}");
    }

    /// Numbers go on: this node's clock has no epochs.
    #[test]
    fn what_is_missing_of_the_life_before_a_reset_stays_counted() {
        let (mut node, mut summary) = (Node::new(), Summary::new(0, "a"));
        node.run(3);
        node.drain(&mut summary);
        node.run(1000);
        node.drain(&mut summary);
        let dropped = summary.sum().dropped;
        assert!(dropped > 800);
        node.reset();
        node.run(10);
        node.drain(&mut summary);
        assert_eq!(summary.sum().dropped, dropped);
        node.run(1000);
        node.drain(&mut summary);
        let sum = summary.sum();
        assert_eq!(sum.events + sum.dropped, u64::from(node.events), "{sum:?}");
    }
}
