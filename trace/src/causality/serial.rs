//! The order in which the lock of a shared object let accesses through, from what each access recorded.
//!
//! An access has the number of writes so far, modulo 64, and the time of its board. The accesses of each node are in order; they
//! are merged by their versions. Where versions leave a choice, time decides: it does so only where a node did not look at the
//! object while others wrote it 64 times.
use crate::History;
use crate::races::objects;
use std::collections::BTreeMap;
use stillpoint_core::shared::{AccessKind, AccessValue};
use stillpoint_core::time::Ticks;

/// What accesses depend on.
#[derive(Default)]
pub(super) struct Accesses {
    /// The accesses immediately before each, if they are of other nodes.
    pub before: BTreeMap<usize, Vec<usize>>,
    /// Accesses before which writes are missing, with the node that may have made them.
    pub missing: BTreeMap<usize, u8>,
}

#[derive(Clone, Copy)]
struct Access {
    place: usize,
    node: u8,
    time: Option<Ticks>,
    writes: bool,
    version: i64,
}

const VERSIONS: i64 = AccessValue::VERSIONS as i64;

pub(super) fn accesses(history: &History) -> Accesses {
    let mut found = Accesses::default();
    for of_nodes in objects(history).values() {
        let of = |node: u8, place: usize| {
            let event = &history.events[place];
            let AccessValue { kind, version, .. } = AccessValue::from_bits(event.what.value);
            let writes = kind == AccessKind::Write;
            Access { place, node, time: event.time, writes, version: version.into() }
        };
        let chains: Vec<Vec<Access>> =
            of_nodes.iter().map(|one| one.places.iter().map(|place| of(one.node, *place)).collect()).collect();
        if chains.len() < 2 {
            continue;
        }
        let is_versioned = chains.iter().flatten().any(|access| access.version != 0);
        let serial = if is_versioned { by_version(&chains, &mut found.missing) } else { by_time(&chains) };
        depend(&serial, &mut found.before);
    }
    found
}

/// Where nothing counts the writes, time is all there is.
fn by_time(chains: &[Vec<Access>]) -> Vec<Access> {
    let mut all: Vec<Access> = chains.iter().flatten().copied().collect();
    all.sort_by_key(|access| (access.time, access.place));
    all
}

/// Merges the accesses of all nodes. Notes those before which a write is missing.
fn by_version(chains: &[Vec<Access>], missing: &mut BTreeMap<usize, u8>) -> Vec<Access> {
    let mut at = vec![0; chains.len()];
    let mut serial: Vec<Access> = Vec::new();
    // A recording that has the first access begins before every write; another one with what came first in time.
    let is_new = |access: &Access| access.version == i64::from(access.writes);
    let mut version = chains.iter().filter_map(|of| of.first()).any(is_new).then_some(0);
    loop {
        let heads: Vec<(usize, Access)> =
            chains.iter().enumerate().filter_map(|(chain, of)| Some((chain, *of.get(at[chain])?))).collect();
        let Some(choice) = choose(chains, &at, &heads, version) else { return serial };
        let (chain, access) = choice;
        let expected = version.map(|version| (version + i64::from(access.writes)) % VERSIONS);
        if expected.is_some_and(|expected| expected != access.version) {
            let other = chains.iter().filter_map(|of| of.first()).map(|of| of.node).find(|node| *node != access.node);
            missing.insert(access.place, other.unwrap_or(access.node));
        }
        version = Some(access.version);
        at[chain] += 1;
        serial.push(access);
    }
}

/// The next access: of those that fit the version a read before a write, unless it is a read of the next time round.
fn choose(
    chains: &[Vec<Access>],
    at: &[usize],
    heads: &[(usize, Access)],
    version: Option<i64>,
) -> Option<(usize, Access)> {
    let earliest = |of: &mut dyn Iterator<Item = &(usize, Access)>| {
        of.min_by_key(|(_, access)| (access.time, access.place)).copied()
    };
    let Some(version) = version else { return earliest(&mut heads.iter()) };
    let reads = || heads.iter().filter(|(_, access)| !access.writes && access.version == version);
    let write =
        earliest(&mut heads.iter().filter(|(_, access)| access.writes && access.version == (version + 1) % VERSIONS));
    let Some((_, write_access)) = write else { return earliest(&mut reads()).or_else(|| earliest(&mut heads.iter())) };
    let is_due = |(chain, read): &&(usize, Access)| {
        if read.time <= write_access.time {
            return true;
        }
        // A read of this version, unless enough writes of others lie between to come round.
        let others = chains.iter().zip(at).enumerate().filter(|(other, _)| other != chain);
        let writes = others.flat_map(|(_, (of, at))| of[*at..].iter().take_while(|access| access.time < read.time));
        writes.filter(|access| access.writes).take(VERSIONS as usize).count() < VERSIONS as usize
    };
    let due = reads().find(is_due).copied();
    due.or(write)
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
