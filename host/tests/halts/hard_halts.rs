//! Halts under conditions that could hang or break them, and a command block that something else wrote into.
use crate::boards::{LIMIT, first_watch, report, two_boards_with, two_boards_with_two_links, wait_until};
use anyhow::Context as _;
use core::mem::offset_of;
use std::time::{Duration, Instant};
use stillpoint::trace::{History, Recorder};
use stillpoint::{BoardError, NodeAddress, System};
use stillpoint_core::control::{CommandError, ControlBlock, StateCode};
use stillpoint_core::{Command, EventKind, NodeId};

const SINK: usize = 3;
const RIGHT0: NodeAddress = NodeAddress { board: 1, core: 0 };
const RIGHT1: NodeAddress = NodeAddress { board: 1, core: 1 };

/// The control block of this firmware.
type Block = ControlBlock<4, 5>;

/// Where the wide half of the counter is set.
const SLOW_COUNTER_LOAD: u32 = 0x5000_2020;

/// Waits until the sink has seen `more` messages than now.
fn wait_for_traffic(system: &mut System, more: i32) -> anyhow::Result<()> {
    let before = first_watch(&report(system)?[SINK]);
    wait_until(system, "traffic", |nodes| first_watch(&nodes[SINK]) >= before + more).map(drop)
}

#[test]
fn a_command_block_that_was_scribbled_over_is_answered_with_its_error_and_never_executed() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&[], &[]])?;
    wait_for_traffic(&mut system, 20)?;
    for (round, junk) in [0_u32, u32::MAX, 0xDEAD_BEEF, 1].into_iter().enumerate() {
        let core = round % 2;
        let board = &mut system.boards()[round / 2];
        let (address, layout) = board.control_block(core);
        let (command, answer) = (address + layout.command() as u32, address + layout.answer() as u32);
        let mut before = [0; 3];
        board.memory().read(answer, &mut before)?;
        // All of it, and then a number that has not been answered, as a wild pointer might leave it.
        let words = (answer - command) as usize / 4;
        let mut scribble = vec![junk; words];
        scribble[words - 1] = before[2].wrapping_add(junk | 1);
        board.memory().write(command, &scribble)?;
        board.ring(core)?;
        let until = Instant::now() + LIMIT;
        let mut after = before;
        while after[2] != scribble[words - 1] {
            board.memory().read(answer, &mut after)?;
            anyhow::ensure!(Instant::now() < until, "no answer to {junk:#x}");
        }
        assert_eq!(after[0], CommandError::Checksum as u32, "the answer to {junk:#x}");
        assert!(system.nodes()?.iter().all(|node| node.state == Some(StateCode::Running)), "{junk:#x} was executed");
    }
    // And the node still takes commands.
    let proof = system.halt(RIGHT0, LIMIT)?;
    system.release(RIGHT0, proof.halt, LIMIT)?;
    Ok(())
}

#[test]
fn a_control_block_whose_header_is_gone_is_an_error_and_not_a_node() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&[], &[]])?;
    let board = &mut system.boards()[0];
    let (address, _) = board.control_block(1);
    board.memory().write(address + 4, &[77])?;
    assert!(matches!(board.node(1), Err(BoardError::Header { core: 1, .. })), "{:?}", board.node(1));
    assert!(board.node(0).is_ok());
    Ok(())
}

#[test]
fn all_cores_that_initiate_at_once_halt_in_one_halt() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&[], &[]])?;
    wait_for_traffic(&mut system, 5)?;
    for cycle in 0..20 {
        // All commands are written before any bell rings.
        let everyone = system.addresses();
        system.begin_halt(&everyone)?;
        system.wait_parked(LIMIT).with_context(|| format!("cycle {cycle}"))?;
        let proof = system.prove().with_context(|| format!("cycle {cycle}"))?;
        system.release(RIGHT1, proof.halt, LIMIT)?;
    }
    wait_for_traffic(&mut system, 5)
}

#[test]
fn a_halt_while_both_cores_fight_for_the_cross_core_lock_stops_them_all() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&["lock=busy"], &["lock=busy"]])?;
    wait_for_traffic(&mut system, 3)?;
    for cycle in 0..12 {
        let initiator = NodeAddress { board: cycle / 2 % 2, core: cycle % 2 };
        let proof = system.halt(initiator, LIMIT).with_context(|| format!("cycle {cycle} from {initiator:?}"))?;
        system.release(initiator, proof.halt, LIMIT)?;
    }
    wait_for_traffic(&mut system, 3)
}

#[test]
fn a_node_that_halts_the_system_while_it_holds_the_lock_hangs_nobody() -> anyhow::Result<()> {
    for core in ["core=0", "core=1"] {
        let (_machines, mut system) = two_boards_with("faults", [&["lock=busy"], &["lock=busy", "halt=lock", core]])?;
        let halt = system.wait_parked(LIMIT).with_context(|| format!("the halt by {core}"))?;
        system.prove()?;
        system.release(RIGHT0, halt, LIMIT)?;
        wait_for_traffic(&mut system, 3)?;
    }
    Ok(())
}

#[test]
fn an_interrupt_that_is_pending_when_the_core_parks_is_served_once_after_it() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&[], &["halt=pending", "core=1"]])?;
    let halt = system.wait_parked(LIMIT)?;
    system.prove()?;
    let interrupts = |nodes: &[stillpoint::Node]| nodes[SINK].watches[1].1;
    assert_eq!(interrupts(&system.nodes()?), 0);
    system.release(RIGHT0, halt, LIMIT)?;
    wait_for_traffic(&mut system, 3)?;
    assert_eq!(interrupts(&report(&mut system)?), 1);
    Ok(())
}

/// A release whose news has not reached everybody, and the next halt right behind it.
#[test]
fn a_newer_halt_is_adopted_by_nodes_that_are_still_parked_in_the_one_before() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&[], &[]])?;
    wait_for_traffic(&mut system, 5)?;
    let mut halt = system.halt(RIGHT0, LIMIT)?.halt;
    for cycle in 0..40 {
        let at = NodeAddress { board: cycle % 2, core: cycle / 2 % 2 };
        system.command(at, &Command::Release(halt))?;
        system.begin_halt(&[at])?;
        let newer = system.wait_parked(LIMIT).with_context(|| format!("cycle {cycle}"))?;
        assert!(newer.is_newer_than(halt), "cycle {cycle}: {newer:?} after {halt:?}");
        system.prove().with_context(|| format!("cycle {cycle}"))?;
        halt = newer;
    }
    system.release(RIGHT0, halt, LIMIT)?;
    wait_for_traffic(&mut system, 5)
}

/// Raw and stood-still time of a core, in counts.
fn times(system: &mut System, at: NodeAddress) -> anyhow::Result<(u64, u64)> {
    system.command(at, &Command::Report)?;
    let board = &mut system.boards()[at.board];
    let (address, _) = board.control_block(at.core);
    let mut words = [0; 4];
    board.memory().read(address + offset_of!(Block, time) as u32, &mut words)?;
    const { assert!(offset_of!(Block, delay) == offset_of!(Block, time) + 8) };
    let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    Ok((long(words[0], words[1]), long(words[2], words[3])))
}

/// The counter starts a second before its wrap; and while the cores are parked its wide half is moved on by three wraps of
/// its narrow half, which is what it would show after eleven minutes.
#[test]
fn a_park_longer_than_the_wrap_of_the_counter_takes_no_logical_time() -> anyhow::Result<()> {
    const WRAPS: u64 = 3;
    let (_machines, mut system) = two_boards_with("faults", [&[], &["counter=wrap"]])?;
    wait_for_traffic(&mut system, 5)?;
    let (raw_before, delay_before) = times(&mut system, RIGHT1)?;
    let proof = system.halt(RIGHT1, LIMIT)?;
    let (raw, _) = times(&mut system, RIGHT1)?;
    let slow = ((raw >> 8) + (WRAPS << 24)) as u32;
    system.boards()[1].memory().write(SLOW_COUNTER_LOAD, &[!slow])?;
    system.release(RIGHT1, proof.halt, LIMIT)?;
    let (raw_after, delay_after) = times(&mut system, RIGHT1)?;
    let (raw, stood) = (raw_after - raw_before, delay_after - delay_before);
    assert!(raw >= WRAPS << 32, "the counter moved by {raw}");
    assert!(raw - stood < 1 << 31, "logical time moved by {} of {raw}", raw - stood);
    wait_for_traffic(&mut system, 5)?;
    let proof = system.halt(RIGHT0, LIMIT)?;
    system.release(RIGHT0, proof.halt, LIMIT)?;
    Ok(())
}

/// While the cores run, the wide half of the counter is moved on by three wraps of its narrow half: what a node sees that
/// was silent for eleven minutes. No command is sent meanwhile, since each calls for a sync record.
#[test]
fn a_silence_longer_than_the_wrap_of_the_counter_is_recorded_whole() -> anyhow::Result<()> {
    const WRAPS: u64 = 3;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("silence.trace");
    let (_machines, mut system) = two_boards_with("faults", [&[], &[]])?;
    wait_for_traffic(&mut system, 5)?;
    let mut recorder = Recorder::start(&mut system, "", &path)?;
    while recorder.poll(&mut system)? == 0 {}
    let (raw, _) = times(&mut system, RIGHT1)?;
    let slow = ((raw >> 8) + (WRAPS << 24)) as u32;
    system.boards()[1].memory().write(SLOW_COUNTER_LOAD, &[!slow])?;
    let (mut read, until) = (0, Instant::now() + LIMIT);
    while read < 4000 {
        read += recorder.poll(&mut system)?;
        anyhow::ensure!(Instant::now() < until, "only {read} bytes of log came");
    }
    recorder.finish(&mut system)?;
    let history = History::load(&path, |_| std::ops::ControlFlow::Continue(()))?;
    let of_sink = history.of_node(SINK as u8).iter().map(|index| &history.events[*index as usize]);
    let seen: Vec<u64> = of_sink.filter_map(|event| Some(event.time?.0)).collect();
    let longest = seen.windows(2).map(|two| two[1] - two[0]).max().context("the sink has no two events")?;
    // A wrap is 2^28 ticks; the write of the counter takes a moment.
    let wraps = longest as f64 / f64::from(1 << 28);
    assert!((wraps - WRAPS as f64).abs() < 0.5, "the silence was recorded as {wraps} wraps");
    Ok(())
}

/// How long the watchdog of this firmware waits, and more.
const LONGER_THAN_THE_WATCHDOG: Duration = Duration::from_secs(8);

#[test]
fn a_watchdog_that_the_agent_feeds_does_not_bite_in_a_park_and_one_that_it_does_not_feed_is_a_crash()
-> anyhow::Result<()> {
    for (word, bites) in [("watchdog=fed", false), ("watchdog=starved", true)] {
        let (_machines, mut system) = two_boards_with("faults", [&[], &[word]])?;
        wait_for_traffic(&mut system, 5)?;
        let proof = system.halt(RIGHT0, LIMIT)?;
        // That nothing happens cannot be waited for; that something does can.
        let until = Instant::now() + if bites { LIMIT } else { LONGER_THAN_THE_WATCHDOG };
        let mut bitten = false;
        while Instant::now() < until && !bitten {
            bitten = system.nodes()?.iter().any(|node| node.fault.is_some());
        }
        assert_eq!(bitten, bites, "{word}");
        system.release(RIGHT0, proof.halt, LIMIT)?;
        if !bites {
            wait_for_traffic(&mut system, 5)?;
        }
    }
    Ok(())
}

/// Board B opens its links in the other order, so the ports of a link differ at its ends.
#[test]
fn halts_with_two_busy_links_between_the_same_nodes_pair_their_ends_and_are_proven() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with_two_links("faults", [&["links=2"], &["links=2"]])?;
    let second = |node: &stillpoint::Node| node.watches.get(1).map_or(0, |(_, value)| *value);
    let has_moved = |nodes: &[stillpoint::Node], since: [i32; 2]| {
        second(&nodes[0]) > since[0] && second(&nodes[2]) > since[1] && first_watch(&nodes[SINK]) > 0
    };
    let mut since = [2, 2];
    let mut in_flight = 0;
    for cycle in 0..12 {
        let nodes = wait_until(&mut system, "traffic on both links", |nodes| has_moved(nodes, since))?;
        since = [second(&nodes[0]) + 2, second(&nodes[2]) + 2];
        let initiator = NodeAddress { board: cycle / 2 % 2, core: cycle % 2 };
        let proof = system.halt(initiator, LIMIT).with_context(|| format!("cycle {cycle} from {initiator:?}"))?;
        let between = |from, to| {
            let ends = proof.channels.iter().map(|state| state.channel);
            let ends = ends.filter(move |channel| (channel.from, channel.to) == (NodeId(from), NodeId(to)));
            ends.map(|channel| (channel.out.0, channel.into.0)).collect::<Vec<_>>()
        };
        // Board A has its first link at ports 0 and 1 and the second at 2 and 3, board B the other way round.
        assert_eq!((between(0, 2), between(2, 0)), (vec![(0, 3), (2, 1)], vec![(0, 3), (2, 1)]), "cycle {cycle}");
        in_flight += proof.channels.iter().filter(|state| !state.in_flight.is_empty()).count();
        system.release(initiator, proof.halt, LIMIT)?;
    }
    assert!(in_flight > 12, "channels were busy at their halts: {in_flight}");
    assert!(report(&mut system)?.iter().all(|node| node.refused == 0));
    Ok(())
}

/// A handler counts, and sets a watch to its count: a value that is missing from the recording was lost or refused.
#[test]
fn events_of_interrupt_handlers_are_all_recorded_though_the_system_halts_again_and_again() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("ticks.trace");
    let (_machines, mut system) = two_boards_with("faults", [&["ticks=handler"], &["ticks=handler"]])?;
    let ticks = |node: &stillpoint::Node| node.watches.last().map_or(0, |(_, value)| *value);
    wait_until(&mut system, "handlers run", |nodes| nodes.iter().all(|node| ticks(node) > 0))?;
    let watches: Vec<usize> = report(&mut system)?.iter().map(|node| node.watches.len() - 1).collect();
    let mut recorder = Recorder::start(&mut system, "", &path)?;
    for cycle in 0..20 {
        let initiator = NodeAddress { board: cycle / 2 % 2, core: cycle % 2 };
        let proof = system.halt(initiator, LIMIT).with_context(|| format!("cycle {cycle} from {initiator:?}"))?;
        let stopped: Vec<i32> = system.nodes()?.iter().map(ticks).collect();
        system.release(initiator, proof.halt, LIMIT)?;
        let until = Instant::now() + LIMIT;
        while !report(&mut system)?.iter().zip(&stopped).all(|(node, before)| ticks(node) > before + 2) {
            recorder.poll(&mut system)?;
            anyhow::ensure!(Instant::now() < until, "handlers do not run after halt {cycle}");
        }
    }
    recorder.finish(&mut system)?;
    assert!(report(&mut system)?.iter().all(|node| node.refused == 0));
    let history = History::load(&path, |_| std::ops::ControlFlow::Continue(()))?;
    for (node, watch) in watches.into_iter().enumerate() {
        let events = history.of_node(node as u8).iter().map(|index| history.events[*index as usize].what);
        let set = events.filter(|event| event.kind == EventKind::Watch && event.arg == watch as u16);
        let values: Vec<u32> = set.map(|event| event.value).collect();
        let missing = values.windows(2).find(|two| two[1] != two[0] + 1);
        assert_eq!(missing, None, "values of node {node} that do not follow each other");
        assert!(values.len() > 40, "node {node} recorded {} values", values.len());
    }
    Ok(())
}
