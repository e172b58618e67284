//! What cores of a board share, with nobody looking: a cell behind the cross-core lock.
use crate::name::Name;
use core::cell::RefCell;
use critical_section::Mutex;

/// Memory for an object that cores of a board share. [`Agent::share`](crate::agent::Agent::share) makes it accessible.
///
/// # Example
/// ```
/// use stillpoint_agent::Shared;
/// static TOTALS: Shared<[u32; 4]> = Shared::new([0; 4]);
/// ```
pub struct Shared<T>(Mutex<RefCell<T>>);

impl<T> Shared<T> {
    /// An object with its first value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(RefCell::new(value)))
    }
}

/// A way to a shared object. It may be copied and given to every task of every core of the board.
pub struct SharedHandle<T: 'static>(&'static Shared<T>);

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SharedHandle<T> {}

impl<T: Send> SharedHandle<T> {
    pub(crate) fn open(shared: &'static Shared<T>) -> Self {
        Self(shared)
    }

    /// Looks at the object, with the cross-core lock held.
    ///
    /// # Panics
    /// From inside a write of the same object.
    #[inline]
    pub fn read<R>(&self, _place: Name, look: impl FnOnce(&T) -> R) -> R {
        critical_section::with(|key| look(&self.0.0.borrow(key).borrow()))
    }

    /// Changes the object, with the cross-core lock held.
    ///
    /// # Panics
    /// From inside an access of the same object.
    #[inline]
    pub fn write<R>(&self, _place: Name, change: impl FnOnce(&mut T) -> R) -> R {
        critical_section::with(|key| change(&mut self.0.0.borrow(key).borrow_mut()))
    }
}
