//! What a node says about the predicate in one of its slots.
use crate::predicate::{Detector, Generation, MAX_STAGES, SlotPhase};
use core::sync::atomic::{AtomicU32, Ordering};

/// One predicate slot of a node.
///
/// # Example: nothing is armed
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::control::{ControlBlock, SlotState};
/// use stillpoint_core::predicate::SlotPhase;
/// use stillpoint_core::{NodeId, StampKind};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Vector);
/// let state = SlotState::from_word(block.slots[0].state.load(Ordering::Relaxed)).unwrap();
/// assert_eq!(state.phase, SlotPhase::Unknown);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct SlotBlock {
    /// A [`SlotState`].
    pub state: AtomicU32,
    /// [`Program::checksum`](crate::predicate::Program::checksum) of what is installed; 0 if nothing is.
    pub program: AtomicU32,
    /// For each stage, from the first, the number of the event of this node that satisfied it; 0 if none did.
    pub satisfied: [AtomicU32; MAX_STAGES as usize],
}

impl SlotBlock {
    /// Words of a slot.
    pub const WORDS: usize = size_of::<Self>() / 4;

    pub(super) const fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            program: AtomicU32::new(0),
            satisfied: [const { AtomicU32::new(0) }; MAX_STAGES as usize],
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &AtomicU32> {
        [&self.state, &self.program].into_iter().chain(&self.satisfied)
    }

    /// Writes what the node knows of the slot. Another use of the slot forgets what satisfied the last one.
    pub fn publish(&self, state: SlotState, program: u32) {
        let before = SlotState::from_word(self.state.load(Ordering::Relaxed));
        if before.is_none_or(|before| before.generation != state.generation) || program == 0 {
            self.satisfied.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        self.state.store(state.to_word(), Ordering::Relaxed);
        self.program.store(program, Ordering::Relaxed);
    }

    /// Notes that an event of this node satisfied a stage. Stages count from 1.
    pub fn satisfy(&self, stage: u8, number: u32) {
        if let Some(word) = self.satisfied.get(usize::from(stage).wrapping_sub(1)) {
            word.store(number, Ordering::Relaxed);
        }
    }
}

/// How far a slot has come, as one word: phase, generation, last stage known to be satisfied, flags; a byte each.
///
/// # Example: over and back
/// ```
/// use stillpoint_core::control::SlotState;
/// use stillpoint_core::predicate::{Detector, Generation, SlotPhase};
/// let state = SlotState {
///     phase: SlotPhase::Installed,
///     generation: Generation(7),
///     stage: 1,
///     detector: Detector::Marker,
///     enabled: true,
/// };
/// assert_eq!(state.to_word(), 0x0301_0702);
/// assert_eq!(SlotState::from_word(0x0301_0702), Some(state));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// What the node knows of the predicate.
    pub phase: SlotPhase,
    /// Which use of the slot.
    pub generation: Generation,
    /// The last stage known to be satisfied, anywhere; 0 if none.
    pub stage: u8,
    /// How stages travel.
    pub detector: Detector,
    /// Whether the first stage may be satisfied, or has been.
    pub enabled: bool,
}

impl SlotState {
    /// The word.
    #[must_use]
    pub const fn to_word(self) -> u32 {
        let detector = match self.detector {
            Detector::Causal => 0,
            Detector::Marker => 1,
            Detector::Simultaneous => 4,
        };
        let flags = detector | (self.enabled as u8) << 1;
        u32::from_le_bytes([self.phase as u8, self.generation.0, self.stage, flags])
    }

    /// The state that a word stands for, if it does for any.
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        let [phase, generation, stage, flags] = word.to_le_bytes();
        let phase = match phase {
            0 => SlotPhase::Unknown,
            1 => SlotPhase::Heard,
            2 => SlotPhase::Installed,
            3 => SlotPhase::Fired,
            4 => SlotPhase::Removed,
            _ => return None,
        };
        if stage > MAX_STAGES {
            return None;
        }
        let detector = match flags & !2 {
            0 => Detector::Causal,
            1 => Detector::Marker,
            4 => Detector::Simultaneous,
            _ => return None,
        };
        Some(Self { phase, generation: Generation(generation), stage, detector, enabled: flags & 2 != 0 })
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn every_word_that_is_a_state_is_the_word_of_that_state() {
        let mut states = 0;
        for (phase, stage, flags) in
            (0..=6).flat_map(|phase| (0..=9).flat_map(move |stage| (0..=8).map(move |flags| (phase, stage, flags))))
        {
            let word = u32::from_le_bytes([phase, 200, stage, flags]);
            if let Some(state) = SlotState::from_word(word) {
                assert_eq!(state.to_word(), word);
                states += 1;
            }
        }
        assert_eq!(states, 5 * 9 * 6);
    }

    #[test]
    fn another_use_of_a_slot_forgets_what_satisfied_the_last_one() {
        let block = SlotBlock::new();
        let state = |generation, phase| SlotState {
            phase,
            generation: Generation(generation),
            stage: 0,
            detector: Detector::Causal,
            enabled: true,
        };
        let first = |block: &SlotBlock| block.satisfied[0].load(Ordering::Relaxed);
        block.publish(state(1, SlotPhase::Installed), 5);
        block.satisfy(1, 41);
        block.satisfy(0, 7);
        block.satisfy(9, 7);
        block.publish(state(1, SlotPhase::Fired), 5);
        assert_eq!(first(&block), 41);
        block.publish(state(2, SlotPhase::Installed), 6);
        assert_eq!(first(&block), 0);
        block.satisfy(1, 50);
        block.publish(state(2, SlotPhase::Removed), 0);
        assert!(block.satisfied.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }
}
