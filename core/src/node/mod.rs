//! A node: everything joined, one verb.
mod access;
#[cfg(any(test, on_target))]
mod fault_tests;
mod input;
mod quick;
mod simultaneous;
mod step;
mod telling;
#[cfg(any(test, on_target))]
mod tests;

pub use input::{Command, Effects, Hello, Input, LinkHello, StepError, Then};
pub use quick::Quick;

use crate::halt::Halting;
use crate::log::{NOT_STARTED, Origins, Recording, Standing};
use crate::predicate::{Load, Predicates, Reached, SlotId};
use crate::stamp::Said;
use crate::{EventNumber, HaltId, HaltMarker, HaltOrder, NodeId, Phase, PortId, PortSet, StampKind, VectorClock};

/// One sequential participant of a system of `N`, with at most `P` ports.
///
/// A driver owns its ports, links, log ring and clock, tells it what happens with [`step`](Self::step) and does what the
/// [`Effects`] say, in the order of their fields:
/// 1. write the record, 2. commit the message with its stamp, 3. send predicate markers, 4. send halt markers, 5. send
///    releases, 6. halt, park or resume. All of it belongs into one section that nothing on the core interrupts.
///
/// Control messages of one port arrive in the order in which they were sent; where a driver keeps a marker and a release
/// in separate slots it hands in the marker first.
///
/// # Example: a message, then a halt
/// ```
/// use stillpoint_core::*;
/// let mut left = Node::<2>::new(NodeId(0), StampKind::Vector)?;
/// let mut right = Node::<2>::new(NodeId(1), StampKind::Vector)?;
/// left.connect(PortId(0), Direction::Out, NodeId(1))?;
/// right.connect(PortId(0), Direction::In, NodeId(0))?;
/// let _ = (left.step(Input::start())?, right.step(Input::start())?);
///
/// let mut bytes = [0; Node::<2>::STAMP_ROOM];
/// let sent = left.step(Input::Send { port: PortId(0), stamp: &mut bytes })?;
/// let _ = right.step(Input::Receive { port: PortId(0), stamp: &bytes[..sent.stamp.into()] })?;
///
/// let halt = right.step(Input::Halt)?;
/// assert_eq!((halt.then, halt.markers), (Then::Halt, PortSet::first(1)));
/// let marker = right.halt_marker(PortId(0)).unwrap();
/// assert_eq!(left.step(Input::Marker { port: PortId(0), marker: &marker })?.then, Then::Halt);
/// assert_eq!(left.order().nodes(), [NodeId(1), NodeId(0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node<const N: usize, const P: usize = 6> {
    clock: VectorClock<N>,
    predicates: Predicates,
    recording: Recording,
    halting: Halting<N>,
    /// Messages sent or received on each port in the present pair of epochs.
    counts: [u32; P],
    ports: [Port<N>; P],
    simultaneous: simultaneous::Simultaneous,
    outgoing: PortSet,
    /// The outgoing ports whose messages carry nothing of what is armed.
    quick_out: PortSet,
    incoming: PortSet,
    up: PortSet,
    id: NodeId,
    stamps: StampKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Port<const N: usize> {
    said: Said<N>,
    /// The position of the marker that arrived; means something for the ports that halting has seen one on.
    marker: u32,
    /// The node's last event before the present session, in which the port counts its messages; [`NOT_STARTED`] before the
    /// node starts.
    opened: u32,
}

/// Which way messages go through a port.
///
/// # Example: a port has one
/// ```
/// use stillpoint_core::{Direction, Node, NodeId, PortId, StampKind};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// node.connect(PortId(0), Direction::Out, NodeId(1)).unwrap();
/// assert!(node.is_outgoing(PortId(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Direction {
    /// They leave.
    Out,
    /// They come in.
    In,
}

/// Why a node cannot be built or connected as asked.
///
/// # Example: a channel needs two nodes
/// ```
/// use stillpoint_core::{ConnectError, Direction, Node, NodeId, PortId, StampKind};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// assert_eq!(node.connect(PortId(0), Direction::Out, NodeId(0)), Err(ConnectError::ToItself));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ConnectError {
    /// The system has no node of this name.
    NoSuchNode(NodeId),
    /// The node has no room for this port.
    NoSuchPort(PortId),
    /// The port is connected already.
    AlreadyConnected(PortId),
    /// The node would be connected to itself.
    ToItself,
}

impl core::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchNode(node) => write!(f, "the system has no node {}", node.0),
            Self::NoSuchPort(port) => write!(f, "the node has no room for port {}", port.0),
            Self::AlreadyConnected(port) => write!(f, "port {} is connected already", port.0),
            Self::ToItself => f.write_str("a channel needs two different nodes"),
        }
    }
}

impl core::error::Error for ConnectError {}

#[cfg(target_pointer_width = "32")]
// Four bytes of each port say where its session began, which every sync record tells. A simultaneous event takes 76, the ports that
// carry no stages 16.
const _: () = assert!(size_of::<Node<4>>() <= 636, "a node of a system of four takes 636 bytes");

impl<const N: usize, const P: usize> Node<N, P> {
    /// The most bytes that travel with a message.
    pub const STAMP_ROOM: usize = crate::max_stamp_len(N) + Load::MAX_BYTES;

    /// A node without ports that has not started.
    pub const fn new(id: NodeId, stamps: StampKind) -> Result<Self, ConnectError> {
        const { assert!(N >= 1 && N <= crate::MAX_NODES && P <= crate::MAX_PORTS, "1 to 32 nodes, at most 32 ports") };
        if id.0 as usize >= N {
            return Err(ConnectError::NoSuchNode(id));
        }
        Ok(Self {
            clock: VectorClock::new(),
            predicates: Predicates::new(),
            recording: Recording::FULL,
            halting: Halting::new(),
            counts: [0; P],
            ports: [const { Port { said: Said::new(NodeId(0)), marker: 0, opened: NOT_STARTED } }; P],
            simultaneous: simultaneous::Simultaneous::NONE,
            outgoing: PortSet::EMPTY,
            quick_out: PortSet::EMPTY,
            incoming: PortSet::EMPTY,
            up: PortSet::EMPTY,
            id,
            stamps,
        })
    }

    /// Connects a port to a peer. The link counts as up until a `LinkDown` says otherwise.
    pub fn connect(&mut self, port: PortId, direction: Direction, peer: NodeId) -> Result<(), ConnectError> {
        if usize::from(peer.0) >= N {
            return Err(ConnectError::NoSuchNode(peer));
        }
        if peer == self.id {
            return Err(ConnectError::ToItself);
        }
        if self.linked().contains(port) {
            return Err(ConnectError::AlreadyConnected(port));
        }
        self.ports.get_mut(usize::from(port.0)).ok_or(ConnectError::NoSuchPort(port))?.said = Said::new(peer);
        match direction {
            Direction::Out => {
                self.outgoing = self.outgoing.with(port);
                self.note_carriers();
            }
            Direction::In => self.incoming = self.incoming.with(port),
        }
        self.up = self.up.with(port);
        Ok(())
    }

    /// The node's name.
    #[must_use]
    pub const fn id(&self) -> NodeId {
        self.id
    }

    /// The node's logical time.
    #[must_use]
    pub const fn clock(&self) -> &VectorClock<N> {
        &self.clock
    }

    /// The number of the node's last event.
    #[must_use]
    #[inline(always)]
    pub fn number(&self) -> EventNumber {
        EventNumber(self.clock.entries[self.own_index()])
    }

    /// The place of the node's own entry. The remainder changes nothing; it spares a check at every event.
    #[inline(always)]
    const fn own_index(&self) -> usize {
        self.id.0 as usize % N
    }

    /// Where the node stands between starting, running and parked.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.halting.phase
    }

    /// The halt the node is in; otherwise the last that it took part in or heard of.
    #[must_use]
    pub const fn last_halt(&self) -> HaltId {
        self.halting.known()
    }

    /// Tells a new node of the last halt that memory knows of which survived a reset, before anything else happens: the
    /// node can be asked to halt before it starts, and what it starts then has to be newer.
    ///
    /// # Example: the next halt is a newer one
    /// ```
    /// use stillpoint_core::*;
    /// let mut node = Node::<1>::new(NodeId(0), StampKind::Event).unwrap();
    /// node.remember_halt(HaltId(7));
    /// let _ = node.step(Input::Halt).unwrap();
    /// assert_eq!(node.last_halt(), HaltId(8));
    /// ```
    pub fn remember_halt(&mut self, last: HaltId) {
        self.halting.remember(last);
    }

    /// Who halted before the node in the present halt, and the node itself last.
    #[must_use]
    pub const fn order(&self) -> &HaltOrder<N> {
        &self.halting.order
    }

    /// Whether the debugger's command stopped the node in the present halt, before a marker or an event of its own did.
    #[must_use]
    pub const fn is_halted_by_debugger(&self) -> bool {
        self.halting.is_by_debugger()
    }

    /// What is armed.
    #[must_use]
    pub const fn predicates(&self) -> &Predicates {
        &self.predicates
    }

    /// What is recorded.
    #[must_use]
    pub const fn recording(&self) -> Recording {
        self.recording
    }

    /// The connected ports.
    #[must_use]
    pub const fn linked(&self) -> PortSet {
        PortSet(self.outgoing.0 | self.incoming.0)
    }

    /// Whether messages leave through this port.
    #[must_use]
    pub const fn is_outgoing(&self, port: PortId) -> bool {
        self.outgoing.contains(port)
    }

    /// Who is at the other end of a port.
    #[must_use]
    pub fn peer(&self, port: PortId) -> Option<NodeId> {
        let peer = self.ports.get(usize::from(port.0))?.said.peer;
        self.linked().contains(port).then_some(peer)
    }

    /// The ports whose link is up.
    #[must_use]
    pub const fn up(&self) -> PortSet {
        self.up
    }

    /// The sender's event number of the last message that was sent or received on a port; `None` before the first of a session
    /// and after a crash in the middle of a step.
    #[must_use]
    pub fn last_number(&self, port: PortId) -> Option<EventNumber> {
        let end = self.ports.get(usize::from(port.0)).filter(|_| self.count(port).is_some_and(|count| count > 0))?;
        let sender = if self.outgoing.contains(port) { self.id } else { end.said.peer };
        end.said.last_number(sender)
    }

    /// The messages sent or received on a port in the present pair of epochs.
    #[must_use]
    pub fn count(&self, port: PortId) -> Option<u32> {
        let count = self.counts.get(usize::from(port.0))?;
        self.linked().contains(port).then_some(*count)
    }

    /// The position of the marker of the present halt that arrived on a port.
    #[must_use]
    pub fn marker_position(&self, port: PortId) -> Option<u32> {
        let position = self.ports.get(usize::from(port.0))?.marker;
        self.halting.seen.contains(port).then_some(position)
    }

    /// The marker that belongs behind the last message of a port; `None` unless the node is halted.
    #[must_use]
    pub fn halt_marker(&self, port: PortId) -> Option<HaltMarker<N>> {
        let position = self.count(port)?;
        let marker = HaltMarker { id: self.halting.last, position, order: self.halting.order };
        self.halting.is_halted().then_some(marker)
    }

    /// The predicate marker of a slot.
    #[must_use]
    pub fn predicate_marker(&self, slot: SlotId) -> Option<Reached> {
        self.predicates.reached(slot)
    }

    /// How the node introduces itself to the peer behind a port.
    #[must_use]
    pub fn hello(&self, port: PortId) -> Option<Hello> {
        let peer = self.ports.get(usize::from(port.0))?.said.peer;
        let (number, of_you) = (self.number(), self.clock.get(peer));
        let hello = Hello { number, of_you, last_halt: self.halting.known(), halted: self.halting.is_halted() };
        self.linked().contains(port).then_some(hello)
    }

    /// Where the node stands, for its log.
    #[must_use]
    #[inline(always)]
    pub fn standing(&self) -> Standing<'_, Self> {
        // Ports are connected from the first on; what lies behind the last has counted nothing.
        let ports = 32 - self.linked().0.leading_zeros() as usize;
        Standing {
            me: self.id,
            number: self.number(),
            clock: self.clock.entries(),
            counts: self.counts.get(..ports).unwrap_or(&self.counts),
            origins: self,
            recording: &self.recording,
        }
    }
}

impl<const N: usize, const P: usize> Origins for Node<N, P> {
    #[inline(always)]
    fn origins(&self) -> impl Iterator<Item = u32> {
        let mut outgoing = self.outgoing.0;
        self.ports.iter().zip(&self.counts).map(move |(end, count)| {
            let leaves = outgoing & 1 != 0;
            outgoing >>= 1;
            match (leaves, *count) {
                (true, _) => end.opened,
                (false, 0) => 0,
                (false, _) => end.said.last_of_peer(),
            }
        })
    }
}
