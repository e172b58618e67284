//! A value that belongs to one core, for as long as the firmware runs, without masking its interrupts.
use crate::platform::{CoreId, Platform};
use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Memory of zeros belongs to nobody, so that it needs no initial values in flash.
const NOBODY: u8 = 0;

/// A place into which one core puts a value that only it ever uses, by one context at a time.
pub(crate) struct CoreBound<P, T> {
    /// One more than the number of the core.
    owner: AtomicU8,
    full: AtomicBool,
    busy: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
    platform: PhantomData<fn() -> P>,
}

// SAFETY: the value is put in and used by one core only, which `owner` names, so it need not be `Send`; `busy`, changed
// with that core's interrupts masked, keeps its contexts apart. `Platform` promises core number and mask.
unsafe impl<P: Platform, T> Sync for CoreBound<P, T> {}

impl<P: Platform, T> CoreBound<P, T> {
    pub const fn new() -> Self {
        let value = UnsafeCell::new(MaybeUninit::uninit());
        Self {
            owner: AtomicU8::new(NOBODY),
            full: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            value,
            platform: PhantomData,
        }
    }

    /// Puts the value in, for the calling core. Gives it back if there is one already.
    pub fn put(&self, value: T) -> Result<(), T> {
        let mine = crate::sync::critical_section::with(|_| {
            let free = self.owner.load(Ordering::Relaxed) == NOBODY;
            if free {
                self.owner.store(P::core().index() as u8 + 1, Ordering::Relaxed);
            }
            free
        });
        if !mine {
            return Err(value);
        }
        // SAFETY: `owner` was claimed just now, so nobody else has looked inside before or will from another core.
        unsafe { (*self.value.get()).write(value) };
        self.full.store(true, Ordering::Release);
        Ok(())
    }

    /// The core that put the value in.
    pub fn owner(&self) -> Option<CoreId> {
        CoreId::new(usize::from(self.owner.load(Ordering::Relaxed)).checked_sub(1)?)
    }

    /// Gives the value to `f`. `None` on another core, while the value is in use, or if there is none.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.owner() != Some(P::core()) || !self.full.load(Ordering::Acquire) {
            return None;
        }
        let taken = P::masked(|| {
            let busy = self.busy.load(Ordering::Relaxed);
            self.busy.store(true, Ordering::Relaxed);
            busy
        });
        if taken {
            return None;
        }
        // SAFETY: it is full; this is the owner's core and `busy` was free: no other context uses it until it is again.
        let result = f(unsafe { (*self.value.get()).assume_init_mut() });
        self.busy.store(false, Ordering::Release);
        Some(result)
    }

    /// Takes the value away from the context that the calling one interrupted, if that was using it.
    ///
    /// # Safety
    /// That context must never run again.
    #[cfg(feature = "enabled")]
    pub unsafe fn take_over(&self) {
        if self.owner() == Some(P::core()) {
            self.busy.store(false, Ordering::Release);
        }
    }

    /// Whether a context of the owner that the calling one interrupted is using the value.
    #[cfg(any(feature = "enabled", test))]
    pub fn is_busy(&self) -> bool {
        self.owner() == Some(P::core()) && self.busy.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, Fake};

    #[test]
    fn only_the_core_that_put_it_in_reaches_it() {
        let _alone = fake::begin();
        let bound = CoreBound::<Fake, u32>::new();
        assert_eq!(bound.try_with(|_| ()), None);
        fake::on(CoreId::ONE, || bound.put(7)).unwrap();
        assert_eq!(bound.put(8), Err(8));
        assert_eq!(bound.try_with(|value| *value), None);
        assert_eq!(fake::on(CoreId::ONE, || bound.try_with(|value| *value)), Some(7));
    }

    #[test]
    fn a_context_that_interrupts_its_use_is_turned_away() {
        let _alone = fake::begin();
        let bound = CoreBound::<Fake, u32>::new();
        bound.put(7).unwrap();
        let inner = bound.try_with(|_| (bound.is_busy(), bound.try_with(|_| ())));
        assert_eq!(inner, Some((true, None)));
        assert!(!bound.is_busy());
    }
}
