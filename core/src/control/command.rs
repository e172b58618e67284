//! Commands as words.
use crate::log::{Recording, RecordingMode};
use crate::predicate::{Detector, Generation, PROGRAM_BYTES, Plan, SlotId};
use crate::{Command, HaltId, KindSet, PortSet};
use core::fmt;

/// A command as it lies in the control block.
///
/// # Example: over and back
/// ```
/// use stillpoint_core::control::CommandWords;
/// use stillpoint_core::{Command, HaltId};
/// let words = CommandWords::encode(&Command::Release(HaltId(7)), 42).unwrap();
/// assert_eq!(words.decode(), Ok(Command::Release(HaltId(7))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandWords {
    words: [u32; Self::LEN],
    checksum: u32,
    sequence: u32,
    program: [u8; PROGRAM_BYTES],
}

/// Why words are not a command; they are not executed.
///
/// # Example: zeroed memory is no command
/// ```
/// use stillpoint_core::control::{CommandError, CommandWords};
/// let zeroed = CommandWords::from_block([0; CommandWords::LEN], 0, 0);
/// assert_eq!(zeroed.decode(), Err(CommandError::Checksum));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u32)]
pub enum CommandError {
    /// The checksum is wrong: something else wrote here.
    Checksum = 1,
    /// There is no command of this number.
    UnknownCommand = 2,
    /// An argument is out of range.
    BadArgument = 3,
    /// The program is longer than a slot.
    ProgramTooLong = 4,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "the command's checksum is wrong: something else wrote into the control block",
            Self::UnknownCommand => "the command is unknown: host and firmware are of different versions",
            Self::BadArgument => "an argument of the command is out of range",
            Self::ProgramTooLong => "the predicate's program is longer than a slot",
        })
    }
}

impl core::error::Error for CommandError {}

const HALT: u32 = 1;
const RELEASE: u32 = 2;
const SUSPEND: u32 = 3;
const CONTINUE: u32 = 4;
const RECORD: u32 = 5;
const INSTALL: u32 = 6;
const ENABLE: u32 = 7;
const REMOVE: u32 = 8;
const REPORT: u32 = 9;
const PLAN: u32 = 10;

/// Checksum over a command's words and its sequence number; never what zeroed memory holds.
#[must_use]
pub fn command_checksum(words: &[u32; CommandWords::LEN], sequence: u32) -> u32 {
    let mix = |sum: u32, word: &u32| (sum ^ word).rotate_left(5).wrapping_mul(0x0100_0193);
    words.iter().chain([&sequence]).fold(0x811C_9DC5, mix) | 1
}

impl CommandWords {
    const PROGRAM_WORDS: usize = PROGRAM_BYTES.div_ceil(4);
    /// Words of a command: number, three arguments, program.
    pub const LEN: usize = 4 + Self::PROGRAM_WORDS;

    /// The words for `command`, to be written with this sequence number.
    pub fn encode(command: &Command<'_>, sequence: u32) -> Result<Self, CommandError> {
        let mut bytes = [0; PROGRAM_BYTES];
        let head = match command {
            Command::Halt(id) => [HALT, id.0.into(), 0, 0],
            Command::Release(id) => [RELEASE, id.0.into(), 0, 0],
            Command::Suspend => [SUSPEND, 0, 0, 0],
            Command::Continue => [CONTINUE, 0, 0, 0],
            Command::Record(recording) => {
                let causes = u32::from(recording.carries_causes());
                let mode = recording.mode() as u32 | causes << 8;
                let (named, ports, _) = recording.names();
                let words = [named.0, ports].into_iter().chain(recording.name_words()).flat_map(u32::to_le_bytes);
                bytes.iter_mut().zip(words).for_each(|(byte, value)| *byte = value);
                [RECORD, mode, recording.kinds().0, recording.actions()]
            }
            Command::Install { slot, generation, detector, program } => {
                bytes.get_mut(..program.len()).ok_or(CommandError::ProgramTooLong)?.copy_from_slice(program);
                let detector = match detector {
                    Detector::Causal => 0,
                    Detector::Marker => 1,
                    Detector::Simultaneous => 2,
                };
                [INSTALL, slot.number().into(), u32::from(generation.0) | detector << 8, program.len() as u32]
            }
            Command::Enable { slot, generation, silent } => {
                [ENABLE, slot.number().into(), generation.0.into(), silent.0]
            }
            Command::Remove { slot } => [REMOVE, slot.number().into(), 0, 0],
            Command::Report => [REPORT, 0, 0, 0],
            Command::Plan { slot, generation, plan } => {
                bytes = plan.to_bytes();
                [PLAN, slot.number().into(), generation.0.into(), 0]
            }
        };
        let mut words = [0; Self::LEN];
        let program =
            bytes.chunks(4).map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
        for (word, value) in words.iter_mut().zip(head.into_iter().chain(program)) {
            *word = value;
        }
        Ok(Self { words, checksum: command_checksum(&words, sequence), sequence, program: bytes })
    }

    /// Words as they were found in a control block.
    #[must_use]
    pub fn from_block(words: [u32; Self::LEN], checksum: u32, sequence: u32) -> Self {
        let mut program = [0; PROGRAM_BYTES];
        let bytes = words.iter().skip(4).flat_map(|word| word.to_le_bytes());
        for (byte, value) in program.iter_mut().zip(bytes) {
            *byte = value;
        }
        Self { words, checksum, sequence, program }
    }

    /// The words, the checksum and the sequence number, in the order in which they are written.
    #[must_use]
    pub const fn as_block(&self) -> (&[u32; Self::LEN], u32, u32) {
        (&self.words, self.checksum, self.sequence)
    }

    /// The command, if the words are one.
    pub fn decode(&self) -> Result<Command<'_>, CommandError> {
        if self.checksum != command_checksum(&self.words, self.sequence) {
            return Err(CommandError::Checksum);
        }
        let &[number, first, second, third, ..] = &self.words;
        let slot = || u8::try_from(first).ok().and_then(SlotId::new).ok_or(CommandError::BadArgument);
        let generation = || Generation(second as u8);
        let halt = || u16::try_from(first).map(HaltId).map_err(|_| CommandError::BadArgument);
        Ok(match number {
            HALT => Command::Halt(halt()?),
            RELEASE => Command::Release(halt()?),
            SUSPEND => Command::Suspend,
            CONTINUE => Command::Continue,
            RECORD => Command::Record(self.recording(first, second, third)?),
            INSTALL => Command::Install {
                slot: slot()?,
                generation: generation(),
                detector: match second >> 8 {
                    0 => Detector::Causal,
                    1 => Detector::Marker,
                    2 => Detector::Simultaneous,
                    _ => return Err(CommandError::BadArgument),
                },
                program: self.program.get(..third as usize).ok_or(CommandError::ProgramTooLong)?,
            },
            ENABLE => Command::Enable { slot: slot()?, generation: generation(), silent: PortSet(third) },
            REMOVE => Command::Remove { slot: slot()? },
            REPORT => Command::Report,
            PLAN => {
                let plan = Plan::from_bytes(&self.program).ok_or(CommandError::BadArgument)?;
                Command::Plan { slot: slot()?, generation: generation(), plan }
            }
            _ => return Err(CommandError::UnknownCommand),
        })
    }
}

impl CommandWords {
    fn recording(&self, mode: u32, kinds: u32, actions: u32) -> Result<Recording, CommandError> {
        let recording = match mode & 0xFF {
            mode if mode == RecordingMode::Off as u32 => Recording::OFF,
            mode if mode == RecordingMode::Restricted as u32 => Recording::restricted(KindSet(kinds), actions),
            mode if mode == RecordingMode::Full as u32 => Recording::FULL,
            mode if mode == RecordingMode::Replay as u32 => Recording::REPLAY,
            _ => return Err(CommandError::BadArgument),
        };
        let recording = if mode >> 8 & 1 != 0 { recording.with_causes() } else { recording };
        let &[_, _, _, _, named, ports, a, b, c, d, ..] = &self.words;
        Ok(recording.only(KindSet(named), ports, Recording::names_of([a, b, c, d])))
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::EventKind;
    use stillpoint_test::test;

    #[test]
    fn every_command_comes_back_as_it_went() {
        let kinds = KindSet::EMPTY.with(EventKind::Send);
        let slot = SlotId::ALL[3];
        let (generation, detector) = (Generation(200), Detector::Marker);
        for command in [
            Command::Halt(HaltId(9)),
            Command::Release(HaltId(65_535)),
            Command::Suspend,
            Command::Continue,
            Command::Record(Recording::OFF),
            Command::Record(Recording::restricted(kinds, 0xF0F0_0001)),
            Command::Record(Recording::restricted(kinds, u32::MAX).only(kinds, 6, [1, 2, 3, 4, 5, 6, 7, 0xFFFF])),
            Command::Record(Recording::FULL.with_causes()),
            Command::Record(Recording::REPLAY),
            Command::Install { slot, generation, detector, program: &[1, 2, 3, 4, 5] },
            Command::Install { slot, generation, detector: Detector::Causal, program: &[9; PROGRAM_BYTES] },
            Command::Enable { slot, generation, silent: PortSet::EMPTY },
            Command::Enable { slot, generation, silent: PortSet(0x8000_0005) },
            Command::Remove { slot },
            Command::Report,
            Command::Install { slot, generation, detector: Detector::Simultaneous, program: &[1] },
            Command::Plan { slot, generation, plan: Plan { own: Some(2), needs: 5, ..Plan::NOTHING } },
        ] {
            let encoded = CommandWords::encode(&command, 17).unwrap();
            let (words, checksum, sequence) = encoded.as_block();
            assert_eq!(CommandWords::from_block(*words, checksum, sequence).decode(), Ok(command));
        }
    }

    #[test]
    fn a_block_that_something_else_wrote_into_is_never_executed() {
        let refused = |words, checksum, sequence| {
            let found = CommandWords::from_block(words, checksum, sequence);
            assert_eq!(found.decode(), Err(CommandError::Checksum));
        };
        let encoded = CommandWords::encode(&Command::Halt(HaltId(3)), 5).unwrap();
        let (words, checksum, sequence) = encoded.as_block();
        for place in 0..words.len() {
            for bit in 0..32 {
                let mut scribbled = *words;
                scribbled[place] ^= 1 << bit;
                refused(scribbled, checksum, sequence);
            }
        }
        refused(*words, checksum, sequence + 1);
        refused([0; CommandWords::LEN], 0, 0);
    }

    #[test]
    fn a_well_sealed_impossibility_is_refused_too() {
        let sealed = |head: [u32; 4]| {
            let mut words = [0; CommandWords::LEN];
            words[..4].copy_from_slice(&head);
            CommandWords::from_block(words, command_checksum(&words, 1), 1)
        };
        assert_eq!(sealed([99, 0, 0, 0]).decode(), Err(CommandError::UnknownCommand));
        assert_eq!(sealed([0, 0, 0, 0]).decode(), Err(CommandError::UnknownCommand));
        assert_eq!(sealed([HALT, 70_000, 0, 0]).decode(), Err(CommandError::BadArgument));
        assert_eq!(sealed([RELEASE, 70_000, 0, 0]).decode(), Err(CommandError::BadArgument));
        assert_eq!(sealed([REMOVE, 4, 0, 0]).decode(), Err(CommandError::BadArgument));
        assert_eq!(sealed([RECORD, 7, 0, 0]).decode(), Err(CommandError::BadArgument));
        assert_eq!(sealed([INSTALL, 0, 0, 33]).decode(), Err(CommandError::ProgramTooLong));
        let long = Command::Install {
            slot: SlotId::ALL[0],
            generation: Generation(0),
            detector: Detector::Causal,
            program: &[0; PROGRAM_BYTES + 1],
        };
        assert_eq!(CommandWords::encode(&long, 1), Err(CommandError::ProgramTooLong));
    }
}
