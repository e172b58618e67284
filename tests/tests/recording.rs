//! Recording: what is not recorded is still passed on, what is dropped is counted, and the order of what is recorded is
//! exact.
mod cases;

use cases::config;
use proptest::prelude::*;
use stillpoint_core::log::{Record, Recording};
use stillpoint_core::{Command, Event, EventKind, Input, KindSet};
use stillpoint_tests::faulty::Random;
use stillpoint_tests::sim::{Adversity, Entry, Lane, Member, Plan, Setup, System};

/// Puts a system of three through a schedule that depends on the seed only, and reads all logs at the end.
fn run<const S: usize>(recordings: &[Recording], seed: u64, steps: u32) -> System<3, S> {
    let edges = [(0, 1), (1, 2), (2, 0), (1, 0)];
    let mut system = System::<3, S>::new(Setup { recordings: recordings.to_vec(), ..Setup::new(&edges) });
    system.start().unwrap();
    let mut random = Random::new(seed);
    for _ in 0..steps {
        let edge = random.below(4) as usize;
        match random.below(16) {
            0..=5 => drop(system.send(edge, None).unwrap()),
            6..=10 => drop(system.receive(edge).unwrap()),
            11..=13 => drop(system.local(edge % 3, random.below(40) as u16).unwrap()),
            14 => drop(system.watch(edge % 3, 1, random.next() as i32).unwrap()),
            _ => drop(system.deliver(edge, Lane::Forward).unwrap()),
        }
    }
    for node in 0..3 {
        system.read_log(node).unwrap();
    }
    system
}

/// Every record with its node and the clock that the log gives it.
fn recorded<const S: usize>(system: &System<3, S>) -> Vec<(usize, Record, Vec<u32>)> {
    let of_node = |(node, member): (usize, &Member<3, S>)| {
        let records = member.log.read.iter().filter_map(move |entry| match entry {
            Entry::Record(record, Some(clock)) => Some((node, *record, clock.clone())),
            _ => None,
        });
        records.collect::<Vec<_>>()
    };
    system.members.iter().enumerate().flat_map(of_node).collect()
}

fn restricted(kinds: &[EventKind], tags: u32) -> Recording {
    Recording::restricted(kinds.iter().fold(KindSet::EMPTY, |set, kind| set.with(*kind)), tags)
}

proptest! {
    #![proptest_config(config(150))]

    /// Hyder, section 3.3 and table 3-1: actions that are not recorded relay what arrived, so that the restricted trace
    /// is the full one with the uninteresting events left out, and all orderings among the rest kept.
    #[test]
    fn table_3_1_a_restricted_trace_is_the_full_trace_without_the_uninteresting_events(seed: u64, tags: u32, silent in 0_usize..4) {
        let interesting = [
            restricted(&[EventKind::Local], tags),
            restricted(&[EventKind::Receive], 0),
            restricted(&[EventKind::Watch, EventKind::Send], 0),
        ];
        let mut some = interesting;
        if let Some(recording) = some.get_mut(silent) {
            *recording = Recording::OFF;
        }
        let full = run::<8192>(&[Recording::FULL.with_causes(); 3], seed, 150);
        let few = run::<8192>(&some, seed, 150);
        let (full, few) = (recorded(&full), recorded(&few));
        // The same events, each with the same clock, and nothing else: so the order of any two is the order they had.
        let chosen: Vec<_> = full
            .into_iter()
            .filter(|(node, record, _)| some[*node].records(&record.event))
            .map(|(node, record, clock)| (node, record.event, record.number, record.message, clock))
            .collect();
        let few: Vec<_> = few.into_iter().map(|(node, r, clock)| (node, r.event, r.number, r.message, clock)).collect();
        prop_assert_eq!(few, chosen);
    }

    /// Hyder, section 5.3: single tracepoints and ports are chosen by name, also where the lowest bits of two names are equal.
    #[test]
    fn a_trace_of_what_is_named_is_the_full_trace_without_the_rest(seed: u64, tag in 1_u16..6, port in 0_u32..3) {
        let (traces, sends) = (KindSet::EMPTY.with(EventKind::Local), KindSet::EMPTY.with(EventKind::Send));
        let names = [tag, 0, 0, tag + 64, 0, 0, 0, 300];
        let some = [
            restricted(&[EventKind::Local, EventKind::Send], u32::MAX).only(traces, 0, names),
            restricted(&[EventKind::Local, EventKind::Send, EventKind::Receive], u32::MAX).only(sends, 1 << port, [0; 8]),
            Recording::FULL.with_causes(),
        ];
        let is_chosen = |node: usize, event: &Event| match (node, event.kind) {
            (0, EventKind::Local) => [tag, tag + 64, 300].contains(&event.arg),
            (0 | 1, EventKind::Watch) => false,
            (0, EventKind::Receive) => false,
            (1, EventKind::Send) => u32::from(event.arg) == port,
            _ => true,
        };
        let full = recorded(&run::<8192>(&[Recording::FULL.with_causes(); 3], seed, 150));
        let few = recorded(&run::<8192>(&some, seed, 150));
        let chosen: Vec<_> = full
            .into_iter()
            .filter(|(node, record, _)| is_chosen(*node, &record.event))
            .map(|(node, record, clock)| (node, record.event, record.number, record.message, clock))
            .collect();
        let few: Vec<_> = few.into_iter().map(|(node, r, clock)| (node, r.event, r.number, r.message, clock)).collect();
        prop_assert_eq!(few, chosen);
    }

    /// A full ring loses records, not their number: gaps are counted, and after each one numbers, messages, times and
    /// clocks go on exactly.
    #[test]
    fn after_a_gap_the_log_goes_on_exactly(seed: u64, choices in prop::collection::vec(any::<u32>(), 100..400)) {
        let plan = Plan::random(3, seed, choices, Adversity::default());
        let seen = plan.run_with_ring::<128>();
        prop_assert!(seen.is_ok(), "{}", seen.unwrap_err());
    }

    /// The same with logs that nobody ever reads before the end.
    #[test]
    fn a_log_that_nobody_reads_says_how_much_is_missing(seed: u64) {
        let mut system = run::<128>(&[Recording::FULL.with_causes(); 3], seed, 400);
        let mut dropped = 0;
        for node in 0..3 {
            system.read_log(node).unwrap();
            system.check_log(node).map_err(|violation| TestCaseError::fail(violation.to_string()))?;
            let told: u32 = system.members[node].log.read.iter().map(|entry| match entry {
                Entry::Gap(missing) => *missing,
                Entry::Record(..) => 0,
            }).sum();
            prop_assert_eq!(told, system.members[node].log.lost());
            dropped += told;
        }
        prop_assert!(dropped > 0, "the rings never were full, so nothing was tested");
    }

    /// Recording can change at any time; a sync record says where the node stands, and order stays exact.
    #[test]
    fn recording_that_is_changed_at_run_time_keeps_order_exact(seed: u64) {
        let modes = [Recording::FULL.with_causes(), restricted(&[EventKind::Send], u32::MAX), Recording::OFF];
        let edges = [(0, 1), (1, 2), (2, 0), (1, 0)];
        let mut system = System::<3>::new(Setup { recordings: vec![modes[0]; 3], ..Setup::new(&edges) });
        system.start().unwrap();
        let mut random = Random::new(seed);
        for _ in 0..200 {
            let edge = random.below(4) as usize;
            match random.below(12) {
                0..=4 => drop(system.send(edge, None).unwrap()),
                5..=8 => drop(system.receive(edge).unwrap()),
                9..=10 => drop(system.local(edge % 3, 5).unwrap()),
                _ => {
                    let recording = modes[random.below(3) as usize];
                    system.command(edge % 3, Command::Record(recording)).unwrap();
                }
            }
        }
        for node in 0..3 {
            system.read_log(node).unwrap();
            system.check_log(node).map_err(|violation| TestCaseError::fail(violation.to_string()))?;
        }
    }
}

/// A node that forgets to call for a sync record after a change of mode is found out: the check above can fail.
#[test]
fn a_change_of_mode_without_a_sync_record_is_noticed() {
    let mut system =
        System::<3>::new(Setup { recordings: vec![Recording::FULL.with_causes(); 3], ..Setup::new(&[(0, 1)]) });
    system.start().unwrap();
    let set = |system: &mut System<3>, recording| {
        let input = Input::Command(Command::Record(recording));
        let _ = system.members[1].node.step(input).unwrap();
    };
    // The first message of a session is recorded with a sync record of its own, which would hide the mistake.
    let message = |system: &mut System<3>| {
        system.send(0, None).unwrap();
        system.receive(0).unwrap();
    };
    message(&mut system);
    set(&mut system, Recording::FULL);
    message(&mut system);
    set(&mut system, Recording::FULL.with_causes());
    system.local(1, 3).unwrap();
    system.read_log(1).unwrap();
    assert!(system.check_log(1).is_err());
}
