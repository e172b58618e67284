//! A writer and a reader at one ring: what the reader may and may not see, whatever the interleaving.
use crate::log::{LogRing, Quarters};
use real::sync::Arc;
use real::thread;

/// A record says who it is in every byte, so that a stale or an overwritten byte shows.
fn record<const LEN: usize>(number: u8) -> [u8; LEN] {
    std::array::from_fn(|place| number * 16 + place as u8)
}

/// Reads what is there, checks that it is whole records in ascending order, and notes that they are read.
fn read<const S: usize, const LEN: usize>(ring: &LogRing<S>, seen: &mut Vec<u8>) {
    let mut bytes = [0; S];
    let piece = ring.peek(&mut bytes);
    let length = piece.length;
    assert_eq!(length % LEN, 0, "torn: {length} bytes are not whole records");
    for found in bytes[..length].chunks(LEN) {
        let number = found[0] / 16;
        assert_eq!(found, record::<LEN>(number), "torn record");
        assert!(seen.last().is_none_or(|last| *last < number), "torn: {number} after {seen:?}");
        seen.push(number);
    }
    ring.consume(piece);
}

/// Writes a record into the present quarter or, if that has no room, as the first of the next.
fn write<const S: usize, const LEN: usize>(ring: &LogRing<S>, quarters: &mut Quarters, number: u8) {
    let room = LEN as u32;
    let mut entry = quarters.open(ring, room).unwrap_or_else(|| {
        let entry = quarters.turn(ring, room).expect("a record is shorter than the ring");
        quarters.begin(entry, room);
        entry
    });
    record::<LEN>(number).into_iter().for_each(|byte| entry.put(byte));
    entry.commit();
}

/// `records` records go in while a reader looks `looks` times; afterwards it reads the rest. All are read that were not
/// overwritten before the reader came to them, and the newest always is.
pub fn write_and_read<const LEN: usize>(records: u8, looks: usize) {
    let mut model = real::model::Builder::new();
    // Interleavings in which a thread is interrupted at most twice: every access to a word is a place to do so.
    (model.max_branches, model.preemption_bound) = (10_000, Some(2));
    model.check(move || {
        let ring = Arc::new(LogRing::<16>::new());
        let writer = thread::spawn({
            let ring = ring.clone();
            move || {
                let mut quarters = Quarters::new();
                (1..=records).for_each(|number| write::<16, LEN>(&ring, &mut quarters, number));
            }
        });
        let mut seen = Vec::new();
        for _ in 0..looks {
            read::<16, LEN>(&ring, &mut seen);
        }
        writer.join().unwrap();
        read::<16, LEN>(&ring, &mut seen);
        assert_eq!(seen.last(), Some(&records), "the newest is read");
        if usize::from(records) * LEN <= 16 {
            assert_eq!(seen.len(), usize::from(records), "all that fits is read");
        }
    });
}
