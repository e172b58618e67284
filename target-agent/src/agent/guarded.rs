//! A value that one context of a core uses at a time, and that a crash handler takes over from a dead one.
use core::cell::{Cell, UnsafeCell};
use core::ops::{Deref, DerefMut};

/// Like `RefCell`, but for one user at a time, and with a way out when that user has crashed.
pub(super) struct Guarded<T> {
    held: Cell<bool>,
    value: UnsafeCell<T>,
}

/// The value, until it is dropped.
pub(super) struct Held<'a, T>(&'a Guarded<T>);

impl<T> Guarded<T> {
    pub const fn new(value: T) -> Self {
        Self { held: Cell::new(false), value: UnsafeCell::new(value) }
    }

    /// The value. Panics if somebody has it.
    #[inline]
    pub fn borrow_mut(&self) -> Held<'_, T> {
        assert!(!self.held.replace(true), "the agent was called from inside itself");
        Held(self)
    }

    /// The value, unless somebody has it.
    #[inline]
    pub fn try_borrow_mut(&self) -> Option<Held<'_, T>> {
        (!self.held.replace(true)).then(|| Held(self))
    }

    /// The value. Panics if somebody has it.
    #[inline]
    pub fn borrow(&self) -> Held<'_, T> {
        self.borrow_mut()
    }

    /// Takes the value away from whoever has it; whether anybody had.
    ///
    /// # Safety
    /// Who has it must never run again.
    pub unsafe fn take_over(&self) -> bool {
        self.held.replace(false)
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `held` lets one `Held` exist at a time, and `Guarded` is not `Sync`; who lost its `Held` to `take_over`
        // never runs again.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes it the only way in.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.held.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_over_from_a_holder_that_never_lets_go() {
        let guarded = Guarded::new(7);
        *guarded.borrow_mut() += 1;
        core::mem::forget(guarded.borrow_mut());
        // SAFETY: the holder is forgotten.
        assert!(unsafe { guarded.take_over() });
        assert_eq!(*guarded.borrow(), 8);
        // SAFETY: nobody holds it.
        assert!(!unsafe { guarded.take_over() });
    }

    #[test]
    fn who_only_asks_gets_nothing_while_somebody_has_it_and_takes_nothing_away() {
        let guarded = Guarded::new(7);
        let first = guarded.borrow();
        assert!(guarded.try_borrow_mut().is_none() && guarded.try_borrow_mut().is_none());
        drop(first);
        assert_eq!(guarded.try_borrow_mut().map(|held| *held), Some(7));
    }

    #[test]
    #[should_panic(expected = "from inside itself")]
    fn a_second_holder_is_a_bug_that_is_said() {
        let guarded = Guarded::new(7);
        let _first = guarded.borrow();
        let _second = guarded.borrow();
    }
}
