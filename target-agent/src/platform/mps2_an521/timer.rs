//! The counter (dual timer) and one alarm per core (CMSDK timers 0 and 1).
use super::registers::{self, DUAL_TIMER, DUAL_TIMER_2, read, write};
use crate::platform::CoreId;
use crate::time::join_counters;
use core::sync::atomic::{AtomicU32, Ordering};
use stillpoint_core::time::Counts;

const LOAD: usize = 0x0;
const VALUE: usize = 0x4;
const CONTROL: usize = 0x8;
/// Enabled, free running, 32 bits wide.
const FREE_RUNNING: u32 = 1 << 7 | 1 << 1;
const DIVIDE_BY_256: u32 = 2 << 2;

/// What to add to 256 times the slow counter to be near the fast one; they start one after the other.
static OFFSET: AtomicU32 = AtomicU32::new(0);

/// Starts both halves of the dual timer, at `count`. Before this the counter stands.
pub fn start_counter(count: u64) {
    // The second half is 256 times slower, and both count down.
    for (timer, count, divider) in [(DUAL_TIMER, count, 0), (DUAL_TIMER_2, count >> 8, DIVIDE_BY_256)] {
        write(timer + CONTROL, FREE_RUNNING | divider);
        write(timer + LOAD, !(count as u32));
    }
    OFFSET.store(counter().0.wrapping_sub(slow_counter() << 8), Ordering::Relaxed);
}

/// Counts since the start; the hardware counts down.
#[inline]
pub fn counter() -> Counts<u32> {
    Counts(!read(DUAL_TIMER + VALUE))
}

fn slow_counter() -> u32 {
    !read(DUAL_TIMER_2 + VALUE)
}

/// Counts since the start in 40 bits: the slow counter says which wrap, the fast one where in it.
pub fn long_counter() -> Counts {
    let coarse = (u64::from(slow_counter()) << 8) + u64::from(OFFSET.load(Ordering::Relaxed));
    Counts(join_counters(counter(), Counts(coarse)).0 & ((1 << 40) - 1))
}

/// Registers of an alarm timer.
const ALARM_CONTROL: usize = 0x0;
const ALARM_VALUE: usize = 0x4;
const ALARM_RELOAD: usize = 0x8;
const ALARM_CLEAR: usize = 0xC;
const ENABLED_WITH_INTERRUPT: u32 = 1 << 0 | 1 << 3;

/// Sets or stops a core's alarm, and silences it if it is ringing.
pub fn set_alarm(core: CoreId, after: Option<Counts<u32>>) {
    let timer = registers::alarm(core);
    write(timer + ALARM_CONTROL, 0);
    write(timer + ALARM_CLEAR, 1);
    if let Some(Counts(counts)) = after {
        write(timer + ALARM_RELOAD, counts);
        write(timer + ALARM_VALUE, counts);
        write(timer + ALARM_CONTROL, ENABLED_WITH_INTERRUPT);
    }
}

/// What a core's alarm was before [`replace_alarm`].
#[cfg(feature = "enabled")]
pub struct Replaced {
    /// When it was set to ring, if it was; both readings of the counter.
    rings: Option<(Counts<u32>, Counts<u32>)>,
}

/// Sets a core's alarm for another purpose, for a while.
#[cfg(feature = "enabled")]
pub fn replace_alarm(core: CoreId, after: Counts<u32>) -> Replaced {
    let timer = registers::alarm(core);
    let is_set = read(timer + ALARM_CONTROL) & ENABLED_WITH_INTERRUPT != 0;
    // One that rings already is reloaded meanwhile; it has to ring at once.
    let is_ringing = read(timer + ALARM_CLEAR) & 1 != 0;
    let left = if is_ringing { 1 } else { read(timer + ALARM_VALUE) };
    set_alarm(core, Some(after));
    Replaced { rings: is_set.then(|| (counter(), Counts(left))) }
}

/// Sets a core's alarm as it was. One that would have rung meanwhile rings now.
#[cfg(feature = "enabled")]
pub fn restore_alarm(core: CoreId, Replaced { rings }: Replaced) {
    let left =
        |(from, left): (Counts<u32>, Counts<u32>)| left.0.saturating_sub(counter().wrapping_since(from).0).max(1);
    set_alarm(core, rings.map(|rings| Counts(left(rings))));
}
