//! What is known of one node while its log is read.
use super::clock::newer;
use super::taint::Taint;
use crate::{Item, Sync};
use std::collections::VecDeque;
use stillpoint_core::MAX_PORTS;
use stillpoint_core::log::Record;

/// Something of a log that waits for its turn, and when the recorder read it.
#[derive(Clone, Debug)]
pub(super) struct Queued {
    pub wall: u64,
    pub item: Item,
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A message of a channel, from the node.
    Message { node: u8, channel: usize },
    /// An event of a node, or a later one.
    Event { node: u8, number: u32 },
}

impl Wait {
    pub fn node(self) -> u8 {
        match self {
            Self::Message { node, .. } | Self::Event { node, .. } => node,
        }
    }
}

/// One end of a channel at a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Port {
    /// The channel, as a place in the list of all.
    pub channel: Option<usize>,
    /// Who is at the other end, whether or not it is in the trace.
    pub peer: Option<u8>,
    pub out: bool,
    /// Messages sent or received in the present session.
    pub count: u32,
    /// What the peer said of itself in the present session.
    pub named: Option<u32>,
    /// What the peer said of itself just now; which session that opens is known with the next item.
    pub heard: Option<u32>,
}

/// A node, read so far.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub queue: VecDeque<Queued>,
    /// Nothing comes after what is in the queue.
    pub ended: bool,
    /// Something was read.
    pub seen: bool,
    /// The log went back here: the last event; how many records were left out since.
    pub over: Option<u64>,
    /// Whether its messages carry vector stamps: then its clock, where the log gives it, is all there is to know.
    pub vector: bool,
    /// Everything that happened before its last event.
    pub clock: Vec<u32>,
    /// What of that is not known.
    pub taint: Option<Box<Taint>>,
    /// The clock as the node's own log told it.
    pub told: Vec<u32>,
    /// The entries of `told` that the items before the next record raised, one bit a node.
    pub raised: u32,
    /// A sync record stands before the next record.
    pub sync: Option<Box<Sync>>,
    /// Records carry the clock entries that changed.
    pub carries_causes: bool,
    /// The mode of the last sync record.
    pub mode: Option<u8>,
    /// Records are missing between the last event and the next.
    pub gap: bool,
    /// The counts are set for the record at the front of the queue.
    pub prepared: bool,
    /// The last event; none before the first.
    pub last: Option<u32>,
    /// The first event of the present life, and which life that is.
    pub life: u32,
    pub ordinal: u32,
    pub ports: [Port; MAX_PORTS],
    pub wait: Option<Wait>,
    /// Records without a number.
    pub unplaced: u64,
}

impl Node {
    pub fn new(width: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            ended: false,
            seen: false,
            over: None,
            vector: false,
            clock: vec![0; width],
            taint: None,
            told: vec![0; width],
            raised: 0,
            sync: None,
            carries_causes: false,
            mode: None,
            gap: true,
            prepared: false,
            last: None,
            life: 0,
            ordinal: 0,
            ports: [Port::default(); MAX_PORTS],
            wait: None,
            unplaced: 0,
        }
    }

    /// Every recorded event up to this one was delivered; none if nothing can be said.
    pub fn passed(&self) -> Option<u32> {
        let next = self.sync.as_ref().map(|sync| sync.number).or_else(|| match self.queue.front()?.item {
            Item::Record(Record { number, .. }) => Some(number.0),
            _ => None,
        });
        match (next.map(|next| next.wrapping_sub(1)), self.last) {
            // A halt has the number of the event it came after.
            (Some(next), Some(last)) if newer(last, next) => Some(last),
            (next, last) => next.or(last),
        }
    }

    /// All of its log was delivered.
    pub fn is_done(&self) -> bool {
        self.ended && self.queue.is_empty()
    }
}
