//! Events to bytes.
use super::ring::{Entry, HEAD, LogRing, Quarters};
use super::{CAUSES, LOCAL, LOCAL_ESCAPE, RECEIVE, Recording, SEND, SYNC, WITH_CAUSES, counts, has_value, varint};
use crate::time::Ticks;
use crate::{Event, EventKind, EventNumber, NodeId};

/// Where a node stands after the event that is being recorded.
///
/// # Example: what a node gives its log
/// ```
/// use stillpoint_core::{Input, Node, NodeId, StampKind};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// assert_eq!(node.standing().number, node.number());
/// ```
#[derive(Debug)]
pub struct Standing<'a, O> {
    /// Whose log it is.
    pub me: NodeId,
    /// The number of the event.
    pub number: EventNumber,
    /// The node's clock.
    pub clock: &'a [u32],
    /// Messages sent or received on each port.
    pub counts: &'a [u32],
    /// Where those counts begin.
    pub origins: &'a O,
    /// What the node records.
    pub recording: &'a Recording,
}

/// The origin of a port of a node that has not started: no event has this number.
pub const NOT_STARTED: u32 = u32::MAX;

/// Which messages the counts of a node's ports count: with it a reader knows between which lives of sender and receiver.
///
/// # Example: an array has one word a port
/// ```
/// use stillpoint_core::log::Origins;
/// assert!([7, 8].origins().eq([7, 8]));
/// ```
pub trait Origins {
    /// Returns a word for each port. For a port where messages come in, the event of the sender that sent the last message that
    /// the node took in the present session. For a port where they leave, the last event of the node before the present
    /// session; [`NOT_STARTED`] before the node starts, when there is none.
    fn origins(&self) -> impl Iterator<Item = u32>;
}

impl<const P: usize> Origins for [u32; P] {
    fn origins(&self) -> impl Iterator<Item = u32> {
        self.iter().copied()
    }
}

/// The longest record that needs no context: kind, argument, value, time.
const PLAIN_MAX: u32 = 1 + 3 + 2 * varint::MAX_LEN as u32;

/// The longest record of nothing but a byte and a time.
const SHORT_MAX: u32 = 1 + varint::MAX_LEN as u32;

/// How long causes can be without their differences.
const CAUSES_MAX: u32 = 1 + 3 * varint::MAX_LEN as u32;

/// Writes the records of one node.
///
/// # Example: what is written can be read
/// ```
/// use stillpoint_core::log::{LogItem, LogReader, LogRing, LogWriter, Recording, Standing};
/// use stillpoint_core::{Event, EventNumber, NodeId, time::Ticks};
/// let (ring, mut writer) = (LogRing::<256>::new(), LogWriter::<2>::new());
/// let (me, number, recording) = (NodeId(0), EventNumber(1), &Recording::FULL);
/// writer.push(&ring, &Event::local(7), Ticks(100), &Standing { me, number, clock: &[1, 0], counts: &[], origins: &[], recording });
///
/// let mut bytes = [0; 256];
/// let length = ring.peek(&mut bytes).length;
/// let mut reader = LogReader::new();
/// let Ok(Some((LogItem::Sync(_), sync))) = reader.next(&bytes[..length]) else { panic!() };
/// let Ok(Some((LogItem::Record(record), _))) = reader.next(&bytes[sync..length]) else { panic!() };
/// assert_eq!((record.event, record.time), (Event::local(7), Ticks(100)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogWriter<const N: usize> {
    /// The number that the next record has if nothing is skipped, and nothing else calls for more than a plain record.
    expected: u32,
    /// The number of the last event that was recorded.
    last: u32,
    /// From which event on a sync record is due even if nothing calls for one.
    sync_at: u32,
    /// A sync record is due before the next record.
    sync_due: bool,
    /// The time of the last record, or of the last that was dropped.
    time: Ticks,
    /// From there to the last event that was left out because it is not named.
    left_out: Ticks<u32>,
    /// What added to the number of the last event gives the number of records: see [`records`](Self::records).
    bias: u32,
    quarters: Quarters,
    /// The clock as the reader knows it.
    told: [u32; N],
}

impl<const N: usize> LogWriter<N> {
    /// Events between two sync records when nothing else calls for one. Such a one waits until it fits in front of the end of
    /// the ring, so that it takes no longer there than elsewhere.
    pub const SYNC_EVERY: u32 = 1024;

    /// A writer whose first record is preceded by a sync record.
    #[must_use]
    pub const fn new() -> Self {
        // Not even a first event with the number 0 is a plain record.
        let (time, quarters) = (Ticks(0), Quarters::new());
        Self {
            expected: 0,
            last: 0,
            sync_at: 0,
            sync_due: true,
            time,
            left_out: Ticks(0),
            bias: 0,
            quarters,
            told: [0; N],
        }
    }

    /// Returns how many records were written, those included that were overwritten or longer than the ring.
    #[must_use]
    pub const fn records(&self) -> u32 {
        // A record that follows its predecessor's event at once changes neither of the two by more than one.
        self.last.wrapping_add(self.bias)
    }

    /// Calls for a sync record before the next record: after a change of mode, an attach, a reset, or a pause in which
    /// the time may have wrapped. `now` is the full time.
    pub fn resynchronise(&mut self, now: Ticks) {
        self.call_for_sync();
        self.time = now;
        self.left_out = Ticks(0);
    }

    /// The time of the last record, or of the last [`resynchronise`](Self::resynchronise).
    #[must_use]
    pub const fn time(&self) -> Ticks {
        self.time
    }

    /// The time that `ticks` after the last record is, or after an event since that was left out.
    #[must_use]
    #[inline]
    pub const fn time_after(&self, ticks: Ticks<u32>) -> Ticks<u32> {
        self.time.low().wrapping_after(self.left_out).wrapping_after(ticks)
    }

    /// The first byte of a record that has nothing else but its time, for the events that are nearly all there are.
    #[must_use]
    #[inline(always)]
    pub const fn short_record(event: &Event) -> Option<u8> {
        match event.kind {
            EventKind::Local if event.arg < LOCAL_ESCAPE as u16 => Some(LOCAL | event.arg as u8),
            EventKind::Send => Some(SEND | event.arg as u8 & super::PORT),
            EventKind::Receive => Some(RECEIVE | event.arg as u8 & super::PORT),
            _ => None,
        }
    }

    /// Writes the event `number`, whose record is [`short`](Self::short_record), `ticks` after the last. False, and nothing
    /// has changed, if it takes [`push`](Self::push): something is to be told before it, or there is no room.
    ///
    /// The first message that a node takes from a channel is to be pushed, and a change of what is recorded followed by
    /// [`resynchronise`](Self::resynchronise).
    #[must_use]
    #[inline(always)]
    pub fn push_short<const S: usize>(
        &mut self,
        ring: &LogRing<S>,
        first: u8,
        ticks: Ticks<u32>,
        number: EventNumber,
    ) -> bool {
        let EventNumber(number) = number;
        // Who is expected comes one after the other, so that none of them passes by the sync record.
        if number != self.expected || number == self.sync_at {
            return false;
        }
        let Some(mut entry) = ring.open(SHORT_MAX, self.quarters.limit()) else { return false };
        entry.put(first);
        varint::put(ticks.0, |byte| entry.put(byte));
        entry.commit();
        self.time = self.time.wrapping_after(ticks.widen());
        self.last = number;
        self.expected = number.wrapping_add(1);
        true
    }

    /// Writes `event`, which happened at `now`. A full ring gives up its oldest records; sync records say how many there were.
    // Inlined always: a caller that names the kind of event is left with a handful of stores.
    #[inline(always)]
    pub fn push<const S: usize>(
        &mut self,
        ring: &LogRing<S>,
        event: &Event,
        now: Ticks<u32>,
        standing: &Standing<'_, impl Origins>,
    ) {
        if !self.push_plain(ring, event, now, standing) {
            self.push_with_context(ring, event, now, standing);
        }
    }

    /// Writes `event` if its record needs no context. False, and nothing has changed, if it takes
    /// [`push_with_context`](Self::push_with_context).
    #[must_use]
    #[inline(always)]
    pub fn push_plain<const S: usize>(
        &mut self,
        ring: &LogRing<S>,
        event: &Event,
        now: Ticks<u32>,
        standing: &Standing<'_, impl Origins>,
    ) -> bool {
        let number = standing.number.0;
        let plain = number == self.expected
            && number != self.sync_at
            && !standing.recording.carries_causes()
            && !begins_session(event, standing);
        if plain
            && counts(event.kind)
            && let Some(mut entry) = ring.open(PLAIN_MAX, self.quarters.limit())
        {
            put_event(&mut entry, event);
            let difference = self.advance(now);
            varint::put(difference, |byte| entry.put(byte));
            entry.commit();
            self.last = number;
            self.expected = number.wrapping_add(1);
            return true;
        }
        false
    }

    /// Has the next record take the long way, on which the sync record is written.
    fn call_for_sync(&mut self) {
        self.sync_due = true;
        // No number that comes is this one: they only grow.
        self.expected = self.last.wrapping_sub(1);
    }

    #[cold]
    fn drop_one<const S: usize>(&mut self, ring: &LogRing<S>, now: Ticks<u32>) {
        ring.count_drop();
        self.advance(now);
        self.bias = self.bias.wrapping_add(1);
        self.call_for_sync();
    }

    /// Writes `event`, which happened at `now`, with whatever is to be told before it. Does for any event what [`push`](Self::push) does;
    /// for callers to whom [`push_short`](Self::push_short) or [`push_plain`](Self::push_plain) said no.
    // Inlined always: where the node stands is then read where it is needed, not put together first.
    #[inline(always)]
    pub fn push_with_context<const S: usize>(
        &mut self,
        ring: &LogRing<S>,
        event: &Event,
        now: Ticks<u32>,
        standing: &Standing<'_, impl Origins>,
    ) {
        let (number, causes) = (standing.number.0, standing.recording.carries_causes());
        if causes && self.leave_out(event, now, standing.recording) {
            return;
        }
        let is_first = begins_session(event, standing);
        let words = HEAD + standing.clock.len() + 2 * standing.counts.len();
        let sync = 4 * words as u32;
        let room = PLAIN_MAX + sync.max(CAUSES_MAX + (standing.clock.len() * varint::MAX_LEN) as u32);
        let open = self.quarters.open(ring, room);
        let turns = open.is_none();
        let Some(mut entry) = open.or_else(|| self.quarters.turn(ring, room)) else {
            return self.drop_one(ring, now);
        };
        let called_for = self.sync_due || is_first || entry.is_oldest();
        let is_due = turns || number.wrapping_sub(self.sync_at) as i32 >= 0;
        let mut syncs = called_for || is_due && entry.is_straight(sync);
        if turns && !syncs {
            // Nothing may be left in front of it, and then it needs its sync record wherever that lies.
            self.quarters.extend(entry, room);
            syncs = entry.is_oldest();
        }
        let difference = if syncs {
            if turns {
                self.quarters.begin(entry, room);
            }
            entry = self.put_sync(entry, now, standing);
            0
        } else {
            if is_due {
                // The next one may fit in front of the ring's end.
                self.sync_at = number.wrapping_add(1);
            }
            let (me, clock, counts) = (standing.me, standing.clock, standing.counts);
            // Put together here only: a sync record is written from where the node has these.
            entry = self.put_causes(entry, event, &Past { me, number, clock, counts, causes });
            self.advance(now)
        };
        if causes {
            for (told, known) in self.told.iter_mut().zip(standing.clock) {
                *told = *known;
            }
        }
        put_event(&mut entry, event);
        varint::put(difference, |byte| entry.put(byte));
        entry.commit();
        self.bias = self.records().wrapping_add(1).wrapping_sub(number);
        self.last = number;
        // Where records say what changed, every one takes this way: no number that comes is the last but one.
        self.expected = if causes { number.wrapping_sub(1) } else { number.wrapping_add(1) };
    }

    /// Leaves out an event that is not named. False if it is to be recorded.
    #[cold]
    #[inline(never)]
    fn leave_out(&mut self, event: &Event, now: Ticks<u32>, recording: &Recording) -> bool {
        let leaves_out = recording.leaves_out(event);
        // The next record says that it was skipped, and its time counts from the last record.
        self.left_out = if leaves_out { now.wrapping_since(self.time.low()) } else { Ticks(0) };
        leaves_out
    }

    /// Moves the time on; by how much.
    #[inline(always)]
    fn advance(&mut self, now: Ticks<u32>) -> u32 {
        let difference = now.wrapping_since(self.time.low());
        self.time = self.time.wrapping_after(difference.widen());
        difference.0
    }

    /// What happened since the last record, where that is not simply nothing.
    #[inline(never)]
    fn put_causes<'a, const S: usize>(&self, mut entry: Entry<'a, S>, event: &Event, past: &Past<'_>) -> Entry<'a, S> {
        let last = self.last;
        let counted = u32::from(counts(event.kind));
        let skipped = past.number.wrapping_sub(last).wrapping_sub(counted);
        let mut mask = 0u32;
        if past.causes {
            for (place, (told, known)) in self.told.iter().zip(past.clock).enumerate() {
                mask |= u32::from(told != known && place != usize::from(past.me.0)) << (place & 31);
            }
        }
        if skipped == 0 && mask == 0 {
            return entry;
        }
        entry.put(CAUSES);
        entry = put_number(entry, skipped);
        entry = put_number(entry, mask);
        for (place, (told, known)) in self.told.iter().zip(past.clock).enumerate() {
            if mask >> (place & 31) & 1 != 0 {
                entry = put_number(entry, known.wrapping_sub(*told));
            }
        }
        let message = match event.kind {
            EventKind::Send | EventKind::Receive => past.counts.get(usize::from(event.arg)).copied().unwrap_or(0),
            _ => 0,
        };
        put_number(entry, message)
    }

    /// Where the node stands with the record that follows. Words as they are: it takes the same time whatever they say.
    #[inline(always)]
    fn put_sync<'a, const S: usize>(
        &mut self,
        entry: Entry<'a, S>,
        now: Ticks<u32>,
        standing: &Standing<'_, impl Origins>,
    ) -> Entry<'a, S> {
        self.sync_at = standing.number.0.wrapping_add(Self::SYNC_EVERY);
        self.sync_due = false;
        // The record that follows has a time difference of zero.
        self.advance(now);
        let causes = if standing.recording.carries_causes() { WITH_CAUSES } else { 0 };
        let mode = standing.recording.mode() as u8 | causes;
        let head = u32::from_le_bytes([SYNC, mode, standing.clock.len() as u8, standing.counts.len() as u8]);
        let first: [u32; HEAD] = [head, standing.number.0, now.0, (self.time.0 >> 32) as u32, self.records()];
        entry.put_words(first, [standing.clock, standing.counts], standing.origins)
    }
}

/// What a record is told of what happened before it.
struct Past<'a> {
    me: NodeId,
    number: u32,
    clock: &'a [u32],
    counts: &'a [u32],
    /// Whether the record says what changed in the clock.
    causes: bool,
}

/// Whether a message is the first that the node takes from a channel since either of its ends was reset. The sync record
/// before it names the event that sent it, so that a reader can tell in which life the sender counted it.
#[inline(always)]
fn begins_session(event: &Event, standing: &Standing<'_, impl Origins>) -> bool {
    matches!(event.kind, EventKind::Receive) && standing.counts.get(usize::from(event.arg)) == Some(&1)
}

/// What a record says of its event.
#[inline(always)]
fn put_event<const S: usize>(entry: &mut Entry<'_, S>, event: &Event) {
    match event.kind {
        EventKind::Local if event.arg < u16::from(LOCAL_ESCAPE) => entry.put(LOCAL | event.arg as u8),
        EventKind::Local => {
            entry.put(LOCAL | LOCAL_ESCAPE);
            varint::put(u32::from(event.arg), |byte| entry.put(byte));
        }
        EventKind::Send => entry.put(SEND | event.arg as u8 & super::PORT),
        EventKind::Receive => entry.put(RECEIVE | event.arg as u8 & super::PORT),
        kind => {
            entry.put(kind as u8);
            varint::put(u32::from(event.arg), |byte| entry.put(byte));
            if has_value(kind) {
                varint::put(varint::zigzag(event.value), |byte| entry.put(byte));
            }
        }
    }
}

/// A number of a rare record: one copy of the loop.
#[inline(never)]
fn put_number<const S: usize>(mut entry: Entry<'_, S>, value: u32) -> Entry<'_, S> {
    varint::put(value, |byte| entry.put(byte));
    entry
}

impl<const N: usize> Default for LogWriter<N> {
    fn default() -> Self {
        Self::new()
    }
}
