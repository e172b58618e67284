//! The secure watchdog of the SSE-200: if nobody feeds it, it interrupts core 0 for good, and then resets the board.
//!
//! Its interrupt cannot be masked. With an agent on core 0 it is a crash, which halts the system; the reset follows only
//! if that core does not even park.
use super::registers::{WATCHDOG, write};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
#[cfg(feature = "enabled")]
use stillpoint_core::time::Counts;

const LOAD: usize = 0x0;
const CONTROL: usize = 0x8;
const CLEAR: usize = 0xC;
const LOCK: usize = 0xC00;
const UNLOCKED: u32 = 0x1ACC_E551;
const INTERRUPT_AND_RESET: u32 = 0b11;

/// Whether a parked core feeds it.
static FED_IN_PARK: AtomicBool = AtomicBool::new(false);
/// How often it must be fed, in counts.
static LIMIT: AtomicU32 = AtomicU32::new(u32::MAX);

/// Who feeds the watchdog while a core is parked in a halt, or after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPark {
    /// The agent: a halt may last as long as it likes.
    Fed,
    /// Nobody: a halt that lasts too long ends with the watchdog's bite.
    Starved,
}

/// Starts the watchdog: from now on [`feed`] must be called at least every `counts` of the counter.
pub fn start(counts: u32, in_park: InPark) {
    FED_IN_PARK.store(in_park == InPark::Fed, Ordering::Relaxed);
    LIMIT.store(counts.max(1), Ordering::Relaxed);
    write(WATCHDOG + LOCK, UNLOCKED);
    write(WATCHDOG + LOAD, counts.max(1));
    write(WATCHDOG + CONTROL, INTERRUPT_AND_RESET);
}

/// Starts the wait for the next call anew.
pub fn feed() {
    write(WATCHDOG + CLEAR, 1);
}

/// What a parked core does over and over.
pub(super) fn feed_in_park() {
    if FED_IN_PARK.load(Ordering::Relaxed) {
        feed();
    }
}

/// How long a parked core may sleep that wants to sleep so long: it wakes in time to feed.
#[cfg(feature = "enabled")]
pub(super) fn shorten(Counts(counts): Counts<u32>) -> Counts<u32> {
    let fed_every = if FED_IN_PARK.load(Ordering::Relaxed) { LIMIT.load(Ordering::Relaxed) / 4 } else { u32::MAX };
    Counts(counts.min(fed_every).max(1))
}
