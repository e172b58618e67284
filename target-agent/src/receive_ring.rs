//! Bytes that a UART has received and that no task has read yet.
use crate::per_core::CoreWaker;
use crate::platform::Platform;
use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use crate::sync::{Mutant, mutated};
use core::task::Waker;

/// The receive buffer of a UART driver: filled by interrupt handlers, read by one task, all on one core.
///
/// More than one context of that core fills it. The handler of the urgent bell can interrupt the receive handler, and a
/// parked core polls its UARTs from there. So each byte is moved with interrupts masked.
pub(crate) struct ReceiveRing<P, const BYTES: usize> {
    bytes: [AtomicU8; BYTES],
    /// Bytes ever put in.
    written: AtomicUsize,
    /// Bytes ever taken out. Written by the task.
    read: AtomicUsize,
    reader: CoreWaker<P>,
}

impl<P: Platform, const BYTES: usize> ReceiveRing<P, BYTES> {
    pub const fn new() -> Self {
        const { assert!(BYTES.is_power_of_two(), "both counts wrap at a power of two") }
        Self {
            bytes: [const { AtomicU8::new(0) }; BYTES],
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            reader: CoreWaker::new(),
        }
    }

    /// Moves bytes from the hardware into the ring and wakes the reader.
    ///
    /// `fetch` returns the next byte of the hardware, if it has one. It is told whether the ring has room; without room the
    /// byte stays in the hardware. It runs with interrupts masked, once per byte.
    pub fn fill(&self, mut fetch: impl FnMut(bool) -> Option<u8>) {
        if mutated(Mutant::UnmaskedReceive) {
            while self.move_one(&mut fetch) {}
        }
        while P::masked(|| self.move_one(&mut fetch)) {}
        self.reader.wake();
    }

    fn move_one(&self, fetch: &mut impl FnMut(bool) -> Option<u8>) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        let has_room = written.wrapping_sub(self.read.load(Ordering::Acquire)) < BYTES;
        let Some(byte) = fetch(has_room).filter(|_| has_room) else { return false };
        let written = if mutated(Mutant::UnmaskedReceive) { self.written.load(Ordering::Relaxed) } else { written };
        self.bytes[written % BYTES].store(byte, Ordering::Relaxed);
        self.written.store(written.wrapping_add(1), Ordering::Release);
        true
    }

    /// Whether every byte was taken, for oracles.
    #[cfg(all(test, feature = "calls", not(loom_agent)))]
    pub fn is_empty(&self) -> bool {
        self.written.peek() == self.read.peek()
    }

    /// Moves received bytes into `into` and returns how many there were. The next byte wakes `waker`.
    pub fn take(&self, into: &mut [u8], waker: &Waker) -> usize {
        self.reader.register(waker);
        let mut read = self.read.load(Ordering::Relaxed);
        let count = self.written.load(Ordering::Acquire).wrapping_sub(read).min(into.len());
        for byte in &mut into[..count] {
            *byte = self.bytes[read % BYTES].load(Ordering::Relaxed);
            read = read.wrapping_add(1);
        }
        self.read.store(read, Ordering::Release);
        count
    }
}
