//! A writer and a reader at one ring: what the reader may and may not see, whatever the interleaving.
//!
//! `LogRing` is the one of the test that includes this file: the shipped one, or the shipped one on broken atomics.
use crate::model::{self, Arc, thread};
use crate::ring::LogRing;

/// A record says who it is in every byte, so that a stale or an overwritten byte shows.
fn record<const LEN: usize>(number: u8) -> [u8; LEN] {
    std::array::from_fn(|place| number * 16 + place as u8)
}

/// Reads what is there, checks that it is whole records in ascending order, and frees them.
fn read<const S: usize, const LEN: usize>(ring: &LogRing<S>, seen: &mut Vec<u8>) {
    let mut bytes = [0; S];
    let length = ring.peek(&mut bytes);
    assert_eq!(length % LEN, 0, "torn: {length} bytes are not whole records");
    for found in bytes[..length].chunks(LEN) {
        let number = found[0] / 16;
        assert_eq!(found, record::<LEN>(number), "torn record");
        assert!(seen.last().is_none_or(|last| *last < number), "torn: {number} after {seen:?}");
        seen.push(number);
    }
    ring.consume(length);
}

/// `records` records go in while a reader looks `looks` times; afterwards it reads the rest.
pub fn write_and_read<const LEN: usize>(records: u8, looks: usize) {
    model::check(move || {
        let ring = Arc::new(LogRing::<16>::new());
        let writer = thread::spawn({
            let ring = ring.clone();
            move || (1..=records).filter(|number| ring.write(&record::<LEN>(*number))).count()
        });
        let mut seen = Vec::new();
        for _ in 0..looks {
            read::<16, LEN>(&ring, &mut seen);
        }
        let written = writer.join().unwrap();
        read::<16, LEN>(&ring, &mut seen);
        assert_eq!(seen.len(), written, "what was accepted is read");
        assert_eq!(ring.dropped() as usize, usize::from(records) - written, "what was not is counted");
    });
}
