//! What a control block is made of: rings, watches, ports, the command and its answer.
use crate::{Direction, NodeId, PortId};
use core::sync::atomic::AtomicU32;

/// Where a ring lies.
///
/// # Example: no ring yet
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::{NodeId, StampKind, control::ControlBlock};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Event);
/// assert_eq!(block.log.address.load(Ordering::Relaxed), 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Location {
    /// Address; 0 if there is none.
    pub address: AtomicU32,
    /// Size in bytes, headers included.
    pub size: AtomicU32,
}

/// One watch of a node.
///
/// # Example: a watch in use has a name
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::{NodeId, StampKind, control::ControlBlock};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Event);
/// let used = block.watches.iter().filter(|watch| watch.name.load(Ordering::Relaxed) != 0);
/// assert_eq!(used.count(), 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct WatchBlock {
    /// Address of the symbol that bears the watch's name; 0 if the watch is not in use.
    pub name: AtomicU32,
    /// Its value when the block was last written.
    pub value: AtomicU32,
}

/// One port of a node.
///
/// # Example: outgoing, to node 3
/// ```
/// use stillpoint_core::{Direction, NodeId, control::PortBlock};
/// assert_eq!(PortBlock::shape_of(Direction::Out, NodeId(3)), 0x0303);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct PortBlock {
    /// Connected (bit 0), outgoing (bit 1), carries calls (bit 2), peer (bits 8 to 15), the peer's port plus 1 or 0 if it
    /// is not known (bits 16 to 23).
    pub shape: AtomicU32,
    /// Address of the symbol that bears the port's name; the name itself is only in the ELF.
    pub name: AtomicU32,
    /// Messages sent or received in the present pair of epochs.
    pub count: AtomicU32,
    /// Position of the marker of the present halt.
    pub marker: AtomicU32,
    /// Messages that a reset of one end took with it.
    pub lost: AtomicU32,
    /// Where the ring lies from which messages leave this end, or into which they come; 0 if nowhere.
    pub queue: AtomicU32,
    /// What the serial link behind the port says of its data lane: a [`Ledger`](crate::link::Ledger), a byte a number.
    pub ledger: [AtomicU32; 2],
    /// The sender's event number of the last message sent or received here; 0 if it is not known.
    pub number: AtomicU32,
    /// What the ring had counted at this end when the present pair of epochs began: messages put in for an outgoing port,
    /// taken out for an incoming one.
    pub base: AtomicU32,
}

impl PortBlock {
    /// The bit in `shape` of a port that carries requests or replies: a delayed halt protects what goes through it.
    pub const CALLS: u32 = 1 << 2;

    /// The word `shape` of a port that is connected to `peer`.
    #[must_use]
    pub const fn shape_of(direction: Direction, peer: NodeId) -> u32 {
        let out = matches!(direction, Direction::Out) as u32;
        1 | out << 1 | (peer.0 as u32) << 8
    }

    /// The word `shape` with the port at the other end of a serial link, which says so in its hello.
    #[must_use]
    pub const fn with_peer_port(shape: u32, port: PortId) -> u32 {
        shape & !(0xFF << 16) | ((port.0 as u32 + 1) & 0xFF) << 16
    }

    /// The port at the other end, out of the word `shape`; `None` if it is not known.
    ///
    /// # Example: two links between the same two nodes are told apart by it
    /// ```
    /// use stillpoint_core::{Direction, NodeId, PortId, control::PortBlock};
    /// let shape = PortBlock::shape_of(Direction::Out, NodeId(3));
    /// assert_eq!(PortBlock::peer_port(shape), None);
    /// assert_eq!(PortBlock::peer_port(PortBlock::with_peer_port(shape, PortId(5))), Some(PortId(5)));
    /// ```
    #[must_use]
    pub const fn peer_port(shape: u32) -> Option<PortId> {
        match (shape >> 16) as u8 {
            0 => None,
            port => Some(PortId(port - 1)),
        }
    }
}

/// What the host wants; it writes `sequence` last.
///
/// # Example: no command waits while its number is the answer's
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::{NodeId, StampKind, control::ControlBlock};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Event);
/// let number = |word: &core::sync::atomic::AtomicU32| word.load(Ordering::Relaxed);
/// assert_eq!(number(&block.command.sequence), number(&block.answer.sequence));
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct CommandBlock {
    /// Which command, its arguments, and whatever it carries.
    pub words: [AtomicU32; super::CommandWords::LEN],
    /// Checksum over the words and the sequence number.
    pub checksum: AtomicU32,
    /// Differs from that of the answer while a command waits.
    pub sequence: AtomicU32,
}

/// What came of a command; the node writes `sequence` last.
///
/// # Example: an error is a number other than 0
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::control::{CommandError, ControlBlock};
/// use stillpoint_core::{NodeId, StampKind};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Event);
/// block.answer.error.store(CommandError::Checksum as u32, Ordering::Relaxed);
/// assert_ne!(block.answer.error.load(Ordering::Relaxed), 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct AnswerBlock {
    /// 0 if it was done, otherwise what was wrong.
    pub error: AtomicU32,
    /// What belongs to it.
    pub value: AtomicU32,
    /// The command that is answered.
    pub sequence: AtomicU32,
}
