//! Exports, read by parsers that are not ours.
use super::*;
use crate::{History, Sketch, View};
use serde_json::Value;
use std::collections::BTreeMap;
use stillpoint_core::time::TickRate;
use stillpoint_core::{Event, EventKind};

/// Two boards whose clocks are far apart, a halt, a name with a space in it, a send without a receive.
fn example() -> History {
    let mut sketch = Sketch::new(&["motor", "the sensor", "logger"]);
    let board =
        |name: &str, hz| crate::BoardInfo { name: name.into(), tick_hz: Some(TickRate(hz)), ..Default::default() };
    sketch.header().boards = vec![board("A", 1_000_000), board("B", 10)];
    sketch.header().nodes[2].board = 1;
    sketch.event(0, Event { kind: EventKind::Watch, arg: 0, value: -3i32 as u32 });
    sketch.message(0, 1);
    sketch.message(1, 2);
    sketch.message(2, 0);
    for kind in [EventKind::Halt, EventKind::Resume] {
        (0..3).for_each(|node| {
            sketch.event(node, Event::new(kind, 1));
        });
    }
    sketch.send(2, 1);
    sketch.history()
}

fn exported(history: &History, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(&View::EVERYTHING.of(history), format, &mut bytes).unwrap();
    bytes
}

/// The default expression of ShiViz, in the dialect of the crate `regex`: a brace is written as such.
#[test]
fn shiviz_reads_every_event_with_its_default_expression() {
    let history = example();
    let text = String::from_utf8(exported(&history, Format::Shiviz)).unwrap();
    let parser = regex::Regex::new(&SHIVIZ_PARSER.replace("{.*}", r"\{.*\}")).unwrap();
    let mut clocks: Vec<(String, BTreeMap<String, u64>)> = Vec::new();
    let mut end = 0;
    for found in parser.captures_iter(&text) {
        assert_eq!(found.get(0).unwrap().start(), end, "nothing is skipped");
        end = found.get(0).unwrap().end() + 1;
        clocks.push((found["host"].into(), serde_json::from_str(&found["clock"]).unwrap()));
    }
    assert_eq!((clocks.len(), end), (history.events.len(), text.len()));
    // What ShiViz demands: each host counts its own events from 1 without a hole.
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for (host, clock) in &clocks {
        let mine = last.entry(host).or_default();
        *mine += 1;
        assert_eq!(clock[host], *mine, "{text}");
    }
    // And its order is ours.
    for (a, (host, clock)) in clocks.iter().enumerate() {
        for (b, (_, later)) in clocks.iter().enumerate() {
            let known = later.get(host).is_some_and(|known| *known >= clock[host]);
            assert_eq!(a != b && known, history.before(a, b), "{a} and {b}");
        }
    }
    assert!(last.contains_key("the_sensor"));
}

#[test]
fn json_has_header_notes_and_every_event() {
    let history = example();
    let value: Value = serde_json::from_slice(&exported(&history, Format::Json)).unwrap();
    let events = value["events"].as_array().unwrap();
    assert_eq!(events.len(), history.events.len());
    assert_eq!(
        (&events[0]["event"], &events[0]["value"], &events[0]["kind"]),
        (&"motor#1".into(), &(-3).into(), &"watch".into())
    );
    assert_eq!(events[1]["partner"], "the sensor#1");
    assert_eq!(value["header"]["nodes"][2]["name"], "logger");
    assert!(value["notes"].is_array());
    let none: Value = serde_json::from_slice(&exported(&History::default(), Format::Json)).unwrap();
    assert_eq!(none["events"], serde_json::json!([]));
}

#[test]
fn csv_has_a_line_an_event_and_names_of_columns() {
    let history = example();
    let bytes = exported(&history, Format::Csv);
    let mut reader = ::csv::Reader::from_reader(&bytes[..]);
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), super::csv::COLUMNS);
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), history.events.len());
    assert_eq!((&rows[1][1], &rows[1][9], &rows[1][13]), ("motor#2", "send(to_the sensor)", "the sensor#1"));
    let clock: Vec<u32> = rows[4][15].split(' ').map(|entry| entry.parse().unwrap()).collect();
    assert_eq!(clock, history.clock(4));
}

/// Fields of a protobuf message as any parser sees them: number, and a varint, eight bytes, or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => found.push((key >> 3, varint(&mut bytes), &bytes[..0])),
            1 => {
                found.push((key >> 3, u64::from_le_bytes(bytes[..8].try_into().unwrap()), &bytes[..8]));
                bytes = &bytes[8..];
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                found.push((key >> 3, 0, &bytes[..length]));
                bytes = &bytes[length..];
            }
            other => panic!("wire type {other}"),
        }
    }
    found
}

#[test]
fn perfetto_has_a_track_a_node_an_event_each_and_a_flow_a_message() {
    let history = example();
    let bytes = exported(&history, Format::Perfetto);
    let packets: Vec<_> = fields(&bytes).into_iter().map(|(_, _, packet)| fields(packet)).collect();
    let events: Vec<_> =
        packets.iter().flatten().filter(|(field, ..)| *field == 11).map(|(_, _, event)| fields(event)).collect();
    assert_eq!(events.len(), history.events.len());
    assert_eq!(packets.iter().flatten().filter(|(field, ..)| *field == 60).count(), 2 + 3, "boards and nodes");
    let of = |field: u64| -> Vec<u64> {
        events.iter().flatten().filter(|found| found.0 == field).map(|found| found.1).collect()
    };
    let (begin, mut end) = (of(47), of(48));
    end.sort_unstable();
    assert_eq!((begin.len(), &begin), (3, &end), "every message that was taken is one flow");
    assert_eq!(of(9).iter().filter(|kind| **kind == 1).count(), 3, "three nodes were halted");
    assert_eq!(of(9).iter().filter(|kind| **kind == 2).count(), 3, "and resumed");
}

/// The sensor's board counts a million times faster: still no message arrives before it left.
#[test]
fn on_the_common_time_line_causes_come_first() {
    let history = example();
    let times = common_time(&history);
    for a in 0..history.events.len() {
        for b in 0..history.events.len() {
            assert!(!history.before(a, b) || times[a] < times[b], "{a} and {b}: {times:?}");
        }
    }
}

/// A node whose log is read first does not push the others out of a window.
#[test]
fn in_time_order_stays_causal_and_mixes_what_is_unordered() {
    let mut sketch = Sketch::new(&["a", "b"]);
    for round in 0..5 {
        sketch.local(0, round);
        sketch.local(1, round);
        sketch.message(round as usize % 2, 1 - round as usize % 2);
    }
    let mut items: Vec<_> = sketch.items().collect();
    items.sort_by_key(|(node, _)| *node);
    let mut builder = crate::Builder::new(sketch.header());
    items.into_iter().for_each(|(node, item)| builder.push(node, 0, item));
    let (sorted, drawn) = (builder.finish(None).in_time_order(), sketch.history());
    let ids = |history: &History| history.events.iter().map(|event| event.id).collect::<Vec<_>>();
    assert_eq!(ids(&sorted), ids(&drawn), "as it was drawn");
    for place in 0..sorted.events.len() {
        assert_eq!(sorted.index_of(sorted.events[place].id), Some(place));
        assert_eq!(sorted.clock(place), drawn.clock(place));
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for format in [Format::Shiviz, Format::Perfetto, Format::Json, Format::Csv] {
        assert!(export(&View::EVERYTHING.of(&example()), format, &mut Full).is_err(), "{format:?}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_a_row_an_event() {
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use ::parquet::record::RowAccessor as _;
    let history = example();
    let bytes = bytes::Bytes::from(exported(&history, Format::Parquet));
    let reader = SerializedFileReader::new(bytes).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), history.events.len());
    assert_eq!((rows[0].get_string(1).unwrap().as_str(), rows[0].get_int(11).unwrap()), ("motor#1", -3));
    assert_eq!(rows[1].get_string(13).unwrap(), "the sensor#1");
    assert!(rows[0].get_string(13).is_err(), "no partner");
    use ::parquet::record::ListAccessor as _;
    let clock = rows[4].get_list(15).unwrap();
    let clock: Vec<u32> = (0..clock.len()).map(|at| clock.get_long(at).unwrap() as u32).collect();
    assert_eq!(clock, history.clock(4));
}

#[test]
fn spans_are_slices_of_the_perfetto_viewer_and_overlapping_ones_have_tracks_of_their_own() {
    let mut sketch = Sketch::new(&["a"]);
    sketch.header().boards = vec![crate::BoardInfo::default()];
    for (kind, tag) in [
        (EventKind::Enter, 1),
        (EventKind::Enter, 2),
        (EventKind::Leave, 1),
        (EventKind::Leave, 2),
        (EventKind::Enter, 1),
        (EventKind::Leave, 1),
        (EventKind::Enter, 3),
    ] {
        sketch.event(0, Event::new(kind, tag));
    }
    let bytes = exported(&sketch.history(), Format::Perfetto);
    // Kind and track of each event.
    let of = |event: &[u8]| {
        let found = fields(event);
        let value = |number: u64| found.iter().find(|(field, ..)| *field == number).map_or(0, |(_, value, _)| *value);
        (value(9), value(11))
    };
    let packets: Vec<_> = fields(&bytes).into_iter().flat_map(|(_, _, packet)| fields(packet)).collect();
    let fields: Vec<(u64, u64)> =
        packets.iter().filter(|(field, ..)| *field == 11).map(|(_, _, event)| of(event)).collect();
    let slices: Vec<(u64, u64)> = fields.iter().filter(|(kind, _)| *kind != 3).copied().collect();
    assert_eq!(slices, [(1, 2000), (1, 2001), (2, 2000), (2, 2001), (1, 2000), (2, 2000)], "{fields:?}");
    assert_eq!(fields.len(), 7, "the one without an end is an instant");
}
