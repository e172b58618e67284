//! The ring a host reads: whole frames only, drops counted.
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// What a ring that was initialised begins with.
pub const MAGIC: u32 = 0xDEF7_1065;

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
    /// The only word the host writes.
    read: AtomicU32,
    dropped: AtomicU32,
    unused: [u32; 11],
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
            unused: [0; 11],
            buffer: [const { AtomicU8::new(0) }; SIZE],
        }
    }

    /// Makes it an empty ring, whatever the memory held before. The magic comes last.
    pub fn init(&self) {
        self.magic.store(0, Ordering::Release);
        self.size.store(SIZE as u32, Ordering::Relaxed);
        self.write.store(0, Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
        self.dropped.store(0, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Begins a frame. Only the ring's own core does, one frame at a time.
    #[inline]
    pub fn open(&self) -> Frame {
        let at = self.write.load(Ordering::Relaxed);
        let used = at.wrapping_sub(self.read.load(Ordering::Acquire));
        // A host that wrote nonsense costs frames, never memory.
        Frame { at, room: (SIZE as u32).saturating_sub(used), fits: true }
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

    /// Lets the reader see the frame, or counts it as dropped.
    #[inline]
    pub fn close(&self, frame: Frame) {
        if frame.fits {
            self.write.store(frame.at, Ordering::Release);
        } else {
            self.dropped.store(self.dropped.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
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
        ring.close(frame);
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
        log(&ring, &[&[3; 4]]);
        assert_eq!(everything(&ring), [&[1; 60][..], &[3; 4]].concat());
        assert_eq!(ring.dropped(), 1);
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
