//! Frontiers of a whole system, and what was in flight across them.
use crate::{EventNumber, NodeId, PortId, VectorClock};
use core::fmt;

/// A frontier: one event number per node.
///
/// A `Cut` says *where* every node stood. If you also need what was in flight, use [`Snapshot`].
///
/// # Example: an effect without its cause
/// ```
/// use stillpoint_core::{Cut, VectorClock};
/// // Node 1 stands after a receive of node 0's event 3; node 0 stands at its event 2.
/// let clocks = [VectorClock::from_entries([2, 0]), VectorClock::from_entries([3, 1])];
/// assert!(!Cut::of(&clocks).is_consistent(&clocks));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cut<const N: usize> {
    frontier: [EventNumber; N],
}

impl<const N: usize> Cut<N> {
    /// The cut at which each node stands where its own clock says; `clocks[i]` is that of node `i`.
    #[must_use]
    pub fn of(clocks: &[VectorClock<N>; N]) -> Self {
        let mut frontier = [EventNumber(0); N];
        for (index, (place, clock)) in frontier.iter_mut().zip(clocks).enumerate() {
            *place = clock.get(NodeId(index as u8));
        }
        Self { frontier }
    }

    /// Where each node stands, node 0 first.
    #[must_use]
    pub const fn frontier(&self) -> &[EventNumber; N] {
        &self.frontier
    }

    /// Whether nothing before the cut depends on something after it.
    #[must_use]
    pub fn is_consistent(&self, clocks: &[VectorClock<N>; N]) -> bool {
        self.first_inconsistency(clocks).is_none()
    }

    /// A node that knows of an event beyond the cut: who, of whom, and which event.
    pub(crate) fn first_inconsistency(&self, clocks: &[VectorClock<N>; N]) -> Option<(NodeId, NodeId, EventNumber)> {
        for (knower, clock) in clocks.iter().enumerate() {
            for (of, (stands, known)) in self.frontier.iter().zip(&clock.entries).enumerate() {
                if EventNumber(*known).is_newer_than(*stands) {
                    return Some((NodeId(knower as u8), NodeId(of as u8), EventNumber(*known)));
                }
            }
        }
        None
    }
}

/// A directed FIFO edge between two nodes, named by its two ends.
///
/// # Example: how it is shown
/// ```
/// use stillpoint_core::{Channel, NodeId, PortId};
/// let channel = Channel { from: NodeId(0), out: PortId(2), to: NodeId(1), into: PortId(3) };
/// assert_eq!(channel.to_string(), "channel 0.2 -> 1.3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Channel {
    /// Who sends.
    pub from: NodeId,
    /// The sender's port.
    pub out: PortId,
    /// Who receives.
    pub to: NodeId,
    /// The receiver's port.
    pub into: PortId,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}.{} -> {}.{}", self.from.0, self.out.0, self.to.0, self.into.0)
    }
}

/// A message that was sent and not yet received.
///
/// # Example: the message after the third
/// ```
/// use stillpoint_core::InFlight;
/// assert_eq!(InFlight { number: 4 }.number, 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InFlight {
    /// Its place in the channel: the first message ever sent on it is 1.
    pub number: u32,
}

/// A cut plus the messages in flight on every channel.
///
/// # Example
/// ```
/// use stillpoint_core::*;
/// let clocks = [VectorClock::from_entries([1, 0]), VectorClock::from_entries([0, 0])];
/// let channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };
/// let snapshot = Snapshot { cut: Cut::of(&clocks), channels: &[(channel, &[InFlight { number: 1 }][..])] };
/// assert_eq!(snapshot.in_flight(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot<'a, const N: usize> {
    /// Where every node stood.
    pub cut: Cut<N>,
    /// What every channel held, oldest first.
    pub channels: &'a [(Channel, &'a [InFlight])],
}

impl<const N: usize> Snapshot<'_, N> {
    /// How many messages were in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.channels.iter().map(|(_, messages)| messages.len()).sum()
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_cut_with_every_cause_inside_is_consistent() {
        let clocks = [VectorClock::from_entries([3, 1]), VectorClock::from_entries([2, 4])];
        let cut = Cut::of(&clocks);
        assert!(cut.is_consistent(&clocks));
        assert_eq!(cut.frontier(), &[EventNumber(3), EventNumber(4)]);
    }

    #[test]
    fn a_receive_whose_send_is_outside_is_found_and_named() {
        let clocks = [VectorClock::from_entries([1, 0]), VectorClock::from_entries([2, 1])];
        let found = Cut::of(&clocks).first_inconsistency(&clocks);
        assert_eq!(found, Some((NodeId(1), NodeId(0), EventNumber(2))));
    }
}
