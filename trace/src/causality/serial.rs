//! The order in which the lock of a shared object let accesses through, from what each access recorded.
//!
//! An access has the number of writes so far, modulo 64, and the time of its board; a write has the number of reads since the write
//! before it, modulo 128, as well (table 3-2). The accesses of each node are in order; they are merged by their versions. Where versions leave a choice, time decides: it does so only where a node did not look at the
//! object while others wrote it 64 times. A version that is skipped shows that a write is missing from the recording, and a number
//! of reads that is not met that a read is.
use crate::races::objects;
use crate::{Event, EventId, Header, History};
use std::collections::{BTreeMap, VecDeque};
use stillpoint_core::EventNumber;
use stillpoint_core::shared::{AccessKind, AccessValue};
use stillpoint_core::time::Ticks;

/// What accesses depend on.
#[derive(Default)]
pub(super) struct Accesses {
    /// The accesses immediately before each, if they are of other nodes.
    pub before: BTreeMap<usize, Vec<usize>>,
    /// Accesses before which others are missing, with the node that may have made them.
    pub missing: BTreeMap<usize, u8>,
}

/// One access of an object.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub place: usize,
    pub node: u8,
    pub time: Option<Ticks>,
    /// When it was read, in microseconds since reading began.
    pub wall: u64,
    pub writes: bool,
    version: i64,
    reads: u32,
}

impl Access {
    pub fn of(place: usize, event: &Event) -> Self {
        let AccessValue { kind, version, reads, .. } = AccessValue::from_bits(event.what.value);
        let (node, time, wall, writes) = (event.id.node, event.time, event.wall, kind == AccessKind::Write);
        Self { place, node, time, wall, writes, version: version.into(), reads: reads.into() }
    }
}

const VERSIONS: i64 = AccessValue::VERSIONS as i64;

pub(super) fn accesses(history: &History) -> Accesses {
    let mut found = Accesses::default();
    for ((board, ..), of_nodes) in &objects(history) {
        // What one core alone can access has the order of that core.
        if nodes_of(&history.header, *board).count() < 2 {
            continue;
        }
        let of = |place: &usize| Access::of(*place, &history.events[*place]);
        let all: Vec<Access> = of_nodes.iter().flat_map(|one| one.places.iter().map(of)).collect();
        let is_versioned = all.iter().any(|access| access.version != 0);
        let serial = if is_versioned {
            let mut serial = Serial::new(is_whole(history, *board, &all));
            all.into_iter().for_each(|access| serial.push(access));
            let mut sorted = Vec::new();
            while let Some(access) = serial.next() {
                if let Some(node) = serial.take(&access) {
                    found.missing.insert(access.place, node);
                }
                sorted.push(access);
            }
            sorted
        } else {
            // Where nothing counts the writes, time is all there is.
            let mut all = all;
            all.sort_by_key(|access| (access.time, access.place));
            all
        };
        depend(&serial, &mut found.before);
    }
    found
}

/// The nodes of a board.
pub(super) fn nodes_of(header: &Header, board: usize) -> impl Iterator<Item = u8> {
    header.nodes.iter().filter(move |node| node.board == board).map(|node| node.id)
}

/// Whether the recording has all nodes of a board from the beginning of the life in which they access the object.
fn is_whole(history: &History, board: usize, accesses: &[Access]) -> bool {
    nodes_of(&history.header, board).all(|node| {
        let access = accesses.iter().find(|access| access.node == node).map(|access| access.place);
        let some = access.or_else(|| history.of_node(node).first().map(|place| *place as usize));
        let first = |place: usize| {
            let number = history.events[place].id.number;
            EventId { node, number: number - EventNumber(number).count() + 1 }
        };
        some.is_none_or(|place| history.index_of(first(place)).is_some())
    })
}

/// Merges the accesses of all nodes by their versions.
pub(super) struct Serial {
    /// The accesses of each node that are left, in their order.
    chains: Vec<(u8, VecDeque<Access>)>,
    /// Writes so far. Not known where the recording begins late: then the first is what came first in time.
    version: Option<i64>,
    /// Reads since the last write; not known there either, nor after a missing write.
    reads: Option<u32>,
}

impl Serial {
    /// Nothing is known yet; with `is_whole` the recording begins before every access.
    pub fn new(is_whole: bool) -> Self {
        Self { chains: Vec::new(), version: is_whole.then_some(0), reads: is_whole.then_some(0) }
    }

    /// The next access of its node.
    pub fn push(&mut self, access: Access) {
        match self.chains.iter_mut().find(|(node, _)| *node == access.node) {
            Some((_, chain)) => chain.push_back(access),
            None => self.chains.push((access.node, [access].into())),
        }
    }

    /// The next access: of those that fit the version a read before a write, unless it is a read of the next time round.
    pub fn next(&self) -> Option<Access> {
        let heads = || self.chains.iter().filter_map(|(_, of)| of.front());
        let earliest = |of: &mut dyn Iterator<Item = &Access>| of.min_by_key(|of| (of.time, of.place)).copied();
        let Some(version) = self.version else { return self.first() };
        let reads = || heads().filter(|access| !access.writes && access.version == version);
        let write = earliest(&mut heads().filter(|access| access.writes && access.version == (version + 1) % VERSIONS));
        let Some(write) = write else { return earliest(&mut reads()).or_else(|| earliest(&mut heads())) };
        let is_due = |read: &&Access| {
            if read.time <= write.time {
                return true;
            }
            // A read of this version, unless enough writes of others lie between to come round.
            let others = self.chains.iter().filter(|(node, _)| *node != read.node);
            let writes = others.flat_map(|(_, of)| of.iter().take_while(|access| access.time < read.time));
            writes.filter(|access| access.writes).take(VERSIONS as usize).count() < VERSIONS as usize
        };
        let due = reads().find(is_due).copied();
        due.or(Some(write))
    }

    /// Where the version is not known, what came first in time. Clocks of cores differ: a read comes after the write that it sees.
    fn first(&self) -> Option<Access> {
        let heads = || self.chains.iter().filter_map(|(_, of)| of.front());
        let first = heads().min_by_key(|of| (of.time, of.place))?;
        let seen = heads().find(|write| write.writes && !first.writes && write.version == first.version);
        Some(*seen.unwrap_or(first))
    }

    /// Takes an access, which is the next of its node. Returns a node whose access before it is missing, if one is.
    pub fn take(&mut self, access: &Access) -> Option<u8> {
        if let Some((_, chain)) = self.chains.iter_mut().find(|(node, _)| *node == access.node) {
            chain.pop_front();
        }
        let expected = self.version.map(|version| (version + i64::from(access.writes)) % VERSIONS);
        let lacks_write = expected.is_some_and(|expected| expected != access.version);
        if lacks_write {
            self.reads = None;
        }
        let lacks_read = access.writes && self.reads.is_some_and(|reads| reads % AccessValue::READS != access.reads);
        self.reads = if access.writes { Some(0) } else { self.reads.map(|reads| reads.wrapping_add(1)) };
        self.version = Some(access.version);
        let other = self.chains.iter().map(|(node, _)| *node).find(|node| *node != access.node);
        (lacks_write || lacks_read).then(|| other.unwrap_or(access.node))
    }
}

/// Table 3-2: a read depends on the last write, a write on the last write and on the reads since.
fn depend(serial: &[Access], before: &mut BTreeMap<usize, Vec<usize>>) {
    let (mut write, mut reads): (Option<Access>, Vec<Access>) = (None, Vec::new());
    for access in serial {
        let other = |of: &&Access| of.node != access.node;
        let mut of: Vec<usize> = write.iter().filter(other).map(|of| of.place).collect();
        if access.writes {
            // With reads in between the order of the writes follows from theirs.
            of.extend(reads.iter().filter(other).map(|of| of.place));
            (write, reads) = (Some(*access), Vec::new());
        } else {
            // Earlier reads of the same node come before this one anyway.
            reads.retain(|read| read.node != access.node);
            reads.push(*access);
        }
        if !of.is_empty() {
            before.insert(access.place, of);
        }
    }
}
