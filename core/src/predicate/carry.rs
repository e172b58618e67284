//! The stages that travel on the program's own messages.
use super::{Reached, ReachedError, SLOTS, SlotId, SlotSet};

/// What a message says about predicates: per slot the generation and the last stage satisfied before it was sent.
///
/// # Wire form
/// The number of entries, then the entries in ascending order of slots, each as [`Reached`] describes. Who has nothing
/// to say leaves the whole field out of the message rather than sending `00`.
///
/// | bytes | meaning |
/// |---|---|
/// | `00` | nothing |
/// | `01 04 07` | slot 0, generation 7: stage 1 |
/// | `02 08 07 0f ff` | slot 0, generation 7: stage 2; slot 3, generation 255: stage 3 |
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{Carry, Generation, Reached, SlotId};
/// let mut carry = Carry::EMPTY;
/// carry.set(Reached::new(SlotId::ALL[3], Generation(255), 3)?);
/// carry.set(Reached::new(SlotId::ALL[0], Generation(7), 2)?);
/// let mut bytes = [0; Carry::MAX_BYTES];
/// let len = carry.encode(&mut bytes)?;
/// assert_eq!(bytes[..len], [0x02, 0x08, 0x07, 0x0f, 0xff]);
/// assert_eq!(Carry::decode(&bytes)?, (carry, len));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Carry {
    slots: SlotSet,
    /// The wire form of the slots in the set; zero for the others.
    entries: [[u8; 2]; SLOTS],
}

impl Carry {
    /// Nothing to say.
    pub const EMPTY: Self = Self { slots: SlotSet::EMPTY, entries: [[0; 2]; SLOTS] };

    /// The longest wire form.
    pub const MAX_BYTES: usize = 1 + 2 * SLOTS;

    /// Whether it says nothing, so that the message needs no such field.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many bytes [`encode`](Self::encode) writes.
    #[inline]
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        1 + 2 * self.slots.len()
    }

    /// Says this about its slot, instead of what was said before.
    #[inline]
    pub fn set(&mut self, reached: Reached) {
        self.slots = self.slots.with(reached.slot());
        self.entries[reached.slot().index()] = reached.to_bytes();
    }

    /// What it says, in ascending order of slots.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Reached> {
        self.slots.iter().map(|slot| Reached::from_own_bytes(self.entries[slot.index()]))
    }

    /// Writes the wire form to the start of `out` and says how long it is.
    ///
    /// # Errors
    /// `out` is too short; nothing was written.
    #[inline]
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, CarryEncodeError> {
        let needed = self.encoded_len();
        let Some((count, entries)) = out.get_mut(..needed).and_then(<[u8]>::split_first_mut) else {
            return Err(CarryEncodeError::NoSpace { needed });
        };
        *count = self.slots.len() as u8;
        for (slot, place) in self.slots.iter().zip(entries.as_chunks_mut().0) {
            *place = self.entries[slot.index()];
        }
        Ok(needed)
    }

    /// Reads the wire form from the start of `bytes`; also says how long it is.
    ///
    /// # Errors
    /// What is wrong with the bytes; see [`CarryDecodeError`].
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), CarryDecodeError> {
        let (&count, rest) = bytes.split_first().ok_or(CarryDecodeError::Truncated { needed: 1 })?;
        if usize::from(count) > SLOTS {
            return Err(CarryDecodeError::TooMany(count));
        }
        let needed = 1 + 2 * usize::from(count);
        let entries = rest.get(..needed - 1).ok_or(CarryDecodeError::Truncated { needed })?;
        let mut carry = Self::EMPTY;
        let mut last: Option<SlotId> = None;
        for &entry in entries.as_chunks().0 {
            let reached = Reached::from_bytes(entry).map_err(CarryDecodeError::Entry)?;
            if last >= Some(reached.slot()) {
                return Err(CarryDecodeError::OutOfOrder(reached.slot()));
            }
            last = Some(reached.slot());
            carry.set(reached);
        }
        Ok((carry, needed))
    }
}

/// Why a [`Carry`] could not be written.
///
/// # Example: no space
/// ```
/// use stillpoint_core::predicate::{Carry, Generation, Reached, SlotId};
/// let mut carry = Carry::EMPTY;
/// carry.set(Reached::new(SlotId::ALL[0], Generation(1), 1).unwrap());
/// assert!(carry.encode(&mut [0; 1]).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CarryEncodeError {
    /// Give it this much space; [`Carry::MAX_BYTES`] is always enough.
    NoSpace {
        /// Bytes needed.
        needed: usize,
    },
}

/// Why bytes are not a [`Carry`].
///
/// # Example: nothing to read
/// ```
/// use stillpoint_core::predicate::Carry;
/// assert!(Carry::decode(&[]).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CarryDecodeError {
    /// The message ends before the entries it announces.
    Truncated {
        /// Bytes needed.
        needed: usize,
    },
    /// More entries than there are slots.
    TooMany(u8),
    /// A slot appears twice or after a higher one.
    OutOfOrder(SlotId),
    /// An entry is malformed.
    Entry(ReachedError),
    /// What it says of a simultaneous event is malformed; the first byte.
    BadValues(u8),
}

impl core::fmt::Display for CarryEncodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self::NoSpace { needed } = self;
        write!(f, "no space for the {needed} bytes of predicate stages: provide {} bytes", Carry::MAX_BYTES)
    }
}

impl core::fmt::Display for CarryDecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Truncated { needed } => write!(f, "the predicate stages need {needed} bytes: discard the message"),
            Self::TooMany(count) => write!(f, "{count} predicate stages for {SLOTS} slots: discard the message"),
            Self::OutOfOrder(slot) => {
                write!(f, "slot {} twice or out of order: discard the message", slot.number())
            }
            Self::Entry(error) => error.fmt(f),
            Self::BadValues(first) => {
                write!(f, "{first:#04x} begins no values of a simultaneous event: discard the message")
            }
        }
    }
}

impl core::error::Error for CarryEncodeError {}
impl core::error::Error for CarryDecodeError {}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::predicate::{Generation, MAX_STAGES};
    use stillpoint_test::test;

    fn full() -> Carry {
        let mut carry = Carry::EMPTY;
        for slot in SlotId::ALL {
            carry.set(Reached::new(slot, Generation(0xf0 | slot.number()), MAX_STAGES - slot.number()).unwrap());
        }
        carry
    }

    #[test]
    fn the_examples_in_the_documentation_decode() {
        assert_eq!(Carry::decode(&[0]), Ok((Carry::EMPTY, 1)));
        let (one, len) = Carry::decode(&[0x01, 0x04, 0x07, 0xaa]).unwrap();
        assert_eq!(len, 3);
        assert!(one.iter().eq([Reached::new(SlotId::ALL[0], Generation(7), 1).unwrap()]));
    }

    #[test]
    fn a_full_carry_survives_the_wire_and_every_shorter_prefix_is_refused() {
        let mut bytes = [0; Carry::MAX_BYTES];
        assert_eq!(full().encode(&mut bytes), Ok(Carry::MAX_BYTES));
        assert_eq!(Carry::decode(&bytes), Ok((full(), Carry::MAX_BYTES)));
        for len in 0..Carry::MAX_BYTES {
            let needed = if len == 0 { 1 } else { Carry::MAX_BYTES };
            assert_eq!(Carry::decode(&bytes[..len]), Err(CarryDecodeError::Truncated { needed }));
            let refused = Err(CarryEncodeError::NoSpace { needed: Carry::MAX_BYTES });
            assert_eq!(full().encode(&mut [0; Carry::MAX_BYTES][..len]), refused);
        }
    }

    #[test]
    fn malformed_carries_are_refused_with_the_reason() {
        assert_eq!(Carry::decode(&[5, 4, 0, 5, 0, 6, 0, 7, 0, 4, 0]), Err(CarryDecodeError::TooMany(5)));
        assert_eq!(Carry::decode(&[2, 4, 0, 4, 0]), Err(CarryDecodeError::OutOfOrder(SlotId::ALL[0])));
        assert_eq!(Carry::decode(&[2, 5, 0, 4, 0]), Err(CarryDecodeError::OutOfOrder(SlotId::ALL[0])));
        assert_eq!(Carry::decode(&[1, 1, 0]), Err(CarryDecodeError::Entry(ReachedError::Stage(0))));
        assert_eq!(Carry::decode(&[1, 0x84, 0]), Err(CarryDecodeError::Entry(ReachedError::Reserved(0x84))));
    }

    #[test]
    fn a_slot_is_said_once_the_last_word_counts() {
        let mut carry = full();
        let newer = Reached::new(SlotId::ALL[2], Generation(0), 1).unwrap();
        carry.set(newer);
        assert_eq!(carry.iter().filter(|reached| reached.slot() == SlotId::ALL[2]).count(), 1);
        assert_eq!(carry.iter().nth(2), Some(newer));
    }
}
