//! A value that one context of a core uses at a time, and that a crash handler takes over from a dead one.
use crate::per_core::PerCore;
use crate::platform::{Mask, Platform};
use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

/// Like `RefCell`, but for one user at a time, empty at first, and with a way out when that user has crashed.
///
/// An empty one is all zeros: a static of it takes no room in flash.
pub(crate) struct Guarded<T> {
    state: Cell<u8>,
    value: UnsafeCell<MaybeUninit<T>>,
}

const EMPTY: u8 = 0;
const FREE: u8 = 1;
const HELD: u8 = 2;

/// One copy of what never happens.
#[cold]
#[inline(never)]
fn not_free() -> ! {
    panic!("the agent was called from inside itself, or before it began")
}

/// The value, until it is dropped.
pub(crate) struct Held<'a, T>(&'a Guarded<T>);

impl<T> Guarded<T> {
    pub const fn empty() -> Self {
        Self { state: Cell::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Whether it has a value.
    pub fn is_filled(&self) -> bool {
        self.state.get() != EMPTY
    }

    /// Gives it the value that `make` makes. Panics if it has one.
    #[inline]
    pub fn fill(&self, make: impl FnOnce() -> T) {
        assert!(self.state.get() == EMPTY, "it is filled once");
        // SAFETY: it is empty, so nobody has a reference to what is inside; `make` has none of it either.
        unsafe { (*self.value.get()).write(make()) };
        self.state.set(FREE);
    }

    /// The value. Panics if somebody has it, or there is none.
    #[inline]
    pub fn borrow_mut(&self) -> Held<'_, T> {
        if self.state.get() != FREE {
            not_free();
        }
        self.state.set(HELD);
        Held(self)
    }

    /// The value, unless somebody has it or there is none.
    #[inline]
    pub fn try_borrow_mut(&self) -> Option<Held<'_, T>> {
        (self.state.get() == FREE).then(|| self.borrow_mut())
    }

    /// Takes the value away from whoever has it; whether anybody had.
    ///
    /// # Safety
    /// Who has it must never run again.
    pub unsafe fn take_over(&self) -> bool {
        let was_held = self.state.get() == HELD;
        if was_held {
            self.state.set(FREE);
        }
        was_held
    }
}

/// What a core has for itself, if it is used by one context at a time.
impl<P: Platform, T> PerCore<P, Guarded<T>> {
    /// Gives `act` the value of the calling core with its interrupts masked. Panics if somebody has it, or there is none.
    ///
    /// For all that is not done at every event: a call in little space, where `with` and `borrow_mut` are a bit quicker.
    #[inline]
    pub fn rarely<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        let mut locked = self.lock();
        act(&mut locked.held)
    }

    /// The value, to be kept; nothing if there is no value.
    #[cfg(feature = "calls")]
    #[inline]
    pub fn lock_filled(&self) -> Option<Locked<'_, P, T>> {
        self.with(Guarded::is_filled).then(|| self.lock())
    }

    #[inline(never)]
    fn lock(&self) -> Locked<'_, P, T> {
        let masked = Masked { before: P::mask(), platform: PhantomData };
        // SAFETY: interrupts stay masked until `masked` is dropped, after what is borrowed here.
        let held = unsafe { self.own(P::core()) }.borrow_mut();
        Locked { held, _masked: masked }
    }
}

/// A value whose core's interrupts are masked until it is dropped.
pub(crate) struct Locked<'a, P: Platform, T> {
    pub held: Held<'a, T>,
    _masked: Masked<P>,
}

struct Masked<P: Platform> {
    before: Mask,
    platform: PhantomData<P>,
}

impl<P: Platform> Drop for Masked<P> {
    #[inline]
    fn drop(&mut self) {
        P::unmask(self.before);
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a `Held` is made only of what is filled, one at a time, and `Guarded` is not `Sync`; who lost its `Held`
        // to `take_over` never runs again.
        unsafe { (*self.0.value.get()).assume_init_ref() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes it the only way in.
        unsafe { (*self.0.value.get()).assume_init_mut() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.state.set(FREE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full<T>(value: T) -> Guarded<T> {
        let guarded = Guarded::empty();
        guarded.fill(|| value);
        guarded
    }

    #[test]
    fn what_is_empty_lends_nothing_and_nothing_is_taken_over() {
        let guarded = Guarded::<u8>::empty();
        assert!(!guarded.is_filled() && guarded.try_borrow_mut().is_none());
        // SAFETY: nobody has it.
        assert!(!unsafe { guarded.take_over() });
        guarded.fill(|| 3);
        assert!(guarded.is_filled());
        assert_eq!(*guarded.borrow_mut(), 3);
    }

    #[test]
    #[should_panic(expected = "before it began")]
    fn what_is_empty_is_not_taken_for_a_value() {
        let guarded = Guarded::<u8>::empty();
        let _held = guarded.borrow_mut();
    }

    #[test]
    fn a_value_is_taken_over_from_a_holder_that_never_lets_go() {
        let guarded = full(7);
        *guarded.borrow_mut() += 1;
        core::mem::forget(guarded.borrow_mut());
        // SAFETY: the holder is forgotten.
        assert!(unsafe { guarded.take_over() });
        assert_eq!(*guarded.borrow_mut(), 8);
        // SAFETY: nobody holds it.
        assert!(!unsafe { guarded.take_over() });
    }

    #[test]
    fn who_only_asks_gets_nothing_while_somebody_has_it_and_takes_nothing_away() {
        let guarded = full(7);
        let first = guarded.borrow_mut();
        assert!(guarded.try_borrow_mut().is_none() && guarded.try_borrow_mut().is_none());
        drop(first);
        assert_eq!(guarded.try_borrow_mut().map(|held| *held), Some(7));
    }

    #[test]
    #[should_panic(expected = "from inside itself")]
    fn a_second_holder_is_a_bug_that_is_said() {
        let guarded = full(7);
        let _first = guarded.borrow_mut();
        let _second = guarded.borrow_mut();
    }
}
