//! A ring in memory that no core writes: what a reader makes of it, and what it leaves behind.
use super::*;

const AT: u32 = 0x8000_0040;
const SIZE: u32 = 64;
const HEADER: usize = 16;
const WRITTEN: usize = 2;
const READ: usize = 3;
const SHOWN: usize = 5;
const PENDING: usize = 6;
const LIFE: usize = 7;

/// The words of a ring.
struct Board(Vec<u32>);

impl Memory for Board {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        let at = (address - AT) as usize / 4;
        into.copy_from_slice(&self.0[at..at + into.len()]);
        Ok(())
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        let at = (address - AT) as usize / 4;
        self.0[at..at + from.len()].copy_from_slice(from);
        Ok(())
    }
}

impl Board {
    fn new() -> Self {
        let mut words = vec![0; HEADER + SIZE as usize / 4];
        (words[0], words[1], words[LIFE]) = (0xDEF7_1066, SIZE, 41);
        Self(words)
    }

    /// As a core does: the bytes, then their number.
    fn log(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let at = (self.0[WRITTEN] % SIZE) as usize;
            let (word, shift) = (HEADER + at / 4, at % 4 * 8);
            self.0[word] = self.0[word] & !(0xFF << shift) | u32::from(*byte) << shift;
            self.0[WRITTEN] = self.0[WRITTEN].wrapping_add(1);
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
        self.0[LIFE] = 42;
    }
}

fn tap() -> Tap {
    Tap::new(NodeAddress { board: 0, core: 0 }, NodeId(0), "a".into(), Ring::new(AT, 64 + SIZE))
}

/// The first byte of every line and the own entry of its clock; `-1` for what is no line.
fn lines(tap: &mut Tap) -> Vec<(i32, Option<u32>)> {
    let one = |raw| match raw {
        Raw::Item { clock, line, .. } => (i32::from(line[0]), clock.map(|clock: Vec<u32>| clock[0])),
        Raw::Restarted | Raw::Damaged(..) => (-1, None),
    };
    tap.raw.drain(..).map(one).collect()
}

/// Three lines: a whole clock, two changes.
const THREE: [&[u8]; 3] = [&[3, 1, 5, 0x41, 0], &[2, 1, 1, 0x42, 0], &[2, 0, 0x43, 0]];

#[test]
fn a_reader_that_frees_nothing_leaves_everything_for_the_next() {
    let mut board = Board::new();
    THREE.iter().for_each(|line| board.log(line));
    let before = board.0.clone();
    for _ in 0..2 {
        let mut tap = tap();
        assert_eq!(tap.read(&mut board).unwrap(), 3);
        assert_eq!(lines(&mut tap), [(0x41, Some(5)), (0x42, Some(6)), (0x43, Some(6))]);
        assert_eq!(tap.read(&mut board).unwrap(), 0, "nothing is read twice");
    }
    assert_eq!(board.0, before, "reading changes nothing");
}

#[test]
fn who_comes_after_a_reader_that_left_knows_the_clock_of_its_first_line() {
    let mut board = Board::new();
    THREE.iter().for_each(|line| board.log(line));
    let mut first = tap();
    first.read(&mut board).unwrap();
    first.free_read(&mut board).unwrap();
    assert_eq!((board.0[READ], board.0[SHOWN]), (0, 14), "the whole clock stays, and all is shown");
    board.log(&[2, 1, 3, 0x44, 0]);
    let mut second = tap();
    second.read(&mut board).unwrap();
    assert_eq!(lines(&mut second), [(0x44, Some(9))]);
    board.log(&[3, 1, 20, 0x45, 0]);
    second.read(&mut board).unwrap();
    second.free_read(&mut board).unwrap();
    assert_eq!((board.0[READ], board.0[SHOWN]), (19, 24));
}

#[test]
fn a_ring_goes_on_round_its_end_and_across_the_wrap_of_its_counts() {
    let mut board = Board::new();
    (board.0[WRITTEN], board.0[READ], board.0[SHOWN]) = (u32::MAX - 70, u32::MAX - 70, u32::MAX - 70);
    let mut tap = tap();
    for round in 0..40u8 {
        board.log(&[3, 1, round + 1, 0x41, 0x42, 0x43, 0]);
        tap.read(&mut board).unwrap();
        tap.free_read(&mut board).unwrap();
        assert_eq!(lines(&mut tap), [(0x41, Some(u32::from(round) + 1))]);
    }
}

#[test]
fn only_what_was_given_out_is_freed_when_that_is_asked_for() {
    let mut board = Board::new();
    THREE.iter().for_each(|line| board.log(line));
    let mut tap = tap();
    tap.read(&mut board).unwrap();
    tap.free_released(&mut board).unwrap();
    assert_eq!((board.0[READ], board.0[SHOWN]), (0, 0));
    tap.released(&Pending::note(Said::Restarted, Bound { end: 10, beginning: 0 }));
    tap.free_released(&mut board).unwrap();
    assert_eq!((board.0[READ], board.0[SHOWN]), (0, 10));
}

#[test]
fn a_reset_is_told_and_the_new_ring_is_read_from_its_beginning_and_not_freed_for_the_old_one() {
    let mut board = Board::new();
    THREE.iter().for_each(|line| board.log(line));
    let mut tap = tap();
    tap.read(&mut board).unwrap();
    lines(&mut tap);
    board.reset();
    board.log(&[0, 0x51, 0]);
    tap.free_read(&mut board).unwrap();
    assert_eq!((board.0[READ], board.0[SHOWN]), (0, 0), "positions of the old ring mean nothing in the new one");
    tap.read(&mut board).unwrap();
    assert_eq!(lines(&mut tap), [(-1, None), (0x51, None)]);
}

#[test]
fn damage_costs_what_is_damaged_and_is_told() {
    let mut board = Board::new();
    board.log(THREE[0]);
    board.log(&[0x77, 0x01, 0]);
    board.log(THREE[1]);
    board.log(&[3, 1, 9, 0x44, 0]);
    let mut tap = tap();
    tap.read(&mut board).unwrap();
    assert_eq!(lines(&mut tap), [(0x41, Some(5)), (-1, None), (0x42, None), (0x44, Some(9))]);
}

#[test]
fn a_ring_that_is_not_made_or_was_written_over_is_empty_and_left_alone() {
    for (word, value) in [(0, 0), (1, 63), (1, 1 << 20), (WRITTEN, 100)] {
        let mut board = Board::new();
        THREE.iter().for_each(|line| board.log(line));
        board.0[word] = value;
        let before = board.0.clone();
        let mut tap = tap();
        assert_eq!(tap.read(&mut board).unwrap(), 0);
        tap.free_read(&mut board).unwrap();
        assert_eq!(board.0, before);
    }
}

#[test]
fn drops_that_no_line_announces_yet_are_known() {
    let mut board = Board::new();
    board.log(THREE[0]);
    board.0[PENDING] = 7;
    let mut tap = tap();
    tap.read(&mut board).unwrap();
    assert_eq!(tap.pending_drops(), 7);
}
