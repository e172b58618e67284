//! Sets of threads and of nodes, each one word wide.
use super::ThreadId;
use crate::NodeId;

macro_rules! set {
    ($(#[$about:meta])* $Set:ident of $Id:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $Set(pub u32);

        impl $Set {
            /// Nobody.
            pub const EMPTY: Self = Self(0);

            /// Numbers `0 .. count`.
            #[must_use]
            pub const fn first(count: usize) -> Self {
                if count >= 32 { Self(u32::MAX) } else { Self((1 << count) - 1) }
            }

            /// Whether nobody is in the set.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Whether `id` is in the set; a number out of range is in none.
            #[must_use]
            pub const fn contains(self, id: $Id) -> bool {
                self.0 & Self::bit(id) != 0
            }

            /// The set with `id` added; a number out of range changes nothing.
            #[must_use]
            pub const fn with(self, id: $Id) -> Self {
                Self(self.0 | Self::bit(id))
            }

            /// The set with `id` taken out.
            #[must_use]
            pub const fn without(self, id: $Id) -> Self {
                Self(self.0 & !Self::bit(id))
            }

            /// Who is in either set.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Who is in both sets.
            #[must_use]
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// Who is in this set and not in `other`.
            #[must_use]
            pub const fn difference(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// The members in ascending order.
            pub fn iter(mut self) -> impl Iterator<Item = $Id> {
                core::iter::from_fn(move || self.take_first())
            }

            /// Takes out and returns the member with the least number.
            pub(super) const fn take_first(&mut self) -> Option<$Id> {
                let first = self.0.trailing_zeros();
                self.0 &= self.0.wrapping_sub(1);
                if first < 32 { Some($Id(first as u8)) } else { None }
            }

            const fn bit(id: $Id) -> u32 {
                if id.0 < 32 { 1 << id.0 } else { 0 }
            }
        }
    };
}

set! {
    /// A set of threads.
    ///
    /// # Example
    /// ```
    /// use stillpoint_core::delay::{ThreadId, ThreadSet};
    /// let threads = ThreadSet::first(3).without(ThreadId(1));
    /// assert!(threads.contains(ThreadId(2)) && !threads.contains(ThreadId(1)));
    /// assert!(threads.iter().eq([ThreadId(0), ThreadId(2)]));
    /// ```
    ThreadSet of ThreadId
}

set! {
    /// A set of nodes.
    ///
    /// # Example
    /// ```
    /// use stillpoint_core::{NodeId, delay::NodeSet};
    /// let nodes = NodeSet::EMPTY.with(NodeId(4)).with(NodeId(0));
    /// assert!(nodes.iter().eq([NodeId(0), NodeId(4)]));
    /// ```
    NodeSet of NodeId
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_thread_out_of_range_is_in_no_set() {
        assert!(!ThreadSet(u32::MAX).contains(ThreadId(32)));
        assert_eq!(ThreadSet::EMPTY.with(ThreadId(255)), ThreadSet::EMPTY);
        assert_eq!(ThreadSet::first(40), ThreadSet(u32::MAX));
    }

    #[test]
    fn iterating_names_each_member_once_in_order() {
        let set = NodeSet(0x8000_0101);
        assert!(set.iter().eq([NodeId(0), NodeId(8), NodeId(31)]));
        assert_eq!(NodeSet::EMPTY.iter().next(), None);
    }
}
