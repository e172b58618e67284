//! The control lane of a mailbox: one direction of what two agents tell each other beside the messages.
//!
//! A marker is always the last item of a channel, so one slot is enough, and halting cannot fail because a ring is full.
//! Each slot is written by one core and read by the other; a revision that is odd while the slot changes keeps a reader
//! from half a marker.
use crate::sync::atomic::{AtomicU32, Ordering, fence};
use stillpoint_core::predicate::{Reached, SLOTS};
use stillpoint_core::{HaltId, HaltMarker, HaltOrder, NodeId};

/// Words of a marker: id and number of names, position, names.
const MARKER_WORDS: usize = 2 + stillpoint_core::MAX_NODES / 4;

/// One direction of the control lane between two cores.
#[repr(C)]
#[derive(Debug)]
pub struct Lane {
    revision: AtomicU32,
    marker: [AtomicU32; MARKER_WORDS],
    /// Halt id in the low half, number of releases so far in the high half.
    release: AtomicU32,
    /// What a predicate marker says in the low half, number of markers so far in the high half.
    predicates: [AtomicU32; SLOTS],
}

/// What a reader has taken from a lane so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    revision: u32,
    release: u32,
    predicates: [u32; SLOTS],
}

impl Taken {
    /// Takes the marker in the slot once more: a crash may have come between taking it and doing what it asks for. A node
    /// that has done it ignores it.
    pub(crate) fn forget_marker(&mut self) {
        self.revision = 0;
    }
}

impl Lane {
    /// An empty lane.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            revision: AtomicU32::new(0),
            marker: [const { AtomicU32::new(0) }; MARKER_WORDS],
            release: AtomicU32::new(0),
            predicates: [const { AtomicU32::new(0) }; SLOTS],
        }
    }

    /// Puts a marker into the slot, over whatever is there: a newer marker makes an older one void.
    pub(crate) fn post_marker<const N: usize>(&self, marker: &HaltMarker<N>) {
        // Odd if a crash interrupted the last time.
        let revision = self.revision.load(Ordering::Relaxed) & !1;
        self.revision.store(revision.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let names = marker.order.nodes();
        let head = [u32::from(marker.id.0) | (names.len() as u32) << 16, marker.position];
        let packed = names.chunks(4).map(|four| four.iter().rev().fold(0, |word, name| word << 8 | u32::from(name.0)));
        for (word, value) in self.marker.iter().zip(head.into_iter().chain(packed)) {
            word.store(value, Ordering::Relaxed);
        }
        self.revision.store(revision.wrapping_add(2), Ordering::Release);
    }

    /// The marker in the slot, if it is one that was not taken yet.
    pub(crate) fn take_marker<const N: usize>(&self, taken: &mut Taken) -> Option<HaltMarker<N>> {
        loop {
            let revision = self.revision.load(Ordering::Acquire);
            if revision == taken.revision {
                return None;
            }
            let [head, position, names @ ..] = core::array::from_fn::<u32, MARKER_WORDS, _>(|word| {
                self.marker.get(word).map_or(0, |word| word.load(Ordering::Relaxed))
            });
            fence(Ordering::Acquire);
            if revision & 1 != 0 || self.revision.load(Ordering::Relaxed) != revision {
                // The other core is just writing; it does so with its interrupts masked and is done soon.
                crate::sync::spin_loop();
                continue;
            }
            taken.revision = revision;
            let count = (head >> 16) as usize;
            let order = names.iter().flat_map(|word| word.to_le_bytes()).take(count).map(NodeId);
            let order = order.filter(|name| usize::from(name.0) < N).fold(HaltOrder::new(), HaltOrder::then);
            return Some(HaltMarker { id: HaltId(head as u16), position, order });
        }
    }

    /// Releases the peer from a halt.
    pub(crate) fn post_release(&self, id: HaltId) {
        post(&self.release, u32::from(id.0));
    }

    /// The release in the slot, if it is one that was not taken yet.
    pub(crate) fn take_release(&self, taken: &mut Taken) -> Option<HaltId> {
        take(&self.release, &mut taken.release).map(|id| HaltId(id as u16))
    }

    /// Tells the peer how far a predicate has come.
    pub(crate) fn post_predicate(&self, reached: Reached) {
        if let Some(slot) = self.predicates.get(usize::from(reached.slot().number())) {
            post(slot, u32::from(u16::from_le_bytes(reached.to_bytes())));
        }
    }

    /// The next predicate marker that was not taken yet.
    pub(crate) fn take_predicate(&self, taken: &mut Taken) -> Option<Reached> {
        self.predicates.iter().zip(&mut taken.predicates).find_map(|(slot, taken)| {
            let bytes = (take(slot, taken)? as u16).to_le_bytes();
            Reached::from_bytes(bytes).ok()
        })
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self::new()
    }
}

fn post(slot: &AtomicU32, value: u32) {
    let count = (slot.load(Ordering::Relaxed) >> 16).wrapping_add(1) & 0xFFFF;
    slot.store(count << 16 | value & 0xFFFF, Ordering::Release);
}

fn take(slot: &AtomicU32, taken: &mut u32) -> Option<u32> {
    let found = slot.load(Ordering::Acquire);
    let news = found != *taken;
    *taken = found;
    news.then_some(found & 0xFFFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::predicate::{Generation, SlotId};

    fn marker(id: u16) -> HaltMarker<6> {
        let order = [5, 0, 3, 1, 2].into_iter().map(NodeId).fold(HaltOrder::new(), HaltOrder::then);
        HaltMarker { id: HaltId(id), position: 0xDEAD_0000 + u32::from(id), order }
    }

    #[test]
    fn a_marker_arrives_once_and_whole() {
        let (lane, mut taken) = (Lane::new(), Taken::default());
        assert_eq!(lane.take_marker::<6>(&mut taken), None);
        lane.post_marker(&marker(7));
        assert_eq!(lane.take_marker(&mut taken), Some(marker(7)));
        assert_eq!(lane.take_marker::<6>(&mut taken), None);
    }

    #[test]
    fn a_newer_marker_takes_the_place_of_one_nobody_took() {
        let (lane, mut taken) = (Lane::new(), Taken::default());
        lane.post_marker(&marker(7));
        lane.post_marker(&marker(8));
        assert_eq!(lane.take_marker(&mut taken), Some(marker(8)));
        assert_eq!(lane.take_marker::<6>(&mut taken), None);
    }

    #[test]
    fn the_same_release_twice_is_two_releases() {
        let (lane, mut taken) = (Lane::new(), Taken::default());
        for _ in 0..2 {
            lane.post_release(HaltId(9));
            assert_eq!(lane.take_release(&mut taken), Some(HaltId(9)));
            assert_eq!(lane.take_release(&mut taken), None);
        }
    }

    #[test]
    fn each_predicate_has_a_slot_of_its_own() {
        let (lane, mut taken) = (Lane::new(), Taken::default());
        let reached = SlotId::ALL.map(|slot| Reached::new(slot, Generation(slot.number()), 2).unwrap());
        reached.iter().for_each(|reached| lane.post_predicate(*reached));
        for expected in reached {
            assert_eq!(lane.take_predicate(&mut taken), Some(expected));
        }
        assert_eq!(lane.take_predicate(&mut taken), None);
    }
}
