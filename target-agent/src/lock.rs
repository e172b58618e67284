//! The lock between the cores of a chip: interrupts masked, and one owner among the cores.
//!
//! Re-entrant per core. A core that has to wait opens its interrupts between tries, so it still takes its doorbells; one
//! that came with interrupts masked cannot, and waits masked for as long as the other core's section lasts.
use crate::platform::{CoreId, Mask, Platform};
use crate::sync::atomic::{AtomicU32, Ordering};
use core::marker::PhantomData;

const FREE: u32 = 0;

/// A lock for [`critical_section::Impl`], for chips whose cores have compare-and-swap.
pub(crate) struct CoreLock<P> {
    owner: AtomicU32,
    platform: PhantomData<fn() -> P>,
}

/// The restore state: bit 0, interrupts were open; bit 1, this was the outermost section.
const WAS_OPEN: u8 = 1;
const OUTERMOST: u8 = 2;

const fn name(core: CoreId) -> u32 {
    core.index() as u32 + 1
}

impl<P: Platform> CoreLock<P> {
    pub const fn new() -> Self {
        Self { owner: AtomicU32::new(FREE), platform: PhantomData }
    }

    /// Masks interrupts and waits for the other core's section. `pause` runs between tries, with interrupts as they were.
    #[inline]
    pub fn acquire(&self, pause: impl Fn()) -> u8 {
        let me = name(P::core());
        loop {
            let before = P::mask();
            let was_open = if before.was_open { WAS_OPEN } else { 0 };
            if self.owner.load(Ordering::Relaxed) == me {
                return was_open;
            }
            if self.owner.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return was_open | OUTERMOST;
            }
            P::unmask(before);
            pause();
        }
    }

    /// Ends the section that returned `state`.
    #[inline]
    pub fn release(&self, state: u8) {
        if state & OUTERMOST != 0 {
            self.owner.store(FREE, Ordering::Release);
        }
        P::unmask(Mask { was_open: state & WAS_OPEN != 0 });
    }

    /// Releases the lock for a core that crashed while it held it.
    pub fn abandon(&self) {
        if self.owner.load(Ordering::Relaxed) == name(P::core()) {
            self.owner.store(FREE, Ordering::Release);
        }
    }
}
