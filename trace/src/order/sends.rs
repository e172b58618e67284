//! A ring of sends that wait for their receives, each with its clock beside it.
use super::clock::LANES;
use super::taint::Taint;
use std::collections::VecDeque;

/// A send that its receive may still ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    /// Which message of its session.
    pub message: u32,
    /// The sender's event.
    pub number: u32,
    /// Whether something of its past is not known.
    pub tainted: bool,
    /// The clock of the send, and what lies after it.
    pub clock: &'a [[u32; LANES]],
}

/// Sends, oldest first, in one piece of memory: a piece that says which, then those of its clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Sends {
    words: Vec<[u32; LANES]>,
    /// Pieces of a send.
    slot: usize,
    /// Where the oldest is, and where the next will be.
    head: usize,
    tail: usize,
    len: usize,
    /// What is not known of the pasts of those that are tainted, in their order.
    taints: VecDeque<Box<Taint>>,
}

impl Sends {
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn push(&mut self, message: u32, number: u32, clock: &[[u32; LANES]], taint: Option<&Taint>) {
        if self.tail == self.head && (self.len != 0 || self.words.is_empty()) {
            self.grow(clock.len() + 1);
        }
        let Some((first, kept)) = self.words[self.tail..].split_first_mut() else { return };
        *first = [message, number, u32::from(taint.is_some()), 0];
        for (kept, new) in kept.iter_mut().zip(clock) {
            *kept = *new;
        }
        self.tail = self.after(self.tail);
        self.len += 1;
        if let Some(taint) = taint {
            self.taints.push_back(Box::new(taint.clone()));
        }
    }

    #[inline(always)]
    fn after(&self, place: usize) -> usize {
        let next = place + self.slot;
        if next == self.words.len() { 0 } else { next }
    }

    /// The oldest.
    #[inline(always)]
    pub fn front(&self) -> Option<Sent<'_>> {
        if self.len == 0 {
            return None;
        }
        let (&[message, number, tainted, _], clock) = self.words.get(self.head..)?.split_first()?;
        Some(Sent { message, number, tainted: tainted != 0, clock })
    }

    /// Drops the oldest, if nothing is in doubt about it.
    #[inline(always)]
    pub fn drop_clear(&mut self) {
        self.head = self.after(self.head);
        self.len -= 1;
    }

    /// Drops the oldest, of which there must be one. Gives what is not known of its past.
    pub fn pop(&mut self) -> Option<Box<Taint>> {
        let tainted = self.front().is_some_and(|front| front.tainted);
        self.drop_clear();
        if tainted { self.taints.pop_front() } else { None }
    }

    #[cold]
    fn grow(&mut self, slot: usize) {
        let full = self.words.len();
        self.slot = slot;
        // What lies before the head came after what lies behind it.
        self.words.rotate_left(self.head);
        self.words.resize((full * 2).max(4 * slot), [0; LANES]);
        (self.head, self.tail) = (0, full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Why;

    #[test]
    fn sends_come_out_as_they_went_in_however_the_ring_turns_and_grows() {
        let (mut sends, mut next, mut first) = (Sends::default(), 0, 0);
        for (pushed, taken) in [(3, 2), (3, 1), (9, 5), (40, 30), (1, 18)] {
            for _ in 0..pushed {
                let taint = Taint::new(2, 1, Some(next), Why::Before(1));
                sends.push(next, next + 7, &[[next; LANES]; 2], (next % 3 == 0).then_some(&taint));
                next += 1;
            }
            for _ in 0..taken {
                let front = sends.front().expect("as many are there as were put in");
                assert_eq!((front.message, front.number, front.tainted), (first, first + 7, first % 3 == 0));
                assert_eq!(front.clock[..2], [[first; LANES]; 2]);
                let taint = (first % 3 == 0).then(|| Box::new(Taint::new(2, 1, Some(first), Why::Before(1))));
                assert_eq!(sends.pop(), taint);
                first += 1;
            }
            assert_eq!(sends.len(), (next - first) as usize);
        }
        assert!(sends.front().is_none());
    }
}
