//! The cross-core lock behind `critical_section`.
use super::Mps2An521;
use crate::lock::CoreLock;

static LOCK: CoreLock<Mps2An521> = CoreLock::new();

struct Lock;
critical_section::set_impl!(Lock);

// SAFETY: `CoreLock` excludes the other core and the rest of this one from the outermost acquire to its release.
unsafe impl critical_section::Impl for Lock {
    unsafe fn acquire() -> u8 {
        LOCK.acquire(|| {
            // Without the barrier a pending interrupt may not be taken before the next try masks it again.
            cortex_m::asm::isb();
            core::hint::spin_loop();
        })
    }

    unsafe fn release(state: u8) {
        LOCK.release(state);
    }
}

/// Gives the lock up for a core that dies while it holds it.
pub fn abandon() {
    LOCK.abandon();
}
