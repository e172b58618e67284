//! The log ring under every interleaving of its writer and its reader, and every value its atomics may yield.
//!
//! Run: `RUSTFLAGS="--cfg loom" cargo test -p stillpoint-core --release --test loom --test loom_mutants --test loom_lane`
//!
//! `loom_lane` does the same for the marker slot between two cores; `loom_mutants` shows that these scenarios catch a ring that publishes wrongly.
#![cfg(loom)]

#[path = "loom/scenarios.rs"]
mod scenarios;

mod ring {
    pub use stillpoint_core::log::LogRing;
}

mod model {
    pub use loom::model as check;
    pub use loom::{sync::Arc, thread};
}

use loom::sync::Arc;
use loom::thread;
use stillpoint_core::log::{LogItem, LogReader, LogRing, LogWriter, Recording, Standing};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventNumber, NodeId};

#[test]
fn a_reader_sees_only_whole_records_in_order_while_the_writer_goes_on() {
    scenarios::write_and_read::<2>(3, 3);
}

/// Two records fill the ring, so the third takes the place of one that was read, or is dropped and counted.
#[test]
fn a_record_is_overwritten_only_after_it_was_read() {
    scenarios::write_and_read::<8>(3, 2);
}

/// A node that logs into a ring of 64 bytes.
struct Logging {
    ring: Arc<LogRing<64>>,
    writer: LogWriter<1>,
    number: u32,
}

impl Logging {
    fn happen(&mut self) {
        self.number += 1;
        let standing = Standing {
            me: NodeId(0),
            number: EventNumber(self.number),
            clock: &[self.number],
            counts: &[],
            origins: &[],
            recording: Recording::FULL,
        };
        self.writer.push(&self.ring, &Event::local(self.number as u16), Ticks(self.number), &standing);
    }
}

/// What a reader made of a log.
#[derive(Default)]
struct Heard {
    reader: LogReader,
    last: u32,
    records: u32,
    told_lost: u32,
}

impl Heard {
    fn listen(&mut self, ring: &LogRing<64>) {
        let mut bytes = [0; 64];
        let length = ring.peek(&mut bytes);
        let mut rest = &bytes[..length];
        while let Some((item, used)) = self.reader.next(rest).expect("a log that can be read") {
            match item {
                LogItem::Record(record) => {
                    let number = record.number.0;
                    assert!(number > self.last, "event {number} after {}", self.last);
                    assert_eq!(u32::from(record.event.arg), number, "a torn record");
                    (self.last, self.records) = (number, self.records + 1);
                }
                LogItem::Gap(lost) => self.told_lost += lost,
                LogItem::Sync(sync) => assert_eq!(sync.time, Ticks(u64::from(sync.number.0))),
                LogItem::Causes(_) => panic!("nothing is restricted"),
            }
            rest = &rest[used..];
        }
        assert!(rest.is_empty(), "half a record was published");
        ring.consume(length);
    }
}

/// The writer's and the reader's code as shipped, on a ring that is nearly full when they meet. Bounded to interleavings
/// in which a thread is interrupted at most three times: each read of the ring is some fifty loads.
#[test]
fn every_event_is_read_or_told_as_lost() {
    let mut model = loom::model::Builder::new();
    (model.max_branches, model.preemption_bound) = (10_000, Some(3));
    model.check(|| {
        let ring = Arc::new(LogRing::new());
        let mut node = Logging { ring: ring.clone(), writer: LogWriter::new(), number: 0 };
        // A sync record of 20 bytes and 15 records of 2: one more fits for sure, the one after it only if room is made.
        for _ in 0..15 {
            node.happen();
        }
        let writer = thread::spawn(move || {
            node.happen();
            node.happen();
            node
        });
        let mut heard = Heard::default();
        heard.listen(&ring);
        let mut node = writer.join().unwrap();
        heard.listen(&ring);
        node.happen();
        heard.listen(&ring);
        assert_eq!(heard.records + heard.told_lost, node.number);
        assert_eq!(heard.told_lost, ring.dropped());
    });
}
