//! Notices and passages as bytes; `docs/WIRE.md` has the tables.
use super::{Delay, Notice, Passage, Step, ThreadId, ThreadSet};
use core::fmt;

/// Set in the first byte of a passage by a return, of a notice by a suspension.
const FLAG: u8 = 0x80;
const THREAD: u8 = 0x1F;

/// Why bytes are no notice or passage.
///
/// # Example
/// ```
/// use stillpoint_core::delay::{DelayDecodeError, Passage};
/// assert_eq!(Passage::from_bytes([0xFF; Passage::BYTES]), Err(DelayDecodeError::Head(0xFF)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DelayDecodeError {
    /// No notice or passage begins with this byte.
    Head(u8),
    /// A notice that begins so has another length.
    Length(usize),
}

impl fmt::Display for DelayDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(head) => {
                write!(f, "nothing about a thread begins with {head:#04x}: the peer is of another version")
            }
            Self::Length(length) => write!(f, "{length} bytes are no notice: the peer is of another version"),
        }
    }
}

impl core::error::Error for DelayDecodeError {}

impl Delay {
    const BYTES: usize = 12;

    const fn to_bytes(self) -> [u8; Self::BYTES] {
        let [a, b, c, d] = self.turn.to_le_bytes();
        let [e, f, g, h, i, j, k, l] = self.ticks.to_le_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l]
    }

    const fn from_bytes([a, b, c, d, ticks @ ..]: [u8; Self::BYTES]) -> Self {
        Self { turn: u32::from_le_bytes([a, b, c, d]), ticks: u64::from_le_bytes(ticks) }
    }
}

fn split_head(head: u8) -> Result<(ThreadId, bool), DelayDecodeError> {
    if head & !(FLAG | THREAD) == 0 {
        Ok((ThreadId(head & THREAD), head & FLAG != 0))
    } else {
        Err(DelayDecodeError::Head(head))
    }
}

impl Passage {
    /// How many bytes a passage takes.
    pub const BYTES: usize = 1 + Delay::BYTES;

    /// The bytes that travel in front of a request or reply. Threads have numbers below 32.
    ///
    /// # Example: over and back
    /// ```
    /// use stillpoint_core::delay::{Delay, Passage, Step, ThreadId};
    /// let passage = Passage { thread: ThreadId(3), step: Step::Return, delay: Delay { ticks: 9, turn: 2 } };
    /// assert_eq!(Passage::from_bytes(passage.to_bytes()), Ok(passage));
    /// ```
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let flag = if self.step == Step::Return { FLAG } else { 0 };
        let mut bytes = [flag | self.thread.0 & THREAD; Self::BYTES];
        let [_, rest @ ..] = &mut bytes;
        *rest = self.delay.to_bytes();
        bytes
    }

    /// The passage that bytes are.
    pub fn from_bytes([head, delay @ ..]: [u8; Self::BYTES]) -> Result<Self, DelayDecodeError> {
        let (thread, returns) = split_head(head)?;
        let step = if returns { Step::Return } else { Step::Call };
        Ok(Self { thread, step, delay: Delay::from_bytes(delay) })
    }
}

impl Notice {
    /// The most bytes that a notice takes.
    pub const MAX_BYTES: usize = 1 + Delay::BYTES + 4;

    /// The bytes of a notice, in the front of an array, and how many they are. Threads have numbers below 32.
    ///
    /// # Example: over and back
    /// ```
    /// use stillpoint_core::delay::{Delay, Notice, ThreadId};
    /// let notice = Notice::Resumed { thread: ThreadId(3), delay: Delay { ticks: 9, turn: 2 } };
    /// let (bytes, length) = notice.to_bytes();
    /// assert_eq!(Notice::from_bytes(&bytes[..length]), Ok(notice));
    /// ```
    #[must_use]
    pub fn to_bytes(self) -> ([u8; Self::MAX_BYTES], usize) {
        let (flag, waits_for) = match self {
            Self::Suspended { waits_for, .. } => (FLAG, waits_for),
            Self::Resumed { .. } => (0, ThreadSet::EMPTY),
        };
        let head = [flag | self.thread().0 & THREAD];
        let all = head.into_iter().chain(self.delay().to_bytes()).chain(waits_for.0.to_le_bytes());
        let mut bytes = [0; Self::MAX_BYTES];
        bytes.iter_mut().zip(all).for_each(|(byte, value)| *byte = value);
        (bytes, if flag == 0 { 1 + Delay::BYTES } else { Self::MAX_BYTES })
    }

    /// The notice that bytes are, all of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DelayDecodeError> {
        let wrong_length = DelayDecodeError::Length(bytes.len());
        let (head, rest) = bytes.split_first().ok_or(wrong_length)?;
        let (thread, suspended) = split_head(*head)?;
        let (delay, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
        let delay = Delay::from_bytes(*delay);
        match (suspended, rest) {
            (false, []) => Ok(Self::Resumed { thread, delay }),
            (true, [a, b, c, d]) => {
                let waits_for = ThreadSet(u32::from_le_bytes([*a, *b, *c, *d]));
                Ok(Self::Suspended { thread, delay, waits_for })
            }
            _ => Err(wrong_length),
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    const DELAY: Delay = Delay { ticks: 0x0102_0304_0506_0708, turn: 0xA0B0_C0D0 };

    #[test]
    fn everything_about_a_thread_comes_back_as_it_went() {
        for thread in (0..32).map(ThreadId) {
            for step in [Step::Call, Step::Return] {
                let passage = Passage { thread, step, delay: DELAY };
                assert_eq!(Passage::from_bytes(passage.to_bytes()), Ok(passage));
            }
            let waits_for = ThreadSet(0x8000_0001);
            for notice in
                [Notice::Suspended { thread, delay: DELAY, waits_for }, Notice::Resumed { thread, delay: DELAY }]
            {
                let (bytes, length) = notice.to_bytes();
                assert_eq!(Notice::from_bytes(&bytes[..length]), Ok(notice));
            }
        }
    }

    #[test]
    fn a_notice_of_any_other_length_is_refused() {
        let suspended = Notice::Suspended { thread: ThreadId(1), delay: DELAY, waits_for: ThreadSet::EMPTY };
        for notice in [suspended, Notice::Resumed { thread: ThreadId(1), delay: DELAY }] {
            let (bytes, right) = notice.to_bytes();
            let padded: [u8; 20] = core::array::from_fn(|place| bytes.get(place).copied().unwrap_or(0));
            for length in (0..=20).filter(|length| *length != right) {
                assert_eq!(Notice::from_bytes(&padded[..length]), Err(DelayDecodeError::Length(length)));
            }
        }
    }

    #[test]
    fn a_head_with_bits_that_mean_nothing_is_refused() {
        for head in [0x20, 0x40, 0xE1, 0xFF] {
            assert_eq!(Passage::from_bytes([head; 13]), Err(DelayDecodeError::Head(head)));
            assert_eq!(Notice::from_bytes(&[head; 13]), Err(DelayDecodeError::Head(head)));
        }
    }
}
