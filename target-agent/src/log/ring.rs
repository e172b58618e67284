//! The ring a host reads: whole lines only, drops counted and announced where they happened.
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// What a ring that was initialised begins with.
pub const MAGIC: u32 = 0xDEF7_1066;

/// What the announcement of drops begins with: `docs/WIRE.md` has the form of what the ring holds.
const DROPPED: u8 = 1;

/// Bytes before the buffer.
pub const HEADER: usize = 64;

/// A byte ring with one writer, a core, and one reader, the host. `SIZE` is a power of two.
///
/// # Example: what does not fit leaves nothing but a count
/// ```
/// use stillpoint_agent::log::Ring;
/// let ring = Ring::<64>::new();
/// ring.init();
/// for text in [&[1; 40], &[2; 40]] {
///     let mut frame = ring.open();
///     ring.put(&mut frame, text);
///     ring.close(frame);
/// }
/// assert_eq!((ring.written(), ring.dropped()), (40, 1));
/// ```
#[repr(C, align(64))]
pub struct Ring<const SIZE: usize> {
    magic: AtomicU32,
    size: AtomicU32,
    write: AtomicU32,
    /// The host's: what lies before may be written over.
    read: AtomicU32,
    dropped: AtomicU32,
    /// The host's alone: what lies before it has shown. It keeps some of that, to begin with a whole clock next time.
    shown: AtomicU32,
    /// Drops that no line in the ring announces yet.
    pending: AtomicU32,
    /// Another one whenever the ring is made anew.
    life: AtomicU32,
    unused: [u32; 8],
    buffer: [AtomicU8; SIZE],
}

const _: () = assert!(core::mem::offset_of!(Ring<64>, buffer) == HEADER);

/// A frame that is being written.
#[must_use = "a frame appears when it is given to `Ring::close`"]
#[derive(Clone, Copy)]
pub struct Frame {
    at: u32,
    room: u32,
    fits: bool,
}

impl Frame {
    /// A frame of which nothing can be written.
    pub const NONE: Self = Self { at: 0, room: 0, fits: false };
}

impl<const SIZE: usize> Ring<SIZE> {
    const MASK: usize = {
        assert!(SIZE.is_power_of_two() && SIZE.is_multiple_of(HEADER) && SIZE <= 1 << 31);
        SIZE - 1
    };

    /// Zeros, as in memory that was just switched on; [`init`](Self::init) makes it a ring.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            magic: AtomicU32::new(0),
            size: AtomicU32::new(0),
            write: AtomicU32::new(0),
            read: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            shown: AtomicU32::new(0),
            pending: AtomicU32::new(0),
            life: AtomicU32::new(0),
            unused: [0; 8],
            buffer: [const { AtomicU8::new(0) }; SIZE],
        }
    }

    /// Makes it an empty ring, whatever the memory held before. The magic comes last.
    pub fn init(&self) {
        self.magic.store(0, Ordering::Release);
        self.life.store(self.life.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.size.store(SIZE as u32, Ordering::Relaxed);
        for word in [&self.write, &self.read, &self.dropped, &self.shown, &self.pending] {
            word.store(0, Ordering::Relaxed);
        }
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Begins a frame, with the number of those that were dropped before it if there are any. Only the ring's own core
    /// does, one frame at a time.
    #[inline]
    pub fn open(&self) -> Frame {
        let at = self.write.load(Ordering::Relaxed);
        let used = at.wrapping_sub(self.read.load(Ordering::Acquire));
        // A host that wrote nonsense costs frames, never memory.
        let mut frame = Frame { at, room: (SIZE as u32).saturating_sub(used), fits: true };
        let pending = self.pending.load(Ordering::Relaxed);
        if pending != 0 {
            self.announce(&mut frame, pending);
        }
        frame
    }

    #[cold]
    fn announce(&self, frame: &mut Frame, mut count: u32) {
        self.put(frame, &[DROPPED]);
        while count >= 0x80 {
            self.put(frame, &[count as u8 | 0x80]);
            count >>= 7;
        }
        self.put(frame, &[count as u8]);
    }

    /// Adds bytes to a frame; once they do not fit, the whole frame is given up.
    #[inline]
    pub fn put(&self, frame: &mut Frame, bytes: &[u8]) {
        if bytes.len() as u32 > frame.room {
            frame.fits = false;
            frame.room = 0;
            return;
        }
        for &byte in bytes {
            self.buffer[frame.at as usize & Self::MASK].store(byte, Ordering::Relaxed);
            frame.at = frame.at.wrapping_add(1);
        }
        frame.room -= bytes.len() as u32;
    }

    /// Lets the reader see the frame, or counts it as dropped; whether it is there.
    #[inline]
    pub fn close(&self, frame: Frame) -> bool {
        if frame.fits {
            // Before the frame that announces them: a reader must not hear of them twice.
            self.pending.store(0, Ordering::Relaxed);
            self.write.store(frame.at, Ordering::Release);
        } else {
            for count in [&self.dropped, &self.pending] {
                count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            }
        }
        frame.fits
    }

    /// How many bytes were ever written.
    #[must_use]
    pub fn written(&self) -> u32 {
        self.write.load(Ordering::Acquire)
    }

    /// How many frames found no room.
    #[must_use]
    pub fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes the oldest byte, as the host does through its probe.
    pub fn take(&self) -> Option<u8> {
        let read = self.read.load(Ordering::Relaxed);
        if read == self.write.load(Ordering::Acquire) {
            return None;
        }
        let byte = self.buffer[read as usize & Self::MASK].load(Ordering::Relaxed);
        self.read.store(read.wrapping_add(1), Ordering::Release);
        Some(byte)
    }
}

impl<const SIZE: usize> Default for Ring<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn log(ring: &Ring<64>, parts: &[&[u8]]) {
        let mut frame = ring.open();
        parts.iter().for_each(|part| ring.put(&mut frame, part));
        let _fits = ring.close(frame);
    }

    fn everything(ring: &Ring<64>) -> Vec<u8> {
        core::iter::from_fn(|| ring.take()).collect()
    }

    fn ring() -> Ring<64> {
        let ring = Ring::new();
        ring.init();
        ring
    }

    #[test]
    fn frames_come_out_as_they_went_in_round_the_end_of_the_buffer() {
        let ring = ring();
        for n in 0..50_u8 {
            log(&ring, &[&[n; 7], &[n, n]]);
            assert_eq!(everything(&ring), [n; 9]);
        }
        assert_eq!(ring.dropped(), 0);
    }

    #[test]
    fn a_frame_that_outgrows_the_room_leaves_no_part_behind() {
        let ring = ring();
        log(&ring, &[&[1; 60]]);
        log(&ring, &[&[2; 3], &[2; 3], &[2; 1]]);
        log(&ring, &[&[3; 2]]);
        assert_eq!(everything(&ring), [&[1; 60][..], &[DROPPED, 1], &[3; 2]].concat());
        assert_eq!(ring.dropped(), 1);
    }

    #[test]
    fn the_next_frame_that_fits_announces_all_that_were_dropped_before_it_once() {
        let ring = ring();
        log(&ring, &[&[1; 64]]);
        (0..300).for_each(|_| log(&ring, &[&[2; 9]]));
        assert_eq!(everything(&ring), [1; 64]);
        log(&ring, &[&[3; 5]]);
        log(&ring, &[&[4; 5]]);
        // 300 in groups of seven bits.
        assert_eq!(everything(&ring), [&[DROPPED, 0xAC, 2][..], &[3; 5], &[4; 5]].concat());
        assert_eq!((ring.dropped(), ring.pending.load(Ordering::Relaxed)), (300, 0));
    }

    #[test]
    fn a_ring_made_anew_is_known_by_its_life() {
        let ring = ring();
        let life = ring.life.load(Ordering::Relaxed);
        log(&ring, &[&[1; 65]]);
        ring.init();
        assert_ne!(ring.life.load(Ordering::Relaxed), life);
        assert_eq!((ring.written(), ring.dropped(), ring.pending.load(Ordering::Relaxed)), (0, 0, 0));
    }

    #[test]
    fn a_reader_that_writes_nonsense_costs_frames_only() {
        let ring = ring();
        ring.read.store(12_345, Ordering::Relaxed);
        log(&ring, &[&[1; 4]]);
        assert_eq!((ring.written(), ring.dropped()), (0, 1));
    }

    #[test]
    fn counts_run_on_across_the_wrap_of_32_bits() {
        let ring = ring();
        ring.write.store(u32::MAX - 5, Ordering::Relaxed);
        ring.read.store(u32::MAX - 5, Ordering::Relaxed);
        log(&ring, &[&[9; 40]]);
        assert_eq!(everything(&ring), [9; 40]);
        assert_eq!(ring.written(), 34);
    }
}
