//! Objects that the cores of a board share, every access of which is an event.
//!
//! A message orders what its sender did before it and its receiver does after it; shared memory orders nothing. So each
//! access of a [`Shared`] is recorded, and two of them that no chain of messages puts in order, at least one of them a
//! write, are a race: found on the target where stamps are vectors, and by `stillpoint races` from any recording.
//!
//! With the kit compiled out `plain/shared.rs` is in its place: the same cell, and nothing else.
use crate::name::Name;
use crate::platform::MAX_CORES;
use core::cell::{Cell, RefCell};
use critical_section::Mutex;
use stillpoint_core::Then;
use stillpoint_core::shared::{Access, AccessKind, SharedObject};

/// What shared objects need of the agent of the calling core, whatever its sizes.
pub(crate) trait Accesses: Sync {
    /// The event of an access, while the lock is held. What the core does after it is released.
    fn access(&self, object: &mut SharedObject<MAX_CORES>, access: Access) -> Then;
    /// Does it.
    fn settle(&self, then: Then);
}

/// Memory for an object that cores of a board share. [`Agent::share`](crate::agent::Agent::share) makes it accessible.
///
/// It is no channel: whoever waits for a change waits for a message that says so, which is also what puts the accesses in
/// order.
///
/// # Example
/// ```
/// use stillpoint_agent::Shared;
/// static TOTALS: Shared<[u32; 4]> = Shared::new([0; 4]);
/// ```
pub struct Shared<T> {
    value: Mutex<RefCell<T>>,
    protocol: Mutex<RefCell<SharedObject<MAX_CORES>>>,
    /// The name it got first. Both cores name it, and it is one object.
    name: Mutex<Cell<Option<Name>>>,
}

impl<T> Shared<T> {
    /// An object with its first value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self {
            value: Mutex::new(RefCell::new(value)),
            protocol: Mutex::new(RefCell::new(SharedObject::new())),
            name: Mutex::new(Cell::new(None)),
        }
    }
}

/// A way to a shared object. It may be copied and given to every task of every core of the board.
pub struct SharedHandle<T: 'static> {
    shared: &'static Shared<T>,
    agent: &'static dyn Accesses,
    name: Name,
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SharedHandle<T> {}

impl<T: Send> SharedHandle<T> {
    pub(crate) fn open(shared: &'static Shared<T>, agent: &'static dyn Accesses, name: Name) -> Self {
        let name = crate::sync::critical_section::with(|key| {
            let first = shared.name.borrow(key);
            first.set(first.get().or(Some(name)));
            first.get().unwrap_or(name)
        });
        Self { shared, agent, name }
    }

    /// Looks at the object: `totals.read(here!(), |totals| totals[0])`.
    ///
    /// The access and what the closure does are one event, with the cross-core lock held: keep it short, and let nothing that
    /// is an event of its own happen inside. A halt waits until it is over.
    ///
    /// # Panics
    /// From inside a write of the same object, or if a core crashed inside one.
    pub fn read<R>(&self, place: Name, look: impl FnOnce(&T) -> R) -> R {
        let (result, then) = crate::sync::critical_section::with(|key| {
            let value = self.shared.value.borrow(key).try_borrow().expect(IN_USE);
            let then = self.access(key, AccessKind::Read, place);
            (look(&value), then)
        });
        self.agent.settle(then);
        result
    }

    /// Changes the object: `totals.write(here!(), |totals| totals[0] += 1)`.
    ///
    /// The same holds as for [`read`](Self::read).
    ///
    /// # Panics
    /// From inside an access of the same object, or if a core crashed inside one.
    pub fn write<R>(&self, place: Name, change: impl FnOnce(&mut T) -> R) -> R {
        let (result, then) = crate::sync::critical_section::with(|key| {
            let mut value = self.shared.value.borrow(key).try_borrow_mut().expect(IN_USE);
            let then = self.access(key, AccessKind::Write, place);
            (change(&mut value), then)
        });
        self.agent.settle(then);
        result
    }

    fn access(&self, key: critical_section::CriticalSection<'_>, kind: AccessKind, place: Name) -> Then {
        let mut object = self.shared.protocol.borrow(key).borrow_mut();
        self.agent.access(&mut object, Access { kind, object: self.name.0, place: place.0 })
    }
}

const IN_USE: &str =
    "the shared object is in use: accessed from inside its own access, or by a core that crashed there";

#[cfg(test)]
mod tests;
