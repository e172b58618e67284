//! What is known of one node while its log is read.
use super::channel::{Anchor, Settled};
use super::clock::{self, LANES, newer};
use super::queue::{Front, Queue};
use super::taint::Taint;
use crate::{Item, Sync, Why};
use std::borrow::Cow;
use stillpoint_core::MAX_PORTS;

/// The highest mode in which not every event is recorded.
pub(super) const RESTRICTED: u8 = 1;

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A message of a channel, from the node; where `after` is given, the channel has nothing for the waiter before its
    /// only session counts on from there.
    Message { node: u8, channel: usize, after: Option<u32> },
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
    /// A message that the node took in the present session.
    pub anchor: Option<Anchor>,
    /// It has asked all there is to ask about the channel.
    pub settled: Option<Settled>,
}

/// A node, read so far.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub queue: Queue,
    /// Nothing is missing, in doubt or to be said before the next record: see `plain.rs`.
    pub plain: bool,
    /// Nothing comes after what is in the queue.
    pub ended: bool,
    /// Something was read.
    pub seen: bool,
    /// The log went back here: the last event; how many records were left out since.
    pub over: Option<u64>,
    /// Whether its messages carry vector stamps: then its clock, where the log gives it, is all there is to know.
    pub vector: bool,
    /// Everything that happened before its last event.
    pub clock: Vec<[u32; LANES]>,
    /// What of that is not known, of the present life.
    pub taint: Option<Box<Taint>>,
    /// What of that is not known from before a reset, its own or another node's: its own clock does not tell.
    pub inherited: Option<Box<Taint>>,
    /// Ports by which it may have learned something that was lost with a reset, one bit a port: until a message comes by
    /// each of them, which brings all that came by it before.
    pub doubted: u32,
    /// The log did not go on where it ended before the next record.
    pub restarted: bool,
    /// The clock as the node's own log told it.
    pub told: Vec<u32>,
    /// The entries of `told` that the items before the next record raised, one bit a node.
    pub raised: u32,
    /// A sync record stands before the next record.
    pub sync: Option<Box<Sync>>,
    /// The next record is of a node that was reset and has not started.
    pub is_starting: bool,
    /// The channels know all that the sync record says.
    pub announced: bool,
    /// Records carry the clock entries that changed.
    pub carries_causes: bool,
    /// The mode of the last sync record.
    pub mode: Option<u8>,
    /// Records are missing between the last event and the next.
    pub gap: bool,
    /// The record at the front does not wait, for this reason.
    pub forced: Option<Why>,
    /// With this event of the node that it waited for, what it goes on without is known.
    pub forced_until: Option<u32>,
    /// The counts are set for the record at the front of the queue.
    pub prepared: bool,
    /// The first event that was read, or the one that the first halt came after.
    pub first: Option<u32>,
    /// The last event; none before the first.
    pub last: Option<u32>,
    /// Which life it is in.
    pub ordinal: u32,
    pub ports: [Port; MAX_PORTS],
    pub wait: Option<Wait>,
    /// Records without a number.
    pub unplaced: u64,
}

impl Node {
    pub fn new(width: usize) -> Self {
        Self {
            queue: Queue::default(),
            plain: false,
            ended: false,
            seen: false,
            over: None,
            vector: false,
            clock: clock::row(width),
            taint: None,
            inherited: None,
            doubted: 0,
            restarted: false,
            told: vec![0; width],
            raised: 0,
            sync: None,
            is_starting: false,
            announced: false,
            carries_causes: false,
            mode: None,
            gap: true,
            forced: None,
            forced_until: None,
            prepared: false,
            first: None,
            last: None,
            ordinal: 0,
            ports: [Port::default(); MAX_PORTS],
            wait: None,
            unplaced: 0,
        }
    }

    /// The number of the next record; none if nothing can be said.
    pub fn next(&self) -> Option<u32> {
        self.sync.as_ref().map(|sync| sync.number).or_else(|| match self.queue.front()? {
            Front::Record(record) if !self.is_starting => Some(record.number.0),
            Front::Record(_) | Front::Other(_) => None,
        })
    }

    /// Every recorded event up to this one was delivered; none if nothing can be said.
    pub fn passed(&self) -> Option<u32> {
        let next = self.next();
        match (next.map(|next| next.wrapping_sub(1)), self.last) {
            // A halt has the number of the event it came after.
            (Some(next), Some(last)) if newer(last, next) => Some(last),
            (next, last) => next.or(last),
        }
    }

    /// What of its past is not known, in whatever life it was lost.
    pub fn doubt(&self) -> Option<Cow<'_, Taint>> {
        match (&self.taint, &self.inherited) {
            (Some(mine), Some(inherited)) => {
                let mut both = inherited.as_ref().clone();
                both.merge(mine);
                Some(Cow::Owned(both))
            }
            (mine, inherited) => mine.as_deref().or(inherited.as_deref()).map(Cow::Borrowed),
        }
    }

    /// Whether messages may have been sent, up to what is in the queue, that the log does not show.
    pub fn may_lack_sends(&self) -> bool {
        let unseen = |item: &Item| match item {
            Item::Gap(_) | Item::Restart | Item::Broken(_) | Item::Causes { .. } => true,
            Item::Sync(sync) => sync.mode <= RESTRICTED,
            Item::Record(_) | Item::Unplaced(_) => false,
        };
        self.gap || self.mode.is_some_and(|mode| mode <= RESTRICTED) || self.queue.others().any(unseen)
    }

    /// Whether there is nothing about the next record that only the long way can deal with.
    pub fn is_plain(&self) -> bool {
        let nothing_to_say = self.sync.is_none() && self.raised == 0 && !(self.vector && self.carries_causes);
        let nothing_wrong =
            self.taint.is_none() && self.inherited.is_none() && self.doubted == 0 && !self.gap && self.over.is_none();
        nothing_to_say && nothing_wrong && self.last.is_some() && !self.prepared && self.forced.is_none()
    }

    /// Whether the recording of the node ended before this event of it. A node that does not record everything may have
    /// done it all the same, and of one without any event, or whose log goes back, nothing can be said.
    pub fn ended_before(&self, number: u32) -> bool {
        self.is_done() && self.records_all() && self.over.is_none() && self.last.is_some_and(|last| newer(number, last))
    }

    /// Whether it records every event, as far as its log says.
    pub fn records_all(&self) -> bool {
        self.mode.is_none_or(|mode| mode > RESTRICTED)
    }

    /// All of its log was delivered.
    pub fn is_done(&self) -> bool {
        self.ended && self.queue.is_empty()
    }
}
