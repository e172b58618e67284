//! What a replay would have to give again is in the log while a node records for replay, and only then.
use crate::boards::{LIMIT, firmware, start, wait_until_started};
use qemu_probe::{Link, Machine};
use std::collections::BTreeMap;
use std::time::Instant;
use stillpoint::{Node, System};
use stillpoint_core::log::{LogItem, LogReader, Recording};
use stillpoint_core::{Command, Event, EventKind};

const REPLAY_ONLY: [EventKind; 5] =
    [EventKind::Poll, EventKind::RecvNone, EventKind::SendFull, EventKind::Now, EventKind::Input];

/// What a node's ring holds, oldest first; the ring is not emptied.
fn log(machine: &Machine, node: &Node) -> Vec<Event> {
    let ram = machine.shared_ram().expect("the board shares its RAM");
    let mut ring = vec![0; node.log.1 as usize];
    ram.read(node.log.0, &mut ring).expect("the ring is in shared RAM");
    let (head, bytes) = ring.split_at(20);
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
    let (written, size, oldest) = (word(0), word(12), word(16));
    let log: Vec<u8> = (0..written.wrapping_sub(oldest).min(size))
        .map(|offset| bytes[(oldest.wrapping_add(offset) % size) as usize])
        .collect();
    let mut rest = &log[..];
    let (mut reader, mut events) = (LogReader::new(), Vec::new());
    while let Ok(Some((item, length))) = reader.next(rest) {
        if let LogItem::Record(record) = item {
            events.push(record.event);
        }
        rest = &rest[length..];
    }
    events
}

#[test]
fn polls_timers_clock_reads_inputs_and_empty_or_full_ports_are_recorded_for_replay_only() -> anyhow::Result<()> {
    let elf = firmware("replay")?;
    let (end, _nobody) = Link::pair()?;
    let (machine, board) = start(&elf, end, &["board=A"])?;
    let mut system = System::new(vec![board]);
    wait_until_started(&mut system)?;
    let both = system.addresses();
    let ordinary: Vec<Vec<Event>> = system.nodes()?.iter().map(|node| log(&machine, node)).collect();
    for (node, events) in ordinary.iter().enumerate() {
        let strays: Vec<_> = events.iter().filter(|event| REPLAY_ONLY.contains(&event.kind)).collect();
        assert!(strays.is_empty(), "node {node} recorded {strays:?} without being asked to");
    }
    for at in &both {
        system.command(*at, &Command::Record(Recording::REPLAY))?;
    }
    let wanted: [&[EventKind]; 2] = [
        &[EventKind::Poll, EventKind::Timer, EventKind::Now, EventKind::Input, EventKind::SendFull, EventKind::Send],
        &[EventKind::Poll, EventKind::Timer, EventKind::Now, EventKind::RecvNone, EventKind::Receive],
    ];
    let until = Instant::now() + LIMIT;
    let logs = loop {
        let logs: Vec<Vec<Event>> = system.nodes()?.iter().map(|node| log(&machine, node)).collect();
        let seen = |node: usize, kind: EventKind| logs[node].iter().any(|event| event.kind == kind);
        let readings = logs[0].iter().filter(|event| event.kind == EventKind::Input).count();
        if readings > 2 && (0..2).all(|node| wanted[node].iter().all(|kind| seen(node, *kind))) {
            break logs;
        }
        assert!(
            Instant::now() < until,
            "not every kind was recorded: {:?}",
            logs.into_iter().map(counts_of).collect::<Vec<_>>()
        );
    };
    // Tasks and inputs are known by what the ELF says of them.
    let polled: Vec<u16> =
        logs[0].iter().filter(|event| event.kind == EventKind::Poll).map(|event| event.arg).collect();
    assert!(polled.windows(2).all(|pair| pair[0] == pair[1]), "the sensor has one task: {polled:?}");
    let input = logs[0].iter().find(|event| event.kind == EventKind::Input).map(|event| event.arg);
    let firmware = stillpoint::Firmware::read(&elf)?;
    assert_eq!(input.and_then(|name| firmware.name("input", name)), Some("level"));
    // A poll that reads the level comes after the two timers that called for it, the second of which ended as it was set.
    let order: Vec<EventKind> = logs[0]
        .iter()
        .map(|event| event.kind)
        .filter(|kind| matches!(kind, EventKind::Timer | EventKind::Input))
        .collect();
    let before_each: Vec<usize> = order.split(|kind| *kind == EventKind::Input).map(<[EventKind]>::len).collect();
    let [_, before_each @ .., _] = &before_each[..] else { panic!("the level was read once or never: {order:?}") };
    assert!(before_each.iter().all(|timers| *timers >= 2), "a timer fired and was not recorded: {order:?}");
    for node in system.nodes()? {
        assert_eq!(node.refused, 0, "node {} refused a step", node.id.0);
    }
    Ok(())
}

fn counts_of(events: Vec<Event>) -> BTreeMap<EventKind, usize> {
    let mut counts = BTreeMap::new();
    events.iter().for_each(|event| *counts.entry(event.kind).or_default() += 1);
    counts
}
