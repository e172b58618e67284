//! The log ring under every interleaving of its writer and its readers, and every value its atomics may yield.
//!
//! Run: `RUSTFLAGS="--cfg loom" cargo test -p stillpoint-core --release --test loom --test loom_lane`
//!
//! `src/log/` is compiled here unchanged. It takes its atomics from a crate named `loom`, and in this test that is the test
//! itself: its atomics forward to the real loom, but weaken or reorder accesses where a mutant says so. The scenarios must hold
//! without a mutant and fail with each. `loom_lane` does the same for the marker slot between two cores.
#![cfg(loom)]

extern crate loom as real;
extern crate self as loom;

#[path = "loom/atomics.rs"]
mod atomics;
#[allow(dead_code, unused_imports, reason = "the scenarios use a part of it")]
#[path = "../src/log/mod.rs"]
mod log;
#[path = "loom/scenarios.rs"]
mod scenarios;

pub use atomics::sync;
use atomics::{MUTANT, Mutant};
use log::{LogItem, LogReader, LogRing, LogWriter, Recording, Standing};
use real::sync::Arc;
use real::thread;
use stillpoint_core::time::Ticks;
pub(crate) use stillpoint_core::{Event, EventKind, EventNumber, KindSet, MAX_NODES, MAX_PORTS, NodeId, time};

#[test]
fn a_reader_sees_only_whole_records_in_order_while_the_writer_goes_on() {
    scenarios::write_and_read::<2>(3, 3);
}

/// Two records fill the ring, so the third takes the place of the first, perhaps while that is read.
#[test]
fn a_record_that_is_overwritten_while_it_is_read_is_discarded() {
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
            recording: &Recording::FULL,
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
        let piece = ring.peek(&mut bytes);
        let mut rest = &bytes[..piece.length];
        while let Some((item, used)) = self.reader.next(rest).expect("a log that can be read") {
            match item {
                LogItem::Record(record) => {
                    let number = record.number.0;
                    assert!(number > self.last, "event {number} after {}", self.last);
                    assert_eq!(u32::from(record.event.arg), number, "a torn record");
                    (self.last, self.records) = (number, self.records + 1);
                }
                LogItem::Sync(sync) => {
                    assert_eq!(sync.time, Ticks(u64::from(sync.number.0)));
                    self.told_lost += sync.missing;
                }
                LogItem::Causes(_) => panic!("nothing is restricted"),
            }
            rest = &rest[used..];
        }
        assert!(rest.is_empty(), "half a record was published");
        ring.consume(piece);
    }
}

/// The writer's and the reader's code as shipped, on a ring that is nearly full when they meet. Bounded to interleavings
/// in which a thread is interrupted at most twice: each read of the ring is some fifty loads.
#[test]
fn every_event_is_read_or_known_to_be_missing() {
    let mut model = real::model::Builder::new();
    (model.max_branches, model.preemption_bound) = (10_000, Some(2));
    model.check(|| {
        let ring = Arc::new(LogRing::new());
        let mut node = Logging { ring: ring.clone(), writer: LogWriter::new(), number: 0 };
        let mut heard = Heard::default();
        node.happen();
        heard.listen(&ring);
        // A sync record of 28 bytes and records of 2: what follows soon gives up what is in the ring.
        for _ in 0..12 {
            node.happen();
        }
        let writer = thread::spawn(move || {
            node.happen();
            node.happen();
            node
        });
        heard.listen(&ring);
        let mut node = writer.join().unwrap();
        heard.listen(&ring);
        node.happen();
        heard.listen(&ring);
        assert_eq!(heard.records + heard.told_lost, node.number);
        assert_eq!((heard.last, ring.dropped()), (node.number, 0));
    });
}

fn scenario_with(mutant: Mutant) {
    MUTANT.set(mutant);
    scenarios::write_and_read::<2>(2, 2);
}

#[test]
#[should_panic(expected = "torn")]
fn a_commit_without_release_is_caught() {
    scenario_with(Mutant::RelaxedCommit);
}

#[test]
#[should_panic(expected = "torn")]
fn bytes_that_are_overwritten_without_a_fence_are_caught() {
    MUTANT.set(Mutant::NoFence);
    scenarios::write_and_read::<8>(3, 2);
}

#[test]
#[should_panic(expected = "torn")]
fn a_commit_before_its_bytes_is_caught() {
    scenario_with(Mutant::CommitBeforeBytes);
}
