//! What a crash makes of a node.
use super::*;
use crate::{Event, EventKind};
use stillpoint_test::test;

/// A running node with a channel each way.
fn node() -> Node<2> {
    let mut node = Node::new(NodeId(0), StampKind::Vector).unwrap();
    node.connect(PortId(0), Direction::Out, NodeId(1)).unwrap();
    node.connect(PortId(1), Direction::In, NodeId(1)).unwrap();
    let _ = node.step(Input::start()).unwrap();
    node
}

#[test]
fn a_crashed_node_takes_part_in_halts_and_never_runs_again() {
    let mut node = node();
    let crash = node.step(Input::Fault { cause: 3 }).unwrap();
    assert_eq!((crash.then, crash.halt), (Then::Halt, HaltId(1)));
    let _ = node.step(Input::Delivered { ports: crash.markers, id: HaltId(1) }).unwrap();
    let over = node.step(Input::Command(Command::Release(HaltId(1)))).unwrap();
    assert_eq!((over.then, over.releases, node.phase()), (Then::Resume, crash.markers, Phase::Faulted));
    assert_eq!(node.step(Input::Event(Event::local(1))), Err(StepError::NotRunning));
    assert_eq!(node.step(Input::Command(Command::Continue)), Err(StepError::NotRunning));
    let again = node.step(Input::Halt).unwrap();
    assert_eq!((again.then, again.halt), (Then::Halt, HaltId(2)));
}

#[test]
fn a_crash_while_halted_is_no_event_and_leaves_the_node_crashed_after_the_halt() {
    let mut node = node();
    let halt = node.step(Input::Halt).unwrap();
    let number = node.number();
    assert_eq!(node.step(Input::Fault { cause: 3 }), Ok(Effects::NONE));
    assert_eq!(node.number(), number);
    let _ = node.step(Input::Delivered { ports: halt.markers, id: halt.halt }).unwrap();
    let _ = node.step(Input::Command(Command::Release(halt.halt))).unwrap();
    assert_eq!(node.phase(), Phase::Faulted);
}

#[test]
fn a_crash_inside_a_step_counts_what_the_rings_hold_and_not_what_was_about_to_be_sent() {
    let mut node = node();
    let mut bytes = [0; Node::<2>::STAMP_ROOM];
    for _ in 0..3 {
        let _ = node.step(Input::Send { port: PortId(0), stamp: &mut bytes }).unwrap();
    }
    let number = node.number();
    // The third was counted and stamped, and never came into the ring.
    let crash = node.crash(3, |port| (port == PortId(0)).then_some(2));
    assert_eq!(crash.log, Some(Event { kind: EventKind::Fault, arg: 0, value: 3 }));
    assert_eq!((node.number(), crash.then), (number.next(), Then::Halt));
    assert_eq!(node.halt_marker(PortId(0)).map(|marker| marker.position), Some(2));
    // A crash of what serves the halted node sends its markers again, and is no event.
    let again = node.crash(3, |_| None);
    assert_eq!(
        (again.log, again.markers, again.then, node.number()),
        (None, crash.markers, Then::Continue, number.next())
    );
}
