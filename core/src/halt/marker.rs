//! What a marker says: which halt, where in the channel, and who halted before.
use crate::{HaltId, NodeId};
use core::fmt;

/// The nodes that had halted when a marker was sent, first the initiator: section 2.2.4, order of halting.
///
/// # Example
/// ```
/// use stillpoint_core::{HaltOrder, NodeId};
/// let order = HaltOrder::<4>::new().then(NodeId(2)).then(NodeId(0));
/// assert_eq!(order.initiator(), Some(NodeId(2)));
/// assert_eq!(order.nodes(), [NodeId(2), NodeId(0)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HaltOrder<const N: usize> {
    length: u8,
    nodes: [NodeId; N],
}

impl<const N: usize> HaltOrder<N> {
    /// Nobody halted yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { length: 0, nodes: [NodeId(0); N] }
    }

    /// The order with `node` appended, unless it is there already or does not fit.
    #[must_use]
    pub fn then(mut self, node: NodeId) -> Self {
        if !self.nodes().contains(&node)
            && let Some(place) = self.nodes.get_mut(usize::from(self.length))
        {
            *place = node;
            self.length += 1;
        }
        self
    }

    /// The order without `node`, whose place is given up.
    pub(super) fn without(self, node: NodeId) -> Self {
        let others = self.nodes().iter().filter(|other| **other != node);
        others.fold(Self::new(), |order, other| order.then(*other))
    }

    /// The nodes, in the order in which they halted.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        self.nodes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// Who started the halt.
    #[must_use]
    pub fn initiator(&self) -> Option<NodeId> {
        self.nodes().first().copied()
    }
}

impl<const N: usize> Default for HaltOrder<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Miller & Choi's halt marker: the last item of a channel when its sender stops.
///
/// # Example: over the wire and back
/// ```
/// use stillpoint_core::{HaltId, HaltMarker, HaltOrder, NodeId};
/// let marker = HaltMarker::<4> { id: HaltId(3), position: 41, order: HaltOrder::new().then(NodeId(1)) };
/// let mut bytes = [0; HaltMarker::<4>::MAX_LEN];
/// let length = marker.write(&mut bytes).unwrap();
/// assert_eq!(HaltMarker::read(&bytes[..length]), Ok(marker));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HaltMarker<const N: usize> {
    /// Which halt.
    pub id: HaltId,
    /// Where the marker stands: how many messages its sender had sent into the channel, or, on the reverse lane, how
    /// many it had received from it.
    pub position: u32,
    /// Who had halted before it was sent, the sender last.
    pub order: HaltOrder<N>,
}

/// Why bytes are not a halt marker.
///
/// # Example: bytes that end too early
/// ```
/// use stillpoint_core::{HaltMarker, MarkerError};
/// assert_eq!(HaltMarker::<4>::read(&[1, 0]), Err(MarkerError::Truncated));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MarkerError {
    /// The bytes end before the marker does.
    Truncated,
    /// There are bytes after the marker.
    TrailingBytes,
    /// It names more nodes than the system has, or one that the system does not have.
    NodeOutOfRange,
    /// It names a node twice.
    NodeTwice(NodeId),
    /// The lent buffer is too small; lend `MAX_LEN` bytes.
    NoRoom,
}

impl fmt::Display for MarkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the halt marker ends too early"),
            Self::TrailingBytes => f.write_str("there are bytes after the halt marker"),
            Self::NodeOutOfRange => f.write_str("the halt marker names a node that this system does not have"),
            Self::NodeTwice(node) => write!(f, "the halt marker names node {} twice", node.0),
            Self::NoRoom => f.write_str("there is no room for the halt marker: lend MAX_LEN bytes"),
        }
    }
}

impl core::error::Error for MarkerError {}

impl<const N: usize> HaltMarker<N> {
    /// The length of the longest marker on the wire.
    pub const MAX_LEN: usize = 7 + N;

    /// Writes the wire form: id (2), position (4), number of names (1), names. Returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, MarkerError> {
        let names = self.order.nodes();
        let length = 7 + names.len();
        let room = out.get_mut(..length).ok_or(MarkerError::NoRoom)?;
        let header = self.id.0.to_le_bytes().into_iter().chain(self.position.to_le_bytes()).chain([self.order.length]);
        for (byte, value) in room.iter_mut().zip(header.chain(names.iter().map(|node| node.0))) {
            *byte = value;
        }
        Ok(length)
    }

    /// Reads the wire form.
    pub fn read(bytes: &[u8]) -> Result<Self, MarkerError> {
        let (&[id0, id1, p0, p1, p2, p3, count], names) = bytes.split_first_chunk().ok_or(MarkerError::Truncated)?;
        if usize::from(count) > N {
            return Err(MarkerError::NodeOutOfRange);
        }
        let (names, rest) = names.split_at_checked(usize::from(count)).ok_or(MarkerError::Truncated)?;
        if !rest.is_empty() {
            return Err(MarkerError::TrailingBytes);
        }
        let mut order = HaltOrder::new();
        for name in names.iter().copied().map(NodeId) {
            if usize::from(name.0) >= N {
                return Err(MarkerError::NodeOutOfRange);
            }
            if order.nodes().contains(&name) {
                return Err(MarkerError::NodeTwice(name));
            }
            order = order.then(name);
        }
        Ok(Self { id: HaltId(u16::from_le_bytes([id0, id1])), position: u32::from_le_bytes([p0, p1, p2, p3]), order })
    }
}
