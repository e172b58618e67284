//! Shared objects: who wrote last and who read since, and whether the program itself put them in order.
//!
//! Hyder's serialisation protocol (3.4, tables 3-2 and 3-3) with the race check on clocks of table 8-1. Two orders are
//! kept apart. *Synchronisation* is what the program does to order its steps: messages and calls, which is what clocks
//! count. *Serialisation* is the order in which the protocol happened to let accesses through; it is recorded, as the
//! version of the object, and it never enters a clock. So an access that merely came second this time is no different from
//! one that could have come first: both are reported. (Table 8-1 merges the last writer's clock into the accessor's when
//! it finds a race, and with that hides every later race between the two.)
//!
//! A race is two accesses of one object, at least one of them a write, that synchronisation leaves unordered. An object
//! remembers its last write and the last read of each node since. That is enough to report a race of an object if and only
//! if it has one; all pairs are found from the logs, on the host.
mod value;

pub use value::AccessValue;

use crate::predicate::Carry;
use crate::{EventNumber, NodeId};

/// What is done to a shared object.
///
/// # Example: two reads never race
/// ```
/// use stillpoint_core::shared::AccessKind::{Read, Write};
/// assert!(Read.conflicts(Write) && Write.conflicts(Write) && !Read.conflicts(Read));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AccessKind {
    /// It is looked at.
    Read,
    /// It is changed, and may be looked at before.
    Write,
}

impl AccessKind {
    /// Whether the order of the two matters: at least one writes.
    #[must_use]
    pub const fn conflicts(self, other: Self) -> bool {
        !matches!((self, other), (Self::Read, Self::Read))
    }
}

/// An access that a node is about to make; see [`Node::access`](crate::Node::access).
///
/// # Example: node code writes object 5 somewhere
/// ```
/// use stillpoint_core::shared::{Access, AccessKind};
/// let access = Access { kind: AccessKind::Write, object: 5, place: 0 };
/// assert_eq!(access.kind, AccessKind::Write);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Read or write.
    pub kind: AccessKind,
    /// The number of the object's name.
    pub object: u16,
    /// The number of the name of the place in the source; 0 if it has none.
    pub place: u16,
}

/// An event that accessed an object.
///
/// # Example: event 3 of node 1
/// ```
/// use stillpoint_core::{EventNumber, NodeId, shared::Accessor};
/// let event = Accessor { node: NodeId(1), number: EventNumber(3) };
/// assert_eq!(event.number.count(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Accessor {
    /// Whose event.
    pub node: NodeId,
    /// Which of its events.
    pub number: EventNumber,
}

/// What the protocol keeps with an object that at most `R` nodes access.
///
/// # Example: a write that no message announced races with the one before it
/// ```
/// use stillpoint_core::{EventNumber, NodeId};
/// use stillpoint_core::shared::{AccessKind, Accessor, SharedObject};
/// let mut object = SharedObject::<2>::new();
/// let [first, second] = [0, 1].map(|node| Accessor { node: NodeId(node), number: EventNumber(1) });
/// let knows_nothing = |_| false;
/// assert!(!object.access(first, AccessKind::Write, knows_nothing).unwrap().is_race());
/// let found = object.access(second, AccessKind::Write, knows_nothing).unwrap();
/// assert!(found.races().eq([(first, AccessKind::Write)]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedObject<const R: usize> {
    /// The event that wrote last (omega in the thesis).
    writer: Option<Accessor>,
    /// The last read of each node since then (rho): its earlier ones are ordered before that by the node itself.
    readers: [Option<Accessor>; R],
    /// How many reads there were since then (eta).
    reads: u32,
    /// How many writes there were.
    version: u32,
    /// The stages of causal predicates that what was written depends on.
    pub(crate) carry: Carry,
}

/// What the protocol says of one access.
///
/// # Example: a read sees the last write
/// ```
/// use stillpoint_core::{EventNumber, NodeId};
/// use stillpoint_core::shared::{AccessKind, Accessor, SharedObject};
/// let mut object = SharedObject::<2>::new();
/// let [write, read] = [0, 1].map(|node| Accessor { node: NodeId(node), number: EventNumber(1) });
/// let _ = object.access(write, AccessKind::Write, |_| true).unwrap();
/// let found = object.access(read, AccessKind::Read, |_| true).unwrap();
/// assert_eq!((found.last_write, found.version), (Some(write), 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Accessed<const R: usize> {
    /// The write before this access, if there was one.
    pub last_write: Option<Accessor>,
    /// How many reads there were between that write and this access.
    pub reads: u32,
    /// How many writes there were, this access included.
    pub version: u32,
    /// The last write, if it is not ordered before this access.
    racing_write: Option<Accessor>,
    /// The reads since that are not.
    racing_reads: [Option<Accessor>; R],
}

/// More nodes read an object than it has room to remember; the access was not counted.
///
/// # Example: an object for one node
/// ```
/// use stillpoint_core::{EventNumber, NodeId};
/// use stillpoint_core::shared::{AccessKind, Accessor, SharedObject, TooManyReaders};
/// let mut object = SharedObject::<1>::new();
/// let by = |node| Accessor { node: NodeId(node), number: EventNumber(1) };
/// assert!(object.access(by(0), AccessKind::Read, |_| true).is_ok());
/// assert_eq!(object.access(by(1), AccessKind::Read, |_| true), Err(TooManyReaders));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TooManyReaders;

impl core::fmt::Display for TooManyReaders {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("more nodes read the shared object than it has room for: make it larger")
    }
}

impl core::error::Error for TooManyReaders {}

impl<const R: usize> SharedObject<R> {
    /// An object that nobody accessed.
    #[must_use]
    pub const fn new() -> Self {
        Self { writer: None, readers: [None; R], reads: 0, version: 0, carry: Carry::EMPTY }
    }

    /// Lets `by` access the object. `is_before` says whether an earlier access is ordered before it by synchronisation.
    ///
    /// # Errors
    /// There is no room to remember one more reader; nothing has changed.
    pub fn access(
        &mut self,
        by: Accessor,
        kind: AccessKind,
        is_before: impl Fn(Accessor) -> bool,
    ) -> Result<Accessed<R>, TooManyReaders> {
        let unordered = |event: Option<Accessor>| event.filter(|event| event.node != by.node && !is_before(*event));
        let racing_write = unordered(self.writer);
        let (last_write, reads) = (self.writer, self.reads);
        let mut racing_reads = [None; R];
        match kind {
            AccessKind::Read => {
                let own = self.readers.iter().position(|reader| reader.is_some_and(|reader| reader.node == by.node));
                let place = own.or_else(|| self.readers.iter().position(Option::is_none));
                *place.and_then(|place| self.readers.get_mut(place)).ok_or(TooManyReaders)? = Some(by);
                self.reads = self.reads.saturating_add(1);
            }
            AccessKind::Write => {
                racing_reads = self.readers.map(unordered);
                self.writer = Some(by);
                self.readers = [None; R];
                self.reads = 0;
                self.version = self.version.wrapping_add(1);
            }
        }
        Ok(Accessed { last_write, reads, version: self.version, racing_write, racing_reads })
    }
}

impl<const R: usize> Default for SharedObject<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const R: usize> Accessed<R> {
    /// Whether the access races with one before it.
    #[must_use]
    pub fn is_race(&self) -> bool {
        self.races().next().is_some()
    }

    /// What the access races with, of what the object remembers.
    pub fn races(&self) -> impl Iterator<Item = (Accessor, AccessKind)> {
        let write = self.racing_write.map(|event| (event, AccessKind::Write));
        let reads = self.racing_reads.iter().flatten().map(|event| (*event, AccessKind::Read));
        write.into_iter().chain(reads)
    }
}

#[cfg(any(test, on_target))]
mod tests;
