//! Lines of text between the events of a node: where each of them stands in the causal order.
//!
//! A node's text log is a stream of items. Each is one line in whatever encoding the logger has, preceded by the node's
//! clock when the line was written. So a host can put the lines of all nodes into an order that no message contradicts,
//! whether or not the nodes record their events: a line that was written after event `n` of its node, and before the
//! next, happened before every line whose clock knows more than `n` events of that node.
//!
//! The clock is written as what changed since the item before. Now and then, and after anything was lost, it is written
//! whole, so that a reader can begin there. The wire form is in `docs/WIRE.md`.
use super::varint::{self, Stop};
use crate::MAX_NODES;
use core::fmt;

/// The line follows, and nothing is known of where its node stood.
const BARE: u8 = 0;
/// How many lines were dropped before this one.
const DROPPED: u8 = 1;
/// What changed in the clock since the item before.
const CHANGES: u8 = 2;
/// All entries of the clock that are not zero.
const WHOLE: u8 = 3;

/// Writes where the lines of one node stand.
///
/// # Example: a line, and one more after an event
/// ```
/// use stillpoint_core::log::TextPlacer;
/// let mut placer = TextPlacer::<2>::new();
/// let mut said = Vec::new();
/// placer.place(true, &[5, 1], |byte| said.push(byte));
/// placer.place(false, &[6, 1], |byte| said.push(byte));
/// assert_eq!(said, [3, 0b11, 5, 1, 2, 0b01, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPlacer<const N: usize> {
    told: [u32; N],
}

impl<const N: usize> TextPlacer<N> {
    /// One that has told nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { told: [0; N] }
    }

    /// Puts the beginning of an item, up to its line. Whoever lost what the last call put asks for a `whole` clock next.
    pub fn place(&mut self, whole: bool, clock: &[u32; N], mut put: impl FnMut(u8)) {
        if whole {
            self.told = [0; N];
        }
        put(if whole { WHOLE } else { CHANGES });
        let mut mask = 0;
        for (node, (told, now)) in self.told.iter().zip(clock).enumerate() {
            mask |= u32::from(told != now) << (node & 31);
        }
        varint::put(mask, &mut put);
        for (told, now) in self.told.iter_mut().zip(clock) {
            if told != now {
                varint::put(now.wrapping_sub(*told), &mut put);
                *told = *now;
            }
        }
    }
}

impl<const N: usize> Default for TextPlacer<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// One line and where it stands.
///
/// # Example: a line of a node that has not begun
/// ```
/// use stillpoint_core::log::TextReader;
/// let (item, length) = TextReader::new().next(&[0, 0x68, 0x69, 0]).unwrap().unwrap();
/// assert_eq!((item.line, item.clock, length), (&[0x68, 0x69, 0][..], None, 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextItem<'a> {
    /// How many lines were dropped before this one, because the ring was full.
    pub dropped: u32,
    /// The node's clock when the line was written, with zeros for nodes that the system does not have; `None` if the
    /// node had not begun, or the reader has not met a whole clock yet.
    pub clock: Option<[u32; MAX_NODES]>,
    /// Whether a reader that knows nothing can begin with this item.
    pub is_beginning: bool,
    /// The line, up to and with the zero that ends it.
    pub line: &'a [u8],
}

/// Why bytes are no text log.
///
/// # Example: bytes of something else
/// ```
/// use stillpoint_core::log::{TextError, TextReader};
/// assert_eq!(TextReader::new().next(&[0x77, 1, 2]), Err(TextError::UnknownTag(0x77)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TextError {
    /// No item begins like this.
    UnknownTag(u8),
    /// A number is longer than 32 bits.
    NumberTooLong,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTag(tag) => {
                write!(f, "no text begins with {tag:#04x}: the text log is damaged or of another version")
            }
            Self::NumberTooLong => f.write_str("a number in the text log is longer than 32 bits: the log is damaged"),
        }
    }
}

impl core::error::Error for TextError {}

/// Reads the text log of one node.
///
/// # Example: what changed since the line before
/// ```
/// use stillpoint_core::log::TextReader;
/// let mut reader = TextReader::new();
/// reader.next(&[3, 0b11, 5, 1, 0x68, 0]).unwrap();
/// let (item, _) = reader.next(&[2, 0b01, 1, 0x69, 0]).unwrap().unwrap();
/// assert_eq!(item.clock.unwrap()[..2], [6, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextReader {
    clock: Option<[u32; MAX_NODES]>,
}

impl TextReader {
    /// A reader that has read nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { clock: None }
    }

    /// Reads the next item and says how many bytes it took. `None` when the bytes end before the item does.
    ///
    /// After an error the reader is as before; skip to behind the next zero and go on with a new one.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<(TextItem<'a>, usize)>, TextError> {
        match self.read(bytes) {
            Ok((item, length)) => {
                self.clock = item.clock;
                Ok(Some((item, length)))
            }
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    fn read<'a>(&self, bytes: &'a [u8]) -> Result<(TextItem<'a>, usize), Option<TextError>> {
        let mut rest = bytes;
        let mut tag = take_byte(&mut rest)?;
        let mut dropped = 0;
        if tag == DROPPED {
            dropped = take_number(&mut rest)?;
            tag = take_byte(&mut rest)?;
        }
        let clock = match tag {
            BARE => None,
            WHOLE => Some(take_changes(&mut rest, [0; MAX_NODES])?),
            CHANGES => {
                let changed = take_changes(&mut rest, self.clock.unwrap_or([0; MAX_NODES]))?;
                self.clock.map(|_| changed)
            }
            tag => return Err(Some(TextError::UnknownTag(tag))),
        };
        // An encoder may put a zero before its first line, to end what somebody else began.
        while let Some((0, after)) = rest.split_first() {
            rest = after;
        }
        let end = rest.iter().position(|byte| *byte == 0).ok_or(None)?;
        let (line, after) = rest.split_at_checked(end + 1).ok_or(None)?;
        Ok((TextItem { dropped, clock, is_beginning: tag != CHANGES, line }, bytes.len() - after.len()))
    }
}

impl Default for TextReader {
    fn default() -> Self {
        Self::new()
    }
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, Option<TextError>> {
    let (&byte, after) = rest.split_first().ok_or(None)?;
    *rest = after;
    Ok(byte)
}

fn take_number(rest: &mut &[u8]) -> Result<u32, Option<TextError>> {
    varint::take(rest).map_err(|stop| match stop {
        Stop::End => None,
        Stop::TooLong => Some(TextError::NumberTooLong),
    })
}

fn take_changes(rest: &mut &[u8], mut clock: [u32; MAX_NODES]) -> Result<[u32; MAX_NODES], Option<TextError>> {
    let mask = take_number(rest)?;
    for (node, entry) in clock.iter_mut().enumerate() {
        if mask >> (node & 31) & 1 != 0 {
            *entry = entry.wrapping_add(take_number(rest)?);
        }
    }
    Ok(clock)
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    /// What a node writes: clocks, and each line is one byte.
    struct Written {
        bytes: [u8; 128],
        length: usize,
    }

    impl Written {
        fn put(&mut self, byte: u8) {
            self.bytes[self.length] = byte;
            self.length += 1;
        }

        fn line(&mut self, placer: &mut TextPlacer<3>, whole: bool, clock: [u32; 3], line: u8) {
            placer.place(whole, &clock, |byte| self.put(byte));
            self.put(line);
            self.put(0);
        }

        fn all(&self) -> &[u8] {
            &self.bytes[..self.length]
        }
    }

    const CLOCKS: [[u32; 3]; 5] =
        [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0x0100_0003, 300, 0], [0x0100_0004, 300, u32::MAX]];

    fn written() -> Written {
        let (mut placer, mut written) = (TextPlacer::<3>::new(), Written { bytes: [0; 128], length: 0 });
        for (index, clock) in CLOCKS.into_iter().enumerate() {
            written.line(&mut placer, index == 0 || index == 3, clock, 0x40 + index as u8);
        }
        written
    }

    #[test]
    fn clocks_and_lines_come_back_as_they_went() {
        let written = written();
        let (mut reader, mut rest) = (TextReader::new(), written.all());
        for (index, clock) in CLOCKS.into_iter().enumerate() {
            let (item, length) = reader.next(rest).unwrap().unwrap();
            assert_eq!(item.clock.unwrap()[..3], clock);
            assert!(item.clock.unwrap()[3..].iter().all(|entry| *entry == 0));
            assert_eq!(item.line, [0x40 + index as u8, 0]);
            assert_eq!((item.is_beginning, item.dropped), (index == 0 || index == 3, 0));
            rest = &rest[length..];
        }
        assert_eq!(reader.next(rest), Ok(None));
    }

    #[test]
    fn who_begins_in_the_middle_knows_lines_at_once_and_clocks_from_the_next_whole_one_on() {
        let written = written();
        let (_, first) = TextReader::new().next(written.all()).unwrap().unwrap();
        let (mut reader, mut rest) = (TextReader::new(), &written.all()[first..]);
        for (index, clock) in CLOCKS.into_iter().enumerate().skip(1) {
            let (item, length) = reader.next(rest).unwrap().unwrap();
            assert_eq!(item.line, [0x40 + index as u8, 0]);
            match item.clock {
                Some(known) => assert_eq!(known[..3], clock),
                None => assert!(index < 3),
            }
            assert_eq!(item.clock.is_none(), index < 3);
            rest = &rest[length..];
        }
    }

    #[test]
    fn bytes_that_end_too_early_are_waited_for_and_change_nothing() {
        let bytes = [DROPPED, 0x85, 0x01, CHANGES, 0b101, 7, 0x80, 0x01, 0x40, 0x41, 0];
        let based = TextReader { clock: Some([1; MAX_NODES]) };
        for length in 0..bytes.len() {
            let mut reader = based.clone();
            assert_eq!(reader.next(&bytes[..length]), Ok(None));
            assert_eq!(reader, based);
        }
        let mut reader = based;
        let (item, length) = reader.next(&bytes).unwrap().unwrap();
        assert_eq!((item.dropped, length, item.line), (133, bytes.len(), &[0x40, 0x41, 0][..]));
        assert_eq!(item.clock.unwrap()[..4], [8, 1, 129, 1]);
    }

    #[test]
    fn what_is_no_text_is_refused_and_changes_nothing() {
        for (bytes, error) in [
            (&[4, 1, 2][..], TextError::UnknownTag(4)),
            (&[DROPPED, 3, DROPPED, 3], TextError::UnknownTag(DROPPED)),
            (&[WHOLE, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], TextError::NumberTooLong),
        ] {
            let mut reader = TextReader { clock: Some([1; MAX_NODES]) };
            assert_eq!(reader.next(bytes), Err(error));
            assert_eq!(reader, TextReader { clock: Some([1; MAX_NODES]) });
        }
    }

    #[test]
    fn an_encoder_may_put_a_zero_before_its_first_line() {
        let (item, length) = TextReader::new().next(&[WHOLE, 0b1, 9, 0, 0x40, 0]).unwrap().unwrap();
        assert_eq!((item.line, item.clock.unwrap()[0], length), (&[0x40, 0][..], 9, 6));
    }
}
