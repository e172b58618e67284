//! How far the cores of a board have come, as they say themselves.
use super::image::Place;
use super::ring::BoardMemory;

const MAGIC: u32 = 0x57A7_05D0;
const WORDS: usize = 7;

/// What a board says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Messages that go round.
    pub total: u32,
    /// Messages handled so far, per core.
    pub handled: [u32; 2],
    /// Which cores have handled all of them.
    pub done: [bool; 2],
    /// Bytes the serial link is known to have lost.
    pub overruns: u32,
}

impl Status {
    /// Reads it; nothing before the firmware has set it up.
    pub fn read(memory: &impl BoardMemory, at: Place) -> std::io::Result<Option<Self>> {
        let mut bytes = [0; 4 * WORDS];
        memory.read(at.address, &mut bytes)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        let [magic, total, handled_0, handled_1, done_0, done_1, overruns] = words;
        let status = Self { total, handled: [handled_0, handled_1], done: [done_0 == 1, done_1 == 1], overruns };
        Ok((magic == MAGIC).then_some(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words([u32; WORDS]);

    impl BoardMemory for Words {
        fn read(&self, _: u32, into: &mut [u8]) -> std::io::Result<()> {
            into.copy_from_slice(&self.0.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
            Ok(())
        }
        fn write(&self, _: u32, _: &[u8]) -> std::io::Result<()> {
            unreachable!("the status belongs to the firmware")
        }
    }

    #[test]
    fn the_status_counts_only_once_its_magic_is_there() {
        let place = Place { address: 0, size: 28 };
        assert_eq!(Status::read(&Words([0, 500, 7, 6, 0, 1, 0]), place).unwrap(), None);
        let status = Status::read(&Words([MAGIC, 500, 7, 6, 0, 1, 2]), place).unwrap();
        assert_eq!(status, Some(Status { total: 500, handled: [7, 6], done: [false, true], overruns: 2 }));
    }
}
