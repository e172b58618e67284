//! The ring of a channel as it lies in a board's memory, whatever its agents say of it.
use crate::{Memory, MemoryError};
use stillpoint_core::HaltId;
use stillpoint_core::control::RingLayout;

/// What a ring says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawRing {
    /// Messages ever put in.
    pub written: u32,
    /// Messages ever taken out.
    pub read: u32,
    /// The marker in the lane along it: of which halt, behind which message.
    pub marker: Option<(HaltId, u32)>,
    head: [u32; RingLayout::READ],
}

/// A ring and the messages in it, oldest first; `None` where there is no slot for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilledRing {
    pub ring: RawRing,
    pub messages: Vec<Option<Vec<u8>>>,
    /// The first of the messages, counted from 0, whose slot holds another message of the channel.
    pub displaced: Option<u32>,
}

impl FilledRing {
    /// Reads what is put in and not taken out.
    pub fn read(ring: RawRing, memory: &mut dyn Memory, address: u32) -> Result<Self, MemoryError> {
        let mut filled = Self { ring, messages: Vec::new(), displaced: None };
        // A ring that claims more than any can hold is wrong, and the certificate says so.
        for step in 0..ring.written.wrapping_sub(ring.read).min(1 << 16) {
            let number = ring.read.wrapping_add(step).wrapping_add(1);
            let slot = ring.slot(memory, address, number)?;
            let in_place = slot.as_ref().is_none_or(|(word, _)| RingLayout::is_in_place(*word, number));
            filled.displaced = filled.displaced.or((!in_place).then_some(step));
            filled.messages.push(slot.and_then(message_in));
        }
        Ok(filled)
    }
}

/// The bytes of the message in a slot, of its first word and the bytes behind it.
fn message_in((word, bytes): (u32, Vec<u8>)) -> Option<Vec<u8>> {
    let (begin, end) = RingLayout::limits(word);
    bytes.get(begin..end).map(<[u8]>::to_vec)
}

impl RawRing {
    pub fn read(memory: &mut dyn Memory, address: u32) -> Result<Self, MemoryError> {
        let mut head = [0; RingLayout::READ];
        memory.read(address, &mut head)?;
        Ok(Self::parse(head))
    }

    pub fn parse(head: [u32; RingLayout::READ]) -> Self {
        Self { written: head[0], read: head[1], marker: RingLayout::marker(&head), head }
    }

    /// Whether the last message put in is, byte for byte and stamp for stamp, the one before it.
    pub fn ends_twice(&self, memory: &mut dyn Memory, address: u32) -> Result<bool, MemoryError> {
        let last = self.message(memory, address, self.written)?;
        let before = self.message(memory, address, self.written.wrapping_sub(1))?;
        Ok(last.is_some() && last == before)
    }

    /// The bytes of a message by its number, if there is a slot for it.
    fn message(&self, memory: &mut dyn Memory, address: u32, number: u32) -> Result<Option<Vec<u8>>, MemoryError> {
        Ok(self.slot(memory, address, number)?.and_then(message_in))
    }

    /// The slot of a message by its number: its first word and the bytes behind it.
    fn slot(&self, memory: &mut dyn Memory, address: u32, number: u32) -> Result<Option<(u32, Vec<u8>)>, MemoryError> {
        let Some(slot) = RingLayout::slot(&self.head, number) else { return Ok(None) };
        let mut words = vec![0; (self.head[2] >> 18) as usize];
        memory.read(address + 4 * slot as u32, &mut words)?;
        let (word, bytes) = words.split_at(RingLayout::LIMITS);
        Ok(Some((word[0], bytes.iter().flat_map(|word| word.to_le_bytes()).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(Vec<u32>);

    impl Memory for Words {
        fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
            into.copy_from_slice(&self.0[address as usize / 4..][..into.len()]);
            Ok(())
        }
        fn write(&mut self, _: u32, _: &[u32]) -> Result<(), MemoryError> {
            unreachable!("nothing is written")
        }
    }

    /// A ring of two slots of eight bytes that holds these two messages.
    fn ring(messages: [&[u8; 4]; 2]) -> Words {
        let mut words = vec![6, 4, 12 << 16 | 2, 3, 0, 0, 4, 7, 6];
        words.resize(RingLayout::HEAD, 0);
        for (message, number) in messages.into_iter().zip(5..) {
            words.extend([RingLayout::slot_word(2, 6, number)]);
            let mut bytes = [0xEE; 8];
            bytes[2..6].copy_from_slice(message);
            words.extend(bytes.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())));
        }
        Words(words)
    }

    #[test]
    fn a_ring_is_read_as_it_lies_in_memory() {
        let ring = RawRing::read(&mut ring([b"abcd", b"efgh"]), 0).unwrap();
        assert_eq!((ring.written, ring.read, ring.marker), (6, 4, Some((HaltId(7), 6))));
    }

    #[test]
    fn only_a_message_that_is_the_one_before_it_ends_a_ring_twice() {
        let ends_twice = |mut words: Words| RawRing::read(&mut words, 0).unwrap().ends_twice(&mut words, 0).unwrap();
        assert!(!ends_twice(ring([b"abcd", b"abce"])));
        assert!(ends_twice(ring([b"abcd", b"abcd"])));
    }

    #[test]
    fn messages_that_changed_places_are_found_whatever_they_say() {
        let filled = |mut words: Words| {
            let ring = RawRing::read(&mut words, 0).unwrap();
            FilledRing::read(ring, &mut words, 0).unwrap()
        };
        let right = ring([b"abcd", b"abcd"]);
        assert_eq!(
            (filled(Words(right.0.clone())).displaced, filled(Words(right.0.clone())).messages.len()),
            (None, 2)
        );
        let mut swapped = right.0.clone();
        let (one, other) = swapped[RingLayout::HEAD..].split_at_mut(3);
        one.swap_with_slice(other);
        assert_eq!(filled(Words(swapped)).displaced, Some(0));
        // The second was never seen in memory: its slot still holds the message of the round before.
        let mut stale = right.0;
        stale[RingLayout::HEAD + 3] = RingLayout::slot_word(2, 6, 4);
        assert_eq!(filled(Words(stale)).displaced, Some(1));
    }

    #[test]
    fn memory_that_is_no_ring_holds_no_message() {
        let mut words = ring([b"abcd", b"abcd"]);
        words.0[2] = 0;
        let raw = RawRing::read(&mut words, 0).unwrap();
        assert!(!raw.ends_twice(&mut words, 0).unwrap());
    }
}
