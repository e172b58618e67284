//! What is written can be read, and what is not written is not missed silently.
use super::*;
use crate::time::Ticks;
use crate::{Event, EventNumber, KindSet, NodeId, PortId};
use stillpoint_test::test;

const ME: NodeId = NodeId(0);

/// A node that does nothing but count and log.
struct Logging<const S: usize> {
    ring: LogRing<S>,
    writer: LogWriter<2>,
    reader: LogReader,
    recording: Recording,
    clock: [u32; 2],
    counts: [u32; 2],
    origins: [u32; 2],
}

impl<const S: usize> Logging<S> {
    fn new(recording: Recording) -> Self {
        let (ring, writer, reader) = (LogRing::new(), LogWriter::new(), LogReader::new());
        Self { ring, writer, reader, recording, clock: [0; 2], counts: [0; 2], origins: [0; 2] }
    }

    fn happen(&mut self, event: Event, now: u32) {
        self.clock[0] = self.clock[0].wrapping_add(u32::from(counts(event.kind)));
        if matches!(event.kind, EventKind::Send | EventKind::Receive) {
            self.counts[usize::from(event.arg)] += 1;
        }
        if self.recording.records(&event) {
            let (clock, counts) = (&self.clock, &self.counts);
            let (number, recording) = (EventNumber(self.clock[0]), self.recording);
            let standing = Standing { me: ME, number, clock, counts, origins: &self.origins, recording: &recording };
            self.writer.push(&self.ring, &event, Ticks(now), &standing);
        }
    }

    /// Reads everything, hands each item to `see`, and says how many bytes it was.
    fn read(&mut self, mut see: impl FnMut(LogItem<'_>)) -> usize {
        let mut bytes = [0; S];
        let piece = self.ring.peek(&mut bytes);
        let length = piece.length;
        let mut rest = &bytes[..length];
        while let Some((item, used)) = self.reader.next(rest).unwrap() {
            see(item);
            rest = &rest[used..];
        }
        assert!(rest.is_empty());
        self.ring.consume(piece);
        length
    }

    fn records(&mut self, mut see: impl FnMut(Record)) -> usize {
        self.read(|item| {
            if let LogItem::Record(record) = item {
                see(record);
            }
        })
    }
}

#[test]
fn every_kind_of_event_comes_back_with_its_number_and_time() {
    let mut node = Logging::<512>::new(Recording::REPLAY);
    let mut now = 0xFFFF_FF00u32;
    for (place, kind) in EventKind::ALL.into_iter().enumerate() {
        let message = matches!(kind, EventKind::Send | EventKind::Receive);
        let arg = if message { 1 } else { [3, 126, 127, 40_000][place % 4] };
        let value = if has_value(kind) { (-5i32) as u32 } else { 0 };
        now = now.wrapping_add(40);
        node.happen(Event { kind, arg, value }, now);
        let mut seen = None;
        node.records(|record| seen = Some(record));
        let seen = seen.unwrap();
        assert_eq!(seen.event, Event { kind, arg, value });
        assert_eq!(seen.number, EventNumber(node.clock[0]));
        assert_eq!(seen.time.low(), Ticks(now));
        assert_eq!(seen.message, message.then_some(node.counts[1]));
    }
}

/// The goal is 3 bytes for a local event and 4 for a message, with a time.
#[test]
fn a_local_event_takes_at_most_three_bytes_and_a_message_event_at_most_four() {
    let mut node = Logging::<512>::new(Recording::FULL);
    node.happen(Event::local(1), 0);
    node.happen(Event::receive(PortId(0)), 0);
    node.read(|_| {});
    node.happen(Event::local(126), 16_000);
    assert_eq!(node.read(|_| {}), 3);
    node.happen(Event::send(PortId(1)), 16_100);
    assert_eq!(node.read(|_| {}), 2);
    node.happen(Event::receive(PortId(0)), 32_000);
    assert_eq!(node.read(|_| {}), 3);
}

/// Otherwise a reader could not tell in which life the sender counted it.
#[test]
fn the_first_message_from_a_channel_is_recorded_with_where_the_node_stands() {
    let mut node = Logging::<512>::new(Recording::FULL);
    node.happen(Event::local(1), 0);
    node.read(|_| {});
    let mut syncs = || {
        node.happen(Event::receive(PortId(0)), 10);
        let mut syncs = 0;
        node.read(|item| syncs += u32::from(matches!(item, LogItem::Sync(_))));
        syncs
    };
    assert_eq!((syncs(), syncs()), (1, 0));
}

#[test]
fn a_full_ring_keeps_the_newest_records_and_the_reader_knows_how_many_are_missing() {
    let mut node = Logging::<512>::new(Recording::FULL);
    let (mut read, mut missing, mut last) = (0, 0, EventNumber(0));
    for round in 0..2000u32 {
        node.happen(Event::send(PortId((round % 2) as u8)), round * 10);
        // Halts stand between events and count as records.
        if round % 500 == 7 {
            node.happen(Event::new(EventKind::Halt, 1), round * 10);
        }
        if round == 0 || round % 190 == 189 {
            let counts = node.counts;
            let before = read;
            node.read(|item| match item {
                LogItem::Record(record) => {
                    read += 1;
                    if record.event.kind == EventKind::Halt {
                        return;
                    }
                    assert!(record.number.is_newer_than(last));
                    last = record.number;
                    assert_eq!(Ticks(u64::from(record.number.0 - 1) * 10), record.time);
                    let message = record.number.0.div_ceil(2);
                    assert_eq!(record.message, Some(message));
                    assert!(message <= counts[0].max(counts[1]));
                }
                LogItem::Sync(sync) => missing += sync.missing,
                LogItem::Causes(_) => {}
            });
            assert_eq!(last, EventNumber(round + 1), "the newest is there");
            assert!(round == 0 || read - before >= 90, "at least half of the ring is");
            assert_eq!(read + missing, node.writer.records());
        }
    }
    assert_eq!((node.writer.records(), node.ring.dropped()), (2004, 0));
    assert!(missing > 0);
}

#[test]
fn a_record_longer_than_the_ring_is_counted_and_missing() {
    let mut node = Logging::<16>::new(Recording::FULL);
    for round in 0..3 {
        node.happen(Event::local(1), round);
    }
    assert_eq!((node.read(|_| {}), node.ring.dropped(), node.writer.records()), (0, 3, 3));
}

#[test]
fn restricted_records_keep_their_numbers_and_carry_what_changed_in_between() {
    let mut node = Logging::<512>::new(Recording::restricted(KindSet::EMPTY.with(EventKind::Send), 0));
    node.happen(Event::send(PortId(0)), 1);
    node.read(|_| {});
    node.happen(Event::local(5), 2);
    node.happen(Event::receive(PortId(1)), 3);
    node.clock[1] = 300;
    node.happen(Event::send(PortId(0)), 4);
    let (mut skipped, mut grown, mut number, mut message) = (0, None, EventNumber(0), None);
    node.read(|item| match item {
        LogItem::Causes(causes) => {
            skipped = causes.skipped;
            assert_eq!(causes.changed, 0b10);
            grown = causes.differences().next();
        }
        LogItem::Record(record) => (number, message) = (record.number, record.message),
        LogItem::Sync(_) => panic!("nothing was lost"),
    });
    assert_eq!((skipped, grown, number, message), (2, Some(300), EventNumber(4), Some(2)));
}

/// Tag 39 has the lowest bits of tag 7. The times of what is left out are not lost: they count from the last record.
#[test]
fn what_is_not_named_is_skipped_and_the_time_goes_on() {
    let kinds = KindSet::EMPTY.with(EventKind::Local).with(EventKind::Send);
    let only = Recording::restricted(kinds, u32::MAX).only(kinds, 0b10, [7, 0, 0, 0, 0, 0, 0, 300]);
    let mut node = Logging::<512>::new(only);
    let events = [(7, true), (39, false), (300, true), (44, false), (7, true)];
    for (tag, _) in events {
        // As a driver does that knows only how long ago the last event was.
        let now = node.writer.time_after(Ticks(10));
        node.happen(Event::local(tag), now.0);
    }
    node.happen(Event::send(PortId(0)), node.writer.time_after(Ticks(10)).0);
    node.happen(Event::send(PortId(1)), node.writer.time_after(Ticks(10)).0);
    let (mut seen, mut count) = ([(0, 0, Ticks(0)); 4], 0);
    node.records(|record| {
        seen[count] = (record.number.0, record.event.arg, record.time);
        count += 1;
    });
    assert_eq!(seen, [(1, 7, Ticks(10)), (3, 300, Ticks(30)), (5, 7, Ticks(50)), (7, 1, Ticks(70))]);
}

#[test]
fn a_sync_record_comes_every_so_often_and_says_where_the_node_stands() {
    let mut node = Logging::<512>::new(Recording::FULL);
    let mut last = 0;
    for round in 0..2 * LogWriter::<2>::SYNC_EVERY + 3 {
        node.happen(Event::send(PortId(1)), round);
        let (clock, counts) = (node.clock, node.counts);
        node.read(|item| {
            if let LogItem::Sync(sync) = item {
                assert!(round - last <= LogWriter::<2>::SYNC_EVERY);
                last = round;
                assert!(sync.clock().eq(clock));
                assert!(sync.counts().eq(counts));
                assert_eq!((sync.number, sync.time), (EventNumber(clock[0]), Ticks(round).widen()));
            }
        });
    }
    assert!(last > LogWriter::<2>::SYNC_EVERY);
}

/// Numbers wrap, so a log may begin with any.
#[test]
fn a_log_begins_with_a_sync_record_whatever_the_number_of_its_first_event() {
    for before in [0, 0x00FF_FFFF, u32::MAX - 1, u32::MAX] {
        let mut node = Logging::<512>::new(Recording::FULL);
        node.clock[0] = before;
        node.happen(Event::local(3), 7);
        let mut number = None;
        node.records(|record| number = Some(record.number));
        assert_eq!(number, Some(EventNumber(before.wrapping_add(1))));
    }
}

#[test]
fn a_halt_and_a_resume_stand_between_events() {
    let mut node = Logging::<512>::new(Recording::FULL);
    node.happen(Event::local(1), 1);
    node.happen(Event::new(EventKind::Halt, 7), 2);
    node.happen(Event::new(EventKind::Resume, 7), 3);
    node.happen(Event::local(1), 4);
    let (mut place, mut numbers) = (0, [0; 4]);
    node.records(|record| {
        numbers[place] = record.number.0;
        place += 1;
    });
    assert_eq!(numbers, [1, 1, 1, 2]);
}

#[test]
fn time_goes_on_across_the_wrap_of_the_counter_and_a_long_pause_is_told() {
    let mut node = Logging::<512>::new(Recording::FULL);
    node.happen(Event::local(1), 0xFFFF_FFF0);
    node.happen(Event::local(1), 5);
    let mut times = [0; 3];
    let mut place = 0;
    node.writer.resynchronise(Ticks(7 << 32));
    node.happen(Event::local(1), 9);
    node.records(|record| {
        times[place] = record.time.0;
        place += 1;
    });
    assert_eq!(times, [0xFFFF_FFF0, (1 << 32) + 5, (7 << 32) + 9]);
}

#[test]
fn damaged_bytes_are_refused_with_what_is_wrong_and_change_nothing() {
    let mut node = Logging::<512>::new(Recording::FULL);
    node.happen(Event::local(1), 1);
    node.read(|_| {});
    let before = node.reader.clone();
    for (bytes, error) in [
        (&[0x00, 1, 1][..], LogError::UnknownKind(0)),
        (&[0x3F, 1][..], LogError::UnknownKind(0x3F)),
        (&[0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F][..], LogError::NumberTooLong),
        (&[0xFF, 0x80, 0x80, 0x04, 1][..], LogError::ArgumentTooLong),
        (&[SYNC, 2, 33, 0][..], LogError::ImpossibleShape),
        (&[SYNC, 9, 2, 0][..], LogError::ImpossibleShape),
    ] {
        assert_eq!(node.reader.next(bytes), Err(error));
        assert_eq!(node.reader, before);
    }
    assert_eq!(node.reader.next(&[SYNC, 2, 2]), Ok(None));
    assert_eq!(node.reader, before);
}

/// Whatever a log says, and whether or not a sync record stands before it.
#[test]
fn the_quick_way_reads_events_as_the_long_way_does_and_nothing_else() {
    let mut synced = LogReader::new();
    assert!(synced.next(&[0x23, 2, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]).is_ok());
    let mut counted = synced.clone();
    assert!(counted.next(&[0x87, 3]).is_ok());
    for reader in [LogReader::new(), synced, counted] {
        for first in 0..=u8::MAX {
            for second in [0, 1, 0x7F, 0x80, 0xFF] {
                for length in 0..=7 {
                    let bytes = [first, second, 1, 0x83, 2, 4, 0];
                    let (mut quick, mut long) = (reader.clone(), reader.clone());
                    let read = quick.next_record(&bytes[..length]);
                    match long.next(&bytes[..length]) {
                        Ok(Some((LogItem::Record(record), taken))) => {
                            assert_eq!(read, Some((record, taken)));
                            assert_eq!(quick, long);
                        }
                        _ => {
                            assert_eq!(read, None);
                            assert_eq!(quick, reader);
                        }
                    }
                }
            }
        }
    }
}
