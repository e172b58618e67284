//! Why a node refused a command that was well formed, as two words of its answer.
use crate::StepError;
use crate::predicate::{EnableError, InstallError};
use core::fmt;

/// Why a node refused a command, and what belongs to it. Nothing has changed on the node.
///
/// # Example: a program that reads a watch the node does not have
/// ```
/// use stillpoint_core::control::{Refusal, RefusalCode};
/// let refusal = Refusal { code: RefusalCode::NoSuchWatch, value: 5 };
/// assert_eq!(Refusal::from_words(0x107, 5), Some(refusal));
/// assert!(refusal.to_string().contains("no watch 5"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refusal {
    /// Why.
    pub code: RefusalCode,
    /// The watch, port or generation it is about; 0 where there is none.
    pub value: u32,
}

/// Why a node refused a command; the first word of its answer.
///
/// # Example: the codes of refusals are above those of [`CommandError`](super::CommandError)
/// ```
/// use stillpoint_core::control::{CommandError, RefusalCode};
/// assert!(RefusalCode::Other as u32 > CommandError::ProgramTooLong as u32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u32)]
pub enum RefusalCode {
    /// The node cannot do that.
    Other = 0x100,
    /// The node has not started, or is stopped.
    NotRunning = 0x101,
    /// The program is none that a node may run; the value is the place of the defect.
    BadProgram = 0x102,
    /// The slot has seen the generation in the value, which is newer.
    OldGeneration = 0x103,
    /// This generation of the slot is used up.
    GenerationUsed = 0x104,
    /// There is no program in the slot.
    NotInstalled = 0x105,
    /// The slot holds the generation in the value.
    OtherGeneration = 0x106,
    /// The program reads the watch in the value, which the node does not have.
    NoSuchWatch = 0x107,
    /// The program waits for an event of the port in the value, which the node does not have.
    NoSuchPort = 0x108,
    /// The node was built without predicates.
    NoPredicates = 0x109,
    /// The halt is over; the value is the newest halt that the node knows of.
    OldHalt = 0x10A,
    /// A link of the port in the value began a new session after others, so its counts cannot be compared with theirs.
    SessionsDiffer = 0x10B,
    /// The slot in the value has a simultaneous event already, and there is room for one.
    OtherEvent = 0x10C,
}

impl RefusalCode {
    const ALL: [Self; 13] = [
        Self::Other,
        Self::NotRunning,
        Self::BadProgram,
        Self::OldGeneration,
        Self::GenerationUsed,
        Self::NotInstalled,
        Self::OtherGeneration,
        Self::NoSuchWatch,
        Self::NoSuchPort,
        Self::NoPredicates,
        Self::OldHalt,
        Self::SessionsDiffer,
        Self::OtherEvent,
    ];
}

impl Refusal {
    /// The two words of the answer: error, value.
    #[must_use]
    pub const fn to_words(self) -> [u32; 2] {
        [self.code as u32, self.value]
    }

    /// The refusal behind the two words of an answer, if it is one.
    #[must_use]
    pub fn from_words(error: u32, value: u32) -> Option<Self> {
        let code = RefusalCode::ALL.into_iter().find(|code| *code as u32 == error)?;
        Some(Self { code, value })
    }
}

impl From<StepError> for Refusal {
    fn from(error: StepError) -> Self {
        let (code, value) = match error {
            StepError::NotRunning => (RefusalCode::NotRunning, 0),
            StepError::NoSuchPort(port) => (RefusalCode::NoSuchPort, port.0.into()),
            StepError::Program(error) => (RefusalCode::BadProgram, error.at.into()),
            StepError::Install(InstallError::OldGeneration { known }) => (RefusalCode::OldGeneration, known.0.into()),
            StepError::Install(InstallError::GenerationUsed) => (RefusalCode::GenerationUsed, 0),
            StepError::Install(InstallError::NotBuiltIn) => (RefusalCode::NoPredicates, 0),
            StepError::Enable(EnableError::NotInstalled) => (RefusalCode::NotInstalled, 0),
            StepError::Enable(EnableError::OtherGeneration { installed }) => {
                (RefusalCode::OtherGeneration, installed.0.into())
            }
            StepError::OldHalt(known) => (RefusalCode::OldHalt, known.0.into()),
            StepError::SessionsDiffer(port) => (RefusalCode::SessionsDiffer, port.0.into()),
            StepError::OtherEvent(slot) => (RefusalCode::OtherEvent, slot.number().into()),
            _ => (RefusalCode::Other, 0),
        };
        Self { code, value }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.code {
            RefusalCode::Other => f.write_str("it cannot do that now"),
            RefusalCode::NotRunning => f.write_str("it has not started, or is stopped"),
            RefusalCode::BadProgram => {
                write!(f, "byte {value} of the program is not one it may run: download it again")
            }
            RefusalCode::OldGeneration => {
                write!(f, "its slot has seen generation {value}: install with the one after it")
            }
            RefusalCode::GenerationUsed => f.write_str("this generation of its slot is used up: take the next one"),
            RefusalCode::NotInstalled => f.write_str("its slot holds no program: install it first"),
            RefusalCode::OtherGeneration => write!(f, "its slot holds generation {value}: enable that or install anew"),
            RefusalCode::NoSuchWatch => write!(f, "it has no watch {value}: name one that its firmware has opened"),
            RefusalCode::NoSuchPort => write!(f, "it has no port {value}: name one that its firmware has opened"),
            RefusalCode::SessionsDiffer => write!(
                f,
                "a link of its port {value} began a new session after others, so messages cannot be counted from end to end: \
                 reset all boards together"
            ),
            RefusalCode::OtherEvent => write!(
                f,
                "breakpoint {value} is a simultaneous event already, and it has room for one: remove that first"
            ),
            RefusalCode::OldHalt => write!(f, "this halt is over: it knows of halt {value}, and the next one is newer"),
            RefusalCode::NoPredicates => {
                f.write_str("its firmware was built without the feature `predicates`: build it with that")
            }
        }
    }
}

impl core::error::Error for Refusal {}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn every_refusal_comes_back_as_it_went_and_nothing_else_is_one() {
        for code in RefusalCode::ALL {
            let refusal = Refusal { code, value: 77 };
            let [error, value] = refusal.to_words();
            assert_eq!(Refusal::from_words(error, value), Some(refusal));
        }
        for error in [0, 1, 4, 0xFF, 0x10D, u32::MAX] {
            assert_eq!(Refusal::from_words(error, 0), None);
        }
    }

    #[test]
    fn what_the_host_can_act_on_has_a_code_of_its_own() {
        let used = Refusal::from(StepError::Install(InstallError::GenerationUsed));
        assert_eq!(used.code, RefusalCode::GenerationUsed);
        assert_eq!(Refusal::from(StepError::AlreadyStarted).code, RefusalCode::Other);
    }
}
