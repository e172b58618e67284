//! What a core remembers across a reset, in memory that the start of the program leaves alone.
use crate::sync::atomic::{AtomicU32, Ordering};
use stillpoint_core::log::Recording;
use stillpoint_core::{EventNumber, HaltId};

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The epoch the node was in.
    pub epoch: u8,
    /// How often the node began: the incarnation of its links. 1 for the first time, and never again.
    pub boots: u8,
    /// The last halt it took part in or heard of.
    pub last_halt: HaltId,
    /// What it recorded.
    pub recording: Recording,
}

impl Memory {
    /// Of a core that remembers nothing.
    pub const NOTHING: Self = Self { epoch: 0, boots: 0, last_halt: HaltId(0), recording: Recording::FULL };

    /// An event number of the epoch before this boot, for [`Input::Start`](stillpoint_core::Input::Start).
    ///
    /// The count is not remembered, which would cost every event a store: a start begins the next epoch anyway.
    #[must_use]
    pub const fn known(self) -> EventNumber {
        if self.boots < 2 { EventNumber(0) } else { EventNumber((self.epoch as u32) << 24 | 1) }
    }

    /// With one more boot.
    #[must_use]
    pub const fn after_boot(self) -> Self {
        let boots = if self.boots == u8::MAX { 2 } else { self.boots + 1 };
        Self { boots, ..self }
    }
}

/// Two copies of a [`Memory`], each with its check, so that a reset in the middle of writing one loses nothing.
///
/// A platform keeps one per core in a section that is not initialised at start; what it holds after power-on is
/// recognised as nothing.
///
/// # Example
/// ```
/// use stillpoint_agent::retained::{Memory, Retained};
/// let retained = Retained::new();
/// assert_eq!(retained.read(), None);
/// retained.write(Memory::NOTHING.after_boot());
/// assert_eq!(retained.read().map(|memory| memory.boots), Some(1));
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Retained([[AtomicU32; WORDS + 1]; 2]);

/// What is remembered, in words.
const WORDS: usize = 1 + Recording::WORDS;

/// What the check of a copy begins with; memory of all zeros or ones is none.
const MAGIC: u32 = 0x5711_1D01;

impl Retained {
    /// Memory that holds nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { [const { AtomicU32::new(0) }; WORDS + 1] }; 2])
    }

    /// What is remembered. `None` after power-on.
    #[must_use]
    pub fn read(&self) -> Option<Memory> {
        self.0.iter().find_map(|copy| {
            let [words @ .., check] = copy.each_ref().map(|word| word.load(Ordering::Relaxed));
            let [word, recording @ ..] = words;
            let [epoch, boots, low, high] = word.to_le_bytes();
            let last_halt = HaltId(u16::from_le_bytes([low, high]));
            let recording = Recording::from_words(recording)?;
            let memory = Memory { epoch, boots, last_halt, recording };
            (check == check_of(words) && boots != 0).then_some(memory)
        })
    }

    /// Remembers this instead.
    pub fn write(&self, memory: Memory) {
        let [low, high] = memory.last_halt.0.to_le_bytes();
        let word = u32::from_le_bytes([memory.epoch, memory.boots, low, high]);
        let mut words = [word; WORDS];
        words[1..].copy_from_slice(&memory.recording.to_words());
        let sum = check_of(words);
        for [places @ .., check] in &self.0 {
            for (place, word) in places.iter().zip(words) {
                place.store(word, Ordering::Relaxed);
            }
            // Not merged with the other copy: a reset between the two must find one of them whole.
            crate::sync::atomic::compiler_fence(Ordering::SeqCst);
            check.store(sum, Ordering::Relaxed);
            crate::sync::atomic::compiler_fence(Ordering::SeqCst);
        }
    }
}

/// Words that were written in part have another.
fn check_of(words: [u32; WORDS]) -> u32 {
    !words.into_iter().fold(MAGIC, |check, word| check.rotate_left(7) ^ word)
}

impl Default for Retained {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Memory = Memory { epoch: 3, boots: 7, last_halt: HaltId(500), recording: Recording::FULL };
    const NEW: Memory = Memory { epoch: 4, boots: 7, last_halt: HaltId(501), recording: Recording::OFF };

    #[test]
    fn a_reset_between_any_two_stores_leaves_the_old_or_the_new_memory() {
        let (retained, target) = (Retained::new(), Retained::new());
        retained.write(OLD);
        target.write(NEW);
        let words = |retained: &'static Retained| retained.0.iter().flatten();
        let (retained, target): (&'static _, &'static _) = (
            std::boxed::Box::leak(std::boxed::Box::new(retained)),
            std::boxed::Box::leak(std::boxed::Box::new(target)),
        );
        for (word, value) in words(retained).zip(words(target)) {
            word.store(value.load(Ordering::Relaxed), Ordering::Relaxed);
            assert!([Some(OLD), Some(NEW)].contains(&retained.read()), "{:?}", retained.read());
        }
        assert_eq!(retained.read(), Some(NEW));
    }

    #[test]
    fn what_memory_holds_after_power_on_is_nothing() {
        for word in [0, u32::MAX, 0xA5A5_A5A5, MAGIC] {
            let retained = Retained::new();
            retained.0.iter().flatten().for_each(|place| place.store(word, Ordering::Relaxed));
            assert_eq!(retained.read(), None);
        }
    }

    /// A node that was reset too, at the same time, knows nothing of this one: 0.
    #[test]
    fn the_numbers_of_every_epoch_are_newer_to_a_peer_that_knows_nothing() {
        let mut memory = Memory::NOTHING.after_boot();
        for boot in 2..1000 {
            memory = memory.after_boot();
            let known = memory.known();
            assert_ne!(known, EventNumber(0), "boot {boot}");
            let first = known.next_epoch().next();
            assert!(first.is_newer_than(EventNumber(0)), "boot {boot}: epoch {}", first.epoch());
            assert!(first.is_newer_than(known), "boot {boot}: epoch {} after {}", first.epoch(), known.epoch());
            memory.epoch = first.epoch();
        }
    }

    #[test]
    fn nothing_is_known_at_the_first_boot_and_something_at_every_other() {
        assert_eq!(Memory { boots: 255, ..OLD }.after_boot().boots, 2);
        assert_eq!(Memory::NOTHING.after_boot().known(), EventNumber(0));
        assert_eq!(Memory::NOTHING.after_boot().after_boot().known(), EventNumber(1));
        assert_eq!(OLD.known().epoch(), 3);
    }

    extern crate std;
}
