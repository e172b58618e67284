//! Accesses of shared objects.
use super::{Effects, Node, StepError};
use crate::shared::{Access, AccessValue, Accessed, Accessor, SharedObject};
use crate::{Event, EventKind, StampKind};

impl<const N: usize, const P: usize> Node<N, P> {
    /// The application reads or writes a shared object, which is one event. Whoever drives the node holds the lock of the
    /// object, and lets the application have it after this.
    ///
    /// Races are looked for where clocks are complete: with vector stamps. The access changes no clock, so what the lock
    /// happens to order is not mistaken for what the program orders; stages of causal predicates do pass from who
    /// writes to who accesses later, for data did. On an error neither the node nor the object has changed.
    ///
    /// # Example: a race is found by the second of the two
    /// ```
    /// use stillpoint_core::*;
    /// use stillpoint_core::shared::{Access, AccessKind, SharedObject};
    /// let mut object = SharedObject::<2>::new();
    /// let access = Access { kind: AccessKind::Write, object: 5, place: 0 };
    /// for id in [0, 1] {
    ///     let mut node = Node::<2>::new(NodeId(id), StampKind::Vector)?;
    ///     let _ = node.step(Input::start())?;
    ///     let (_, found) = node.access(&mut object, access)?;
    ///     assert_eq!(found.is_race(), id == 1);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn access<const R: usize>(
        &mut self,
        object: &mut SharedObject<R>,
        access: Access,
    ) -> Result<(Effects, Accessed<R>), StepError> {
        if !self.halting.is_running() {
            return Err(StepError::NotRunning);
        }
        let by = Accessor { node: self.id, number: self.number().next() };
        let looks = self.stamps == StampKind::Vector;
        let is_before = |event: Accessor| !looks || !event.number.is_newer_than(self.clock.get(event.node));
        let accessed = object.access(by, access.kind, is_before).map_err(|_| StepError::TooManyReaders)?;
        if !object.carry.is_empty() {
            // Before the event is evaluated, as with a received message.
            let _news = self.predicates.merge(&object.carry);
        }
        let version = (accessed.version % AccessValue::VERSIONS) as u8;
        let reads = (accessed.reads % AccessValue::READS) as u8;
        let value = AccessValue { kind: access.kind, race: accessed.is_race(), version, reads, place: access.place };
        let event = Event { kind: EventKind::Access, arg: access.object, value: value.to_bits() };
        let effects = self.happen(event);
        if matches!(access.kind, crate::shared::AccessKind::Write) {
            // After it was: a stage that the write satisfied travels with what is written.
            object.carry = self.predicates.carry();
        }
        Ok((effects, accessed))
    }
}
