//! What lines know through shared objects, from the log rings.
//!
//! The clock that a line carries counts messages and calls. An access of a shared object orders more, and its record says so; the
//! records are in the log rings, which are read beside the text.
use super::merge::Pending;
use crate::{System, SystemError};
use stillpoint_core::{EventKind, EventNumber};
use stillpoint_trace::{EventId, History};

/// The events in the log rings, ordered by causality.
pub(super) struct Accesses(History);

impl Accesses {
    /// Reads the log rings; nothing where no firmware shares an object.
    pub fn read(system: &mut System) -> Result<Option<Self>, SystemError> {
        if !shares(system) {
            return Ok(None);
        }
        Ok(Some(Self::of(system.last_events("")?)))
    }

    pub fn of(history: History) -> Self {
        Self(history.causality())
    }

    /// Adds to the clock of a line of a node what the node knew through shared objects.
    pub fn add_to(&self, pending: &mut Pending, node: u8) {
        let (Some(number), Some(clock)) = (pending.number, &mut pending.clock) else { return };
        let Some(place) = self.last_up_to(node, number) else { return };
        let known = self.0.clock(place);
        clock.resize(clock.len().max(known.len()), 0);
        for (entry, known) in clock.iter_mut().zip(known) {
            if EventNumber(*known).is_newer_than(EventNumber(*entry)) {
                *entry = *known;
            }
        }
    }

    /// Whether the rings have no event of the node from before a line.
    pub fn is_older(&self, node: u8, number: u32) -> bool {
        self.last_up_to(node, number).is_none()
    }

    fn last_up_to(&self, node: u8, number: u32) -> Option<usize> {
        let exact = self.0.index_of(EventId { node, number }).filter(|place| self.0.events[*place].counts());
        exact.or_else(|| {
            let is_up_to = |place: &&u32| {
                let event = &self.0.events[**place as usize];
                event.counts() && !EventNumber(event.id.number).is_newer_than(EventNumber(number))
            };
            self.0.of_node(node).iter().rev().find(is_up_to).map(|place| *place as usize)
        })
    }
}

/// Whether a firmware of the system has shared objects.
pub(super) fn shares(system: &mut System) -> bool {
    system.boards().iter().any(|board| board.firmware().names("shared").next().is_some())
}

/// Whether every node records the accesses that it makes.
pub(super) fn are_recorded(system: &mut System) -> Result<bool, SystemError> {
    let records = |node: &crate::Node| node.recording.is_none_or(|of| of.kinds().contains(EventKind::Access));
    Ok(system.nodes()?.iter().all(records))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Said;
    use super::super::merge::Merge;
    use super::*;
    use stillpoint_core::shared::{AccessKind, AccessValue};
    use stillpoint_core::{Event, NodeId};
    use stillpoint_trace::Sketch;

    fn access(kind: AccessKind, version: u8) -> Event {
        let value = AccessValue { kind, race: false, version, reads: 0, place: 0 }.to_bits();
        Event { kind: EventKind::Access, arg: 5, value }
    }

    fn line(number: u32, clock: [u32; 2], time: u64) -> Pending {
        let clock = Some(clock.to_vec());
        Pending { number: Some(number), clock, time: Some(time), said: Said::Restarted, bound: None }
    }

    /// a says that it will write and writes, b reads what a wrote and says so; b's clock is far behind a's.
    #[test]
    fn a_line_comes_after_what_its_node_read_of_a_shared_object_though_time_says_otherwise() {
        let mut sketch = Sketch::new(&["a", "b"]);
        sketch.local(0, 7);
        sketch.event(0, access(AccessKind::Write, 1));
        sketch.local(1, 7);
        sketch.event(1, access(AccessKind::Read, 1));
        let accesses = Accesses::of(sketch.history());
        let order = |accesses: Option<&Accesses>| {
            let mut merge = Merge::new([0, 1].into_iter().map(NodeId));
            // Before the write; before the read and after it.
            for (node, mut pending) in [(0, line(1, [1, 0], 900)), (1, line(1, [0, 1], 1)), (1, line(2, [0, 2], 2))] {
                if let Some(accesses) = accesses {
                    assert!(!accesses.is_older(node, pending.number.unwrap()));
                    accesses.add_to(&mut pending, node);
                }
                merge.push(node.into(), pending);
            }
            let mut out = Vec::new();
            merge.release(|_, _| ());
            merge.release(|place, pending| out.push((place, pending.number.unwrap())));
            out
        };
        assert_eq!(order(None), [(1, 1), (1, 2), (0, 1)], "by messages nothing orders them");
        assert_eq!(order(Some(&accesses)), [(1, 1), (0, 1), (1, 2)]);
        let late = Accesses::of(Sketch::new(&["a", "b"]).history());
        assert!(late.is_older(0, 1), "the rings have nothing of it");
    }
}
