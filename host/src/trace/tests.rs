//! Rings of boards, read and freed.
use super::ring;
use crate::{Memory, MemoryError};

/// The memory of a board that holds one ring at address 0.
struct Board(Vec<u32>);

impl Memory for Board {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        into.copy_from_slice(&self.0[address as usize / 4..][..into.len()]);
        Ok(())
    }
    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        self.0[address as usize / 4..][..from.len()].copy_from_slice(from);
        Ok(())
    }
}

/// A ring of 16 bytes that hold their own numbers.
fn board(written: u32, read: u32, oldest: u32) -> Board {
    Board(vec![written, read, 2, 16, oldest, 0x0302_0100, 0x0706_0504, 0x0B0A_0908, 0x0F0E_0D0C])
}

#[test]
fn a_ring_is_read_across_its_end_and_what_was_read_is_noted() {
    // The last three places and the first five.
    let mut board = board(21, 13, 8);
    let ring = ring::Ring::new(0);
    let look = ring.look(&mut board).unwrap();
    assert_eq!((look.position, look.dropped), (13, 2));
    assert_eq!(look.bytes, [13, 14, 15, 0, 1, 2, 3, 4]);
    ring.note_read(&mut board, &look).unwrap();
    assert_eq!(board.0[1], 21);
    assert!(ring.look(&mut board).unwrap().bytes.is_empty());
}

#[test]
fn what_is_overwritten_is_left_out_before_and_while_it_is_read() {
    let ring = ring::Ring::new(0);
    let look = ring.look(&mut board(21, 3, 18)).unwrap();
    assert_eq!((look.position, look.bytes), (18, vec![2, 3, 4]));
    // The node went on between the two looks at the words.
    let before = ring.head(&mut board(21, 3, 8)).unwrap();
    let look = ring.look_from(&mut board(25, 3, 18), &before, 8).unwrap();
    assert_eq!((look.position, look.bytes), (18, vec![2, 3, 4]));
}

#[test]
fn a_ring_that_began_anew_is_read_from_its_beginning() {
    let ring = ring::Ring::new(0);
    let look = ring.look(&mut board(5, 4000, 0)).unwrap();
    assert_eq!((look.position, look.bytes), (0, vec![0, 1, 2, 3, 4]));
    // Not made yet: the size is not one of a ring.
    assert!(ring.look(&mut Board(vec![9, 3, 0, 0, 0])).unwrap().bytes.is_empty());
}
