//! A node as its driver sees it.
use super::*;
use crate::log::Recording;
use crate::predicate::{Detector, Generation, ProgramBuilder, SlotSet};
use crate::{Event, EventKind, KindSet, ResumeTo, StampError};
use stillpoint_test::test;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
const OUT: PortId = PortId(0);
const IN: PortId = PortId(1);
const ROOM: usize = Node::<2>::STAMP_ROOM;

/// A node with a channel each way to its peer, not started.
fn connected(me: NodeId, peer: NodeId) -> Node<2> {
    let mut node = Node::new(me, StampKind::Vector).unwrap();
    node.connect(OUT, Direction::Out, peer).unwrap();
    node.connect(IN, Direction::In, peer).unwrap();
    node
}

/// Two nodes with a channel each way, both running.
fn pair() -> [Node<2>; 2] {
    [(A, B), (B, A)].map(|(me, peer)| {
        let mut node = connected(me, peer);
        let _ = node.step(Input::start()).unwrap();
        node
    })
}

fn send(node: &mut Node<2>) -> ([u8; ROOM], usize) {
    let mut stamp = [0; ROOM];
    let effects = node.step(Input::Send { port: OUT, stamp: &mut stamp }).unwrap();
    (stamp, effects.stamp.into())
}

fn deliver((stamp, length): ([u8; ROOM], usize), to: &mut Node<2>) -> Effects {
    to.step(Input::Receive { port: IN, stamp: &stamp[..length] }).unwrap()
}

fn halt(node: &mut Node<2>) -> Effects {
    node.step(Input::Halt).unwrap()
}

/// Hands `from`'s marker, sent into the channel of its outgoing port, to `to`.
fn hand_marker(from: &Node<2>, to: &mut Node<2>) -> Effects {
    let marker = from.halt_marker(OUT).unwrap();
    to.step(Input::Marker { port: IN, marker: &marker }).unwrap()
}

fn refused(node: &mut Node<2>, input: Input<'_, 2>) -> StepError {
    let before = node.clone();
    let error = node.step(input).unwrap_err();
    assert_eq!(*node, before, "a refused step changes nothing");
    error
}

#[test]
fn a_receive_knows_all_that_happened_before_its_send() {
    let [mut a, mut b] = pair();
    let _ = a.step(Input::Event(Event::local(1))).unwrap();
    let message = send(&mut a);
    let effects = deliver(message, &mut b);
    assert_eq!(effects.log, Some(Event::receive(IN)));
    assert!(a.clock() < b.clock());
    assert_eq!((a.count(OUT), b.count(IN)), (Some(1), Some(1)));
}

#[test]
fn a_halted_node_is_between_events_and_refuses_every_further_one() {
    let [mut a, mut b] = pair();
    let message = send(&mut b);
    let effects = halt(&mut a);
    assert_eq!((effects.then, effects.markers), (Then::Halt, PortSet::first(2)));
    assert_eq!(effects.halt_record(), Some(Event::new(EventKind::Halt, 1)));
    let mut stamp = [0; ROOM];
    assert_eq!(refused(&mut a, Input::Event(Event::local(1))), StepError::NotRunning);
    assert_eq!(refused(&mut a, Input::Send { port: OUT, stamp: &mut stamp }), StepError::NotRunning);
    assert_eq!(refused(&mut a, Input::Receive { port: IN, stamp: &message.0[..message.1] }), StepError::NotRunning);
    assert_eq!(refused(&mut a, Input::Watch { watch: 0, value: 1 }), StepError::NotRunning);
}

#[test]
fn a_marker_stops_its_receiver_on_arrival_with_the_messages_ahead_of_it_in_flight() {
    let [mut a, mut b] = pair();
    let _in_flight = send(&mut a);
    let _ = halt(&mut a);
    assert_eq!(hand_marker(&a, &mut b).then, Then::Halt);
    assert_eq!((b.count(IN), b.marker_position(IN)), (Some(0), Some(1)));
    assert_eq!(b.order().nodes(), [A, B]);
}

#[test]
fn halt_and_release_go_all_the_way_round() {
    let [mut a, mut b] = pair();
    let _ = halt(&mut a);
    let _ = hand_marker(&a, &mut b);
    let _ = hand_marker(&b, &mut a);
    for node in [&mut a, &mut b] {
        let parked = node.step(Input::Delivered { ports: PortSet::first(2), id: HaltId(1) }).unwrap();
        assert_eq!(parked.then, Then::Park);
    }
    let released = a.step(Input::Command(Command::Release(HaltId(1)))).unwrap();
    assert_eq!((released.then, released.releases, released.halt), (Then::Resume, PortSet::first(2), HaltId(1)));
    let passed_on = b.step(Input::Release { port: IN, id: HaltId(1) }).unwrap();
    assert_eq!((passed_on.then, passed_on.releases), (Then::Resume, PortSet::EMPTY.with(OUT)));
    let again = b.step(Input::Release { port: OUT, id: HaltId(1) }).unwrap();
    assert_eq!(again, Effects::NONE);
    assert_eq!(a.phase(), Phase::Running);
    assert_eq!(halt(&mut b).halt, HaltId(2));
}

/// Miller & Choi 2.2.1: halting can be initiated spontaneously by more than one process.
#[test]
fn two_nodes_that_halt_at_once_halt_in_the_same_halt() {
    let [mut a, mut b] = pair();
    let _ = (halt(&mut a), halt(&mut b));
    assert_eq!(hand_marker(&a, &mut b).then, Then::Continue);
    assert_eq!(hand_marker(&b, &mut a).then, Then::Continue);
    assert_eq!((a.last_halt(), b.last_halt()), (HaltId(1), HaltId(1)));
    assert_eq!((a.marker_position(IN), b.marker_position(IN)), (Some(0), Some(0)));
}

#[test]
fn a_linked_predicate_travels_with_the_message_and_halts_at_the_event_that_satisfied_it() {
    let [mut a, mut b] = pair();
    let slot = SlotId::ALL[2];
    let (generation, detector) = (Generation(1), Detector::Causal);
    let first = ProgramBuilder::new(2).push_event_term(1, 1, EventKind::Local, Some(7)).finish().unwrap();
    let second = ProgramBuilder::new(2).push_event_term(2, 1, EventKind::Receive, Some(1)).finish().unwrap();
    for (node, program) in [(&mut a, &first), (&mut b, &second)] {
        let program = program.as_bytes();
        let _ = node.step(Input::Command(Command::Install { slot, generation, detector, program })).unwrap();
        let _ = node.step(Input::Command(Command::Enable { slot, generation, silent: PortSet::EMPTY })).unwrap();
    }
    let message = send(&mut a);
    assert_eq!(deliver(message, &mut b).then, Then::Continue, "the first event has not happened yet");
    let _ = a.step(Input::Event(Event::local(7))).unwrap();
    let message = send(&mut a);
    let effects = deliver(message, &mut b);
    assert_eq!((effects.then, effects.fired), (Then::Halt, SlotSet::EMPTY.with(slot)));
    assert_eq!(usize::from(effects.stamp), message.1);
    assert_eq!(b.number().count(), 3, "the event that satisfied it is the last");
}

#[test]
fn a_node_that_records_nothing_still_counts_and_forwards() {
    let [mut a, mut b] = pair();
    let _ = a.step(Input::Command(Command::Record(Recording::OFF))).unwrap();
    let effects = a.step(Input::Event(Event::local(1))).unwrap();
    assert_eq!(effects.log, None);
    let message = send(&mut a);
    let _ = deliver(message, &mut b);
    assert_eq!(b.clock().get(A), a.number());
}

#[test]
fn what_only_replay_needs_is_no_event_otherwise() {
    let [mut a, _] = pair();
    let before = a.clone();
    assert_eq!(a.step(Input::Event(Event::new(EventKind::Poll, 3))).unwrap(), Effects::NONE);
    assert_eq!(a, before);
    let _ = a.step(Input::Command(Command::Record(Recording::REPLAY))).unwrap();
    let effects = a.step(Input::Event(Event::new(EventKind::Poll, 3))).unwrap();
    assert_eq!(effects.log, Some(Event::new(EventKind::Poll, 3)));
    assert!(a.number().is_newer_than(before.number()));
}

#[test]
fn a_crash_is_an_event_and_stops_everybody() {
    let [mut a, _] = pair();
    let _ = a.step(Input::Command(Command::Record(Recording::restricted(KindSet::EMPTY, 0)))).unwrap();
    let effects = a.step(Input::Fault { cause: 3 }).unwrap();
    assert_eq!(effects.log, Some(Event { kind: EventKind::Fault, arg: 0, value: 3 }));
    assert_eq!((effects.then, effects.markers), (Then::Halt, PortSet::first(2)));
}

#[test]
fn a_node_that_restarts_begins_above_what_its_peers_know_of_it() {
    let [mut a, mut b] = pair();
    let message = send(&mut a);
    let _ = deliver(message, &mut b);
    let mut restarted = Node::<2>::new(A, StampKind::Vector).unwrap();
    restarted.connect(OUT, Direction::Out, B).unwrap();
    let _ = restarted.step(Input::Hello { port: OUT, hello: b.hello(IN).unwrap(), resumed: false }).unwrap();
    let reset = restarted.step(Input::start()).unwrap();
    assert_eq!(reset.log, Some(Event::new(EventKind::Reset, 1)));
    assert!(restarted.number().is_newer_than(a.number()));
    // The peer counts the channel anew, and takes a full stamp.
    let _ = b.step(Input::Hello { port: IN, hello: restarted.hello(OUT).unwrap(), resumed: false }).unwrap();
    assert_eq!(b.count(IN), Some(0));
    let mut stamp = [0; ROOM];
    let sent = restarted.step(Input::Send { port: OUT, stamp: &mut stamp }).unwrap();
    let _ = b.step(Input::Receive { port: IN, stamp: &stamp[..sent.stamp.into()] }).unwrap();
    assert_eq!(b.clock().get(A), restarted.number());
}

#[test]
fn a_node_that_restarts_while_the_others_are_halted_joins_their_halt() {
    let [_, mut b] = pair();
    let _ = halt(&mut b);
    let mut restarted = Node::<2>::new(A, StampKind::Vector).unwrap();
    restarted.connect(IN, Direction::In, B).unwrap();
    let owed = b.step(Input::Hello { port: OUT, hello: restarted.hello(IN).unwrap(), resumed: false }).unwrap();
    assert_eq!(owed.markers, PortSet::EMPTY.with(OUT));
    let marker = b.halt_marker(OUT).unwrap();
    let effects = restarted.step(Input::Marker { port: IN, marker: &marker }).unwrap();
    assert_eq!(effects.then, Then::Halt);
    assert!(matches!(restarted.phase(), Phase::Draining { then: ResumeTo::Starting, .. }));
    let _ = restarted.step(Input::Delivered { ports: PortSet::first(2), id: HaltId(1) }).unwrap();
    let _ = restarted.step(Input::Release { port: IN, id: HaltId(1) }).unwrap();
    assert_eq!(restarted.phase(), Phase::Starting);
}

#[test]
fn a_peer_that_missed_the_release_is_released_when_its_link_comes_back() {
    let [mut a, mut b] = pair();
    let _ = halt(&mut a);
    let _ = hand_marker(&a, &mut b);
    for node in [&mut a, &mut b] {
        let _ = node.step(Input::DrainLimit).unwrap();
    }
    let _ = a.step(Input::Command(Command::Release(HaltId(1)))).unwrap();
    let effects = a.step(Input::Hello { port: OUT, hello: b.hello(IN).unwrap(), resumed: true }).unwrap();
    assert_eq!((effects.releases, effects.halt), (PortSet::EMPTY.with(OUT), HaltId(1)));
}

#[test]
fn a_node_that_restarts_in_a_halt_does_not_end_it_for_the_others() {
    let [mut a, mut b] = pair();
    let _ = halt(&mut a);
    let _ = hand_marker(&a, &mut b);
    let mut restarted = Node::<2>::new(A, StampKind::Vector).unwrap();
    restarted.connect(OUT, Direction::Out, B).unwrap();
    restarted.remember_halt(a.last_halt());
    let _ = restarted.step(Input::Start { known: a.number() }).unwrap();
    let effects = restarted.step(Input::Hello { port: OUT, hello: b.hello(IN).unwrap(), resumed: false }).unwrap();
    assert_eq!(effects.releases, PortSet::EMPTY);
    let owed = b.step(Input::Hello { port: IN, hello: restarted.hello(OUT).unwrap(), resumed: false }).unwrap();
    assert_eq!(owed.markers, PortSet::EMPTY.with(IN));
    let marker = b.halt_marker(IN).unwrap();
    assert_eq!(restarted.step(Input::Marker { port: OUT, marker: &marker }).unwrap().then, Then::Halt);
}

#[test]
fn a_peer_that_restarted_and_joined_the_halt_by_another_marker_still_gets_this_one() {
    let [mut a, mut b] = pair();
    let _ = (halt(&mut a), halt(&mut b));
    let _ = a.step(Input::Delivered { ports: PortSet::first(2), id: HaltId(1) }).unwrap();
    let mut restarted = Node::<2>::new(B, StampKind::Vector).unwrap();
    restarted.connect(OUT, Direction::Out, A).unwrap();
    restarted.connect(IN, Direction::In, A).unwrap();
    let marker = a.halt_marker(OUT).unwrap();
    let _ = restarted.step(Input::Marker { port: OUT, marker: &marker }).unwrap();
    let _ = a.step(Input::LinkDown { port: OUT }).unwrap();
    let again = a.step(Input::Hello { port: OUT, hello: restarted.hello(IN).unwrap(), resumed: false }).unwrap();
    assert_eq!(again.markers, PortSet::EMPTY.with(OUT));
    assert_eq!(a.phase(), Phase::Parked { undelivered: PortSet::EMPTY.with(OUT), then: ResumeTo::Running });
}

#[test]
fn messages_are_counted_anew_with_a_peer_that_restarted_before_anybody_heard_of_it() {
    let [mut a, _] = pair();
    let _lost = send(&mut a);
    let mut restarted = Node::<2>::new(B, StampKind::Vector).unwrap();
    restarted.connect(IN, Direction::In, A).unwrap();
    let _ = a.step(Input::Hello { port: OUT, hello: restarted.hello(IN).unwrap(), resumed: false }).unwrap();
    assert_eq!((a.count(OUT), restarted.count(IN)), (Some(0), Some(0)));
}

#[test]
fn a_halt_that_was_missed_while_a_link_was_down_does_not_make_the_next_one_stale() {
    let [mut a, mut b] = pair();
    let _ = (a.step(Input::LinkDown { port: OUT }).unwrap(), a.step(Input::LinkDown { port: IN }).unwrap());
    let _ = halt(&mut a);
    let of_a = a.hello(OUT).unwrap();
    let _ = a.step(Input::Command(Command::Release(HaltId(1)))).unwrap();
    let _ = b.step(Input::Hello { port: IN, hello: of_a, resumed: false }).unwrap();
    let _ = a.step(Input::Hello { port: OUT, hello: b.hello(IN).unwrap(), resumed: false }).unwrap();
    assert_eq!((a.last_halt(), b.last_halt()), (HaltId(1), HaltId(1)));
    let _ = halt(&mut b);
    assert_eq!(hand_marker(&b, &mut a).then, Then::Halt);
}

#[test]
fn what_was_on_its_way_when_a_link_went_down_is_received_when_it_is_up_again() {
    let [mut a, mut b] = pair();
    let first = send(&mut a);
    let _ = deliver(first, &mut b);
    let on_its_way = send(&mut a);
    let (of_a, of_b) = (a.hello(OUT).unwrap(), b.hello(IN).unwrap());
    let _ = (a.step(Input::LinkDown { port: OUT }).unwrap(), b.step(Input::LinkDown { port: IN }).unwrap());
    let _ = a.step(Input::Hello { port: OUT, hello: of_b, resumed: true }).unwrap();
    let _ = b.step(Input::Hello { port: IN, hello: of_a, resumed: true }).unwrap();
    let _ = deliver(on_its_way, &mut b);
    let after = send(&mut a);
    let _ = deliver(after, &mut b);
    assert_eq!((b.clock().get(A), b.count(IN)), (a.number(), Some(3)));
}

#[test]
fn a_link_that_goes_down_while_draining_is_not_waited_for() {
    let [mut a, _] = pair();
    let _ = halt(&mut a);
    let _ = a.step(Input::Delivered { ports: PortSet::EMPTY.with(IN), id: HaltId(1) }).unwrap();
    assert_eq!(a.step(Input::LinkDown { port: OUT }).unwrap().then, Then::Park);
    assert_eq!(a.phase(), Phase::Parked { undelivered: PortSet::EMPTY.with(OUT), then: ResumeTo::Running });
}

#[test]
fn a_delayed_halt_stops_one_node_and_tells_nobody() {
    let [mut a, _] = pair();
    let effects = a.step(Input::Command(Command::Suspend)).unwrap();
    assert_eq!((effects.then, effects.markers), (Then::Park, PortSet::EMPTY));
    assert_eq!(refused(&mut a, Input::Event(Event::local(1))), StepError::NotRunning);
    assert_eq!(a.step(Input::Command(Command::Continue)).unwrap().then, Then::Run);
    assert!(a.step(Input::Event(Event::local(1))).is_ok());
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let [mut a, _] = pair();
    let mut stamp = [0; ROOM];
    assert_eq!(refused(&mut a, Input::Send { port: IN, stamp: &mut stamp }), StepError::NotOutgoing(IN));
    assert_eq!(refused(&mut a, Input::Send { port: PortId(5), stamp: &mut stamp }), StepError::NoSuchPort(PortId(5)));
    assert_eq!(refused(&mut a, Input::Receive { port: OUT, stamp: &[0] }), StepError::NotIncoming(OUT));
    assert_eq!(refused(&mut a, Input::Receive { port: PortId(77), stamp: &[0] }), StepError::NoSuchPort(PortId(77)));
    let no_room = StepError::Stamp(StampError::NoRoom);
    assert_eq!(refused(&mut a, Input::Send { port: OUT, stamp: &mut stamp[..3] }), no_room);
    let truncated = StepError::Stamp(StampError::Truncated);
    assert_eq!(refused(&mut a, Input::Receive { port: IN, stamp: &[] }), truncated);
    assert_eq!(refused(&mut a, Input::start()), StepError::AlreadyStarted);
    let before = a.clone();
    assert_eq!(a.serve(Input::Event(Event::local(1))), Err(StepError::NotServed));
    assert_eq!(a, before);
    let halt = Event::new(EventKind::Halt, 1);
    assert_eq!(refused(&mut a, Input::Event(halt)), StepError::NotALocalEvent(EventKind::Halt));
    assert!(matches!(refused(&mut a, Input::Watch { watch: 200, value: 0 }), StepError::Watch(_)));
    assert_eq!(refused(&mut a, Input::LinkDown { port: PortId(9) }), StepError::NoSuchPort(PortId(9)));
    let install = Command::Install {
        slot: SlotId::ALL[0],
        generation: Generation(1),
        detector: Detector::Causal,
        program: &[0xFF; 4],
    };
    assert!(matches!(refused(&mut a, Input::Command(install)), StepError::Program(_)));
}

#[test]
fn a_node_or_port_that_does_not_exist_cannot_be_connected() {
    assert_eq!(Node::<2>::new(NodeId(2), StampKind::Event), Err(ConnectError::NoSuchNode(NodeId(2))));
    let mut node = Node::<2>::new(A, StampKind::Event).unwrap();
    assert_eq!(node.connect(OUT, Direction::Out, NodeId(2)), Err(ConnectError::NoSuchNode(NodeId(2))));
    assert_eq!(node.connect(OUT, Direction::Out, A), Err(ConnectError::ToItself));
    assert_eq!(node.connect(PortId(6), Direction::Out, B), Err(ConnectError::NoSuchPort(PortId(6))));
    node.connect(OUT, Direction::Out, B).unwrap();
    assert_eq!(node.connect(OUT, Direction::In, B), Err(ConnectError::AlreadyConnected(OUT)));
}

#[test]
fn a_peer_that_missed_a_predicate_marker_is_told_when_its_link_comes_back() {
    let [mut a, b] = pair();
    let slot = SlotId::ALL[1];
    let (generation, detector) = (Generation(1), Detector::Marker);
    let program = ProgramBuilder::new(2).push_event_term(1, 1, EventKind::Local, None).finish().unwrap();
    let program = program.as_bytes();
    let _ = a.step(Input::Command(Command::Install { slot, generation, detector, program })).unwrap();
    let _ = a.step(Input::Command(Command::Enable { slot, generation, silent: PortSet::EMPTY })).unwrap();
    let _ = a.step(Input::LinkDown { port: OUT }).unwrap();
    let announced = a.step(Input::Event(Event::local(1))).unwrap();
    assert_eq!(announced.announce_to, PortSet::EMPTY.with(IN));
    let effects = a.step(Input::Hello { port: OUT, hello: b.hello(IN).unwrap(), resumed: true }).unwrap();
    assert_eq!((effects.announce, effects.announce_to), (SlotSet::EMPTY.with(slot), PortSet::EMPTY.with(OUT)));
}

#[test]
fn a_link_that_comes_back_after_a_count_ran_into_the_next_epoch_counts_its_messages_on() {
    let [mut a, mut b] = pair();
    let message = send(&mut a);
    let _ = deliver(message, &mut b);
    let of_a = Hello { number: a.number().next_epoch(), ..a.hello(OUT).unwrap() };
    let _ = b.step(Input::LinkDown { port: IN }).unwrap();
    let _ = b.step(Input::Hello { port: IN, hello: of_a, resumed: true }).unwrap();
    assert_eq!((a.count(OUT), b.count(IN)), (Some(1), Some(1)));
}

/// Numbers compare within 128 epochs.
#[test]
fn every_life_of_a_node_that_only_says_hello_is_newer_to_a_peer_that_runs_on() {
    let [mut a, mut b] = pair();
    let _ = deliver(send(&mut b), &mut a);
    let heard = a.clock().get(B);
    for life in 1..=600 {
        let before = b.number();
        b = connected(B, A);
        // The peer greets first, then the node starts above what its memory knows and says where it stands.
        for (own, peer) in [(OUT, IN), (IN, OUT)] {
            let hello = a.hello(peer).unwrap();
            let _ = b.step(Input::Hello { port: own, hello, resumed: false }).unwrap();
        }
        let _ = b.step(Input::Start { known: before }).unwrap();
        for (own, peer) in [(OUT, IN), (IN, OUT)] {
            let hello = b.hello(own).unwrap();
            let _ = a.step(Input::Hello { port: peer, hello, resumed: false }).unwrap();
        }
        assert_eq!(b.number(), before.next_epoch().next(), "life {life} begins the epoch after the last");
        assert!(b.number().is_newer_than(a.clock().get(B)), "life {life}");
    }
    assert!(!a.clock().get(B).is_newer_than(b.number()) && a.clock().get(B) != heard);
    let message = send(&mut b);
    let _ = deliver(message, &mut a);
    assert_eq!(a.clock().get(B), b.number());
}
