//! A queue of byte strings in a fixed array, compared and hashed by what is in it and not by where.

use core::hash::{Hash, Hasher};

/// At most `F` bytes.
#[derive(Clone, Debug)]
pub(super) struct ByteString<const F: usize> {
    length: u8,
    bytes: [u8; F],
}

impl<const F: usize> ByteString<F> {
    pub(super) const EMPTY: Self = Self { length: 0, bytes: [0; F] };

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// Becomes a copy of `bytes`, unless they are too many.
    pub(super) fn set(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > F {
            return false;
        }
        self.length = bytes.len() as u8;
        for (to, from) in self.bytes.iter_mut().zip(bytes) {
            *to = *from;
        }
        true
    }
}

impl<const F: usize> PartialEq for ByteString<F> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl<const F: usize> Eq for ByteString<F> {}

impl<const F: usize> Hash for ByteString<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

/// At most `W` byte strings of at most `F` bytes, first in, first out.
#[derive(Clone, Debug)]
pub(super) struct Queue<const W: usize, const F: usize> {
    slots: [ByteString<F>; W],
    head: u8,
    length: u8,
}

impl<const W: usize, const F: usize> Queue<W, F> {
    pub(super) const fn new() -> Self {
        Self { slots: [const { ByteString::EMPTY }; W], head: 0, length: 0 }
    }

    fn free(&self) -> u8 {
        (W as u8).saturating_sub(self.length)
    }

    fn place(&self, index: u8) -> usize {
        let place = usize::from(self.head) + usize::from(index);
        if place >= W { place - W } else { place }
    }

    /// The byte string `index` places behind the front.
    pub(super) fn get(&self, index: u8) -> Option<&[u8]> {
        if index >= self.length {
            return None;
        }
        self.slots.get(self.place(index)).map(ByteString::bytes)
    }

    /// Appends a copy, unless the queue is full or the string too long.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let place = self.place(self.length);
        if self.free() == 0 || !self.slots.get_mut(place).is_some_and(|slot| slot.set(bytes)) {
            return false;
        }
        self.length += 1;
        true
    }

    /// Drops up to `count` byte strings from the front.
    pub(super) fn drop_front(&mut self, count: u8) {
        let count = count.min(self.length);
        self.head = self.place(count) as u8;
        self.length -= count;
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.length).filter_map(|index| self.get(index))
    }
}

impl<const W: usize, const F: usize> PartialEq for Queue<W, F> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<const W: usize, const F: usize> Eq for Queue<W, F> {}

impl<const W: usize, const F: usize> Hash for Queue<W, F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.length.hash(state);
        self.iter().for_each(|bytes| bytes.hash(state));
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn what_goes_in_first_comes_out_first_across_the_wrap_of_the_array() {
        let mut queue = Queue::<3, 4>::new();
        for round in 0..10_u8 {
            assert!(queue.push(&[round]));
            assert!(queue.push(&[round, 1]));
            assert_eq!(queue.get(0), Some(&[round][..]));
            assert_eq!(queue.get(1), Some(&[round, 1][..]));
            assert_eq!(queue.get(2), None);
            queue.drop_front(2);
        }
    }

    #[test]
    fn a_full_queue_and_a_string_too_long_are_refused_and_change_nothing() {
        let mut queue = Queue::<1, 2>::new();
        assert!(!queue.push(&[1, 2, 3]));
        assert!(queue.push(&[1, 2]));
        assert!(!queue.push(&[3]));
        assert_eq!((queue.free(), queue.get(0)), (0, Some(&[1, 2][..])));
        queue.drop_front(200);
        assert_eq!(queue.free(), 1);
    }

    #[test]
    fn queues_with_the_same_content_are_equal_wherever_it_lies_and_whatever_lay_there_before() {
        let mut moved = Queue::<2, 2>::new();
        moved.push(&[9, 9]);
        moved.drop_front(1);
        let fresh = Queue::new();
        assert!(moved == fresh);
        moved.push(&[1]);
        assert!(moved != fresh);
    }
}
