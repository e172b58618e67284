//! What is known of a chip without asking it.
use crate::config::{BoardConfig, ProbeConfig};
use crate::session::SessionError;
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
