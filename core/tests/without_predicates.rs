//! A node built without the feature `predicates` refuses to install any, says so, and lets what messages carry pass by.
#![cfg(not(feature = "predicates"))]

use stillpoint_core::control::{Refusal, RefusalCode};
use stillpoint_core::predicate::{Carry, Detector, Generation, InstallError, ProgramBuilder, Reached, SlotId};
use stillpoint_core::{
    Command, Direction, Event, EventKind, Input, Node, NodeId, PortId, PortSet, StampKind, StepError,
};

const SLOT: SlotId = SlotId::ALL[0];
const FIRST: Generation = Generation(1);

fn started() -> Node<2> {
    let mut node = Node::<2>::new(NodeId(0), StampKind::Vector).unwrap();
    node.connect(PortId(0), Direction::In, NodeId(1)).unwrap();
    let _ = node.step(Input::start()).unwrap();
    node
}

#[test]
fn an_installation_is_refused_with_a_code_of_its_own_and_changes_nothing() {
    let mut node = started();
    let before = node.clone();
    let program = ProgramBuilder::new(1).push_event_term(1, 1, EventKind::Local, None).finish().unwrap();
    let install =
        Command::Install { slot: SLOT, generation: FIRST, detector: Detector::Causal, program: program.as_bytes() };
    let refused = node.step(Input::Command(install)).unwrap_err();
    assert_eq!(refused, StepError::Install(InstallError::NotBuiltIn));
    assert_eq!(Refusal::from(refused).code, RefusalCode::NoPredicates);
    assert!(
        node.step(Input::Command(Command::Enable { slot: SLOT, generation: FIRST, silent: PortSet::EMPTY })).is_err()
    );
    let _ = node.step(Input::Command(Command::Remove { slot: SLOT })).unwrap();
    assert_eq!(node, before);
}

#[test]
fn a_message_that_carries_stages_is_received_to_its_end() {
    let mut from = Node::<2>::new(NodeId(1), StampKind::Vector).unwrap();
    from.connect(PortId(0), Direction::Out, NodeId(0)).unwrap();
    let _ = from.step(Input::start()).unwrap();
    let mut bytes = [0; Node::<2>::STAMP_ROOM];
    let length = usize::from(from.step(Input::Send { port: PortId(0), stamp: &mut bytes }).unwrap().stamp);
    let mut carry = Carry::EMPTY;
    carry.set(Reached::new(SLOT, FIRST, 1).unwrap());
    let carried = carry.encode(&mut bytes[length..]).unwrap();
    // What a sender with predicates sets to say that stages follow its stamp.
    bytes[0] |= 1 << 5;
    let mut node = started();
    let received = node.step(Input::Receive { port: PortId(0), stamp: &bytes[..length + carried] }).unwrap();
    assert_eq!(usize::from(received.stamp), length + carried);
    assert_eq!(node.predicate_marker(SLOT), None);
}

#[test]
fn watches_keep_their_values() {
    let mut node = started();
    let set = node.step(Input::Watch { watch: 2, value: -7 }).unwrap();
    assert_eq!((set.log, node.predicates().watch(2)), (Some(Event::watch(2, -7)), Some(-7)));
}
