//! A ring of bytes between one node and one reader.
//!
//! The node writes bytes and then publishes them with one store; the reader, usually a debug probe that reads memory
//! word by word, frees them with one store. Nobody waits and nobody uses compare-and-swap.
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A log ring of `S` bytes, a power of two.
///
/// The layout is fixed: `written`, `read`, `dropped` and the size as words, then the bytes. `written` and `read` count
/// bytes for ever and wrap; the reader owns `read` and moves it only by whole records.
///
/// # Example
/// ```
/// use stillpoint_core::log::LogRing;
/// static RING: LogRing<64> = LogRing::new();
/// assert!(RING.write(&[1, 2, 3]));
/// let mut bytes = [0; 8];
/// assert_eq!(RING.peek(&mut bytes), 3);
/// RING.consume(3);
/// assert_eq!(RING.peek(&mut bytes), 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct LogRing<const S: usize> {
    written: AtomicU32,
    read: AtomicU32,
    dropped: AtomicU32,
    size: AtomicU32,
    bytes: [AtomicU8; S],
}

#[cfg(not(loom))]
const _: () = {
    assert!(core::mem::offset_of!(LogRing<64>, read) == 4);
    assert!(core::mem::offset_of!(LogRing<64>, dropped) == 8);
    assert!(core::mem::offset_of!(LogRing<64>, size) == 12);
    assert!(core::mem::offset_of!(LogRing<64>, bytes) == 16);
    assert!(core::mem::size_of::<LogRing<64>>() == 80);
};

impl<const S: usize> LogRing<S> {
    const MASK: u32 = {
        assert!(S.is_power_of_two() && S >= 16 && S <= 1 << 24, "a ring has a power of two of bytes, 16 to 16 MiB");
        S as u32 - 1
    };

    /// An empty ring.
    #[must_use]
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        let size = Self::MASK + 1;
        Self {
            written: AtomicU32::new(0),
            read: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            size: AtomicU32::new(size),
            bytes: [const { AtomicU8::new(0) }; S],
        }
    }

    /// An empty ring.
    #[must_use]
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            written: AtomicU32::new(0),
            read: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            size: AtomicU32::new(Self::MASK + 1),
            bytes: core::array::from_fn(|_| AtomicU8::new(0)),
        }
    }

    /// Makes memory that holds anything an empty ring.
    ///
    /// A ring that the memory kept over a reset goes on counting where it was, without what was not read; where records were
    /// dropped it counts one byte more. So a reader that finds the count where it left it has missed nothing.
    pub fn init(&self) {
        let written = self.written.load(Ordering::Relaxed);
        let unread = written.wrapping_sub(self.read.load(Ordering::Relaxed));
        let is_kept = self.size.load(Ordering::Relaxed) == Self::MASK + 1 && unread <= Self::MASK + 1;
        let dropped = self.dropped.load(Ordering::Relaxed) != 0;
        let at = if is_kept { written.wrapping_add(u32::from(dropped)) } else { 0 };
        for (word, value) in [(&self.written, at), (&self.read, at), (&self.dropped, 0), (&self.size, Self::MASK + 1)] {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Opens the ring for one record of at most `room` bytes. `None`, and counted, when that much is not free.
    #[inline(always)]
    pub(super) fn open(&self, room: u32) -> Option<Entry<'_, S>> {
        let at = self.written.load(Ordering::Relaxed);
        let used = at.wrapping_sub(self.read.load(Ordering::Acquire));
        // A reader that claims more than was written makes `used` huge, and then nothing fits either.
        let most = (Self::MASK + 1).checked_sub(room)?;
        (used <= most).then_some(Entry { ring: self, at })
    }

    /// Counts a record that found no room.
    pub(super) fn count_drop(&self) {
        self.dropped.store(self.dropped.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Writes `bytes` as one record. False, and counted, when they do not fit.
    pub fn write(&self, bytes: &[u8]) -> bool {
        match u32::try_from(bytes.len()).ok().and_then(|room| self.open(room)) {
            Some(mut entry) => {
                bytes.iter().for_each(|byte| entry.put(*byte));
                entry.commit();
                true
            }
            None => {
                self.count_drop();
                false
            }
        }
    }

    /// How many records found no room since the ring was made.
    #[must_use]
    pub fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Where what is readable begins, counted for ever.
    #[must_use]
    pub fn position(&self) -> u32 {
        self.read.load(Ordering::Relaxed)
    }

    /// Copies what is readable into `out`, without consuming it. Returns how much.
    pub fn peek(&self, out: &mut [u8]) -> usize {
        let from = self.read.load(Ordering::Relaxed);
        let readable = self.written.load(Ordering::Acquire).wrapping_sub(from).min(Self::MASK + 1) as usize;
        let mut at = from;
        for place in out.iter_mut().take(readable) {
            *place = self.byte(at).map_or(0, |byte| byte.load(Ordering::Relaxed));
            at = at.wrapping_add(1);
        }
        readable.min(out.len())
    }

    /// Frees the first `count` readable bytes; more than is readable frees all.
    pub fn consume(&self, count: usize) {
        let from = self.read.load(Ordering::Relaxed);
        let readable = self.written.load(Ordering::Acquire).wrapping_sub(from);
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(readable);
        self.read.store(from.wrapping_add(count), Ordering::Release);
    }

    #[inline(always)]
    fn byte(&self, at: u32) -> Option<&AtomicU8> {
        self.bytes.get((at & Self::MASK) as usize)
    }
}

impl<const S: usize> Default for LogRing<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// A record being written; it is visible to the reader only after `commit`.
pub(super) struct Entry<'a, const S: usize> {
    ring: &'a LogRing<S>,
    at: u32,
}

impl<const S: usize> Entry<'_, S> {
    #[inline(always)]
    pub(super) fn put(&mut self, byte: u8) {
        if let Some(place) = self.ring.byte(self.at) {
            place.store(byte, Ordering::Relaxed);
        }
        self.at = self.at.wrapping_add(1);
    }

    /// Whether the next `count` bytes do not go round the end of the ring.
    #[inline(always)]
    pub(super) fn is_straight(&self, count: u32) -> bool {
        (self.at & LogRing::<S>::MASK).wrapping_add(count) <= LogRing::<S>::MASK + 1
    }

    /// Words, the lowest byte first, one slice after the other.
    #[inline(always)]
    pub(super) fn put_words(&mut self, slices: [&[u32]; 3]) {
        let [first, second, third] = slices;
        let count = (first.len() + second.len() + third.len()) as u32 * 4;
        let from = (self.at & LogRing::<S>::MASK) as usize;
        let Some(straight) = self.ring.bytes.get(from..from.wrapping_add(count as usize)) else {
            return slices.into_iter().for_each(|words| self.put_words_round(words));
        };
        let places = straight.as_chunks::<4>().0;
        let (places_of_first, places) = places.split_at_checked(first.len()).unwrap_or_default();
        let (places_of_second, places_of_third) = places.split_at_checked(second.len()).unwrap_or_default();
        store_words(places_of_first, first);
        store_words(places_of_second, second);
        store_words(places_of_third, third);
        self.at = self.at.wrapping_add(count);
    }

    /// A word, the lowest byte first.
    #[inline(always)]
    pub(super) fn put_word(&mut self, word: u32) {
        let from = (self.at & LogRing::<S>::MASK) as usize;
        let Some(straight) = self.ring.bytes.get(from..from.wrapping_add(4)) else {
            return self.put_words_round(&[word]);
        };
        store_words(straight.as_chunks::<4>().0, &[word]);
        self.at = self.at.wrapping_add(4);
    }

    #[cold]
    #[inline(never)]
    fn put_words_round(&mut self, words: &[u32]) {
        words.iter().flat_map(|word| word.to_le_bytes()).for_each(|byte| self.put(byte));
    }

    #[inline(always)]
    pub(super) fn commit(self) {
        self.ring.written.store(self.at, Ordering::Release);
    }
}

#[inline(always)]
fn store_words(places: &[[AtomicU8; 4]], words: &[u32]) {
    for ([a, b, c, d], word) in places.iter().zip(words) {
        // Written out: also where loops are not unrolled for the sake of size.
        a.store(*word as u8, Ordering::Relaxed);
        b.store((word >> 8) as u8, Ordering::Relaxed);
        c.store((word >> 16) as u8, Ordering::Relaxed);
        d.store((word >> 24) as u8, Ordering::Relaxed);
    }
}

#[cfg(any(all(test, not(loom)), on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn bytes_come_out_as_they_went_in_across_the_wrap() {
        let ring = LogRing::<16>::new();
        let mut next = 0u8;
        for round in 0..100u32 {
            let length = 1 + round as usize % 7;
            let bytes: [u8; 7] = core::array::from_fn(|place| next.wrapping_add(place as u8));
            assert!(ring.write(&bytes[..length]));
            next = next.wrapping_add(length as u8);
            let mut out = [0; 7];
            assert_eq!(ring.peek(&mut out), length);
            assert_eq!(out[..length], bytes[..length]);
            ring.consume(length);
        }
    }

    #[test]
    fn what_does_not_fit_is_dropped_whole_and_counted() {
        let ring = LogRing::<16>::new();
        assert!(ring.write(&[7; 10]));
        assert!(!ring.write(&[8; 7]));
        assert!(ring.write(&[9; 6]));
        assert!(!ring.write(&[1]));
        assert_eq!(ring.dropped(), 2);
        let mut out = [0; 32];
        assert_eq!(ring.peek(&mut out), 16);
        assert_eq!(out[..16], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 9, 9, 9, 9, 9, 9]);
    }

    #[test]
    fn a_reader_that_claims_more_than_was_written_gets_no_space_written_over() {
        let ring = LogRing::<16>::new();
        assert!(ring.write(&[1, 2, 3]));
        ring.read.store(1000, Ordering::Relaxed);
        assert!(!ring.write(&[4]));
        assert_eq!(ring.dropped(), 1);
    }

    #[test]
    fn memory_that_holds_anything_becomes_an_empty_ring() {
        let ring = LogRing::<16>::new();
        for word in [&ring.written, &ring.read, &ring.dropped, &ring.size] {
            word.store(99, Ordering::Relaxed);
        }
        ring.init();
        assert_eq!((ring.peek(&mut [0; 4]), ring.dropped()), (0, 0));
        assert_eq!(ring.size.load(Ordering::Relaxed), 16);
        assert!(ring.write(&[1; 16]));
    }

    #[test]
    fn a_ring_kept_over_a_reset_is_empty_and_goes_on_counting() {
        let ring = LogRing::<16>::new();
        assert!(ring.write(&[1, 2, 3]));
        ring.consume(1);
        ring.init();
        assert_eq!((ring.peek(&mut [0; 4]), ring.written.load(Ordering::Relaxed)), (0, 3));
        assert!(ring.write(&[4; 16]) && !ring.write(&[5]));
        ring.consume(16);
        ring.init();
        assert_eq!((ring.written.load(Ordering::Relaxed), ring.dropped()), (3 + 16 + 1, 0));
    }

    #[test]
    fn counts_run_on_across_their_wrap() {
        let ring = LogRing::<16>::new();
        ring.written.store(u32::MAX - 1, Ordering::Relaxed);
        ring.read.store(u32::MAX - 1, Ordering::Relaxed);
        assert!(ring.write(&[1, 2, 3, 4]));
        let mut out = [0; 16];
        assert_eq!(ring.peek(&mut out), 4);
        assert_eq!(out[..4], [1, 2, 3, 4]);
        ring.consume(4);
        assert_eq!(ring.peek(&mut out), 0);
    }
}
