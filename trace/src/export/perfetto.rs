//! The native form of the Perfetto viewer: boards are processes, nodes threads, messages flows, halts and spans slices. Order
//! between nodes through what is not shown is a flow, too.
//!
//! Only the few messages of its protocol that are needed are described here, with the numbers that
//! `protos/perfetto/trace` of the Perfetto sources gives their fields. Packets are written one by one.
use super::common_time;
use crate::{Edge, EdgeKind, History, Printable, Restricted, Row};
use prost::Message as _;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use stillpoint_core::EventKind;

#[derive(Clone, PartialEq, prost::Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Track {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(message, optional, tag = "4")]
    thread: Option<Thread>,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Process {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Thread {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    annotations: Vec<Annotation>,
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    ending_flows: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Annotation {
    #[prost(int64, optional, tag = "4")]
    number: Option<i64>,
    #[prost(string, optional, tag = "6")]
    text: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
/// All packets come from one writer.
const SEQUENCE: u32 = 1;

pub(super) fn write(shown: &Restricted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let history = shown.history;
    let times = common_time(history);
    for (board, info) in history.header.boards.iter().enumerate() {
        let process = Process { pid: Some(board as i32 + 1), name: Some(info.name.clone()) };
        let track = Track { uuid: Some(1000 + board as u64), process: Some(process), ..Track::default() };
        put(out, Packet { track: Some(track), ..Packet::default() })?;
    }
    for node in &history.header.nodes {
        let (pid, tid) = (Some(node.board as i32 + 1), Some(100 + i32::from(node.id)));
        let thread = Some(Thread { pid, tid, name: Some(printable(&node.name)) });
        let track =
            Track { uuid: Some(track_of(node.id)), name: Some(printable(&node.name)), thread, ..Track::default() };
        put(out, Packet { track: Some(track), ..Packet::default() })?;
    }
    let flows = Flows::of(shown);
    let spans = Spans::of(shown);
    spans.tracks(out)?;
    let mut halted = [false; 256];
    for (at, event) in shown.events().enumerate() {
        let halted = &mut halted[usize::from(event.id.node)];
        let place = shown.places()[at];
        let kind = match event.kind() {
            EventKind::Enter if spans.track.contains_key(&place) => SLICE_BEGIN,
            EventKind::Leave if spans.track.contains_key(&place) => SLICE_END,
            EventKind::Halt if !*halted => SLICE_BEGIN,
            EventKind::Resume if *halted => SLICE_END,
            _ => INSTANT,
        };
        match event.kind() {
            EventKind::Halt => *halted = true,
            EventKind::Resume => *halted = false,
            _ => {}
        }
        let (begins, ends) = (flows.begin[at].clone(), flows.end[at].clone());
        let mut event = TrackEvent { flows: begins, ending_flows: ends, ..track_event(history, place, kind) };
        if let Some((track, name)) = spans.track.get(&place) {
            event.track = Some(*track);
            event.name = (kind == SLICE_BEGIN).then(|| name.clone());
        }
        put(out, Packet { timestamp: Some(times[place]), event: Some(event), ..Packet::default() })?;
    }
    Ok(())
}

/// The flows that begin and end at each shown event, by their numbers.
struct Flows {
    begin: Vec<Vec<u64>>,
    end: Vec<Vec<u64>>,
}

impl Flows {
    fn of(shown: &Restricted<'_>) -> Self {
        let mut flows = Self { begin: vec![Vec::new(); shown.len()], end: vec![Vec::new(); shown.len()] };
        let edges = shown.edges().into_iter().filter(|edge| edge.kind != EdgeKind::Step);
        for (number, Edge { from, to, .. }) in (1..).zip(edges) {
            flows.begin[from].push(number);
            flows.end[to].push(number);
        }
        flows
    }
}

/// The ends of the spans of which both are shown, by their places: track and name. Spans of a node that overlap are on tracks
/// of their own, below the node's.
struct Spans {
    track: HashMap<usize, (u64, String)>,
    parents: BTreeMap<u64, u64>,
}

impl Spans {
    fn of(shown: &Restricted<'_>) -> Self {
        let history = shown.history;
        let mut spans = Self { track: HashMap::new(), parents: BTreeMap::new() };
        for span in history.spans() {
            let is_shown = |place: usize| shown.places().binary_search(&place).is_ok();
            let Some(leave) = span.leave.filter(|leave| is_shown(span.enter) && is_shown(*leave)) else { continue };
            let track = 2000 + 256 * u64::from(span.node) + span.depth as u64;
            let name = history.header.about(span.node, &history.events[span.enter].what).unwrap_or_default();
            spans.parents.insert(track, track_of(span.node));
            spans.track.insert(span.enter, (track, printable(&name)));
            spans.track.insert(leave, (track, printable(&name)));
        }
        spans
    }

    fn tracks(&self, out: &mut dyn Write) -> io::Result<()> {
        self.parents.iter().try_for_each(|(track, parent)| {
            let (uuid, name) = (Some(*track), Some("spans".into()));
            let track = Track { uuid, name, parent: Some(*parent), ..Track::default() };
            put(out, Packet { track: Some(track), ..Packet::default() })
        })
    }
}

fn track_event(history: &History, place: usize, kind: i32) -> TrackEvent {
    let event = &history.events[place];
    let row = Row::of(history, place);
    let said = |name: &str, text: Option<String>| {
        text.map(|text| Annotation { name: Some(name.into()), text: Some(printable(&text)), number: None })
    };
    let value =
        row.value.map(|value| Annotation { name: Some("value".into()), number: Some(value.into()), text: None });
    let all = [said("event", Some(row.event)), value, said("partner", row.partner), said("unknown past", row.unknown)];
    TrackEvent {
        annotations: if kind == SLICE_END { Vec::new() } else { all.into_iter().flatten().collect() },
        kind: Some(kind),
        track: Some(track_of(event.id.node)),
        categories: vec![row.kind.into()],
        name: (kind != SLICE_END).then(|| printable(&row.action)),
        ..TrackEvent::default()
    }
}

fn printable(text: &str) -> String {
    Printable(text).to_string()
}

fn track_of(node: u8) -> u64 {
    1 + u64::from(node)
}

fn put(out: &mut dyn Write, packet: Packet) -> io::Result<()> {
    let packet = Packet { sequence: Some(SEQUENCE), ..packet };
    out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
}
