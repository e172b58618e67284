//! The stamp at the front of a message, before it is received.
use super::StampError;
use super::wire::{Body, CARRY, FORM, FORM_SHORT, Parsed, Short, mask_bytes, words_of};
use crate::predicate::{Load, Values};
use crate::{EventNumber, NodeId};

/// What a message begins with, told apart from its payload before it is received.
///
/// # Example: the payload follows
/// ```
/// use stillpoint_core::MessageStamp;
/// let message = [0x46, 1, 5, b'h', b'i'];
/// let stamp = MessageStamp::read::<4>(&message).unwrap();
/// assert_eq!(&message[stamp.len()..], b"hi");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MessageStamp<'a> {
    message: &'a [u8],
    length: usize,
    /// The entries of a short stamp, of which nothing is left to check but what the channel knows; 0 for any other.
    mask: u32,
}

impl<'a> MessageStamp<'a> {
    /// Reads what `message` begins with, in a system of `N` nodes. `None` if such a system sends nothing of the kind.
    #[must_use]
    #[inline]
    pub fn read<const N: usize>(message: &'a [u8]) -> Option<Self> {
        match message.split_first() {
            Some((head, rest)) if head & (FORM | CARRY) == FORM_SHORT => {
                let short = Short::parse::<N>(*head, rest).ok()?;
                Some(Self { message, length: short.length::<N>(), mask: short.mask })
            }
            _ => Some(Self { message, length: any_stamp_len::<N>(message)?, mask: 0 }),
        }
    }

    /// Its length: the payload follows.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no stamp is empty")]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// The whole message.
    #[must_use]
    #[inline]
    pub const fn message(&self) -> &'a [u8] {
        self.message
    }

    /// A short stamp that something follows, and that. `None` for any other.
    pub(crate) fn short_with_load<const N: usize>(&self) -> Option<(Short<'a>, &'a [u8])> {
        let (head, rest) = self.message.split_first()?;
        if head & (FORM | CARRY) != FORM_SHORT | CARRY {
            return None;
        }
        let short = Short::parse::<N>(*head, rest).ok()?;
        let load = self.message.get(short.length::<N>()..self.length)?;
        Some((short, load))
    }

    /// Whether stages of causal predicates follow.
    #[inline]
    pub(crate) fn carries(&self) -> bool {
        self.message.first().is_none_or(|first| first & CARRY != 0)
    }

    /// The short stamp, if it is one. `N` is that of [`read`](Self::read).
    #[inline(always)]
    pub(crate) fn short<const N: usize>(&self) -> Option<Short<'a>> {
        if self.mask == 0 {
            return None;
        }
        Some(Short { mask: self.mask, differences: self.message.get(1 + mask_bytes(N)..self.length)? })
    }
}

#[inline(never)]
fn any_stamp_len<const N: usize>(message: &[u8]) -> Option<usize> {
    // One component of a simultaneous event behind a short stamp, which is what most messages that carry anything carry.
    if let Some((head, rest)) = message.split_first().filter(|(head, _)| **head & (FORM | CARRY) == FORM_SHORT | CARRY)
    {
        let stamp = Short::parse::<N>(*head, rest).ok()?.length::<N>();
        if let Some(load) = message.get(stamp..).and_then(Values::one_len) {
            return Some(stamp + load);
        }
    }
    message_stamp_len::<N>(message).ok()
}

/// The length of everything that a message of a system of `N` nodes carries before its payload.
///
/// # Example: a message with an event stamp
/// ```
/// assert_eq!(stillpoint_core::message_stamp_len::<4>(&[3, b'h', b'i']), Ok(1));
/// ```
#[inline]
pub fn message_stamp_len<const N: usize>(message: &[u8]) -> Result<usize, StampError> {
    let stamp = stamp_len::<N>(message)?;
    if message.first().is_none_or(|first| first & CARRY == 0) {
        return Ok(stamp);
    }
    let carry = message.get(stamp..).ok_or(StampError::Truncated)?;
    Load::decode(carry).map(|load| stamp + load.length).map_err(|_| StampError::Truncated)
}

/// What a stamp says of the event of its sender that it belongs to.
///
/// # Example: the second event after that of the message before
/// ```
/// use stillpoint_core::{NodeId, SenderNumber};
/// assert_eq!(SenderNumber::read::<4>(&[2, b'h', b'i'], NodeId(0)), Ok(SenderNumber::After(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderNumber {
    /// The number itself: in full stamps and large steps.
    Is(EventNumber),
    /// How far it is after that of the message before on the same channel.
    After(u32),
}

impl SenderNumber {
    /// Reads it from the front of a message of a system of `N` nodes. A stamp without its sender's entry says `After(0)`,
    /// which no sender says.
    ///
    /// # Errors
    /// [`StampError`] if the message does not begin with a stamp.
    pub fn read<const N: usize>(message: &[u8], sender: NodeId) -> Result<Self, StampError> {
        let bit = 1u32 << (sender.0 & 31);
        let place = |mask: u32| (mask & bit != 0).then(|| (mask & (bit - 1)).count_ones() as usize);
        Ok(match Parsed::<N>::parse(message)?.body {
            Body::Event(difference) => Self::After(difference.into()),
            Body::Number(number) => Self::Is(EventNumber(number)),
            Body::Words(mask, words) => match place(mask).and_then(|place| words_of(words).nth(place)) {
                Some(number) => Self::Is(EventNumber(number)),
                None => Self::After(0),
            },
            Body::Short => {
                let (head, rest) = message.split_first().ok_or(StampError::Truncated)?;
                let short = Short::parse::<N>(*head, rest)?;
                let difference = place(short.mask).and_then(|place| short.differences.get(place).copied());
                Self::After(difference.unwrap_or(0).into())
            }
        })
    }
}

/// The length of the stamp at the front of `bytes`, in a system of `N` nodes.
pub(crate) fn stamp_len<const N: usize>(bytes: &[u8]) -> Result<usize, StampError> {
    Parsed::<N>::parse(bytes).map(|parsed| parsed.length)
}
