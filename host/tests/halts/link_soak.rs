//! A serial link over a bad line delivers every message once and in order, and halts over it are consistent.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::boards::{LIMIT, firmware, two_boards_with};
use anyhow::{Context as _, ensure};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use stillpoint::{Firmware, System};
use stillpoint_core::Command;

/// What must have happened before a run may end: messages received by every core, halts, bytes spoiled on each board, and
/// times that either end took the link for down. A cut makes one end do so only if that had something to send.
const MESSAGES: i32 = 200;
const HALTS: usize = 12;
const SPOILED: i32 = 100;
const DOWNS: i32 = 1;
/// A run on an idle machine takes a few seconds; a machine with other things to do gets time.
const RUN: Duration = Duration::from_secs(240);

/// The watches of every node, by name.
type Watches = Vec<BTreeMap<String, i32>>;

fn watches(system: &mut System, firmware: &Firmware) -> anyhow::Result<Watches> {
    for at in system.addresses() {
        system.command(at, &Command::Report)?;
    }
    let named = |(name, value): &(u16, i32)| firmware.name("watch", *name).map(|name| (name.to_owned(), *value));
    Ok(system.nodes()?.iter().map(|node| node.watches.iter().filter_map(named).collect()).collect())
}

fn value(watches: &BTreeMap<String, i32>, name: &str) -> i32 {
    watches.get(name).copied().unwrap_or(0)
}

/// Whether everything has happened that a run is for.
fn is_enough(watches: &Watches) -> bool {
    let boards = [&watches[0], &watches[2]];
    watches.iter().all(|node| value(node, "received") >= MESSAGES)
        && boards.iter().all(|node| value(node, "spoiled bytes") >= SPOILED)
        && boards.iter().map(|node| value(node, "link downs")).sum::<i32>() >= DOWNS
}

fn soak(baud: &str) -> anyhow::Result<()> {
    let words = [format!("baud={baud}")];
    let words = [words[0].as_str()];
    let firmware = Firmware::read(&firmware("link_soak")?)?;
    let (_machines, mut system) = two_boards_with("link_soak", [&words, &words])?;
    let (start, addresses) = (Instant::now(), system.addresses());
    let (mut halts, mut in_flight) = (0, 0);
    let mut seen = watches(&mut system, &firmware)?;
    while halts < HALTS || !is_enough(&seen) {
        ensure!(start.elapsed() < RUN, "after {:?} and {halts} halts there is no more than this: {seen:#?}", RUN);
        // From every node in turn, whatever the line does just then: also while it is cut and while frames are repeated.
        let (initiator, releaser) = (addresses[halts * 3 % 4], addresses[(halts * 3 + halts / 4 + 1) % 4]);
        let proof = system.halt(initiator, LIMIT).with_context(|| format!("halt {halts} from {initiator:?}"))?;
        in_flight += proof.channels.iter().map(|channel| channel.in_flight.len()).sum::<usize>();
        system.release(releaser, proof.halt, LIMIT).with_context(|| format!("release {halts}"))?;
        halts += 1;
        let received = |seen: &Watches| seen.iter().map(|node| value(node, "received")).min().unwrap_or(0);
        let before = received(&seen);
        // Some messages must have passed since the last halt, or the next one shows nothing new.
        while received(&seen) < before + 10 {
            ensure!(start.elapsed() < RUN, "after {halts} halts no message arrives any more: {seen:#?}");
            seen = watches(&mut system, &firmware)?;
        }
    }
    let took = start.elapsed();
    println!("{baud} baud: {halts} halts, {in_flight} messages in flight in all, {took:.1?}");
    for (node, watches) in seen.iter().enumerate() {
        let rate = f64::from(value(watches, "received")) / took.as_secs_f64();
        println!("  node {node}: {rate:.0} messages a second, {watches:?}");
        assert_eq!(value(watches, "wrong"), 0, "node {node} received something that was not due");
    }
    for node in system.nodes()? {
        assert_eq!(node.refused, 0, "node {} refused a step", node.id.0);
    }
    let cuts: i32 = seen.iter().map(|node| value(node, "cuts")).sum();
    assert!(cuts > 0, "no cut: {seen:?}");
    // The faults were real, and the link made them good.
    for board in [&seen[0], &seen[2]] {
        for name in ["spoiled bytes", "checksum errors", "retransmissions"] {
            assert!(value(board, name) > 0, "no {name}: {board:?}");
        }
        let (spoiled, bytes) = (value(board, "spoiled bytes"), value(board, "bytes on the line"));
        assert!(spoiled >= bytes / 200 && spoiled <= bytes / 50, "about one byte in a hundred: {spoiled} of {bytes}");
    }
    Ok(())
}

#[test]
fn every_message_arrives_once_and_in_order_over_a_bad_line_at_115200_baud() -> anyhow::Result<()> {
    soak("115200")
}

#[test]
fn every_message_arrives_once_and_in_order_over_a_bad_line_at_one_megabaud() -> anyhow::Result<()> {
    soak("1M")
}
