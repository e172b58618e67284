//! What is not known of a past, and by when it will be.
use super::clock::{newer, raise};
use crate::Why;

/// Something before an event is not known. For each node, the event of it with which everything is known again: whoever
/// knows that event knows all that may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taint {
    until: Vec<Option<u32>>,
    /// Nodes of which a part of the log was lost with a reset, one bit a node: see [`CausalOrder`](super::CausalOrder).
    lost: u32,
    /// A part of it is from before a reset, of any node: the clock of a node in a later life does not tell what is missing.
    pub outlives: bool,
    pub why: Why,
}

impl Taint {
    /// All that is missing happened before event `until` of `node`; never known if that is not known either.
    pub fn new(width: usize, node: u8, until: Option<u32>, why: Why) -> Self {
        let mut taint = Self { until: vec![None; width], lost: 0, outlives: false, why };
        if let Some(entry) = taint.until.get_mut(usize::from(node)) {
            // Half the numbers ahead: newer than anything that can be known.
            *entry = until.or(Some(NEVER));
        }
        taint
    }

    /// What a node took in before a reset is missing, since that part of its log was not read.
    pub fn lost(width: usize, node: u8) -> Self {
        Self { until: vec![None; width], lost: 1 << node, outlives: true, why: Why::Unread(node) }
    }

    /// Something is missing that happened after the recording of a node ended: so did all that follows. Whatever else is
    /// missing or is told later, the reason stays.
    pub fn after(width: usize, node: u8) -> Self {
        Self::new(width, node, None, Why::After(node))
    }

    /// Whether it began after the recording of a node ended: see [`after`](Self::after).
    pub fn is_beyond(&self) -> bool {
        matches!(self.why, Why::After(_))
    }

    /// Adds what another lacks.
    pub fn merge(&mut self, other: &Self) {
        self.lost |= other.lost;
        self.outlives |= other.outlives;
        for (mine, theirs) in self.until.iter_mut().zip(&other.until) {
            match (&mut *mine, theirs) {
                (Some(NEVER), _) | (_, None) => {}
                (Some(mine), Some(theirs)) if *theirs != NEVER => raise(mine, *theirs),
                (mine, theirs) => *mine = *theirs,
            }
        }
        if !self.is_beyond() {
            self.why = other.why;
        }
    }

    /// Whether something is missing still for one that knows `clock`. `regained` says for each node with which of its events
    /// all that it lost with resets is known again.
    pub fn lasts(&self, clock: &[u32], regained: &[Option<u32>]) -> bool {
        let mut lost = (0..clock.len()).filter(|node| self.lost >> node & 1 != 0);
        if lost.any(|node| regained[node].is_none_or(|number| newer(number, clock[node]))) {
            return true;
        }
        let missing =
            |(until, known): (&Option<u32>, &u32)| until.is_some_and(|until| until == NEVER || newer(until, *known));
        self.until.iter().zip(clock).any(missing)
    }
}

/// No event has this number: the last of the last epoch.
const NEVER: u32 = u32::MAX;
