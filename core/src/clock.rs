//! Logical time: event numbers with epochs, and vectors of them.
//!
//! An entry is one `u32`: the upper 8 bits are the node's *epoch*, which grows with every reset, the lower 24 count its
//! events. A count that overflows simply runs into the next epoch. Entries compare as serial numbers inside a window
//! of 2^31, so one compare orders across resets and wraps. The entry 0 says that nothing is known: it is older than every
//! other, in whatever epoch that is.
use crate::NodeId;
use core::cmp::Ordering;

const COUNT_BITS: u32 = 24;
/// How many epochs what is known of a node may lie behind before it is brought forward: half of those that compare.
const REACH: u32 = 64;

/// The number of an event at its node: epoch and count in one word.
///
/// # Example: a reset beats any stale count
/// ```
/// use stillpoint_core::EventNumber;
/// let before = EventNumber(9_000_000);
/// let restarted = before.next_epoch();
/// assert!(restarted.is_newer_than(before));
/// assert_eq!((restarted.epoch(), restarted.count()), (1, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventNumber(pub u32);

impl EventNumber {
    /// How often the node had started anew.
    #[must_use]
    pub const fn epoch(self) -> u8 {
        (self.0 >> COUNT_BITS) as u8
    }

    /// The event's place within the epoch.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0 & ((1 << COUNT_BITS) - 1)
    }

    /// The number before the first event of the following epoch. Epoch 1 follows 255: in epoch 0 that number would be 0.
    #[must_use]
    pub const fn next_epoch(self) -> Self {
        let epoch = self.epoch().wrapping_add(1);
        Self((if epoch == 0 { 1 } else { epoch as u32 }) << COUNT_BITS)
    }

    /// The number before the first event of its epoch; 1 in epoch 0, where that number would be 0.
    const fn epoch_start(self) -> Self {
        let start = self.0 & !((1 << COUNT_BITS) - 1);
        Self(if start == 0 { 1 } else { start })
    }

    /// Whether `self` comes after `other`. Every number comes after 0, which no event has.
    #[must_use]
    #[inline]
    pub const fn is_newer_than(self, other: Self) -> bool {
        self.0 != 0 && (other.0 == 0 || self.is_ahead_of(other))
    }

    /// The same where neither is 0, or both are of the first 128 epochs.
    #[inline(always)]
    pub(crate) const fn is_ahead_of(self, other: Self) -> bool {
        (other.0.wrapping_sub(self.0) as i32) < 0
    }

    /// The number of the event that follows. No event has the number 0.
    #[must_use]
    #[inline(always)]
    pub const fn next(self) -> Self {
        let (next, wraps) = self.0.overflowing_add(1);
        Self(next + wraps as u32)
    }
}

/// Fixed-size logical time: for each node, the last of its events that is known of.
///
/// The partial order is happened-before: `a < b` when everything `a` knows, `b` knows too; `None` when they are
/// concurrent. For a frontier of a whole system use [`Cut`](crate::Cut).
///
/// # Example: a message orders, silence does not
/// ```
/// use stillpoint_core::{NodeId, VectorClock};
/// let (mut left, mut right) = (VectorClock::<2>::new(), VectorClock::<2>::new());
/// left.tick(NodeId(0));
/// right.tick(NodeId(1));
/// assert_eq!(left.partial_cmp(&right), None);
/// right.merge(&left);
/// right.tick(NodeId(1));
/// assert!(left < right);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct VectorClock<const N: usize> {
    pub(crate) entries: [u32; N],
}

impl<const N: usize> VectorClock<N> {
    /// The time before anything happened.
    #[must_use]
    pub const fn new() -> Self {
        assert!(N <= crate::MAX_NODES, "a system has at most 32 nodes");
        Self { entries: [0; N] }
    }

    /// A clock with these entries, node 0 first.
    #[must_use]
    pub const fn from_entries(entries: [u32; N]) -> Self {
        Self { entries }
    }

    /// The entries, node 0 first.
    #[must_use]
    pub const fn entries(&self) -> &[u32; N] {
        &self.entries
    }

    /// What is known of `node`; zero for a node that is not in the system.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, node: NodeId) -> EventNumber {
        EventNumber(self.entries.get(usize::from(node.0)).copied().unwrap_or(0))
    }

    /// Counts one event of `node` and returns its number; a node that is not in the system counts nothing.
    #[inline(always)]
    pub fn tick(&mut self, node: NodeId) -> EventNumber {
        match self.entries.get_mut(usize::from(node.0)) {
            Some(entry) => {
                *entry = EventNumber(*entry).next().0;
                EventNumber(*entry)
            }
            None => EventNumber(0),
        }
    }

    /// Moves `node` to the epoch above `known`, unless it is there already.
    ///
    /// A starting node does this with everything its retained memory and its peers know of it, before its first event.
    pub fn start_epoch_after(&mut self, node: NodeId, known: EventNumber) {
        if let Some(entry) = self.entries.get_mut(usize::from(node.0)) {
            let next = known.next_epoch();
            if next.is_newer_than(EventNumber(*entry)) {
                *entry = next.0;
            }
        }
    }

    /// Brings what is known of `node` forward to the beginning of the epoch that it says it is in, if that is more than 64
    /// epochs ahead. Returns whether it did.
    ///
    /// Numbers compare within 128 epochs. A node that is reset again and again and sends nothing says only hello to its
    /// peers; without this, what they know of an early life would compare as newer than a late one.
    pub(crate) fn bring_forward(&mut self, node: NodeId, present: EventNumber) -> bool {
        let Some(entry) = self.entries.get_mut(usize::from(node.0)).filter(|entry| **entry != 0) else { return false };
        let start = present.epoch_start();
        let is_behind = start.is_ahead_of(EventNumber(*entry)) && start.0.wrapping_sub(*entry) > REACH << COUNT_BITS;
        if present.0 == 0 || !is_behind {
            return false;
        }
        *entry = start.0;
        true
    }

    /// Learns everything `other` knows.
    ///
    /// Compares as serial numbers only: an entry 0 counts as newer than one of the epochs 128 to 255. Nodes learn from
    /// stamps, which treat 0 as the oldest.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        // Four at a time, so that they are loaded and stored in pairs; and written out, sixteen in one turn of the loop where
        // there are many nodes, for compilers that do not unroll loops for the sake of size.
        let (mine, mine_rest) = self.entries.as_chunks_mut::<16>();
        let (theirs, theirs_rest) = other.entries.as_chunks::<16>();
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            let ([a, b, c, d], [e, f, g, h]) = (mine.as_chunks_mut::<4>().0, theirs.as_chunks::<4>().0) else { return };
            merge_four(a, e);
            merge_four(b, f);
            merge_four(c, g);
            merge_four(d, h);
        }
        let (mine, mine_rest) = mine_rest.as_chunks_mut::<4>();
        let (theirs, theirs_rest) = theirs_rest.as_chunks::<4>();
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            merge_four(mine, theirs);
        }
        for (mine, theirs) in mine_rest.iter_mut().zip(theirs_rest) {
            *mine = newer(*mine, *theirs);
        }
    }
}

#[inline(always)]
const fn merge_four(mine: &mut [u32; 4], [e, f, g, h]: &[u32; 4]) {
    let [a, b, c, d] = *mine;
    *mine = [newer(a, *e), newer(b, *f), newer(c, *g), newer(d, *h)];
}

/// The newer of two entries, across the wrap too and without a branch: what `mine` is behind is added to it.
#[inline(always)]
const fn newer(mine: u32, theirs: u32) -> u32 {
    let ahead = mine.wrapping_sub(theirs) as i32;
    mine.wrapping_sub((ahead & (ahead >> 31)) as u32)
}

impl<const N: usize> Default for VectorClock<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> PartialOrd for VectorClock<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (mut before, mut after) = (false, false);
        for (mine, theirs) in self.entries.iter().zip(&other.entries) {
            let ahead = mine.wrapping_sub(*theirs) as i32;
            before |= ahead < 0;
            after |= ahead > 0;
        }
        match (before, after) {
            (false, false) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (true, true) => None,
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    #[test]
    fn every_number_is_newer_than_nothing_and_than_the_epoch_before() {
        let mut number = EventNumber(1);
        for _ in 0..600 {
            let (before, epoch) = (EventNumber(number.0 | 0x00FF_FFFE), number.epoch());
            number = number.next_epoch();
            assert_ne!(number, EventNumber(0));
            assert!(number.is_newer_than(before) && !before.is_newer_than(number), "epoch {epoch}");
            assert!(number.is_newer_than(EventNumber(0)) && !EventNumber(0).is_newer_than(number), "epoch {epoch}");
        }
    }

    #[test]
    fn the_number_after_the_last_one_is_one() {
        assert_eq!(EventNumber(u32::MAX).next(), EventNumber(1));
        assert!(EventNumber(u32::MAX).next().is_newer_than(EventNumber(u32::MAX)));
        assert_eq!(EventNumber(7).next(), EventNumber(8));
    }

    #[test]
    fn events_without_a_message_between_them_are_concurrent() {
        let (mut a, mut b) = (VectorClock::<3>::new(), VectorClock::<3>::new());
        a.tick(A);
        b.tick(B);
        assert_eq!(a.partial_cmp(&b), None);
        assert_eq!(b.partial_cmp(&a), None);
    }

    #[test]
    fn a_receive_is_after_its_send_and_all_before_it() {
        let (mut a, mut b) = (VectorClock::<3>::new(), VectorClock::<3>::new());
        a.tick(A);
        let first = a;
        a.tick(A);
        b.tick(B);
        b.merge(&a);
        b.tick(B);
        assert!(first < b && a < b);
        assert_eq!(b.entries, [2, 2, 0]);
    }

    #[test]
    fn order_survives_the_wrap_of_a_count() {
        let mut near_the_end = VectorClock::from_entries([u32::MAX, 5]);
        let before = near_the_end;
        near_the_end.tick(A);
        assert_eq!(near_the_end.get(A), EventNumber(1), "no event has the number 0");
        assert!(before < near_the_end);
        let mut late = before;
        late.merge(&near_the_end);
        assert_eq!(late, near_the_end);
        late.merge(&before);
        assert_eq!(late, near_the_end, "an old entry must not come back");
    }

    #[test]
    fn a_stale_large_count_never_beats_a_fresh_small_one() {
        let stale = VectorClock::from_entries([0x00FF_FFF0, 0]);
        let mut restarted = VectorClock::<2>::new();
        restarted.start_epoch_after(A, stale.get(A));
        restarted.tick(A);
        assert_eq!((restarted.get(A).epoch(), restarted.get(A).count()), (1, 1));
        assert!(stale < restarted);
    }

    #[test]
    fn a_node_never_starts_below_an_epoch_it_reached() {
        let mut clock = VectorClock::from_entries([0x0300_0007, 0]);
        clock.start_epoch_after(A, EventNumber(0x0100_0009));
        assert_eq!(clock.get(A), EventNumber(0x0300_0007));
    }

    #[test]
    fn only_what_lies_far_behind_is_brought_forward_and_nothing_goes_back() {
        let known = 0x0300_0007;
        let after = |known: u32, present: u32| {
            let mut clock = VectorClock::from_entries([known, 9]);
            let moved = clock.bring_forward(A, EventNumber(present));
            assert_eq!((clock.get(B), clock.get(A).0 != known), (EventNumber(9), moved));
            clock.get(A).0
        };
        assert_eq!(after(known, 0x4300_0005), known, "64 epochs");
        assert_eq!(after(known, 0x4400_0005), 0x4400_0000, "65 epochs: its beginning, not what happened in it");
        assert_eq!(after(known, 0x8200_0005), 0x8200_0000);
        assert_eq!(after(known, 0x8400_0005), known, "an older life");
        assert_eq!(after(0, 0x4400_0005), 0, "nothing is known, which stays older than all");
        assert_eq!(after(known, 0), known, "it has not started");
        assert_eq!(after(0xB000_0007, 0x0000_0005), 1, "no event has the number 0");
    }

    #[test]
    fn a_count_that_overflows_runs_into_the_next_epoch() {
        let mut clock = VectorClock::from_entries([0x00FF_FFFF]);
        clock.tick(A);
        assert_eq!((clock.get(A).epoch(), clock.get(A).count()), (1, 0));
    }

    #[test]
    fn a_node_outside_the_system_counts_nothing() {
        let mut clock = VectorClock::<2>::new();
        assert_eq!(clock.tick(NodeId(2)), EventNumber(0));
        clock.start_epoch_after(NodeId(9), EventNumber(1));
        assert_eq!(clock, VectorClock::new());
        assert_eq!(clock.get(NodeId(31)), EventNumber(0));
    }
}
