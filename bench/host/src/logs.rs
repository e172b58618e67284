//! From the bytes of logs: decoding alone, and decoding with causal order.
use crate::callgrind::Work;
use crate::input::{Run, header};
use std::hint::black_box;
use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
use stillpoint_core::{EventKind, NodeId};
use stillpoint_trace::{CausalOrder, Item, Part, Stream};

/// How many nodes and events.
const NODES: usize = 8;
const EVENTS: usize = 24_000;
/// The names of the counts.
pub const DECODE: &str = "decoding, 8 nodes";
pub const DECODE_AND_ORDER: &str = "decoding and causal order, 8 nodes";

pub fn works() -> Vec<Work> {
    let decode = Work::new(DECODE.to_owned(), EVENTS, || {
        let pieces = pieces();
        move || _ = black_box(decode(&pieces))
    });
    let sort = Work::new(DECODE_AND_ORDER.to_owned(), EVENTS, || {
        let pieces = pieces();
        move || _ = black_box(sort(&pieces))
    });
    vec![decode, sort]
}

/// The logs as nodes write them, cut where a recorder would have read a round of each node.
fn pieces() -> Vec<(u8, u32, Vec<u8>)> {
    let mut events = Vec::new();
    let mut order = CausalOrder::new(&header(NODES));
    for (node, record) in Run::new(NODES).take(EVENTS) {
        order.push(node, 0, Item::Record(record), &mut |event, _| events.push(*event));
    }
    order.finish(&mut |event, _| events.push(*event));
    let rings: Vec<LogRing<4096>> = (0..NODES).map(|_| LogRing::new()).collect();
    let mut writers = vec![LogWriter::<NODES>::new(); NODES];
    // What a node knows of another is the last event of it that sent it something.
    let (mut clocks, mut counts, mut origins) = ([[0; NODES]; NODES], [[0; 4]; NODES], [[0; 4]; NODES]);
    let (mut pieces, mut written, mut bytes) = (Vec::new(), [0_u32; NODES], [0; 4096]);
    for event in &events {
        let node = usize::from(event.id.node);
        clocks[node][node] = event.id.number;
        if let Some(send) = event.partner {
            clocks[node][usize::from(send.node)] = send.number;
            origins[node][usize::from(event.what.arg)] = send.number;
        }
        if matches!(event.kind(), EventKind::Send | EventKind::Receive) {
            counts[node][usize::from(event.what.arg)] += 1;
        }
        let (number, recording) = (stillpoint_core::EventNumber(event.id.number), Recording::FULL);
        let (clock, counts) = (&clocks[node][..], &counts[node][..]);
        let standing = Standing {
            me: NodeId(event.id.node),
            number,
            clock,
            counts,
            origins: &origins[node],
            recording: &recording,
        };
        writers[node].push(&rings[node], &event.what, event.time.unwrap_or_default().low(), &standing);
        if event.id.number % 6 == 0 {
            let piece = rings[node].peek(&mut bytes);
            let length = piece.length;
            rings[node].consume(piece);
            pieces.push((event.id.node, written[node], bytes[..length].to_vec()));
            written[node] += length as u32;
        }
    }
    pieces
}

fn decode(pieces: &[(u8, u32, Vec<u8>)]) -> usize {
    let (mut streams, mut records) = (vec![Stream::new(); NODES], 0);
    for (node, position, bytes) in pieces {
        streams[usize::from(*node)].push_parts(*position, bytes, |part| {
            if let Part::Records(run) = part {
                records += black_box(run).len();
            }
        });
    }
    records
}

/// Says how many events there are of which all that happened before is known.
fn sort(pieces: &[(u8, u32, Vec<u8>)]) -> usize {
    let (mut order, mut known) = (CausalOrder::new(&header(NODES)), 0);
    let mut streams = vec![Stream::new(); NODES];
    for (node, position, bytes) in pieces {
        streams[usize::from(*node)].push_parts(*position, bytes, |part| {
            order.push_part(*node, 0, part, &mut |event, clock| {
                black_box(clock);
                known += usize::from(event.past.is_known());
            });
        });
    }
    order.finish(&mut |event, _| known += usize::from(event.past.is_known()));
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logs_hold_every_event_and_leave_nothing_unknown() {
        let pieces = pieces();
        assert_eq!((decode(&pieces), sort(&pieces)), (EVENTS, EVENTS));
    }
}
