//! Reading a control block that its core may be writing.
use crate::{BoardError, Memory};
use std::time::{Duration, Instant};
use stillpoint_core::control::{ControlLayout, HeaderError};

/// How often a control block is read at least. One read can take longer than any limit: on a busy computer, or where another
/// process has the board meanwhile.
const TRIES: u32 = 10;

/// Reads the control block of a core at `address`, until two reads of its revision enclose no change, for `limit` and at least
/// ten times.
pub(crate) fn read(
    memory: &mut dyn Memory,
    (core, address): (usize, u32),
    layout: ControlLayout,
    limit: Duration,
) -> Result<Vec<u32>, BoardError> {
    let mut words = vec![0; layout.size / 4];
    let (until, mut tries) = (Instant::now() + limit, 0);
    let (mut header, mut first, mut changes) = (Ok(layout), None, false);
    while tries < TRIES || Instant::now() < until {
        tries += 1;
        memory.read(address, &mut words)?;
        let mut after = [0];
        memory.read(address + ControlLayout::REVISION as u32, &mut after)?;
        let before = words[ControlLayout::REVISION / 4];
        // A board that is just being reset has no block, and one that was scribbled over never has again.
        header = words.first_chunk().map_or(Err(HeaderError::ImpossibleShape), |words| ControlLayout::read(*words));
        if header == Ok(layout) && before & 1 == 0 && before == after[0] {
            return Ok(words);
        }
        changes |= *first.get_or_insert(before) != after[0];
        crate::poll::pause();
    }
    Err(match header {
        Ok(found) if found == layout && changes => BoardError::Unsteady(core),
        Ok(found) if found == layout => BoardError::HalfWritten(core),
        Ok(_) => BoardError::Header { core, source: HeaderError::ImpossibleShape },
        Err(source) => BoardError::Header { core, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryError;
    use stillpoint_core::control::{MAGIC, VERSION};

    /// A control block whose revision is another at each look, the last one for ever.
    struct Block {
        words: Vec<u32>,
        revisions: Vec<u32>,
    }

    impl Memory for Block {
        fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
            let at = ControlLayout::REVISION / 4;
            self.words[at] = if self.revisions.len() > 1 { self.revisions.remove(0) } else { self.revisions[0] };
            into.copy_from_slice(&self.words[address as usize / 4..][..into.len()]);
            Ok(())
        }

        fn write(&mut self, _: u32, _: &[u32]) -> Result<(), MemoryError> {
            unreachable!("nothing is written")
        }
    }

    /// What comes of reading a block once its limit is over.
    fn late(revisions: Vec<u32>) -> Result<u32, String> {
        let mut header = [MAGIC, VERSION, 0, u32::from_le_bytes([2, 1, 0, 0])];
        header[2] = (1..10_000)
            .map(|words| 4 * words)
            .find(|size| ControlLayout::read([MAGIC, VERSION, *size, header[3]]).is_ok())
            .unwrap();
        let layout = ControlLayout::read(header).unwrap();
        let mut words = vec![0; layout.size / 4];
        words[..4].copy_from_slice(&header);
        let words = read(&mut Block { words, revisions }, (1, 0), layout, Duration::ZERO);
        words.map(|words| words[ControlLayout::REVISION / 4]).map_err(|error| error.to_string())
    }

    /// A read that waits for a process that has the board is over when the limit is.
    #[test]
    fn a_block_that_changed_during_one_slow_read_is_read_again() {
        assert_eq!(late(vec![4]), Ok(4));
        assert_eq!(late(vec![4, 6, 6, 6]), Ok(6));
        assert_eq!(late(vec![5, 5, 7, 8, 8]), Ok(8));
    }

    #[test]
    fn a_core_that_stands_in_the_middle_is_told_apart_from_one_that_goes_on_writing() {
        assert!(late(vec![5]).unwrap_err().starts_with("core 1 stands in the middle of writing its control block"));
        assert!(late((0..100).collect()).unwrap_err().starts_with("core 1 keeps changing its control block"));
        assert!(late((0..50).map(|turn| 2 * turn + 1).collect()).unwrap_err().starts_with("core 1 keeps changing"));
    }
}
