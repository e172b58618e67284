//! The layout, kept by the compiler.
use super::slot::SlotBlock;
use super::{MAGIC, VERSION};
use crate::predicate::{SLOTS, WATCHES};
use crate::{Direction, MAX_NODES, MAX_PORTS, NodeId, Phase, StampKind};
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// What a node tells the host, and the host the node.
///
/// The node owns every word but those of [`CommandBlock`], which the host owns. `revision` is odd while the node changes
/// what lies between `phase` and `command`.
///
/// # Example: the host checks before it believes
/// ```
/// use stillpoint_core::control::{ControlBlock, ControlLayout};
/// use stillpoint_core::{NodeId, StampKind};
/// let block = ControlBlock::<4, 6>::new(NodeId(2), StampKind::Vector);
/// let header = block.header();
/// let layout = ControlLayout::read(header).unwrap();
/// assert_eq!((layout.nodes, layout.ports, layout.node), (4, 6, NodeId(2)));
/// assert_eq!(layout.size, size_of::<ControlBlock<4, 6>>());
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct ControlBlock<const N: usize, const P: usize> {
    magic: AtomicU32,
    version: AtomicU32,
    size: AtomicU32,
    /// Nodes, ports, this node, stamp kind: a byte each.
    shape: AtomicU32,
    /// Odd while the words below are being changed.
    pub revision: AtomicU32,
    /// A [`StateCode`].
    pub phase: AtomicU32,
    /// The last halt the node took part in.
    pub last_halt: AtomicU32,
    /// The ports on which a marker of this halt arrived.
    pub markers_seen: AtomicU32,
    /// The ports whose marker was not delivered.
    pub undelivered: AtomicU32,
    /// The ports whose link is up.
    pub up: AtomicU32,
    /// Steps that the node refused since it started.
    pub refused: AtomicU32,
    /// The raw time at which the words were written, low and high.
    pub time: [AtomicU32; 2],
    /// The time for which the node was stopped or held so far, low and high.
    pub delay: [AtomicU32; 2],
    /// The order of halting: number of nodes, then their names, a byte each.
    pub order: [AtomicU32; 9],
    /// The log ring.
    pub log: Location,
    /// The ring of the node's text log.
    pub text: Location,
    /// Where to write what to make the node look at its command block at once; address 0 if it looks by itself.
    pub bell: [AtomicU32; 2],
    /// Address of the symbol that bears the node's name; the name itself is only in the ELF.
    pub name: AtomicU32,
    /// The node's watches.
    pub watches: [WatchBlock; WATCHES],
    /// The node's clock.
    pub clock: [AtomicU32; N],
    /// The node's ports.
    pub ports: [PortBlock; P],
    /// Why the node crashed, if it did.
    pub fault: FaultBlock,
    /// The predicates of each slot, as far as the node knows them.
    pub slots: [SlotBlock; SLOTS],
    /// What the host wants.
    pub command: CommandBlock,
    /// What came of it.
    pub answer: AnswerBlock,
}

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
    /// Connected (bit 0), outgoing (bit 1), carries calls (bit 2), peer (bits 8 to 15), the peer's port if known (bits 16 to 23).
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
}

/// Why a node crashed.
///
/// # Example: a node that did not crash
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::{NodeId, StampKind, control::ControlBlock};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Event);
/// assert_eq!(block.fault.cause.load(Ordering::Relaxed), 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct FaultBlock {
    /// 0: it did not. Otherwise 1 for a panic, 2 for a crash that the firmware declared, or the number of the exception.
    pub cause: AtomicU32,
    /// Program counter, link register, stack pointer and status register at the crash; 0 if not known.
    pub registers: [AtomicU32; 4],
    /// What the hardware says of a fault (on Cortex-M: CFSR, and the address that was refused), or the firmware's own code.
    pub status: [AtomicU32; 2],
    /// Address and length of the file name of a panic, and its line.
    pub place: [AtomicU32; 3],
    /// Address and length of the message of a panic.
    pub message: [AtomicU32; 2],
}

impl FaultBlock {
    /// The cause that means a panic.
    pub const PANIC: u32 = 1;
    /// The cause that means that the firmware declared itself crashed.
    pub const DECLARED: u32 = 2;

    const fn new() -> Self {
        Self {
            cause: zero(),
            registers: [const { zero() }; 4],
            status: [const { zero() }; 2],
            place: [const { zero() }; 3],
            message: [const { zero() }; 2],
        }
    }

    fn words(&self) -> impl Iterator<Item = &AtomicU32> {
        let registers = [&self.cause].into_iter().chain(&self.registers);
        registers.chain(&self.status).chain(&self.place).chain(&self.message)
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

/// Where a node stands, as one word.
///
/// # Example: a word that no state has
/// ```
/// use stillpoint_core::control::StateCode;
/// assert_eq!(StateCode::from_word(4), Some(StateCode::Parked));
/// assert_eq!(StateCode::from_word(99), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StateCode {
    /// Before its first event.
    Starting = 0,
    /// Running.
    Running = 1,
    /// Stopped alone.
    Suspended = 2,
    /// Halted, markers on their way.
    Draining = 3,
    /// Halted.
    Parked = 4,
    /// Crashed, and not halted: it serves the host and takes part in halts until it is reset.
    Faulted = 5,
}

impl StateCode {
    /// The state of a phase.
    #[must_use]
    pub const fn of(phase: Phase) -> Self {
        match phase {
            Phase::Starting => Self::Starting,
            Phase::Running => Self::Running,
            Phase::Suspended => Self::Suspended,
            Phase::Faulted => Self::Faulted,
            Phase::Draining { .. } => Self::Draining,
            Phase::Parked { .. } => Self::Parked,
        }
    }

    /// The state with this number.
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        Some(match word {
            0 => Self::Starting,
            1 => Self::Running,
            2 => Self::Suspended,
            3 => Self::Draining,
            4 => Self::Parked,
            5 => Self::Faulted,
            _ => return None,
        })
    }
}

const fn zero() -> AtomicU32 {
    AtomicU32::new(0)
}

impl<const N: usize, const P: usize> ControlBlock<N, P> {
    /// A block in which nothing happened yet.
    #[must_use]
    pub const fn new(node: NodeId, stamps: StampKind) -> Self {
        const { assert!(N <= MAX_NODES && P <= MAX_PORTS) };
        let kind = match stamps {
            StampKind::Event => 0,
            StampKind::Vector => 1,
        };
        Self {
            magic: AtomicU32::new(MAGIC),
            version: AtomicU32::new(VERSION),
            size: AtomicU32::new(size_of::<Self>() as u32),
            shape: AtomicU32::new(u32::from_le_bytes([N as u8, P as u8, node.0, kind])),
            revision: zero(),
            phase: zero(),
            last_halt: zero(),
            markers_seen: zero(),
            undelivered: zero(),
            up: zero(),
            refused: zero(),
            time: [const { zero() }; 2],
            delay: [const { zero() }; 2],
            order: [const { zero() }; 9],
            log: Location { address: zero(), size: zero() },
            text: Location { address: zero(), size: zero() },
            bell: [const { zero() }; 2],
            name: zero(),
            watches: [const { WatchBlock { name: zero(), value: zero() } }; WATCHES],
            clock: [const { zero() }; N],
            ports: [const {
                PortBlock {
                    shape: zero(),
                    name: zero(),
                    count: zero(),
                    marker: zero(),
                    lost: zero(),
                    queue: zero(),
                    ledger: [const { zero() }; 2],
                }
            }; P],
            fault: FaultBlock::new(),
            slots: [const { SlotBlock::new() }; SLOTS],
            command: CommandBlock {
                words: [const { zero() }; super::CommandWords::LEN],
                checksum: zero(),
                sequence: zero(),
            },
            answer: AnswerBlock { error: zero(), value: zero(), sequence: zero() },
        }
    }

    /// Makes a block of memory that holds anything a block in which nothing happened yet. The magic comes last.
    pub fn init(&self, node: NodeId, stamps: StampKind) {
        let fresh = Self::new(node, stamps);
        let copy = |to: &AtomicU32, from: &AtomicU32| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        self.magic.store(0, Ordering::Release);
        copy(&self.version, &fresh.version);
        copy(&self.size, &fresh.size);
        copy(&self.shape, &fresh.shape);
        self.each_word(|word| word.store(0, Ordering::Relaxed));
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Every word behind the header.
    fn each_word(&self, f: impl Fn(&AtomicU32)) {
        let first = [&self.revision, &self.phase, &self.last_halt, &self.markers_seen, &self.undelivered];
        first.into_iter().chain([&self.up, &self.refused, &self.name]).for_each(&f);
        self.time.iter().chain(&self.delay).chain(&self.order).chain(&self.bell).chain(&self.clock).for_each(&f);
        let rings = [&self.log, &self.text].into_iter();
        rings.flat_map(|ring| [&ring.address, &ring.size]).for_each(&f);
        self.watches.iter().flat_map(|watch| [&watch.name, &watch.value]).for_each(&f);
        for port in &self.ports {
            let words = [&port.shape, &port.name, &port.count, &port.marker, &port.lost, &port.queue];
            words.into_iter().chain(&port.ledger).for_each(&f);
        }
        self.fault.words().for_each(&f);
        self.slots.iter().flat_map(SlotBlock::words).for_each(&f);
        self.command.words.iter().chain([&self.command.checksum, &self.command.sequence]).for_each(&f);
        [&self.answer.error, &self.answer.value, &self.answer.sequence].into_iter().for_each(&f);
    }

    /// The first four words, as the host reads them.
    #[must_use]
    pub fn header(&self) -> [u32; 4] {
        let word = |word: &AtomicU32| word.load(Ordering::Relaxed);
        [word(&self.magic), word(&self.version), word(&self.size), word(&self.shape)]
    }
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
}

/// Where everything lies in a control block, computed from its header.
///
/// # Example: where the clock lies
/// ```
/// use stillpoint_core::control::{ControlBlock, ControlLayout};
/// use stillpoint_core::{NodeId, StampKind};
/// let header = ControlBlock::<4, 6>::new(NodeId(0), StampKind::Vector).header();
/// let layout = ControlLayout::read(header).unwrap();
/// assert_eq!(layout.clock(), core::mem::offset_of!(ControlBlock<4, 6>, clock));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlLayout {
    /// Nodes of the system.
    pub nodes: usize,
    /// Ports of the node.
    pub ports: usize,
    /// Whose block it is.
    pub node: NodeId,
    /// What its messages carry.
    pub stamps: StampKind,
    /// Size in bytes.
    pub size: usize,
}

/// Why a header is not one of a control block of this version.
///
/// # Example: it says what to do
/// ```
/// use stillpoint_core::control::{ControlLayout, HeaderError};
/// let error = ControlLayout::read([0; 4]).unwrap_err();
/// assert_eq!(error, HeaderError::NotAControlBlock(0));
/// assert!(error.to_string().contains("not instrumented"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum HeaderError {
    /// There is no control block here.
    NotAControlBlock(u32),
    /// It is of another version.
    OtherVersion(u32),
    /// Its numbers of nodes and ports, its node or its stamps are impossible, or do not fit its size.
    ImpossibleShape,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAControlBlock(word) => write!(
                f,
                "found {word:#010x} where a control block should begin: the firmware has not started, or is not instrumented"
            ),
            Self::OtherVersion(version) => write!(
                f,
                "the firmware's control block has version {version}, this tool speaks {VERSION}: build both from one release"
            ),
            Self::ImpossibleShape => f.write_str("the control block's header is damaged"),
        }
    }
}

impl core::error::Error for HeaderError {}

const WORD: usize = 4;

impl ControlLayout {
    /// Byte offset of `revision`, the first word after the header.
    pub const REVISION: usize = 4 * WORD;
    /// Byte offset of `phase`.
    pub const PHASE: usize = 5 * WORD;
    /// Byte offset of the log ring's location.
    pub const LOG: usize = 24 * WORD;
    /// Byte offset of the node's name.
    pub const NAME: usize = 30 * WORD;
    /// Byte offset of the first watch.
    pub const WATCHES: usize = 31 * WORD;
    const FIXED_WORDS: usize = 31 + 2 * WATCHES;
    const PORT_WORDS: usize = size_of::<PortBlock>() / WORD;
    const FAULT_WORDS: usize = size_of::<FaultBlock>() / WORD;
    const SLOTS_WORDS: usize = SLOTS * SlotBlock::WORDS;
    const COMMAND_WORDS: usize = size_of::<CommandBlock>() / WORD;
    const ANSWER_WORDS: usize = size_of::<AnswerBlock>() / WORD;

    /// Checks the first four words of a block.
    pub fn read([magic, version, size, shape]: [u32; 4]) -> Result<Self, HeaderError> {
        if magic != MAGIC {
            return Err(HeaderError::NotAControlBlock(magic));
        }
        if version != VERSION {
            return Err(HeaderError::OtherVersion(version));
        }
        let [nodes, ports, node, stamps] = shape.to_le_bytes();
        let stamps = match stamps {
            0 => StampKind::Event,
            1 => StampKind::Vector,
            _ => return Err(HeaderError::ImpossibleShape),
        };
        let layout = Self { nodes: nodes.into(), ports: ports.into(), node: NodeId(node), stamps, size: size as usize };
        let possible = layout.nodes <= MAX_NODES && layout.ports <= MAX_PORTS && node < nodes;
        if possible && layout.answer() + Self::ANSWER_WORDS * WORD == layout.size {
            Ok(layout)
        } else {
            Err(HeaderError::ImpossibleShape)
        }
    }

    /// Byte offset of the clock.
    #[must_use]
    pub const fn clock(&self) -> usize {
        Self::FIXED_WORDS * WORD
    }

    /// Byte offset of a port's block.
    #[must_use]
    pub const fn port(&self, port: usize) -> usize {
        self.clock() + (self.nodes + port * Self::PORT_WORDS) * WORD
    }

    /// Byte offset of the fault block.
    #[must_use]
    pub const fn fault(&self) -> usize {
        self.port(self.ports)
    }

    /// Byte offset of the first predicate slot.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.fault() + Self::FAULT_WORDS * WORD
    }

    /// Byte offset of the command block.
    #[must_use]
    pub const fn command(&self) -> usize {
        self.slots() + Self::SLOTS_WORDS * WORD
    }

    /// Byte offset of the answer block.
    #[must_use]
    pub const fn answer(&self) -> usize {
        self.command() + Self::COMMAND_WORDS * WORD
    }
}

macro_rules! layout_agrees {
    ($nodes:literal, $ports:literal) => {
        const _: () = {
            use core::mem::offset_of;
            type Block = ControlBlock<$nodes, $ports>;
            let stamps = StampKind::Event;
            let layout =
                ControlLayout { nodes: $nodes, ports: $ports, node: NodeId(0), stamps, size: size_of::<Block>() };
            assert!(offset_of!(Block, revision) == ControlLayout::REVISION);
            assert!(offset_of!(Block, phase) == ControlLayout::PHASE);
            assert!(offset_of!(Block, log) == ControlLayout::LOG);
            assert!(offset_of!(Block, name) == ControlLayout::NAME);
            assert!(offset_of!(Block, watches) == ControlLayout::WATCHES);
            assert!(offset_of!(Block, clock) == layout.clock());
            assert!(offset_of!(Block, ports) == layout.port(0));
            assert!(offset_of!(Block, fault) == layout.fault());
            assert!(offset_of!(Block, slots) == layout.slots());
            assert!(offset_of!(Block, command) == layout.command());
            assert!(offset_of!(Block, answer) == layout.answer());
            assert!(layout.answer() + ControlLayout::ANSWER_WORDS * WORD == size_of::<Block>());
        };
    };
}
layout_agrees!(1, 1);
layout_agrees!(4, 6);
layout_agrees!(32, 32);

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_header_is_believed_only_when_everything_fits() {
        let good = ControlBlock::<4, 6>::new(NodeId(3), StampKind::Event).header();
        assert!(ControlLayout::read(good).is_ok());
        let [magic, version, size, shape] = good;
        assert_eq!(ControlLayout::read([0, version, size, shape]), Err(HeaderError::NotAControlBlock(0)));
        assert_eq!(ControlLayout::read([magic, 9, size, shape]), Err(HeaderError::OtherVersion(9)));
        for broken in [
            [magic, version, size + 4, shape],
            [magic, version, size, shape & !0xFF],
            [magic, version, size, shape | 0x00FF_0000],
            [magic, version, size, shape | 0xFF00_0000],
            [magic, version, u32::MAX, u32::MAX],
        ] {
            assert_eq!(ControlLayout::read(broken), Err(HeaderError::ImpossibleShape));
        }
    }

    #[test]
    fn memory_that_holds_anything_becomes_a_fresh_block() {
        let block = ControlBlock::<2, 3>::new(NodeId(0), StampKind::Event);
        block.each_word(|word| word.store(0xDEAD_BEEF, Ordering::Relaxed));
        for word in [&block.magic, &block.version, &block.size, &block.shape] {
            word.store(7, Ordering::Relaxed);
        }
        block.init(NodeId(1), StampKind::Vector);
        assert_eq!(block.header(), ControlBlock::<2, 3>::new(NodeId(1), StampKind::Vector).header());
        // Every word was reached: behind the four of the header, the block is all zeros.
        let words = core::cell::Cell::new(4);
        block.each_word(|word| {
            assert_eq!(word.load(Ordering::Relaxed), 0);
            words.set(words.get() + 1);
        });
        assert_eq!(words.get() * WORD, size_of::<ControlBlock<2, 3>>());
    }

    #[test]
    fn every_state_has_a_word_of_its_own() {
        for word in 0..6 {
            assert_eq!(StateCode::from_word(word).map(|state| state as u32), Some(word));
        }
        assert_eq!(StateCode::from_word(6), None);
        assert_eq!(StateCode::of(Phase::Running), StateCode::Running);
    }
}
