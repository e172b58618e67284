//! The log: arbitrary bytes through the reader, and arbitrary events through writer, ring and reader.
use super::Bytes;
use super::script::any_event;
use stillpoint_core::log::{LogItem, LogReader, LogRing, LogWriter, Recording, Standing};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber, NodeId};

/// The first byte chooses: the rest is a log, or it is what happens at a node that logs.
pub fn log(data: &[u8]) {
    match data.split_first() {
        Some((choice, rest)) if choice & 1 == 0 => read(rest),
        Some((_, rest)) => write_and_read(Bytes(rest)),
        None => {}
    }
}

fn read(mut rest: &[u8]) {
    let mut reader = LogReader::new();
    loop {
        let before = reader.clone();
        match reader.next(rest) {
            Ok(Some((item, used))) => {
                assert!((1..=rest.len()).contains(&used));
                check_item(&item);
                assert_eq!(
                    before.clone().next(&rest[..used - 1]),
                    Ok(None),
                    "a shorter log is one that is not all there"
                );
                rest = &rest[used..];
            }
            Ok(None) | Err(_) => {
                assert_eq!(reader, before, "what could not be read changed the reader");
                return;
            }
        }
    }
}

/// What an item says of its own size is there.
fn check_item(item: &LogItem<'_>) {
    match item {
        LogItem::Causes(causes) => assert_eq!(causes.differences().count(), causes.changed.count_ones() as usize),
        LogItem::Sync(sync) => assert!(sync.clock().count() <= 32 && sync.counts().count() <= 32),
        LogItem::Record(record) => {
            assert!(record.message.is_none() || matches!(record.event.kind, EventKind::Send | EventKind::Receive));
        }
    }
}

/// Room for some sync records of 32 ports, and soon full.
const SIZE: usize = 1024;

/// Events that happen, most of them recorded, to a reader that comes by now and then.
fn write_and_read(mut bytes: Bytes<'_>) {
    let (ring, mut writer, mut reader) = (LogRing::<SIZE>::new(), LogWriter::<3>::new(), LogReader::new());
    let restricted = Recording::restricted(stillpoint_core::KindSet(bytes.word()), bytes.word());
    let recording = [Recording::FULL, Recording::REPLAY, restricted][usize::from(bytes.below(3))];
    let (mut number, mut clock, mut counts, mut now) = (bytes.word(), [0u32; 3], [0u32; 32], 0u64);
    let mut waiting: Vec<(Event, u32, u64, Option<u32>)> = Vec::new();
    while !bytes.is_empty() {
        let event = any_event(&mut bytes);
        // A difference of time has 32 bits; what takes longer is told by calling for a sync.
        now += u64::from(bytes.half_word());
        number = number.wrapping_add(u32::from(!matches!(event.kind, EventKind::Halt | EventKind::Resume)));
        clock[0] = number;
        clock[1] = clock[1].wrapping_add(bytes.byte().into());
        let mut message = None;
        if let (EventKind::Send | EventKind::Receive, Some(count)) =
            (event.kind, counts.get_mut(usize::from(event.arg)))
        {
            *count += 1;
            message = Some(*count);
        }
        if recording.records(&event) {
            let me = NodeId(0);
            let standing = Standing {
                me,
                number: EventNumber(number),
                clock: &clock,
                counts: &counts,
                origins: &counts,
                recording: &recording,
            };
            writer.push(&ring, &event, Ticks(now as u32), &standing);
            waiting.push((event, number, now, message));
        }
        if bytes.flag() {
            drain(&ring, &mut reader, &mut waiting);
        }
    }
    drain(&ring, &mut reader, &mut waiting);
}

/// Everything that was written and not overwritten is read, as it was.
fn drain(ring: &LogRing<SIZE>, reader: &mut LogReader, waiting: &mut Vec<(Event, u32, u64, Option<u32>)>) {
    let mut bytes = [0; SIZE];
    let piece = ring.peek(&mut bytes);
    let mut rest = &bytes[..piece.length];
    let mut is_first = *reader == LogReader::new();
    let mut expected = waiting.drain(..);
    while let Some((item, used)) = reader.next(rest).expect("the writer writes what the reader reads") {
        match item {
            LogItem::Record(record) => {
                let found = (record.event, record.number.0, record.time.0, record.message);
                assert_eq!(Some(found), expected.next());
            }
            LogItem::Sync(sync) => {
                // A reader that has read nothing was there from the beginning all the same.
                let missing = if std::mem::take(&mut is_first) { sync.records } else { sync.missing };
                assert_eq!(expected.by_ref().take(missing as usize).count(), missing as usize);
            }
            LogItem::Causes(_) => {}
        }
        rest = &rest[used..];
    }
    assert!(rest.is_empty() && expected.next().is_none());
    assert_eq!(ring.dropped(), 0, "a record fits into the ring");
    ring.consume(piece);
}

/// A log with every kind of item, and happenings of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let items: [&[u8]; 10] = [
        &[
            0x23, 2, 2, 1, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0,
        ],
        &[0x8c, 0],
        &[0x40, 5],
        &[0xff, 0xac, 2, 1],
        &[7, 1, 0x13, 4],
        &[9, 7, 0, 10, 7, 0],
        &[0x20, 2, 2, 0xac, 2, 6, 0x40, 9],
        &[0x22, 3],
        &[0x23, 3, 0, 32],
        &[0xff; 40],
    ];
    let mut log = vec![0];
    log.extend(items.concat());
    let happenings = |recording: u8| {
        let mut bytes = vec![1, 0x06, 0x10, 0, 0, 9, 0, 0, 0, recording, 0xf0, 0xff, 0xff, 0];
        bytes.extend((0..120).map(|place| (place * 7 % 31) as u8));
        bytes
    };
    vec![log, happenings(0), happenings(1), happenings(2)]
}
