//! Data of which each core has its own copy, guarded by masking that core's interrupts: no lock between cores.
use crate::platform::{MAX_CORES, Platform};
use core::{cell::Cell, marker::PhantomData, task::Waker};

/// One `T` per core; a core reaches only its own.
///
/// For data that both cores must see use atomics, or a mutex on the cross-core lock.
pub struct PerCore<P, T> {
    own: [T; MAX_CORES],
    platform: PhantomData<fn() -> P>,
}

// SAFETY: `with` is the only way in. It hands core n the n-th entry with interrupts masked, so one entry is used by one
// core, one context at a time; `Platform` promises the number and the mask. Entries may have been made on another core.
unsafe impl<P: Platform, T: Send> Sync for PerCore<P, T> {}

impl<P: Platform, T> PerCore<P, T> {
    /// With the given entries, core 0's first.
    #[must_use]
    pub const fn new(own: [T; MAX_CORES]) -> Self {
        Self { own, platform: PhantomData }
    }

    /// The entry of `core`.
    ///
    /// # Safety
    /// `core` is the core that calls, and its interrupts stay masked as long as the entry is used.
    #[cfg(feature = "enabled")]
    #[inline]
    pub(crate) unsafe fn own(&self, core: crate::platform::CoreId) -> &T {
        &self.own[core.index()]
    }

    /// The entry of a core, for oracles.
    #[cfg(test)]
    pub(crate) fn peek(&self, core: usize) -> &T {
        &self.own[core]
    }

    /// Gives `f` the entry of the core that calls, with its interrupts masked.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        P::masked(|| f(&self.own[P::core().index()]))
    }
}

/// Keeps the type that contains it on one core: it is neither `Send` nor `Sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaysHere(PhantomData<*mut ()>);

impl StaysHere {
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

/// Remembers whom to wake, when the interrupt handler that wakes runs on the core of the task.
///
/// Against embassy's `AtomicWaker` it never takes the cross-core lock.
pub struct CoreWaker<P>(PerCore<P, Cell<Option<Waker>>>);

impl<P: Platform> CoreWaker<P> {
    /// Nobody to wake.
    #[must_use]
    pub const fn new() -> Self {
        Self(PerCore::new([const { Cell::new(None) }; MAX_CORES]))
    }

    /// Remembers `waker` instead of whom it remembered for this core.
    pub fn register(&self, waker: &Waker) {
        self.0.with(|cell| {
            let same = cell.take().filter(|known| known.will_wake(waker));
            cell.set(Some(same.unwrap_or_else(|| waker.clone())));
        });
    }

    /// Wakes and forgets whom this core remembered.
    pub fn wake(&self) {
        if let Some(waker) = self.0.with(Cell::take) {
            waker.wake();
        }
    }
}

impl<P: Platform> Default for CoreWaker<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, Fake};
    use crate::platform::CoreId;

    #[test]
    fn each_core_reaches_its_own_entry_and_no_other() {
        let _alone = fake::begin();
        static COUNTS: PerCore<Fake, Cell<u32>> = PerCore::new([const { Cell::new(0) }; MAX_CORES]);
        for (core, times) in [(CoreId::ZERO, 3), (CoreId::ONE, 5)] {
            fake::on(core, || (0..times).for_each(|_| COUNTS.with(|count| count.set(count.get() + 1))));
        }
        assert_eq!(fake::on(CoreId::ZERO, || COUNTS.with(Cell::get)), 3);
        assert_eq!(fake::on(CoreId::ONE, || COUNTS.with(Cell::get)), 5);
    }

    #[test]
    fn interrupts_are_masked_inside_and_open_again_after() {
        let _alone = fake::begin();
        static ENTRY: PerCore<Fake, ()> = PerCore::new([(); MAX_CORES]);
        assert!(ENTRY.with(|()| fake::is_masked()));
        assert!(!fake::is_masked());
        Fake::masked(|| {
            ENTRY.with(|()| ());
            assert!(fake::is_masked(), "the inner one must not open what the outer one masked");
        });
    }
}
