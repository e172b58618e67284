//! The layout, kept by the compiler.
use super::slot::SlotBlock;
use super::{AnswerBlock, CommandBlock, FaultBlock, Location, MAGIC, PortBlock, SavedRegisters, VERSION, WatchBlock};
use crate::log::Recording;
use crate::predicate::{SLOTS, WATCHES};
use crate::{MAX_NODES, MAX_PORTS, NodeId, StampKind};
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
    /// A [`StateCode`](super::StateCode).
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
    /// The order of halting: number of nodes, with [`BY_DEBUGGER`](super::BY_DEBUGGER), then their names, a byte each.
    pub order: [AtomicU32; 9],
    /// The log ring.
    pub log: Location,
    /// The ring of the node's text log.
    pub text: Location,
    /// Where to write what to make the node look at its command block at once; address 0 if it looks by itself.
    pub bell: [AtomicU32; 2],
    /// Address of the symbol that bears the node's name; the name itself is only in the ELF.
    pub name: AtomicU32,
    /// What the node records: [`Recording::to_words`](crate::log::Recording::to_words); 0 before the first time.
    pub recording: [AtomicU32; Recording::WORDS],
    /// The raw time at which the node stopped in its last halt, low and high.
    pub stopped: [AtomicU32; 2],
    /// The registers of the node's core as they were where it stopped last: [`SavedRegisters`]. They are written before the
    /// phase says that the node stands.
    pub registers: [AtomicU32; SavedRegisters::WORDS],
    /// What tells the image from others: [`image_id`](super::image_id); 0 if the platform does not say.
    pub image: AtomicU32,
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

pub(super) const fn zero() -> AtomicU32 {
    AtomicU32::new(0)
}

impl<const N: usize, const P: usize> ControlBlock<N, P> {
    /// A block in which nothing happened yet.
    #[must_use]
    pub const fn new(node: NodeId, stamps: StampKind) -> Self {
        const { assert!(N <= MAX_NODES && P <= MAX_PORTS) };
        Self {
            magic: AtomicU32::new(MAGIC),
            version: AtomicU32::new(VERSION),
            size: AtomicU32::new(size_of::<Self>() as u32),
            shape: AtomicU32::new(Self::shape(node, stamps)),
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
            recording: [const { zero() }; Recording::WORDS],
            stopped: [const { zero() }; 2],
            registers: [const { zero() }; SavedRegisters::WORDS],
            image: zero(),
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
                    number: zero(),
                    base: zero(),
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
    ///
    /// Who can set the memory to zeros at once does so, and then calls [`begin`](Self::begin): that is far less code.
    pub fn init(&self, node: NodeId, stamps: StampKind) {
        self.magic.store(0, Ordering::Release);
        self.each_word(|word| word.store(0, Ordering::Relaxed));
        self.begin(node, stamps);
    }

    /// Makes a block of zeros one in which nothing happened yet. The magic comes last.
    pub fn begin(&self, node: NodeId, stamps: StampKind) {
        self.version.store(VERSION, Ordering::Relaxed);
        self.size.store(size_of::<Self>() as u32, Ordering::Relaxed);
        self.shape.store(Self::shape(node, stamps), Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    const fn shape(node: NodeId, stamps: StampKind) -> u32 {
        let kind = match stamps {
            StampKind::Event => 0,
            StampKind::Vector => 1,
        };
        u32::from_le_bytes([N as u8, P as u8, node.0, kind])
    }

    /// Every word behind the header.
    fn each_word(&self, f: impl Fn(&AtomicU32)) {
        let first = [&self.revision, &self.phase, &self.last_halt, &self.markers_seen, &self.undelivered];
        first.into_iter().chain([&self.up, &self.refused, &self.name, &self.image]).for_each(&f);
        self.time.iter().chain(&self.delay).chain(&self.order).chain(&self.bell).for_each(&f);
        self.recording.iter().chain(&self.stopped).chain(&self.registers).chain(&self.clock).for_each(&f);
        let rings = [&self.log, &self.text].into_iter();
        rings.flat_map(|ring| [&ring.address, &ring.size]).for_each(&f);
        self.watches.iter().flat_map(|watch| [&watch.name, &watch.value]).for_each(&f);
        for port in &self.ports {
            let words = [&port.shape, &port.name, &port.count, &port.marker, &port.lost, &port.queue];
            words.into_iter().chain(&port.ledger).chain([&port.number, &port.base]).for_each(&f);
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

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;
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
        assert_eq!(words.get() * 4, size_of::<ControlBlock<2, 3>>());
    }
}
