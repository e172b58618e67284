//! A run, for a reader.
use super::system::{Control, HEAD, IN, NODES, OUT, Session, System, Wire};
use super::world::{Action, World};
use std::fmt::Write;
use stillpoint_core::{Phase, PortId};

/// What happened.
pub fn say(action: Action) -> String {
    let lane = |port: PortId| if port == OUT { "down" } else { "up" };
    let end = |end: usize| if end == HEAD { "sender's" } else { "receiver's" };
    match action {
        Action::Send(node) => format!("node {node} sends"),
        Action::Receive(node) => format!("node {node} receives"),
        Action::Local(node) => format!("node {node} has a local event"),
        Action::Halt(node) => format!("node {node} initiates a halt"),
        Action::Command => "the debugger commands a halt".to_owned(),
        Action::Obey(node) => format!("the debugger's command arrives at node {node}"),
        Action::Release(node) => format!("the host releases node {node}"),
        Action::Control(node, port) => format!("node {node} takes control from {}stream", lane(other(port))),
        Action::Acknowledge(node, port) => format!("node {node} hears its marker {}stream was delivered", lane(port)),
        Action::Transmit(wire, from) => format!("wire {wire}: the {} link sends a frame", end(from)),
        Action::Carry(wire, from) => format!("wire {wire}: the {} frame arrives", end(from)),
        Action::CarryTwice(wire, from) => format!("wire {wire}: the {} frame arrives and is repeated", end(from)),
        Action::DropFrame(wire, from) => format!("wire {wire}: the {} frame gets lost", end(from)),
        Action::TimeOut(wire, from) => format!("wire {wire}: the {} link waited in vain", end(from)),
        Action::Reset(node) => format!("node {node} is reset"),
        Action::Notice(wire, from) => format!("wire {wire}: the {} end notices the reset of the other", end(from)),
        Action::Start(node) => format!("node {node} starts"),
    }
}

const fn other(port: PortId) -> PortId {
    if port.0 == IN.0 { IN } else { OUT }
}

/// The state: one line a node, and one for each wire that is not empty.
pub fn show(world: &World, system: &System) -> String {
    let mut text = String::new();
    for (node, place) in system.places.iter().enumerate() {
        let phase = match place.node.phase() {
            Phase::Draining { open, released, .. } => {
                format!("draining ports {:?}{}", open.iter().map(|port| port.0).collect::<Vec<_>>(), mark(released))
            }
            Phase::Parked { undelivered, .. } if undelivered.is_empty() => "parked".to_string(),
            Phase::Parked { undelivered, .. } => format!("parked, undelivered {:#b}", undelivered.0),
            phase => format!("{phase:?}").to_lowercase(),
        };
        let halt = world.ordinal(place.node.last_halt());
        let counts: Vec<_> = [OUT, IN].into_iter().filter_map(|port| place.node.count(port)).collect();
        let clock = place.node.clock().entries();
        let _ = writeln!(text, "node {node}: {phase}, last halt {halt}, clock {clock:x?}, counts {counts:?}");
    }
    for wire in 0..world.config.shape.wires() {
        let line = show_wire(world, &system.wires[wire]);
        if !line.is_empty() {
            let _ = writeln!(text, "wire {wire} -> {}:{line}", (wire + 1) % NODES);
        }
    }
    text
}

fn mark(released: bool) -> &'static str {
    if released { ", released" } else { "" }
}

fn show_wire(world: &World, wire: &Wire) -> String {
    let mut text = String::new();
    if wire.session != Session::Up {
        let _ = write!(text, " {:?}", wire.session);
    }
    if !wire.data.is_empty() {
        let numbers: Vec<u8> = wire.data.iter().map(|message| message.number).collect();
        let _ = write!(text, " messages {numbers:?}");
    }
    for (lane, way) in wire.lanes.iter().zip(["down", "up"]) {
        for item in &lane.items {
            let _ = match item {
                Control::Marker(marker) => {
                    write!(text, " {way}: marker {} at {}", world.ordinal(marker.id), marker.position)
                }
                Control::Release(id) => write!(text, " {way}: release {}", world.ordinal(*id)),
                Control::Predicate(_, stage) => write!(text, " {way}: stage {stage}"),
                Control::Hello(hello, _) => write!(text, " {way}: {hello:x?}"),
            };
        }
        if let Some(id) = lane.acknowledged {
            let _ = write!(text, " {way}: acknowledgement {}", world.ordinal(id));
        }
    }
    for (frames, way) in wire.serial.iter().flat_map(|line| &line.air).zip(["down", "up"]) {
        if !frames.is_empty() {
            let _ = write!(text, " {way}: {} frame", frames.len());
        }
    }
    text
}
