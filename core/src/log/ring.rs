//! A ring of bytes between one node and its readers.
//!
//! The node writes bytes and then publishes them with one store. A full ring keeps the newest records: the node moves
//! `oldest` forward by about a quarter of the ring before it overwrites that part. A reader, usually a debug probe that reads
//! memory word by word, copies bytes, reads `oldest` again and discards what may have been overwritten meanwhile. Nobody
//! waits and nobody uses compare-and-swap.
use super::Origins;
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

/// A log ring of `S` bytes, a power of two, that keeps the newest records.
///
/// The layout is fixed: `written`, `read`, `dropped`, the size and `oldest` as words, then the bytes. `written`, `read` and
/// `oldest` count bytes for ever and wrap. The node owns all but `read`, where a reader notes how far it has read.
///
/// # Example
/// ```
/// use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
/// use stillpoint_core::{Event, EventNumber, NodeId, time::Ticks};
/// static RING: LogRing<64> = LogRing::new();
/// let (mut writer, me, recording) = (LogWriter::<1>::new(), NodeId(0), &Recording::FULL);
/// let standing = Standing { me, number: EventNumber(1), clock: &[1], counts: &[], origins: &[], recording };
/// writer.push(&RING, &Event::local(7), Ticks(0), &standing);
/// let mut bytes = [0; 64];
/// let piece = RING.peek(&mut bytes);
/// assert_eq!(bytes[..piece.length].last_chunk(), Some(&[0x87, 0]));
/// RING.consume(piece);
/// assert_eq!(RING.peek(&mut bytes).length, 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct LogRing<const S: usize> {
    written: AtomicU32,
    read: AtomicU32,
    dropped: AtomicU32,
    size: AtomicU32,
    oldest: AtomicU32,
    bytes: [AtomicU8; S],
}

#[cfg(not(loom))]
const _: () = {
    assert!(core::mem::offset_of!(LogRing<64>, read) == 4);
    assert!(core::mem::offset_of!(LogRing<64>, dropped) == 8);
    assert!(core::mem::offset_of!(LogRing<64>, size) == 12);
    assert!(core::mem::offset_of!(LogRing<64>, oldest) == 16);
    assert!(core::mem::offset_of!(LogRing<64>, bytes) == 20);
    assert!(core::mem::size_of::<LogRing<64>>() == 84);
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
            oldest: AtomicU32::new(0),
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
            oldest: AtomicU32::new(0),
            bytes: core::array::from_fn(|_| AtomicU8::new(0)),
        }
    }

    /// Initialises a ring in arbitrary memory as an empty one.
    ///
    /// A ring that the memory kept over a reset goes on counting where it was, without what was not read; where records were
    /// dropped it counts one byte more. So a reader that finds the count where it left it has missed nothing.
    pub fn init(&self) {
        let written = self.written.load(Ordering::Relaxed);
        let held = written.wrapping_sub(self.oldest.load(Ordering::Relaxed));
        let is_kept = self.size.load(Ordering::Relaxed) == Self::MASK + 1 && held <= Self::MASK + 1;
        let dropped = self.dropped.load(Ordering::Relaxed) != 0;
        let at = if is_kept { written.wrapping_add(u32::from(dropped)) } else { 0 };
        for word in [&self.written, &self.read, &self.oldest] {
            word.store(at, Ordering::Relaxed);
        }
        self.dropped.store(0, Ordering::Relaxed);
        self.size.store(Self::MASK + 1, Ordering::Relaxed);
    }

    /// Opens the ring for one record of at most `room` bytes in front of `limit`, up to which it may be written.
    #[inline(always)]
    pub(crate) fn open(&self, room: u32, limit: u32) -> Option<Entry<'_, S>> {
        let at = self.written.load(Ordering::Relaxed);
        (limit.wrapping_sub(at) as i32 >= room as i32).then_some(Entry { ring: self, at })
    }

    /// Counts a record that is longer than the ring.
    pub(crate) fn count_drop(&self) {
        self.dropped.store(self.dropped.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Returns how many records were longer than the ring since it was made.
    #[must_use]
    pub fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns where the oldest record in the ring begins, counted for ever. It is preceded by its sync record.
    #[must_use]
    pub fn oldest(&self) -> u32 {
        self.oldest.load(Ordering::Relaxed)
    }

    /// Returns where what is not read yet begins, counted for ever: the end of what was read or, if that is overwritten, the
    /// oldest record.
    #[must_use]
    pub fn position(&self) -> u32 {
        self.unread().0
    }

    /// Where what is not read yet begins and ends. The end is loaded first: of what lies before it, no more than the ring holds is
    /// called unread.
    fn unread(&self) -> (u32, u32) {
        let (written, read, oldest) =
            (self.written.load(Ordering::Acquire), self.read.load(Ordering::Relaxed), self.oldest());
        (if written.wrapping_sub(read) <= written.wrapping_sub(oldest) { read } else { oldest }, written)
    }

    /// Copies what is not read yet into `out`, without consuming it. Returns where the copy begins and how long it is.
    pub fn peek(&self, out: &mut [u8]) -> Piece {
        let (from, end) = self.unread();
        // What is given up may be known before what was written in its place is.
        let readable = ((end.wrapping_sub(from) as i32).max(0) as u32).min(Self::MASK + 1) as usize;
        let mut at = from;
        for place in out.iter_mut().take(readable) {
            *place = self.byte(at).map_or(0, |byte| byte.load(Ordering::Relaxed));
            at = at.wrapping_add(1);
        }
        let copied = readable.min(out.len());
        // What lies in front of the oldest record now may have been overwritten while it was copied.
        fence(Ordering::Acquire);
        let lost = (self.oldest().wrapping_sub(from) as i32).max(0) as u32;
        let kept = copied.saturating_sub(lost as usize);
        out.copy_within(copied - kept..copied, 0);
        Piece { position: from.wrapping_add(lost), length: kept }
    }

    /// Notes that a piece is read.
    pub fn consume(&self, piece: Piece) {
        self.read.store(piece.position.wrapping_add(piece.length as u32), Ordering::Release);
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

/// The words that a sync record begins with.
pub(crate) const HEAD: usize = 5;

/// A piece of a ring that was copied out of it.
///
/// # Example: nothing was written yet
/// ```
/// use stillpoint_core::log::{LogRing, Piece};
/// assert_eq!(LogRing::<64>::new().peek(&mut [0; 64]), Piece { position: 0, length: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, in bytes counted for ever.
    pub position: u32,
    /// Its length in bytes.
    pub length: usize,
}

/// A record being written; it is visible to the reader only after `commit`.
///
/// Given away by value: one whose address is known would be kept in memory.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a, const S: usize> {
    ring: &'a LogRing<S>,
    at: u32,
}

impl<const S: usize> Entry<'_, S> {
    #[inline(always)]
    pub(crate) fn put(&mut self, byte: u8) {
        if let Some(place) = self.ring.byte(self.at) {
            place.store(byte, Ordering::Relaxed);
        }
        self.at = self.at.wrapping_add(1);
    }

    /// Whether nothing older is in the ring.
    pub(crate) fn is_oldest(&self) -> bool {
        self.ring.oldest() == self.at
    }

    /// Gives up what is older than `oldest`.
    #[inline(always)]
    fn give_up_to(&self, oldest: u32) {
        if oldest != self.ring.oldest() {
            self.ring.oldest.store(oldest, Ordering::Relaxed);
            // Before any byte of what is given up is overwritten.
            fence(Ordering::Release);
        }
    }

    /// Whether the next `count` bytes do not go round the end of the ring.
    #[inline(always)]
    pub(crate) fn is_straight(&self, count: u32) -> bool {
        (self.at & LogRing::<S>::MASK).wrapping_add(count) <= LogRing::<S>::MASK + 1
    }

    /// Words, the lowest byte first: a head, two slices, and as many origins as the last slice has words.
    #[inline(always)]
    pub(crate) fn put_words(self, head: [u32; HEAD], slices: [&[u32]; 2], origins: &impl Origins) -> Self {
        let [clock, counts] = slices;
        let count = (HEAD + clock.len() + 2 * counts.len()) as u32 * 4;
        let from = (self.at & LogRing::<S>::MASK) as usize;
        let straight = self.ring.bytes.get(from..from.wrapping_add(count as usize));
        let split = straight.and_then(|straight| straight.as_chunks::<4>().0.split_first_chunk());
        let Some((places_of_head, places)) = split else {
            let [first, second, third, fourth, fifth] = head;
            // Each by itself, from registers: an array in memory would be made on the usual way, too.
            let entry = self.put_word_round(first).put_word_round(second).put_word_round(third);
            let entry = entry.put_word_round(fourth).put_word_round(fifth);
            let entry = entry.put_words_round(clock.iter().copied()).put_words_round(counts.iter().copied());
            return entry.put_words_round(origins.origins().chain(core::iter::repeat(0)).take(counts.len()));
        };
        store_head(places_of_head, head);
        let (places_of_clock, places) = places.split_at_checked(clock.len()).unwrap_or_default();
        let (places_of_counts, places_of_origins) = places.split_at_checked(counts.len()).unwrap_or_default();
        store_words(places_of_clock, clock);
        // In one loop: an origin depends on its count.
        let (places, mut origins) = (places_of_counts.iter().zip(places_of_origins), origins.origins());
        for ((count_place, origin_place), count) in places.zip(counts) {
            store_word(count_place, *count);
            store_word(origin_place, origins.next().unwrap_or(0));
        }
        Self { at: self.at.wrapping_add(count), ..self }
    }

    #[cold]
    #[inline(never)]
    fn put_words_round(self, words: impl Iterator<Item = u32>) -> Self {
        words.fold(self, Self::put_word_round)
    }

    #[cold]
    #[inline(never)]
    fn put_word_round(mut self, word: u32) -> Self {
        word.to_le_bytes().into_iter().for_each(|byte| self.put(byte));
        self
    }

    #[inline(always)]
    pub(crate) fn commit(self) {
        self.ring.written.store(self.at, Ordering::Release);
    }
}

/// How far a writer may go, and where it can begin to overwrite.
///
/// A ring is written in quarters. Each begins with a sync record, so that a reader can begin with any of them, and the
/// oldest one is given up whole when there is no room for a new one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Quarters {
    /// Up to where the present quarter goes.
    limit: u32,
    /// Where the quarters after the oldest begin, in their order.
    begins: [u32; 3],
    /// How many of them there are; none before the first quarter.
    count: Option<u8>,
}

impl Quarters {
    /// Of a ring into which nothing was written yet.
    pub(crate) const fn new() -> Self {
        Self { limit: 0, begins: [0; 3], count: None }
    }

    /// Returns up to where the ring may be written, once a quarter has begun.
    #[inline(always)]
    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Opens the present quarter for a record of at most `room` bytes.
    pub(crate) fn open<'a, const S: usize>(&self, ring: &'a LogRing<S>, room: u32) -> Option<Entry<'a, S>> {
        self.count.and_then(|_| ring.open(room, self.limit))
    }

    /// Opens the ring for a record of at most `room` bytes behind the present quarter. `None` if the whole ring has no room for it.
    /// Before anything is put, the entry is to [`begin`](Self::begin) a quarter, at once if nothing is older, or to
    /// [`extend`](Self::extend) the present one.
    pub(crate) fn turn<'a, const S: usize>(&self, ring: &'a LogRing<S>, room: u32) -> Option<Entry<'a, S>> {
        (room <= S as u32).then(|| Entry { ring, at: ring.written.load(Ordering::Relaxed) })
    }

    /// Makes room for `room` bytes of this entry behind the present quarter.
    #[cold]
    #[inline(never)]
    pub(crate) fn extend<const S: usize>(&mut self, entry: Entry<'_, S>, room: u32) {
        self.free(entry, room);
    }

    /// Begins a quarter with this entry, which needs `room` bytes.
    pub(crate) fn begin<const S: usize>(&mut self, entry: Entry<'_, S>, room: u32) {
        let length = room.max(S as u32 / 4);
        self.limit = entry.at.wrapping_add(length);
        let Some(_) = self.count else {
            entry.give_up_to(entry.at);
            self.count = Some(0);
            return;
        };
        self.free(entry, length);
        let count = self.count.unwrap_or(0);
        if entry.is_oldest() {
            self.count = Some(0);
        } else if let Some(begin) = self.begins.get_mut(usize::from(count)) {
            *begin = entry.at;
            self.count = Some(count + 1);
        }
    }

    /// Gives up quarters until `length` bytes from the entry on are free.
    #[inline(never)]
    fn free<const S: usize>(&mut self, entry: Entry<'_, S>, length: u32) {
        let end = entry.at.wrapping_add(length);
        let mut oldest = if self.count.is_none() { entry.at } else { entry.ring.oldest() };
        while end.wrapping_sub(oldest) > S as u32 {
            oldest = self.next().unwrap_or(entry.at);
        }
        entry.give_up_to(oldest);
    }

    /// Takes out where the quarter after the oldest begins.
    fn next(&mut self) -> Option<u32> {
        let [first, second, third] = self.begins;
        self.count = Some(self.count?.checked_sub(1)?);
        self.begins = [second, third, third];
        Some(first)
    }
}

/// Written out, as [`store_word`] is: from registers, without a loop.
#[inline(always)]
fn store_head([a, b, c, d, e]: &[[AtomicU8; 4]; HEAD], [first, second, third, fourth, fifth]: [u32; HEAD]) {
    store_word(a, first);
    store_word(b, second);
    store_word(c, third);
    store_word(d, fourth);
    store_word(e, fifth);
}

#[inline(always)]
fn store_words(places: &[[AtomicU8; 4]], words: &[u32]) {
    let ((places, last_places), (words, last_words)) = (places.as_chunks(), words.as_chunks());
    for ([a, b, c, d], [first, second, third, fourth]) in places.iter().zip(words) {
        store_word(a, *first);
        store_word(b, *second);
        store_word(c, *third);
        store_word(d, *fourth);
    }
    for (place, word) in last_places.iter().zip(last_words) {
        store_word(place, *word);
    }
}

#[inline(always)]
fn store_word([a, b, c, d]: &[AtomicU8; 4], word: u32) {
    // Written out: also where loops are not unrolled for the sake of size.
    a.store(word as u8, Ordering::Relaxed);
    b.store((word >> 8) as u8, Ordering::Relaxed);
    c.store((word >> 16) as u8, Ordering::Relaxed);
    d.store((word >> 24) as u8, Ordering::Relaxed);
}

#[cfg(any(all(test, not(loom)), on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    /// Writes bytes as a quarter of their own or, if it has room, into the present one.
    fn write(ring: &LogRing<16>, quarters: &mut Quarters, bytes: &[u8]) -> bool {
        let room = bytes.len() as u32;
        let entry = quarters.open(ring, room).or_else(|| {
            let entry = quarters.turn(ring, room)?;
            quarters.begin(entry, room);
            Some(entry)
        });
        let Some(mut entry) = entry else { return false };
        bytes.iter().for_each(|byte| entry.put(*byte));
        entry.commit();
        true
    }

    #[test]
    fn bytes_come_out_as_they_went_in_across_the_wrap() {
        let (ring, mut quarters) = (LogRing::<16>::new(), Quarters::new());
        let mut next = 0u8;
        for round in 0..100u32 {
            let length = 1 + round as usize % 7;
            let bytes: [u8; 7] = core::array::from_fn(|place| next.wrapping_add(place as u8));
            assert!(write(&ring, &mut quarters, &bytes[..length]));
            next = next.wrapping_add(length as u8);
            let mut out = [0; 7];
            let piece = ring.peek(&mut out);
            assert_eq!(out[..piece.length], bytes[..length]);
            ring.consume(piece);
        }
    }

    #[test]
    fn a_full_ring_keeps_the_newest_bytes_and_begins_with_a_whole_quarter() {
        let (ring, mut quarters) = (LogRing::<16>::new(), Quarters::new());
        for next in 0..200u8 {
            assert!(write(&ring, &mut quarters, &[next]));
            let mut out = [0; 16];
            let length = ring.peek(&mut out).length;
            assert_eq!(length, if next < 16 { usize::from(next) + 1 } else { 13 + usize::from(next) % 4 });
            let expected = (next + 1 - length as u8)..=next;
            assert!(expected.eq(out[..length].iter().copied()));
            assert_eq!(ring.position() % 4, 0, "a quarter begins there");
        }
    }

    #[test]
    fn records_longer_than_a_quarter_are_kept_too_and_longer_than_the_ring_are_refused() {
        let (ring, mut quarters) = (LogRing::<16>::new(), Quarters::new());
        for next in 0..20u8 {
            assert!(write(&ring, &mut quarters, &[next; 7]));
            let mut out = [0; 16];
            let length = ring.peek(&mut out).length;
            assert_eq!(length, if next == 0 { 7 } else { 14 });
            assert!(out[length - 7..length].iter().all(|byte| *byte == next));
        }
        assert!(!write(&ring, &mut quarters, &[0; 17]));
        assert!(write(&ring, &mut quarters, &[1; 16]));
        assert_eq!(ring.peek(&mut [0; 16]).length, 16);
    }

    #[test]
    fn what_a_reader_claims_changes_nothing_for_the_writer() {
        let (ring, mut quarters) = (LogRing::<16>::new(), Quarters::new());
        assert!(write(&ring, &mut quarters, &[1, 2, 3]));
        ring.read.store(1000, Ordering::Relaxed);
        assert!(write(&ring, &mut quarters, &[4]));
        let mut out = [0; 16];
        assert_eq!(ring.peek(&mut out).length, 4);
        assert_eq!(out[..4], [1, 2, 3, 4]);
    }

    #[test]
    fn memory_that_holds_anything_becomes_an_empty_ring() {
        let ring = LogRing::<16>::new();
        for word in [&ring.written, &ring.read, &ring.dropped, &ring.size, &ring.oldest] {
            word.store(99, Ordering::Relaxed);
        }
        ring.init();
        assert_eq!((ring.peek(&mut [0; 4]).length, ring.dropped(), ring.oldest()), (0, 0, 0));
        assert_eq!(ring.size.load(Ordering::Relaxed), 16);
        assert!(write(&ring, &mut Quarters::new(), &[1; 16]));
    }

    #[test]
    fn a_ring_kept_over_a_reset_is_empty_and_goes_on_counting() {
        let ring = LogRing::<16>::new();
        assert!(write(&ring, &mut Quarters::new(), &[1, 2, 3]));
        ring.consume(Piece { position: 0, length: 1 });
        ring.init();
        assert_eq!((ring.peek(&mut [0; 4]).length, ring.written.load(Ordering::Relaxed)), (0, 3));
        assert!(write(&ring, &mut Quarters::new(), &[4; 16]));
        ring.count_drop();
        ring.init();
        assert_eq!((ring.written.load(Ordering::Relaxed), ring.dropped()), (3 + 16 + 1, 0));
    }

    #[test]
    fn counts_run_on_across_their_wrap() {
        let (ring, mut quarters) = (LogRing::<16>::new(), Quarters::new());
        for word in [&ring.written, &ring.read, &ring.oldest] {
            word.store(u32::MAX - 1, Ordering::Relaxed);
        }
        assert!(write(&ring, &mut quarters, &[1, 2, 3, 4]));
        let mut out = [0; 16];
        let piece = ring.peek(&mut out);
        assert_eq!(out[..piece.length], [1, 2, 3, 4]);
        ring.consume(piece);
        assert_eq!(ring.peek(&mut out).length, 0);
        for next in 0..100 {
            assert!(write(&ring, &mut quarters, &[next]));
        }
        let length = ring.peek(&mut out).length;
        assert_eq!(out[length - 1], 99);
    }
}
