//! Where a core's lines stand in the causal order: the clock of its node, written before each line.
use core::cell::Cell;

/// Whoever knows where the node of a core stands.
pub trait Standing: Sync {
    /// Puts the clock of the calling core's node, whole or what changed since it was put last, with that core's
    /// interrupts masked. False, and nothing is put, if the node cannot be asked now.
    fn place(&self, whole: bool, put: &mut dyn FnMut(&[u8])) -> bool;
}

/// Lines between two whole clocks, at most: a reader keeps so many in the ring, to have where to begin.
const LINES: u8 = 16;

/// A line of which nothing is known.
const BARE: u8 = 0;

/// Whom one core asks where its node stands, and when all of it was told last.
pub(super) struct Place {
    standing: Cell<Option<&'static dyn Standing>>,
    /// How many lines may follow before the clock is put whole again.
    left: Cell<u8>,
    /// Where the last whole clock lies in the ring, counted for ever.
    whole_at: Cell<u32>,
}

impl Place {
    /// Nobody is asked.
    pub const fn new() -> Self {
        Self { standing: Cell::new(None), left: Cell::new(0), whole_at: Cell::new(0) }
    }

    /// Has `standing` be asked from now on.
    pub fn ask(&self, standing: &'static dyn Standing) {
        self.standing.set(Some(standing));
        self.lost();
    }

    /// Puts what comes before a line that begins at `at`, with a whole clock at least once in `stretch` bytes: what a
    /// reader keeps must leave room for more.
    pub fn begin(&self, at: u32, stretch: u32, put: &mut dyn FnMut(&[u8])) {
        let whole = self.left.get() == 0 || at.wrapping_sub(self.whole_at.get()) >= stretch;
        if !self.standing.get().is_some_and(|standing| standing.place(whole, put)) {
            put(&[BARE]);
            return self.lost();
        }
        if whole {
            self.whole_at.set(at);
        }
        self.left.set(if whole { LINES - 1 } else { self.left.get() - 1 });
    }

    /// The line did not come into the ring: what the next one says must not rely on it.
    pub fn lost(&self) {
        self.left.set(0);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::vec::Vec;

    /// Says 3 for a whole clock and 2 for what changed, unless it is busy.
    struct Clock {
        is_busy: AtomicBool,
    }

    impl Standing for Clock {
        fn place(&self, whole: bool, put: &mut dyn FnMut(&[u8])) -> bool {
            let is_busy = self.is_busy.load(Ordering::Relaxed);
            if !is_busy {
                put(&[if whole { 3 } else { 2 }]);
            }
            !is_busy
        }
    }

    fn begin(place: &Place, at: u32) -> u8 {
        let mut said = Vec::new();
        place.begin(at, 1000, &mut |bytes| said.extend_from_slice(bytes));
        assert_eq!(said.len(), 1);
        said[0]
    }

    #[test]
    fn a_clock_is_whole_at_first_after_a_loss_and_every_so_many_lines_or_bytes() {
        static CLOCK: Clock = Clock { is_busy: AtomicBool::new(false) };
        let place = Place::new();
        assert_eq!(begin(&place, 0), BARE, "nobody knows");
        place.ask(&CLOCK);
        let said: Vec<u8> = (0..34).map(|line| begin(&place, line)).collect();
        let whole: Vec<usize> = said.iter().enumerate().filter(|(_, tag)| **tag == 3).map(|(line, _)| line).collect();
        assert_eq!(whole, [0, 16, 32]);
        place.lost();
        assert_eq!([begin(&place, 100), begin(&place, 101)], [3, 2]);
        assert_eq!([begin(&place, 1099), begin(&place, 1100), begin(&place, 1101)], [2, 3, 2]);
    }

    #[test]
    fn a_node_that_cannot_be_asked_leaves_a_bare_line_and_a_whole_clock_behind_it() {
        static CLOCK: Clock = Clock { is_busy: AtomicBool::new(false) };
        let place = Place::new();
        place.ask(&CLOCK);
        assert_eq!([begin(&place, 0), begin(&place, 1)], [3, 2]);
        CLOCK.is_busy.store(true, Ordering::Relaxed);
        assert_eq!(begin(&place, 2), BARE);
        CLOCK.is_busy.store(false, Ordering::Relaxed);
        assert_eq!([begin(&place, 3), begin(&place, 4)], [3, 2]);
    }
}
