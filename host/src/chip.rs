//! What is known of a chip without asking it.
use crate::config::{BoardConfig, ProbeConfig};
use crate::session::SessionError;
use probe_rs::CoreType;
use probe_rs::config::Target;
use std::ops::Range;

/// How many cores a chip has, and where its memory lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chip {
    pub cores: usize,
    pub memory: Vec<Range<u64>>,
}

impl Chip {
    /// The chip of a board, if anybody knows it.
    pub(crate) fn of(board: &BoardConfig) -> Result<Self, SessionError> {
        match &board.probe {
            ProbeConfig::Qemu => crate::emulated::chip(&board.chip),
            ProbeConfig::Probe { .. } => crate::hardware::chip(board),
        }
    }

    /// Whether all of these bytes lie in its memory.
    pub(crate) fn holds(&self, bytes: &Range<u64>) -> bool {
        self.memory.iter().any(|memory| memory.start <= bytes.start && bytes.end <= memory.end)
    }
}

/// What probe-rs knows of the chip of a board.
pub(crate) fn target(board: &BoardConfig) -> Result<Target, SessionError> {
    match &board.probe {
        ProbeConfig::Qemu => crate::emulated::target(&board.chip),
        ProbeConfig::Probe { .. } => crate::hardware::target(board).map(|(_, target)| target),
    }
}

/// The RAM of a chip.
pub(crate) fn ram(target: &Target) -> Vec<Range<u64>> {
    let regions = target.memory_map.iter().filter_map(|region| region.as_ram_region());
    regions.filter(|ram| !ram.is_alias).map(|ram| ram.range.clone()).collect()
}

/// The kind of a core of a chip.
pub(crate) fn core_type(target: &Target, core: usize) -> Option<CoreType> {
    target.cores.get(core).map(|core| core.core_type)
}
