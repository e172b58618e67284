//! Where the words of a control block lie, from its header alone: what the host reads by.
use super::slot::SlotBlock;
use super::{AnswerBlock, CommandBlock, ControlBlock, FaultBlock, MAGIC, PortBlock, SavedRegisters, VERSION};
use crate::predicate::{SLOTS, WATCHES};
use crate::{MAX_NODES, MAX_PORTS, NodeId, StampKind};
use core::fmt;

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
    /// Byte offset of the address of the bell and what to write there.
    pub const BELL: usize = 28 * WORD;
    /// Byte offset of the node's name.
    pub const NAME: usize = 30 * WORD;
    /// Byte offset of what the node records.
    pub const RECORDING: usize = 31 * WORD;
    /// Byte offset of the time of the last stop.
    pub const STOPPED: usize = 39 * WORD;
    /// Byte offset of the registers of the core, saved where it stands still.
    pub const REGISTERS: usize = 41 * WORD;
    /// Byte offset of what tells the image from others.
    pub const IMAGE: usize = Self::REGISTERS + SavedRegisters::WORDS * WORD;
    /// Byte offset of the first watch.
    pub const WATCHES: usize = Self::IMAGE + WORD;
    const FIXED_WORDS: usize = Self::WATCHES / WORD + 2 * WATCHES;
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
            assert!(offset_of!(Block, bell) == ControlLayout::BELL);
            assert!(offset_of!(Block, name) == ControlLayout::NAME);
            assert!(offset_of!(Block, recording) == ControlLayout::RECORDING);
            assert!(offset_of!(Block, stopped) == ControlLayout::STOPPED);
            assert!(offset_of!(Block, registers) == ControlLayout::REGISTERS);
            assert!(offset_of!(Block, image) == ControlLayout::IMAGE);
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
}
