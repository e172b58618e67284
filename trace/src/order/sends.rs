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
    /// One if something of its past is not known.
    tainted: u32,
    /// The clock of the send, and what lies after it.
    pub clock: &'a [[u32; LANES]],
}

/// Sends, oldest first, in one piece of memory: a piece that says which, then those of its clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Sends {
    words: Vec<[u32; LANES]>,
    /// From one send to the next: a power of two, as is all of the room.
    slot: u32,
    /// The pieces that were taken out, and put in. Their places follow from that.
    head: u32,
    tail: u32,
    /// What of such a count is the place.
    mask: u32,
    /// What is not known of the pasts of those that are tainted, in their order.
    taints: VecDeque<Box<Taint>>,
}

impl Sends {
    pub fn len(&self) -> usize {
        (self.tail.wrapping_sub(self.head) / self.slot.max(1)) as usize
    }

    /// Whether there is no room for another.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.tail.wrapping_sub(self.head) >= self.mask
    }

    /// Keeps a send, for which there must be room and of whose past nothing is in doubt.
    #[inline(always)]
    pub fn push_clear<const P: usize>(&mut self, message: u32, number: u32, clock: &[[u32; LANES]; P]) {
        let place = (self.tail & self.mask) as usize;
        let Some([which, kept @ ..]) = self.words.get_mut(place..place + 1 + P) else { return };
        let Some(kept) = kept.first_chunk_mut() else { return };
        (*which, *kept) = ([message, 0, number, 0], *clock);
        self.tail = self.tail.wrapping_add(self.slot);
    }

    /// Keeps a send, for which there must be room.
    pub fn push(&mut self, message: u32, number: u32, clock: &[[u32; LANES]], taint: Option<&Taint>) {
        let place = (self.tail & self.mask) as usize;
        let Some([which, kept @ ..]) = self.words.get_mut(place..) else { return };
        *which = [message, u32::from(taint.is_some()), number, 0];
        kept.iter_mut().zip(clock).for_each(|(kept, new)| *kept = *new);
        self.tail = self.tail.wrapping_add(self.slot);
        if let Some(taint) = taint {
            self.taints.push_back(Box::new(taint.clone()));
        }
    }

    /// The oldest.
    #[inline(always)]
    pub fn front(&self) -> Option<Sent<'_>> {
        if self.head == self.tail {
            return None;
        }
        let (&[message, tainted, number, _], clock) =
            self.words.get((self.head & self.mask) as usize..)?.split_first()?;
        Some(Sent { message, number, tainted, clock })
    }

    /// The oldest, if it is this message and nothing of its past is in doubt: the sender's event, and its clock.
    #[inline(always)]
    pub fn clear_front<const P: usize>(&self, message: u32) -> Option<(u32, &[[u32; LANES]; P])> {
        let place = (self.head & self.mask) as usize;
        let [which, clock @ ..] = self.words.get(place..place + 1 + P)? else { return None };
        let [first, tainted, number, _] = *which;
        // Compared at once.
        let is_clear = (u64::from(tainted) << 32 | u64::from(first)) == u64::from(message);
        if is_clear && self.head != self.tail { Some((number, clock.first_chunk()?)) } else { None }
    }

    /// Drops the oldest, if nothing is in doubt about it.
    #[inline(always)]
    pub fn drop_clear(&mut self) {
        self.head = self.head.wrapping_add(self.slot);
    }

    /// Drops the oldest, of which there must be one. Gives what is not known of its past.
    pub fn pop(&mut self) -> Option<Box<Taint>> {
        let tainted = self.front().is_some_and(|front| front.tainted != 0);
        self.drop_clear();
        if tainted { self.taints.pop_front() } else { None }
    }

    /// Makes room for twice as many, each with a clock of so many pieces.
    pub fn grow(&mut self, pieces: usize) {
        let slot = (pieces + 1).next_power_of_two();
        let room = (self.words.len() * 2).max(4 * slot);
        let old = std::mem::replace(&mut self.words, vec![[0; LANES]; room]);
        let (old_mask, mask) = (self.mask as usize, self.words.len() - 1);
        for place in (self.head as usize..).take(if old.is_empty() { 0 } else { self.len() * slot }) {
            self.words[place & mask] = old[place & old_mask];
        }
        (self.slot, self.mask) = (slot as u32, mask as u32);
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
                if sends.is_full() {
                    sends.grow(2);
                }
                sends.push(next, next + 7, &[[next; LANES]; 2], (next % 3 == 0).then_some(&taint));
                next += 1;
            }
            for _ in 0..taken {
                let front = sends.front().expect("as many are there as were put in");
                assert_eq!((front.message, front.number, front.tainted != 0), (first, first + 7, first % 3 == 0));
                let clock = [[first; LANES]; 2];
                let clear = (first % 3 != 0).then_some((first + 7, &clock));
                assert_eq!((sends.clear_front(first), sends.clear_front::<2>(first + 1)), (clear, None));
                assert_eq!(front.clock[..2], [[first; LANES]; 2]);
                let taint = (first % 3 == 0).then(|| Box::new(Taint::new(2, 1, Some(first), Why::Before(1))));
                assert_eq!(sends.pop(), taint);
                first += 1;
            }
            assert_eq!(sends.len(), (next - first) as usize);
        }
        assert!(sends.front().is_none() && sends.clear_front::<2>(first - 1).is_none());
    }
}
