//! Where a node stands, as a word of its control block.
use crate::Phase;

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

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;
    #[test]
    fn every_state_has_a_word_of_its_own() {
        for word in 0..6 {
            assert_eq!(StateCode::from_word(word).map(|state| state as u32), Some(word));
        }
        assert_eq!(StateCode::from_word(6), None);
        assert_eq!(StateCode::of(Phase::Running), StateCode::Running);
    }
}
