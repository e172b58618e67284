//! Small runs in which nodes are reset, step by step.
use crate::sorted::{Sorted, check, sort};
use stillpoint_core::StampKind;
use stillpoint_tests::sim::{Lane, Recorded, Setup, System, Violation};

type Run<const N: usize> = System<N>;

fn run<const N: usize>(edges: &[(usize, usize)], stamps: StampKind) -> Run<N> {
    let mut system = System::new(Setup { stamps, ..Setup::new(edges) });
    system.start().expect("nodes start");
    system
}

/// Reads what is left of the logs, and compares what is made of them with the truth.
fn compare<const N: usize>(system: &mut Run<N>) -> Result<(Recorded, Sorted), Violation> {
    for node in 0..N {
        system.read_log(node)?;
    }
    let recorded = Recorded::of(system);
    let mut sorted = Sorted::default();
    for seed in 0..20 {
        sorted = sort(&recorded, seed);
        assert_eq!(check(&recorded, &sorted), Ok(()));
    }
    Ok((recorded, sorted))
}

const STAMPS: [StampKind; 2] = [StampKind::Event, StampKind::Vector];

/// b sends two, a takes both; b is reset before its log is read, and its next life sends two that nobody takes.
#[test]
fn a_message_of_a_life_whose_log_nobody_read_has_no_partner_in_the_next_life() -> Result<(), Violation> {
    for stamps in STAMPS {
        let mut system = run::<2>(&[(1, 0)], stamps);
        for _ in 0..2 {
            assert!(system.send(0, None)? && system.receive(0)?);
        }
        system.reset(1, true)?;
        system.settle()?;
        assert!(system.send(0, None)? && system.send(0, None)?);
        let (_, sorted) = compare(&mut system)?;
        let receives = sorted.events.iter().filter(|(event, _)| event.message.is_some() && event.id.node == 0);
        assert_eq!(receives.filter(|(event, _)| event.partner.is_some()).count(), 0);
    }
    Ok(())
}

/// b hears of a's new life by one channel, and takes an old message that is still in the inbox of the other.
#[test]
fn a_message_that_outlives_its_sender_has_its_partner_in_the_old_life() -> Result<(), Violation> {
    for stamps in STAMPS {
        let mut system = run::<2>(&[(0, 1), (0, 1)], stamps);
        assert!(system.send(1, None)?);
        system.read_log(0)?;
        system.reset(0, true)?;
        // All but the hello of a's new life on the second channel arrives.
        for (edge, lane) in [(0, Lane::Reverse), (1, Lane::Reverse), (0, Lane::Forward), (0, Lane::Forward)] {
            assert!(system.deliver(edge, lane)?);
        }
        assert!(system.send(0, None)? && system.receive(0)?);
        assert!(system.send(1, None)?);
        assert!(system.receive(1)?, "the old message is there until b hears hello");
        system.settle()?;
        assert!(system.receive(1)?);
        let (_, sorted) = compare(&mut system)?;
        assert_eq!(sorted.unknown(), 0);
    }
    Ok(())
}

/// a -> b -> c -> b, and b is reset before its log is read and before c answers.
#[test]
fn what_a_lost_life_knew_stays_in_doubt_in_the_next() -> Result<(), Violation> {
    for stamps in STAMPS {
        let mut system = run::<3>(&[(0, 1), (1, 2), (2, 1)], stamps);
        assert!(system.send(0, None)? && system.receive(0)?);
        assert!(system.send(1, None)? && system.receive(1)?);
        system.reset(1, true)?;
        system.settle()?;
        assert!(system.send(2, None)? && system.receive(2)?);
        assert!(system.local(1, 7)?);
        let (_, sorted) = compare(&mut system)?;
        let last = sorted.events.iter().rfind(|(event, _)| event.id.node == 1).expect("b has events");
        assert!(!last.0.past.is_known(), "nothing tells that a's message was before it");
        // A message of each peer to the new life brings all that the old one can have known.
        assert!(system.send(0, None)? && system.receive(0)? && system.local(1, 8)?);
        let (_, sorted) = compare(&mut system)?;
        let last = sorted.events.iter().rfind(|(event, _)| event.id.node == 1).expect("b has events");
        assert!(stamps == StampKind::Event || last.0.past.is_known(), "{:?}", last.0.past);
    }
    Ok(())
}

/// Two channels from a to b; b takes the later message first.
#[test]
fn messages_of_two_channels_taken_out_of_order_leave_nothing_in_doubt() -> Result<(), Violation> {
    for stamps in STAMPS {
        let mut system = run::<2>(&[(0, 1), (0, 1)], stamps);
        for _ in 0..3 {
            assert!(system.send(0, None)? && system.send(1, None)?);
        }
        for edge in [1, 1, 0, 0, 1, 0] {
            assert!(system.receive(edge)?);
        }
        let (recorded, sorted) = compare(&mut system)?;
        assert_eq!((recorded.dropped, sorted.unknown()), (0, 0));
        assert_eq!(sorted.notes, []);
    }
    Ok(())
}

/// a is reset twice; each of its lives sends, and none of its logs but the last is read.
#[test]
fn resets_of_a_sender_are_not_taken_for_damage() -> Result<(), Violation> {
    for stamps in STAMPS {
        for (first, second) in [(true, false), (false, true), (false, false), (true, true)] {
            let mut system = run::<2>(&[(0, 1), (1, 0)], stamps);
            for read in [first, second] {
                for _ in 0..3 {
                    assert!(system.send(0, None)? && system.receive(0)?);
                }
                assert!(system.send(1, None)? && system.receive(1)?);
                if read {
                    system.read_log(0)?;
                }
                system.reset(0, true)?;
                system.settle()?;
            }
            assert!(system.send(0, None)? && system.receive(0)?);
            compare(&mut system)?;
        }
    }
    Ok(())
}

/// Nodes 0 and 2 are on one board, which is reset again and again; node 1 runs on. Epochs go round once, and every number of
/// a life is newer than what is known of the life before, and than the 0 of a node that knows nothing yet.
#[test]
fn a_board_that_is_reset_300_times_while_its_peer_runs_on_is_heard_in_every_life() -> Result<(), Violation> {
    const EDGES: [(usize, usize); 6] = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)];
    for stamps in STAMPS {
        let mut system = run::<3>(&EDGES, stamps);
        for round in 0..300 {
            for (edge, (from, to)) in EDGES.into_iter().enumerate() {
                assert!(system.send(edge, None)? && system.receive(edge)?, "round {round}: {from} -> {to}");
                let sender = &system.members[from].node;
                let known = system.members[to].node.clock().get(sender.id());
                assert_eq!(known, sender.number(), "round {round}: what {to} knows of {from}");
            }
            if round % 30 == 0 {
                assert!(system.halt(round / 30 % 3)?);
                system.settle()?;
                let certificate = system.check_halted()?;
                system.release(1, certificate.halt)?;
                system.settle()?;
            }
            let before = [0, 2].map(|node| system.members[node].node.number());
            for node in [0, 2] {
                system.read_log(node)?;
                system.reset(node, round % 2 == 0)?;
            }
            system.settle()?;
            system.check_running()?;
            for (node, before) in [0, 2].into_iter().zip(before) {
                let now = system.members[node].node.number();
                assert!(now.is_newer_than(before), "round {round}: node {node} is in epoch {}", now.epoch());
            }
        }
    }
    Ok(())
}
