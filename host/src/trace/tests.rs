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

#[test]
fn a_ring_is_read_across_its_end_and_freed() {
    // 16 bytes; written 21, read 13: the last three places and the first five.
    let mut board = Board(vec![21, 13, 2, 16, 0x0302_0100, 0x0706_0504, 0x0B0A_0908, 0x0F0E_0D0C]);
    let ring = ring::Ring::new(0);
    let look = ring.look(&mut board).unwrap();
    assert_eq!((look.position, look.dropped, look.repaired), (13, 2, false));
    assert_eq!(look.bytes, [13, 14, 15, 0, 1, 2, 3, 4]);
    ring.free(&mut board, &look).unwrap();
    assert_eq!(board.0[1], 21);
    assert!(ring.look(&mut board).unwrap().bytes.is_empty());
}

#[test]
fn a_ring_that_began_anew_under_our_hands_is_set_right() {
    let mut board = Board(vec![5, 4000, 0, 16, 0, 0, 0, 0]);
    let ring = ring::Ring::new(0);
    assert!(ring.look(&mut board).unwrap().repaired);
    assert_eq!(board.0[1], 5, "otherwise the node would find its ring full for ever");
    // Not made yet: the size is not one of a ring.
    assert!(ring.look(&mut Board(vec![9, 3, 0, 0])).unwrap().bytes.is_empty());
}
