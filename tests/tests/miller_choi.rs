//! Miller & Choi 1988, "Breakpoints and Halting in Distributed Programs", section 2: one test per claim, each on random
//! schedules of the shipped nodes where the claim is about all of them.
mod cases;

use cases::config;
use proptest::prelude::*;
use stillpoint_core::{HaltId, NodeId, PortId};
use stillpoint_tests::faulty::Random;
use stillpoint_tests::sim::{HaltMode, Lane, Setup, System, Violation};

const RING: &[(usize, usize)] = &[(0, 1), (1, 2), (2, 0)];
const PIPELINE: &[(usize, usize)] = &[(0, 1), (1, 2)];

fn started<const N: usize>(setup: Setup) -> System<N> {
    let mut system = System::new(setup);
    system.start().unwrap();
    system
}

/// The paper's own model: markers go with the messages only, and count when the process reaches them.
fn as_printed(edges: &[(usize, usize)]) -> Setup {
    Setup { mode: HaltMode::InQueueOrder, reverse_lanes: false, capacity: 1000, ..Setup::new(edges) }
}

/// Applications send, receive and live at random; control messages arrive now and then.
fn run_on<const N: usize>(system: &mut System<N>, seed: u64, steps: u32) -> Result<(), Violation> {
    let mut random = Random::new(seed);
    for _ in 0..steps {
        let edge = random.below(system.channels.len() as u32) as usize;
        match random.below(8) {
            0..=2 => drop(system.send(edge, None)?),
            3..=4 => drop(system.receive(edge)?),
            5 => drop(system.local(edge % N, 7)?),
            6 => drop(system.deliver(edge, Lane::Forward)?),
            _ => drop(system.deliver(edge, Lane::Reverse)?),
        }
    }
    Ok(())
}

/// A run of a strongly connected system as in the paper, in which some processes decide to halt by themselves.
fn halted_as_printed(seed: u64, initiators: &[usize]) -> System<3> {
    let mut system = started::<3>(as_printed(&[(0, 1), (1, 2), (2, 0), (1, 0)]));
    run_on(&mut system, seed, 60).unwrap();
    for (turn, node) in initiators.iter().enumerate() {
        system.halt(*node).unwrap();
        run_on(&mut system, seed ^ turn as u64, 5).unwrap();
    }
    system.settle().unwrap();
    system
}

proptest! {
    #![proptest_config(config(200))]

    /// Section 2.2.1, Lemma 2.1: the halted state of each process is the recorded state of the process.
    #[test]
    fn lemma_2_1_each_process_halts_in_the_state_that_is_recorded(seed: u64, initiator in 0_usize..3) {
        let system = halted_as_printed(seed, &[initiator]);
        for (node, member) in system.members.iter().enumerate() {
            let recorded = system.reference.recorded(node, 1).expect("every process recorded its state");
            prop_assert_eq!(&recorded.clock[..], &member.node.clock().entries()[..]);
            prop_assert_eq!(recorded.app, member.app);
        }
    }

    /// Section 2.2.1, Lemma 2.2: the undelivered messages in each channel are the recorded state of the channel.
    #[test]
    fn lemma_2_2_what_is_undelivered_is_what_is_recorded(seed: u64, initiator in 0_usize..3) {
        let system = halted_as_printed(seed, &[initiator]);
        for (channel, recorded) in system.channels.iter().zip(system.reference.channel_states(1)) {
            let undelivered = channel.messages.iter().map(|message| message.bytes[message.stamp..].to_vec());
            prop_assert_eq!(Some(undelivered.collect::<Vec<_>>()), recorded);
        }
    }

    /// Section 2.2.1, Theorem 2: the halted global state is the recorded global state, and it is consistent.
    #[test]
    fn theorem_2_the_halted_state_is_the_recorded_state(seed: u64, initiator in 0_usize..3) {
        let system = halted_as_printed(seed, &[initiator]);
        prop_assert!(system.check_halted().is_ok(), "{:?}", system.check_halted());
    }

    /// Section 2.2.1: halting can be initiated independently by more than one process at the same time.
    #[test]
    fn several_processes_that_decide_to_halt_by_themselves_halt_in_one_halt(seed: u64) {
        let system = halted_as_printed(seed, &[0, 2, 1]);
        prop_assert_eq!(system.check_halted().map(|certificate| certificate.halt), Ok(HaltId(1)));
    }

    /// Section 2.2.1: last_halt_id is the same everywhere when all have halted, and grows by one with each halting.
    #[test]
    fn all_processes_end_with_the_same_last_halt_id(seed: u64) {
        let mut system = halted_as_printed(seed, &[0]);
        for round in 1..=3_u16 {
            prop_assert!(system.members.iter().all(|member| member.node.last_halt() == HaltId(round)));
            // Without reverse lanes the release follows the channels, too; the ring is strongly connected.
            system.release(0, HaltId(round)).unwrap();
            system.settle().unwrap();
            prop_assert_eq!(system.check_running(), Ok(()));
            run_on(&mut system, seed ^ u64::from(round), 20).unwrap();
            system.halt(usize::from(round) % 3).unwrap();
            system.settle().unwrap();
            prop_assert!(system.check_halted().is_ok(), "{:?}", system.check_halted());
        }
    }

    /// Section 2.2.1 with halting on arrival: a stop on arrival counts as a decision of the process itself, so Theorem 2
    /// holds for it, too.
    #[test]
    fn theorem_2_holds_when_a_marker_stops_its_receiver_on_arrival(seed: u64, initiator in 0_usize..3) {
        let mut system = started::<3>(Setup { capacity: 1000, ..Setup::new(RING) });
        run_on(&mut system, seed, 60).unwrap();
        system.halt(initiator).unwrap();
        system.settle().unwrap();
        prop_assert!(system.check_halted().is_ok(), "{:?}", system.check_halted());
    }

    /// Section 2.2.4: the halt marker that a process receives describes which processes have already been halted.
    #[test]
    fn the_marker_that_halts_a_process_names_those_that_halted_before_it(seed: u64, initiator in 0_usize..3) {
        let system = halted_as_printed(seed, &[initiator]);
        for (node, member) in system.members.iter().enumerate() {
            let order = member.node.order();
            prop_assert_eq!(order.initiator(), Some(NodeId(initiator as u8)));
            prop_assert_eq!(order.nodes().last(), Some(&NodeId(node as u8)));
            // Whoever is named before had halted before: its own marker names a beginning of the same list.
            for (place, earlier) in order.nodes().iter().enumerate() {
                let of_earlier = system.members[usize::from(earlier.0)].node.order();
                prop_assert_eq!(of_earlier.nodes(), &order.nodes()[..=place]);
            }
        }
    }
}

/// Section 2.2.1: if a process halts by receiving a halt marker, it does so on the first one with the new halt_id.
#[test]
fn a_process_halts_on_the_first_marker_and_later_ones_change_nothing() {
    let mut system = started::<3>(as_printed(&[(0, 1), (1, 2), (2, 0), (0, 2)]));
    system.halt(0).unwrap();
    system.deliver(3, Lane::Forward).unwrap();
    let before = system.members[2].node.clone();
    assert!(system.members[2].is_halted() && system.members[2].node.marker_position(PortId(0)).is_none());
    system.settle().unwrap();
    let after = &system.members[2].node;
    assert_eq!(after.marker_position(PortId(0)), Some(0), "the marker of process 1 came later");
    assert_eq!((after.order(), after.clock(), after.last_halt()), (before.order(), before.clock(), before.last_halt()));
}

/// Section 2.2.1: old halt markers are left over from previous haltings, and are ignored.
#[test]
fn an_old_halt_marker_is_ignored() {
    let mut system = started::<2>(as_printed(&[(0, 1), (1, 0)]));
    system.send(1, None).unwrap();
    // Both decide to halt; 1's marker stays on its way until that halt is over.
    system.halt(0).unwrap();
    system.halt(1).unwrap();
    for _ in 0..2 {
        system.drain_limit(0).unwrap();
        system.drain_limit(1).unwrap();
    }
    system.release(0, HaltId(1)).unwrap();
    assert!(system.members[0].runs());
    system.deliver(1, Lane::Forward).unwrap();
    system.receive(1).unwrap();
    system.receive(1).unwrap();
    assert!(system.members[0].runs(), "the marker of a halt that is over stops nobody");
}

/// Section 2.2.2, figure 2: if halting is initiated by the consumer, there is no way to halt the producer.
#[test]
fn as_printed_a_consumer_cannot_halt_its_producer() {
    let mut system = started::<2>(as_printed(&[(0, 1)]));
    system.send(0, None).unwrap();
    system.halt(1).unwrap();
    system.settle().unwrap();
    assert!(system.members[1].is_halted());
    assert_eq!(system.halt_of_all(), Err(Violation::NotStopped(0)));
    assert!(system.send(0, None).unwrap(), "the producer goes on");
}

/// Section 2.2.2: the same with a control lane against the messages, which every channel here has.
#[test]
fn with_reverse_lanes_a_consumer_halts_its_producer_without_a_debugger() {
    let mut system = started::<3>(Setup::new(PIPELINE));
    system.send(0, None).unwrap();
    system.fault(2).unwrap();
    system.settle().unwrap();
    assert_eq!(system.check_halted().unwrap().in_flight, 1);
    assert_eq!(system.members[0].node.order().nodes(), [NodeId(2), NodeId(1), NodeId(0)]);
}

/// Section 2.2.3: with a debugger process d and control channels to and from it, the network is strongly connected.
#[test]
fn a_debugger_process_lets_a_consumer_halt_its_producer_even_as_printed() {
    const D: usize = 2;
    let mut system = started::<3>(as_printed(&[(0, 1), (0, D), (D, 0), (1, D), (D, 1)]));
    system.send(0, None).unwrap();
    system.halt(1).unwrap();
    system.settle().unwrap();
    system.check_halted().unwrap();
    assert_eq!(system.members[0].node.order().nodes(), [NodeId(1), NodeId(D as u8), NodeId(0)]);
}

/// Section 2.2.2: a process that has only infrequent interactions would halt long after the others; section 2.2.3: the
/// debugger process halts it at once.
#[test]
fn a_process_that_reads_nothing_halts_only_with_a_debugger_or_on_arrival() {
    let silent_reader = |setup: Setup| {
        let mut system = started::<3>(setup);
        system.send(0, None).unwrap();
        system.halt(0).unwrap();
        // Everything arrives, but process 1 never takes the message ahead of the marker.
        for _ in 0..10 {
            for (edge, lane) in (0..system.channels.len()).flat_map(|edge| Lane::BOTH.map(|lane| (edge, lane))) {
                system.deliver(edge, lane).unwrap();
            }
        }
        system.members[1].is_halted()
    };
    assert!(!silent_reader(as_printed(&[(0, 1), (0, 2)])));
    assert!(silent_reader(as_printed(&[(0, 1), (0, 2), (2, 1)])), "process 2 as the debugger");
    assert!(silent_reader(Setup { mode: HaltMode::OnArrival, ..as_printed(&[(0, 1), (0, 2)]) }));
}

/// Section 2: the halt happens between events, so nothing of a process's state is lost: after a release it goes on as
/// if nothing had been, and every message is there once.
#[test]
fn no_information_is_lost_when_processes_halt_and_go_on() {
    for seed in 0..50 {
        let mut system = started::<3>(Setup::new(RING));
        run_on(&mut system, seed, 100).unwrap();
        for round in 1..=5 {
            system.halt(round % 3).unwrap();
            system.settle().unwrap();
            let halt = system.check_halted().unwrap().halt;
            system.release((round + 1) % 3, halt).unwrap();
            system.settle().unwrap();
            run_on(&mut system, !seed, 30).unwrap();
            system.settle().unwrap();
        }
        system.check_nothing_lost().unwrap();
    }
}
