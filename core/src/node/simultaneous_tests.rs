use crate::predicate::{Detector, Generation, Op, Plan, ProgramBuilder, Relation, SlotId};
use crate::{Command, Direction, Hello, Input, Node, NodeId, PortId, PortSet, StampKind, StepError, Then};
use stillpoint_test::test;

type Small = Node<3, 4>;
const SLOT: SlotId = SlotId::ALL[2];
const GENERATION: Generation = Generation(9);
/// A worker's ports, and those of the wire towards the worker.
const ARRIVED: PortId = PortId(0);
const GO: PortId = PortId(1);
/// The wire's ports towards the gate; also the gate's.
const UP: PortId = PortId(2);
const DOWN: PortId = PortId(3);

/// Gate 0, wire 1, worker 2: the worker's component 0 comes to the gate through the wire, and the gate lets the worker go
/// through the wire.
struct Line {
    gate: Small,
    wire: Small,
    worker: Small,
}

fn install(node: &mut Small, condition: Option<&[Op]>, plan: Plan) -> Result<(), StepError> {
    let builder = ProgramBuilder::new(1);
    let program = match condition {
        Some(condition) => builder.push_condition_term(1, 1, condition),
        None => builder,
    };
    let program = program.finish().unwrap();
    let (slot, generation, detector) = (SLOT, GENERATION, Detector::Simultaneous);
    let install = Command::Install { slot, generation, detector, program: program.as_bytes() };
    for command in [
        install,
        Command::Plan { slot, generation, plan },
        Command::Enable { slot, generation, silent: PortSet::EMPTY },
    ] {
        let _ = node.step(Input::Command(command))?;
    }
    Ok(())
}

fn ports(ports: &[PortId]) -> PortSet {
    ports.iter().fold(PortSet::EMPTY, |set, port| set.with(*port))
}

fn plans() -> [Plan; 3] {
    let (mut gate, mut wire, mut worker) = (Plan::NOTHING, Plan::NOTHING, Plan::NOTHING);
    (gate.needs, gate.sent[0], gate.guarded) = (1, Some(DOWN), ports(&[UP, DOWN]));
    (wire.carriers[0], wire.guarded) = (ports(&[UP]), ports(&[ARRIVED, UP, DOWN, GO]));
    wire.wires = ports(&[DOWN, GO]);
    (worker.own, worker.release) = (Some(0), Some(GO));
    (worker.carriers[0], worker.guarded) = (ports(&[ARRIVED]), ports(&[ARRIVED, GO]));
    [gate, wire, worker]
}

impl Line {
    fn new() -> Self {
        let node = |id| Small::new(NodeId(id), StampKind::Vector).unwrap();
        let (mut gate, mut wire, mut worker) = (node(0), node(1), node(2));
        gate.connect(UP, Direction::In, NodeId(1)).unwrap();
        gate.connect(DOWN, Direction::Out, NodeId(1)).unwrap();
        wire.connect(UP, Direction::Out, NodeId(0)).unwrap();
        wire.connect(DOWN, Direction::In, NodeId(0)).unwrap();
        wire.connect(ARRIVED, Direction::In, NodeId(2)).unwrap();
        wire.connect(GO, Direction::Out, NodeId(2)).unwrap();
        worker.connect(ARRIVED, Direction::Out, NodeId(1)).unwrap();
        worker.connect(GO, Direction::In, NodeId(1)).unwrap();
        for node in [&mut gate, &mut wire, &mut worker] {
            let _ = node.step(Input::start()).unwrap();
        }
        Self { gate, wire, worker }
    }

    fn armed() -> Self {
        let mut line = Self::new();
        let [gate, wire, worker] = plans();
        let phase = Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: 2 };
        install(&mut line.gate, None, gate).unwrap();
        install(&mut line.wire, None, wire).unwrap();
        install(&mut line.worker, Some(&[phase]), worker).unwrap();
        line
    }

    fn set(&mut self, value: i32) {
        let _ = self.worker.step(Input::Watch { watch: 0, value }).unwrap();
    }

    /// A message from the worker to the gate; whether the gate halts at it.
    fn arrive(&mut self) -> bool {
        let message = send(&mut self.worker, ARRIVED);
        receive(&mut self.wire, ARRIVED, &message);
        let message = send(&mut self.wire, UP);
        receive(&mut self.gate, UP, &message)
    }
}

fn send(node: &mut Small, port: PortId) -> [u8; Small::STAMP_ROOM] {
    let mut stamp = [0; Small::STAMP_ROOM];
    let _ = node.step(Input::Send { port, stamp: &mut stamp }).unwrap();
    stamp
}

fn receive(node: &mut Small, port: PortId, message: &[u8]) -> bool {
    let effects = node.step(Input::Receive { port, stamp: message }).unwrap();
    assert_eq!(effects.fired.contains(SLOT), effects.then == Then::Halt);
    effects.then == Then::Halt
}

#[test]
fn the_gate_fires_when_the_component_holds_and_nothing_that_lets_it_change_is_under_way() {
    let mut line = Line::armed();
    line.set(1);
    assert!(!line.arrive(), "phase is 1");
    let go = send(&mut line.gate, DOWN);
    assert!(!receive(&mut line.wire, DOWN, &go));
    line.set(2);
    assert!(!line.arrive(), "phase is 2, but a message that lets the worker go on is under way");
    let go = send(&mut line.wire, GO);
    assert!(!receive(&mut line.worker, GO, &go));
    assert!(line.arrive(), "phase is 2, and the worker waits for the gate");
    assert!(line.gate.predicates().has_fired(SLOT));
}

#[test]
fn the_gate_fires_when_its_own_condition_comes_true_last() {
    let mut line = Line::armed();
    let rounds = Op::WatchCompare { watch: 3, relation: Relation::AtLeast, constant: 5 };
    let _ = line.gate.step(Input::Command(Command::Remove { slot: SLOT })).unwrap();
    let mut other = Line::new();
    install(&mut other.gate, Some(&[rounds]), plans()[0]).unwrap();
    line.gate = other.gate;
    line.set(2);
    assert!(!line.arrive(), "the gate's own condition does not hold");
    for (value, fires) in [(4, false), (5, true)] {
        let effects = line.gate.step(Input::Watch { watch: 3, value }).unwrap();
        assert_eq!(effects.fired.contains(SLOT), fires, "rounds is {value}");
    }
}

#[test]
fn a_condition_that_came_true_too_early_is_looked_at_again_with_the_next_message() {
    let mut line = Line::armed();
    let rounds = Op::WatchCompare { watch: 3, relation: Relation::AtLeast, constant: 5 };
    let mut other = Line::new();
    install(&mut other.gate, Some(&[rounds]), plans()[0]).unwrap();
    line.gate = other.gate;
    for value in [5, 0, 6, 0, 7] {
        assert!(line.gate.step(Input::Watch { watch: 3, value }).unwrap().fired.is_empty(), "nothing was heard");
    }
    line.set(2);
    assert!(line.arrive());
}

#[test]
fn messages_on_other_ports_and_after_removal_carry_nothing() {
    let mut line = Line::armed();
    let plain = |node: &mut Small, port| send(node, port)[0] & 0x20 == 0;
    assert!(plain(&mut line.gate, DOWN) && plain(&mut line.wire, GO));
    assert!(!plain(&mut line.wire, UP) && !plain(&mut line.worker, ARRIVED));
    for node in [&mut line.wire, &mut line.worker] {
        let _ = node.step(Input::Command(Command::Remove { slot: SLOT })).unwrap();
    }
    assert!(plain(&mut line.wire, UP) && plain(&mut line.worker, ARRIVED));
    let mut stamp = [0; Small::STAMP_ROOM];
    assert!(line.worker.quick_send(ARRIVED, &mut stamp).is_some(), "and are quick again");
}

fn new_session(node: &mut Small, port: PortId, of: &Small) -> crate::Effects {
    let hello = Hello { number: of.number(), of_you: node.number(), last_halt: of.last_halt(), halted: false };
    node.step(Input::Hello { port, hello, resumed: false }).unwrap()
}

#[test]
fn what_was_said_is_worth_nothing_after_a_new_session_of_a_link() {
    let mut line = Line::armed();
    line.set(2);
    let stale = send(&mut line.worker, ARRIVED);
    receive(&mut line.wire, ARRIVED, &stale);
    let stale = send(&mut line.wire, UP);
    // The worker restarts: the wire notices, and tells the gate before anything else can arrive there.
    let effects = new_session(&mut line.wire, GO, &line.worker);
    assert!(effects.announce.contains(SLOT) && effects.announce_to == line.wire.up());
    let reached = line.wire.predicate_marker(SLOT).unwrap();
    let heard = line.gate.step(Input::PredicateMarker { port: DOWN, reached }).unwrap();
    assert!(heard.announce.contains(SLOT), "the gate passes it on");
    assert!(!receive(&mut line.gate, UP, &stale), "the value was sent before the worker restarted");
    let again = line.gate.step(Input::PredicateMarker { port: UP, reached }).unwrap();
    assert!(again.announce.is_empty(), "once is enough");
    assert!(!line.arrive(), "and nothing counts until it is armed again");
}

#[test]
fn a_link_that_goes_on_where_it_was_ends_nothing() {
    let mut line = Line::armed();
    let hello = line.worker.hello(GO).unwrap();
    let _ = line.wire.step(Input::LinkDown { port: GO }).unwrap();
    let effects = line.wire.step(Input::Hello { port: GO, hello, resumed: true }).unwrap();
    assert!(effects.announce.is_empty());
    line.set(2);
    assert!(line.arrive());
}

#[test]
fn a_wire_whose_links_began_at_different_times_refuses_its_part() {
    let mut line = Line::new();
    let _ = new_session(&mut line.wire, GO, &line.worker);
    let refused = install(&mut line.wire, None, plans()[1]);
    assert_eq!(refused, Err(StepError::SessionsDiffer(DOWN)));
    let mut unwired = plans()[1];
    unwired.wires = PortSet::EMPTY;
    assert_eq!(install(&mut line.wire, None, unwired), Ok(()));
}

#[test]
fn a_plan_for_ports_or_slots_that_are_not_there_is_refused() {
    let mut line = Line::new();
    let mut plan = Plan::NOTHING;
    plan.carriers[0] = ports(&[GO]);
    assert_eq!(install(&mut line.worker, None, plan), Err(StepError::NotOutgoing(GO)));
    let refused = line.wire.step(Input::Command(Command::Plan { slot: SLOT, generation: GENERATION, plan }));
    assert!(matches!(refused, Err(StepError::Enable(_))), "no program is installed");
}

/// A second event's plan would replace the first one's, whose slot would then fire for one component.
#[test]
fn a_second_event_is_refused_until_the_first_is_removed() {
    let mut line = Line::armed();
    let (slot, generation, detector) = (SlotId::ALL[0], Generation(1), Detector::Simultaneous);
    let condition = Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: 2 };
    let program = ProgramBuilder::new(1).push_condition_term(1, 1, &[condition]).finish().unwrap();
    let install = Command::Install { slot, generation, detector, program: program.as_bytes() };
    let _ = line.gate.step(Input::Command(install)).unwrap();
    let plan = Command::Plan { slot, generation, plan: plans()[0] };
    assert_eq!(line.gate.step(Input::Command(plan)), Err(StepError::OtherEvent(SLOT)));
    let _ = line.gate.step(Input::Command(Command::Remove { slot: SLOT })).unwrap();
    assert!(line.gate.step(Input::Command(plan)).is_ok());
}

/// A send, the quick way and by a step, on copies of a node; the bytes of the message. Says whether the quick way answered.
fn send_both_ways(node: &mut Small, port: PortId, message: &mut [u8; Small::STAMP_ROOM]) -> (usize, bool) {
    let (mut copy, mut bytes) = (node.clone(), [0; Small::STAMP_ROOM]);
    let quick = copy.quick_send(port, &mut bytes);
    let effects = node.step(Input::Send { port, stamp: message }).unwrap_or(crate::Effects::NONE);
    let length = usize::from(effects.stamp);
    match quick {
        None => {}
        Some(quick) if quick.satisfied.is_empty() => {
            assert_eq!(bytes[quick.begin.into()..], message[..length]);
            assert_eq!(copy, *node);
        }
        Some(quick) => {
            assert_eq!(copy.go_on_sending(port, &mut bytes, quick), effects);
            assert_eq!(copy, *node);
        }
    }
    (length, quick.is_some())
}

/// The same for a receive.
fn receive_both_ways(node: &mut Small, port: PortId, message: &[u8]) -> (bool, bool) {
    let mut copy = node.clone();
    let stamp = crate::MessageStamp::read::<3>(message).unwrap();
    assert_eq!(stamp.len(), message.len(), "nothing but what is carried");
    let quick = copy.quick_receive(port, &stamp);
    if quick.is_none() {
        assert_eq!(copy, *node, "a refusal changes nothing");
    }
    let effects = node.step(Input::Receive { port, stamp: message }).unwrap();
    if let Some(quick) = quick {
        let event = crate::Event::receive(port);
        let log = quick.is_recorded.then_some(event);
        let mut expected = crate::Effects { log, ..crate::Effects::NONE };
        if !quick.satisfied.is_empty() {
            expected = copy.go_on(event, quick);
        }
        assert_eq!(crate::Effects { stamp: effects.stamp, ..expected }, effects);
        assert_eq!(copy, *node);
    }
    (quick.is_some(), effects.then == Then::Halt)
}

/// Messages that tell of one component go the quick way, and it does what a step does, until and at the fire.
#[test]
fn messages_that_tell_of_a_component_are_the_same_the_quick_way() {
    let (mut quick, mut fires) = (0, 0);
    for seed in 1..40u32 {
        let mut random = seed.wrapping_mul(0x9E37_79B9) | 1;
        let mut below = |most: u32| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random % most
        };
        let mut line = Line::armed();
        for _ in 0..60 {
            let mut message = [0; Small::STAMP_ROOM];
            let value = 1 + below(2) as i32;
            if line.worker.step(Input::Watch { watch: 0, value }).is_err() {
                break;
            }
            let (length, sent) = send_both_ways(&mut line.worker, ARRIVED, &mut message);
            let (taken, _) = receive_both_ways(&mut line.wire, ARRIVED, &message[..length]);
            let (length, passed) = send_both_ways(&mut line.wire, UP, &mut message);
            let (heard, halts) = receive_both_ways(&mut line.gate, UP, &message[..length]);
            quick += [sent, taken, passed, heard].into_iter().filter(|quick| *quick).count();
            if halts {
                fires += 1;
                break;
            }
            if below(2) == 0 {
                let (length, _) = send_both_ways(&mut line.gate, DOWN, &mut message);
                receive_both_ways(&mut line.wire, DOWN, &message[..length]);
                let (length, _) = send_both_ways(&mut line.wire, GO, &mut message);
                receive_both_ways(&mut line.worker, GO, &message[..length]);
            }
        }
    }
    assert!(fires > 20, "{fires} of 39 runs fired");
    assert!(quick > 80, "only {quick} messages went the quick way");
}
