//! Recordings made without a board.
use std::path::Path;
use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventNumber, NodeId};
use stillpoint_trace::{Chunk, Header, NodeInfo, Writer};

/// Tracepoints in each piece of a recording that [`record`] makes.
pub const EVENTS_A_CHUNK: u32 = 1000;

/// Records one node, `solo`, in pieces of a thousand tracepoints. Returns where each piece begins in the file.
pub fn record(path: &Path, chunks: u32) -> Vec<u64> {
    let node = NodeInfo { id: 0, name: "solo".into(), ..NodeInfo::default() };
    record_as(path, chunks, vec![node])
}

/// The same with other nodes in the header; the events are those of node 0.
pub fn record_as(path: &Path, chunks: u32, nodes: Vec<NodeInfo>) -> Vec<u64> {
    let header = Header { tool: "test".into(), system: "one node".into(), nodes, ..Header::default() };
    let mut file = Writer::create(path, &header).unwrap();
    let (ring, mut log) = (LogRing::<65536>::new(), LogWriter::<1>::new());
    let (mut position, mut starts) = (0, Vec::new());
    for chunk in 0..chunks {
        for number in (1..=EVENTS_A_CHUNK).map(|event| chunk * EVENTS_A_CHUNK + event) {
            let (me, recording) = (NodeId(0), Recording::FULL);
            let standing = Standing {
                me,
                number: EventNumber(number),
                clock: &[number],
                counts: &[],
                origins: &[],
                recording: &recording,
            };
            log.push(&ring, &Event::local(7), Ticks(number), &standing);
        }
        let mut bytes = vec![0; 65536];
        let piece = ring.peek(&mut bytes);
        bytes.truncate(piece.length);
        ring.consume(piece);
        starts.push(file.saved());
        file.log(&Chunk { node: 0, wall: u64::from(chunk), position, dropped: 0, bytes }).unwrap();
        position += piece.length as u32;
    }
    file.end(u64::from(chunks)).unwrap();
    starts
}
