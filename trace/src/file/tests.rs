//! Traces written, damaged, and read back.
use super::frame::Body;
use super::*;
use proptest::prelude::*;
use std::path::Path;
use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventNumber, NodeId, PortId};

fn header() -> Header {
    let nodes = [0, 1].map(|id| NodeInfo { id, name: format!("n{id}"), ..NodeInfo::default() });
    Header { tool: "test".into(), system: "somewhere".into(), nodes: nodes.to_vec(), ..Header::default() }
}

/// Node 0 of a system of two, which sends and logs that.
struct Logging<const S: usize> {
    ring: LogRing<S>,
    writer: LogWriter<2>,
    number: u32,
}

impl<const S: usize> Logging<S> {
    fn new(first: u32) -> Self {
        Self { ring: LogRing::new(), writer: LogWriter::new(), number: first }
    }

    fn happen(&mut self) {
        let (number, recording) = (self.number, Recording::FULL);
        let (clock, counts) = ([number, 0], [number]);
        let (me, number) = (NodeId(0), EventNumber(number));
        let standing = Standing { me, number, clock: &clock, counts: &counts, origins: &[0], recording: &recording };
        self.writer.push(&self.ring, &Event::send(PortId(0)), Ticks(number.0), &standing);
        self.number += 1;
    }

    /// What was not read yet, and where it begins.
    fn read(&mut self) -> (u32, Vec<u8>) {
        let mut bytes = vec![0; S];
        let piece = self.ring.peek(&mut bytes);
        self.ring.consume(piece);
        bytes.truncate(piece.length);
        (piece.position, bytes)
    }
}

/// The bytes of a log with `events` sends, from the event `first` on.
fn log(first: u32, events: u32) -> Vec<u8> {
    let mut node = Logging::<4096>::new(first);
    (0..events).for_each(|_| node.happen());
    node.read().1
}

/// A file of ten frames of log, in the way a recorder writes it, and where each frame begins.
fn example() -> (Vec<u8>, Vec<usize>) {
    let mut file = [&MAGIC[..], &Body::Header(Box::new(header())).encode()].concat();
    let (mut starts, mut position) = (Vec::new(), 0);
    for index in 0..10 {
        starts.push(file.len());
        let bytes = if index == 0 { log(1, 20) } else { log(1 + 20 * index, 20) };
        let length = bytes.len() as u32;
        file.extend(Body::Log(Chunk { node: 0, wall: index.into(), position, dropped: 0, bytes }).encode());
        position += length;
    }
    (file, starts)
}

fn parse(bytes: &[u8]) -> Result<TraceFile, TraceError> {
    TraceFile::parse(bytes, Path::new("a.trace"))
}

fn numbers(trace: &TraceFile) -> Vec<u32> {
    let entries = trace.entries(0).into_iter();
    let numbers = entries.filter_map(|entry| match entry.item {
        Item::Record(record) => Some(record.number.0),
        _ => None,
    });
    numbers.collect()
}

#[test]
fn what_was_written_is_read_back_in_order() {
    let (file, _) = example();
    let trace = parse(&file).unwrap();
    assert_eq!((trace.damage.clone(), trace.ended), (None, None));
    assert_eq!(trace.header, header());
    assert!(numbers(&trace).into_iter().eq(1..=200));
}

#[test]
fn a_file_cut_between_two_frames_is_said_to_have_no_end() {
    let (file, starts) = example();
    let notes = |file: &[u8]| crate::History::of(&parse(file).unwrap()).notes().to_vec();
    let ended = [&file[..], &Body::End(7).encode()].concat();
    assert!(!notes(&ended).contains(&crate::Note::NoEnd));
    assert!(starts.iter().skip(1).all(|start| notes(&file[..*start]).contains(&crate::Note::NoEnd)));
    // Damage says more than a missing end.
    assert!(!notes(&file[..starts[1] + 1]).contains(&crate::Note::NoEnd));
}

/// Every cut: whole frames before it are read, and the offset of the first that is not whole is named.
#[test]
fn a_file_cut_off_anywhere_is_read_up_to_the_cut() {
    let (file, starts) = example();
    for length in starts[0]..file.len() {
        let trace = parse(&file[..length]).unwrap();
        let whole = starts.iter().filter(|start| **start <= length).count() - 1;
        assert_eq!(trace.chunks.len(), whole);
        let at = starts[whole];
        match trace.damage {
            Some(damage) => assert_eq!((damage.offset, damage.why), (at as u64, FrameError::Truncated)),
            None => assert_eq!(length, at, "a cut inside a frame is not noticed"),
        }
    }
    for length in 0..starts[0] {
        assert!(parse(&file[..length]).is_err(), "there is no trace without a header");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// 200 wrong bits: never a panic, never a wrong event, and the offset of the damaged frame.
    #[test]
    fn a_wrong_bit_is_found_and_its_frame_named(place in any::<prop::sample::Index>(), bit in 0u8..8) {
        let (mut file, starts) = example();
        let at = place.index(file.len());
        file[at] ^= 1 << bit;
        let frame = starts.iter().rposition(|start| *start <= at);
        match (parse(&file), frame) {
            (Ok(trace), Some(frame)) => {
                prop_assert_eq!(trace.damage.as_ref().map(|damage| damage.offset), Some(starts[frame] as u64));
                prop_assert!(numbers(&trace).into_iter().eq(1..=20 * frame as u32));
            }
            (Err(error), None) if at >= MAGIC.len() => {
                prop_assert!(error.to_string().contains("damaged in its header, at byte 8"), "{}", error);
            }
            (Err(error), None) => prop_assert!(matches!(error, TraceError::NotATrace(_))),
            (read, frame) => prop_assert!(false, "frame {frame:?}: {read:?}"),
        }
    }

    /// Bytes that are no log, with sound checksums around them, break off the stream and nothing else.
    #[test]
    fn a_log_of_any_bytes_never_panics(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6)) {
        let mut stream = Stream::new();
        let mut position = 0u32;
        for piece in pieces {
            stream.push(position, &piece, |_| {});
            position = position.wrapping_add(piece.len() as u32);
        }
    }
}

#[test]
fn a_log_that_does_not_go_on_where_it_ended_is_a_restart() {
    let mut items = Vec::new();
    let mut stream = Stream::new();
    let first = log(1, 3);
    stream.push(0, &first, |item| items.push(item));
    stream.push(0, &log(1, 2), |item| items.push(item));
    assert_eq!(items.iter().filter(|item| **item == Item::Restart).count(), 1);
    assert_eq!(items.iter().filter(|item| matches!(item, Item::Record(_))).count(), 5);
}

/// The first of each piece that is read later than the ring could hold.
#[test]
fn records_that_were_overwritten_before_they_were_read_are_a_gap_with_their_number() {
    let mut node = Logging::<512>::new(1);
    let (mut items, mut stream, mut read, mut events) = (Vec::new(), Stream::new(), 0, 0);
    for pause in [3, 400, 5, 1000, 2] {
        for _ in 0..pause {
            node.happen();
            events += 1;
        }
        let (position, bytes) = node.read();
        stream.push(position, &bytes, |item| items.push(item));
        let records = items.iter().filter(|item| matches!(item, Item::Record(_))).count() as u32;
        let missing: u32 = items.iter().map(|item| if let Item::Gap(missing) = item { *missing } else { 0 }).sum();
        assert!(records > read, "something was read");
        read = records;
        assert_eq!(records + missing, events);
    }
    assert!(!items.contains(&Item::Restart), "the node was never reset");
    assert_eq!(items.iter().filter(|item| matches!(item, Item::Gap(_))).count(), 2);
}

#[test]
fn records_before_the_first_sync_record_are_kept_without_a_number() {
    let bytes = log(1, 3);
    // The sync record of a system of two with one port: a byte each for kind, mode, nodes, ports, and eight words.
    let without_sync = &bytes[36..];
    let mut items = Vec::new();
    Stream::new().push(36, without_sync, |item| items.push(item));
    assert_eq!(items.len(), 3, "{items:?}");
    assert!(items.iter().all(|item| matches!(item, Item::Unplaced(_))), "{items:?}");
}

#[test]
fn a_trace_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = Writer::create(&path, &header()).unwrap();
    writer.end(7).unwrap();
    assert_eq!(TraceFile::open(&path).unwrap().ended, Some(7));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), writer.saved());
    assert!(matches!(Writer::create(&path, &header()), Err(WriteError::Exists(_))));
}

/// `/dev/full` is a disk without room.
#[test]
fn a_full_disk_says_how_much_is_saved() {
    let path = Path::new("/dev/full");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let mut writer = Writer::over(path, file, 4168, 17);
    let error = writer.end(1).unwrap_err().to_string();
    assert!(error.contains("4168 bytes in 17 frames are saved there and can be read; the boards run on"), "{error}");
    assert!(error.contains("No space left"), "{error}");
    assert_eq!(writer.saved(), 4168);
}

#[test]
fn files_that_were_joined_are_read_up_to_the_seam_and_told_apart() {
    let (file, _) = example();
    let joined = [&file[..], &file].concat();
    let trace = parse(&joined).unwrap();
    assert_eq!(trace.chunks.len(), 10);
    let damage = trace.damage.unwrap();
    assert_eq!((damage.offset, damage.why), (file.len() as u64, FrameError::Concatenated));
    let second = [&file[..], &Body::Header(Box::new(header())).encode()].concat();
    assert_eq!(parse(&second).unwrap().damage.unwrap().why, FrameError::SecondHeader);
}

#[test]
fn a_frame_of_a_newer_version_is_named_and_what_lies_before_it_is_read() {
    let (file, _) = example();
    // A sound frame of a kind that does not exist: its checksum is over length and body.
    let mut newer = Body::End(7).encode();
    newer[8] = 99;
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&[&newer[..4], &newer[8..]].concat());
    newer[4..8].copy_from_slice(&sum.to_le_bytes());
    let trace = parse(&[file, newer].concat()).unwrap();
    assert_eq!(trace.chunks.len(), 10);
    assert_eq!(trace.damage.unwrap().why, FrameError::Kind(99));
}
