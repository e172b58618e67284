//! The cross-core lock behind `critical_section`: interrupts masked, and one owner among the cores.
//!
//! Re-entrant per core. A core that has to wait opens its interrupts between tries, so it still takes its doorbells;
//! one that came with interrupts masked cannot, and waits masked for as long as the other core's section lasts.
use super::Mps2An521;
use crate::platform::{CoreId, Mask, Platform};
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
static OWNER: AtomicU32 = AtomicU32::new(FREE);

const fn name(core: CoreId) -> u32 {
    core.index() as u32 + 1
}

struct Lock;
critical_section::set_impl!(Lock);

/// The restore state: bit 0, interrupts were open; bit 1, this was the outermost section.
const WAS_OPEN: u8 = 1;
const OUTERMOST: u8 = 2;

// SAFETY: OWNER excludes the other core, the mask everything else on this one, from the outermost acquire to its
// release; `Platform` promises core number and mask.
unsafe impl critical_section::Impl for Lock {
    unsafe fn acquire() -> u8 {
        let me = name(Mps2An521::core());
        loop {
            let before = Mps2An521::mask();
            let was_open = if before.was_open { WAS_OPEN } else { 0 };
            if OWNER.load(Ordering::Relaxed) == me {
                return was_open;
            }
            if OWNER.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return was_open | OUTERMOST;
            }
            Mps2An521::unmask(before);
            // Without the barrier a pending interrupt may not be taken before the next try masks it again.
            cortex_m::asm::isb();
            core::hint::spin_loop();
        }
    }

    unsafe fn release(state: u8) {
        if state & OUTERMOST != 0 {
            OWNER.store(FREE, Ordering::Release);
        }
        Mps2An521::unmask(Mask { was_open: state & WAS_OPEN != 0 });
    }
}

/// Gives the lock up for a core that dies while it holds it.
pub fn abandon() {
    if OWNER.load(Ordering::Relaxed) == name(Mps2An521::core()) {
        OWNER.store(FREE, Ordering::Release);
    }
}
