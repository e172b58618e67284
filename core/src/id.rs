//! Names of nodes, ports and halts, and sets of ports.

/// How many nodes a system can have.
pub const MAX_NODES: usize = 32;

/// How many ports a node can have.
pub const MAX_PORTS: usize = 32;

/// One sequential participant with its own clock: normally one core of one board.
///
/// # Example: the first node
/// ```
/// use stillpoint_core::NodeId;
/// assert!(NodeId(0) < NodeId(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeId(pub u8);

/// A node's end of a channel.
///
/// # Example: the third port
/// ```
/// use stillpoint_core::{PortId, PortSet};
/// assert!(PortSet::first(3).contains(PortId(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PortId(pub u8);

/// Orders halts: every consistent halt of the system has one, and a newer halt a greater one.
///
/// The order is that of serial numbers, so it survives the wrap from 65535 to 0 as long as no node is more than
/// 32767 halts behind.
///
/// # Example: newer across the wrap
/// ```
/// use stillpoint_core::HaltId;
/// assert!(HaltId(3).is_newer_than(HaltId(2)));
/// assert!(HaltId(0).is_newer_than(HaltId(65535)));
/// assert!(!HaltId(2).is_newer_than(HaltId(2)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HaltId(pub u16);

impl HaltId {
    /// Whether `self` was chosen after `other`.
    #[must_use]
    pub const fn is_newer_than(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i16) > 0
    }

    /// The halt that follows this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A set of a node's ports.
///
/// # Example
/// ```
/// use stillpoint_core::{PortId, PortSet};
/// let ports = PortSet::first(3).without(PortId(1));
/// assert!(ports.contains(PortId(2)) && !ports.contains(PortId(1)));
/// assert_eq!(ports.iter().collect::<Vec<_>>(), [PortId(0), PortId(2)]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PortSet(pub u32);

impl PortSet {
    /// No port.
    pub const EMPTY: Self = Self(0);

    /// Ports `0 .. count`.
    #[must_use]
    pub const fn first(count: usize) -> Self {
        if count >= MAX_PORTS { Self(u32::MAX) } else { Self((1 << count) - 1) }
    }

    /// Whether no port is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many ports are in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `port` is in the set; a port out of range is in none.
    #[must_use]
    pub const fn contains(self, port: PortId) -> bool {
        self.0 & bit(port) != 0
    }

    /// The set with `port` added; a port out of range changes nothing.
    #[must_use]
    pub const fn with(self, port: PortId) -> Self {
        Self(self.0 | bit(port))
    }

    /// The set with `port` taken out.
    #[must_use]
    pub const fn without(self, port: PortId) -> Self {
        Self(self.0 & !bit(port))
    }

    /// The ports that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The ports of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The ports in ascending order.
    pub fn iter(self) -> impl Iterator<Item = PortId> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let port = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (port < 32).then_some(PortId(port as u8))
        })
    }
}

const fn bit(port: PortId) -> u32 {
    if (port.0 as usize) < MAX_PORTS { 1 << port.0 } else { 0 }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_halt_id_is_newer_across_the_wrap_and_never_than_itself() {
        assert!(HaltId(0).is_newer_than(HaltId(u16::MAX)));
        assert!(!HaltId(u16::MAX).is_newer_than(HaltId(0)));
        assert!(!HaltId(7).is_newer_than(HaltId(7)));
        assert_eq!(HaltId(u16::MAX).next(), HaltId(0));
    }

    #[test]
    fn a_port_out_of_range_is_in_no_set() {
        assert!(!PortSet(u32::MAX).contains(PortId(32)));
        assert_eq!(PortSet::EMPTY.with(PortId(200)), PortSet::EMPTY);
    }

    #[test]
    fn iterating_a_set_names_each_port_once_in_order() {
        let set = PortSet(0x8000_0005);
        assert!(set.iter().eq([PortId(0), PortId(2), PortId(31)]));
        assert_eq!(set.len(), 3);
        assert_eq!(PortSet::first(32), PortSet(u32::MAX));
        assert_eq!(PortSet::first(0), PortSet::EMPTY);
    }
}
