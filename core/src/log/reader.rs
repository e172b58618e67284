//! Bytes to events.
use super::varint::{self, Stop};
use super::{CAUSES, LOCAL, LOCAL_ESCAPE, PORT, RECEIVE, SEND, SYNC, WITH_CAUSES, counts, has_value};
use crate::time::Ticks;
use crate::{Event, EventKind, EventNumber, MAX_NODES, MAX_PORTS};
use core::fmt;

/// An event as it was written to the log.
///
/// # Example: a tracepoint, as it is read
/// ```
/// use stillpoint_core::{Event, EventNumber, log::Record, time::Ticks};
/// let record = Record { event: Event::local(7), number: EventNumber(3), time: Ticks(120), message: None };
/// assert_eq!(record.number.count(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What happened.
    pub event: Event,
    /// Which event of the node; for a halt or resume, the event it came after.
    pub number: EventNumber,
    /// When, in the node's ticks.
    pub time: Ticks,
    /// For a send or receive, which message of its channel: the first is 1.
    pub message: Option<u32>,
}

/// What a log consists of.
///
/// # Example: a tracepoint behind a sync record
/// ```
/// use stillpoint_core::log::{LogItem, LogReader};
/// let sync = [0x23, 2, 0, 0].into_iter().chain([1u32, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes));
/// let bytes: Vec<u8> = sync.chain([0x85, 10]).collect();
/// let mut reader = LogReader::new();
/// assert!(matches!(reader.next(&bytes), Ok(Some((LogItem::Sync(_), 20)))));
/// assert!(matches!(reader.next(&bytes[20..]), Ok(Some((LogItem::Record(_), 2)))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogItem<'a> {
    /// An event.
    Record(Record),
    /// What happened before the next record and was not recorded.
    Causes(Causes<'a>),
    /// Where the node stands with the next record.
    Sync(SyncRecord<'a>),
}

/// What happened before the next record and was not recorded (Hyder, table 3-1).
///
/// # Example: two events skipped, node 1 grew by three
/// ```
/// use stillpoint_core::log::{LogItem, LogReader};
/// let sync = [0x23, 1, 2, 0].into_iter().chain([1u32, 0, 0, 0, 1, 0].into_iter().flat_map(u32::to_le_bytes));
/// let bytes: Vec<u8> = sync.chain([0x81, 0, 0x20, 2, 0b10, 3, 0]).collect();
/// let mut reader = LogReader::new();
/// let mut rest = &bytes[..];
/// while let Ok(Some((item, length))) = reader.next(rest) {
///     if let LogItem::Causes(causes) = item {
///         assert_eq!((causes.skipped, causes.differences().next()), (2, Some(3)));
///         return;
///     }
///     rest = &rest[length..];
/// }
/// panic!("no causes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes<'a> {
    /// Events of the node that were not recorded.
    pub skipped: u32,
    /// The clock entries that changed since the last record, one bit a node.
    pub changed: u32,
    /// By how much, in ascending order of nodes.
    differences: &'a [u8],
}

impl Causes<'_> {
    /// By how much each changed entry grew, in ascending order of nodes.
    pub fn differences(&self) -> impl Iterator<Item = u32> + '_ {
        numbers(self.differences)
    }
}

/// A record of where a node stands, from which a reader goes on after a gap, a reset or an attach.
///
/// # Example: where a node of two stands
/// ```
/// use stillpoint_core::log::{LogItem, LogReader};
/// let mut reader = LogReader::new();
/// let bytes: Vec<u8> = [0x23, 2, 2, 1].into_iter().chain([5u32, 9, 0, 4, 5, 3, 8, 2].into_iter().flat_map(u32::to_le_bytes)).collect();
/// let Ok(Some((LogItem::Sync(sync), _))) = reader.next(&bytes) else { panic!() };
/// assert!(sync.clock().eq([5, 3]) && sync.counts().eq([8]) && sync.origins().eq([2]));
/// assert_eq!((sync.number.0, sync.time.0, sync.records), (5, 9, 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRecord<'a> {
    /// The recording mode's number.
    pub mode: u8,
    /// Whether the records that follow say what changed.
    pub with_causes: bool,
    /// The number of the event in the next record.
    pub number: EventNumber,
    /// The time of the next record.
    pub time: Ticks,
    /// How many records the node wrote before the next one since its log began.
    pub records: u32,
    /// Whether the node goes on counting its records: otherwise it was reset since what the reader read before. After a gap it may
    /// have been reset all the same and have come further than before.
    pub continues: bool,
    /// How many records are missing in front of the next one, at least; 0 if the reader had read nothing.
    pub missing: u32,
    clock: &'a [[u8; 4]],
    counts: &'a [[u8; 4]],
    origins: &'a [[u8; 4]],
}

impl SyncRecord<'_> {
    /// The node's clock with the next record.
    pub fn clock(&self) -> impl Iterator<Item = u32> + '_ {
        self.clock.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// Messages sent or received on each port, with the next record.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.counts.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// Where the count of each port begins: see [`Origins`](super::Origins).
    pub fn origins(&self) -> impl Iterator<Item = u32> + '_ {
        self.origins.iter().map(|word| u32::from_le_bytes(*word))
    }
}

fn numbers(mut bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    core::iter::from_fn(move || varint::take(&mut bytes).ok())
}

/// Why bytes are not a log; the reader is unchanged.
///
/// # Example: no record begins so
/// ```
/// use stillpoint_core::log::{LogError, LogReader};
/// assert_eq!(LogReader::new().next(&[0x3F]), Err(LogError::UnknownKind(0x3F)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LogError {
    /// No record begins with this byte: the log is damaged, or of another version.
    UnknownKind(u8),
    /// A number is longer than 32 bits.
    NumberTooLong,
    /// An argument is longer than 16 bits.
    ArgumentTooLong,
    /// A sync record names more nodes or ports than there can be, or a mode that does not exist.
    ImpossibleShape,
    /// A record came before any sync record.
    Unsynchronised,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind(byte) => {
                write!(f, "no record begins with {byte:#04x}: the log is damaged or of another version")
            }
            Self::NumberTooLong => f.write_str("a number in the log is longer than 32 bits"),
            Self::ArgumentTooLong => f.write_str("an argument in the log is longer than 16 bits"),
            Self::ImpossibleShape => f.write_str("a sync record describes a node that cannot be"),
            Self::Unsynchronised => f.write_str("a record came before any sync record"),
        }
    }
}

impl core::error::Error for LogError {}

impl LogError {
    const fn from(stop: Stop) -> Option<Self> {
        match stop {
            Stop::End => None,
            Stop::TooLong => Some(Self::NumberTooLong),
        }
    }
}

/// Reads the log of one node.
///
/// # Example: a log starts with a sync record
/// ```
/// use stillpoint_core::log::{LogError, LogReader};
/// let mut reader = LogReader::new();
/// assert_eq!(reader.next(&[0x85, 10]), Err(LogError::Unsynchronised));
/// assert_eq!(reader.next(&[]), Ok(None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogReader {
    synced: bool,
    /// A sync record gives the number and counts of the record that follows it, already counted.
    fresh: bool,
    number: u32,
    time: Ticks,
    /// How many records the node had written with the last one.
    records: u32,
    counts: [u32; MAX_PORTS],
}

/// What one step says. It changes the reader only when all of it could be read.
type Step<T> = Result<T, Option<LogError>>;

impl LogReader {
    /// A reader that waits for the first sync record.
    #[must_use]
    pub const fn new() -> Self {
        Self { synced: false, fresh: false, number: 0, time: Ticks(0), records: 0, counts: [0; MAX_PORTS] }
    }

    /// Returns the number of the last event that was read.
    #[must_use]
    pub const fn number(&self) -> EventNumber {
        EventNumber(self.number)
    }

    /// Reads the next item and says how many bytes it took. `None` when the bytes end before the item does.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<(LogItem<'a>, usize)>, LogError> {
        let mut rest = bytes;
        let Some(first) = take_byte(&mut rest) else { return Ok(None) };
        let item = match first {
            CAUSES => self.causes(&mut rest).map(LogItem::Causes),
            SYNC => self.sync(&mut rest).map(LogItem::Sync),
            _ => self.record(first, &mut rest).map(LogItem::Record),
        };
        match item {
            Ok(item) => Ok(Some((item, bytes.len() - rest.len()))),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    /// Reads the next item if it is an event, and says how many bytes it took. `None` where [`next`](Self::next) has
    /// something else to say; the reader is unchanged then.
    ///
    /// # Example: a sync record is no event
    /// ```
    /// use stillpoint_core::log::LogReader;
    /// let mut reader = LogReader::new();
    /// let bytes = [0x23, 2, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0x87, 10];
    /// assert!(reader.next_record(&bytes).is_none());
    /// assert!(reader.next(&bytes).is_ok());
    /// assert!(reader.next_record(&bytes[20..]).is_some_and(|(record, length)| record.number.0 == 5 && length == 2));
    /// ```
    #[inline]
    pub fn next_record(&mut self, bytes: &[u8]) -> Option<(Record, usize)> {
        // What nearly every record is: two bytes, of an event shortly after another.
        if let [first, difference @ ..0x80, ..] = *bytes
            && let Some(event) = short_event(first)
            && self.synced
        {
            return Some((self.count(event, difference.into()), 2));
        }
        self.next_long_record(bytes)
    }

    #[inline(never)]
    fn next_long_record(&mut self, bytes: &[u8]) -> Option<(Record, usize)> {
        let mut rest = bytes;
        match take_byte(&mut rest)? {
            CAUSES | SYNC => None,
            first => self.record(first, &mut rest).ok().map(|record| (record, bytes.len() - rest.len())),
        }
    }

    fn record(&mut self, first: u8, rest: &mut &[u8]) -> Step<Record> {
        let event = read_event(first, rest)?;
        let difference = varint::take(rest).map_err(LogError::from)?;
        if !self.synced {
            return Err(Some(LogError::Unsynchronised));
        }
        Ok(self.count(event, difference))
    }

    /// Counts an event that happened so long after the last.
    #[inline(always)]
    fn count(&mut self, event: Event, difference: u32) -> Record {
        let new = u32::from(!self.fresh);
        self.records = self.records.wrapping_add(1);
        if counts(event.kind) {
            self.number = self.number.wrapping_add(new);
        }
        self.time = self.time.wrapping_after(Ticks(difference.into()));
        let mut message = None;
        if let (EventKind::Send | EventKind::Receive, Some(count)) =
            (event.kind, self.counts.get_mut(usize::from(event.arg)))
        {
            *count = count.wrapping_add(new);
            message = Some(*count);
        }
        self.fresh = false;
        Record { event, number: EventNumber(self.number), time: self.time, message }
    }

    fn causes<'a>(&mut self, rest: &mut &'a [u8]) -> Step<Causes<'a>> {
        let skipped = varint::take(rest).map_err(LogError::from)?;
        let changed = varint::take(rest).map_err(LogError::from)?;
        let differences = take_numbers(rest, changed.count_ones() as usize)?;
        let message = varint::take(rest).map_err(LogError::from)?;
        if !self.synced {
            return Err(Some(LogError::Unsynchronised));
        }
        if message != 0 {
            // The record that follows is this message of its channel, and counts it.
            let next = *rest.first().ok_or(None)?;
            if next & 0xC0 == SEND
                && let Some(count) = self.counts.get_mut(usize::from(next & PORT))
            {
                *count = message.wrapping_sub(1);
            }
        }
        self.number = self.number.wrapping_add(skipped);
        Ok(Causes { skipped, changed, differences })
    }

    fn sync<'a>(&mut self, rest: &mut &'a [u8]) -> Step<SyncRecord<'a>> {
        let mut byte = || take_byte(rest).ok_or(None);
        let (mode, nodes, ports) = (byte()?, byte()?, byte()?);
        let (mode, with_causes) = (mode & !WITH_CAUSES, mode & WITH_CAUSES != 0);
        if mode > 3 || usize::from(nodes) > MAX_NODES || usize::from(ports) > MAX_PORTS {
            return Err(Some(LogError::ImpossibleShape));
        }
        let [number, low, high, records] = *take_words(rest, 4)? else { return Err(None) };
        let (clock, counts) = (take_words(rest, nodes.into())?, take_words(rest, ports.into())?);
        let origins = take_words(rest, ports.into())?;
        let [number, low, high, records] = [number, low, high, records].map(u32::from_le_bytes);
        let (number, time) = (EventNumber(number), Ticks(u64::from(high) << 32 | u64::from(low)));
        // A node counts its records anew when it is reset, and then begins with 0.
        let since = records.wrapping_sub(self.records);
        let continues = self.synced && since as i32 >= 0;
        let missing = match (self.synced, continues) {
            (false, _) => 0,
            (true, true) => since,
            (true, false) => records,
        };
        let sync = SyncRecord { mode, with_causes, number, time, records, continues, missing, clock, counts, origins };
        *self = Self { synced: true, fresh: true, number: number.0, time, records, counts: [0; MAX_PORTS] };
        for (count, value) in self.counts.iter_mut().zip(sync.counts()) {
            *count = value;
        }
        Ok(sync)
    }
}

impl Default for LogReader {
    fn default() -> Self {
        Self::new()
    }
}

/// A tracepoint whose tag follows.
const ESCAPED: u8 = LOCAL | LOCAL_ESCAPE;

/// The event that a byte says all of: a tracepoint with a small tag, or a message.
#[inline(always)]
fn short_event(first: u8) -> Option<Event> {
    match first {
        ESCAPED => None,
        LOCAL.. => Some(Event::local((first & LOCAL_ESCAPE).into())),
        RECEIVE.. => Some(Event::new(EventKind::Receive, (first & PORT).into())),
        SEND.. => Some(Event::new(EventKind::Send, (first & PORT).into())),
        _ => None,
    }
}

fn read_event(first: u8, rest: &mut &[u8]) -> Result<Event, Option<LogError>> {
    match short_event(first) {
        Some(event) => Ok(event),
        None if first & LOCAL != 0 => Ok(Event::local(take_argument(rest)?)),
        None => read_other(first, rest),
    }
}

/// An event that is neither a tracepoint nor a message.
fn read_other(first: u8, rest: &mut &[u8]) -> Result<Event, Option<LogError>> {
    let kind = EventKind::from_number(first)
        .filter(|kind| !matches!(kind, EventKind::Local | EventKind::Send | EventKind::Receive))
        .ok_or(Some(LogError::UnknownKind(first)))?;
    let arg = take_argument(rest)?;
    let value = if has_value(kind) { varint::unzigzag(varint::take(rest).map_err(LogError::from)?) } else { 0 };
    Ok(Event { kind, arg, value })
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

fn take_argument(rest: &mut &[u8]) -> Result<u16, Option<LogError>> {
    let argument = varint::take(rest).map_err(LogError::from)?;
    u16::try_from(argument).map_err(|_| Some(LogError::ArgumentTooLong))
}

fn take_words<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [[u8; 4]], Option<LogError>> {
    let (words, after) = rest.split_at_checked(4 * count).ok_or(None)?;
    *rest = after;
    Ok(words.as_chunks().0)
}

/// The bytes of the next `count` numbers, each checked.
fn take_numbers<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Option<LogError>> {
    let start = *rest;
    for _ in 0..count {
        varint::take(rest).map_err(LogError::from)?;
    }
    start.get(..start.len() - rest.len()).ok_or(None)
}
