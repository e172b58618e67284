//! The nodes as a model begins: connected, started, armed, all through the shipped step.
use super::config::{Config, Start, What};
use super::system::{Core, IN, NODES, OUT, Shape};
use stillpoint_core::predicate::{Generation, ProgramBuilder, SlotId};
use stillpoint_core::{Command, Direction, Event, EventKind, EventNumber, HaltId, Hello, Input, NodeId, PortSet};

/// The tag of the tracepoint that predicates look for.
pub const TAG: u16 = 7;

/// The slot in which a predicate is armed.
pub const SLOT: SlotId = SlotId::ALL[1];

const GENERATION: Generation = Generation(1);

/// A node that is connected and has not started.
pub fn connected(config: &Config, node: usize) -> Core {
    let mut core = Core::new(NodeId(node as u8), config.stamps).expect("one of three nodes");
    for (port, direction, peer) in [(OUT, Direction::Out, node + 1), (IN, Direction::In, node + 2)] {
        if config.shape.wire(node, port).is_some() {
            core.connect(port, direction, NodeId((peer % NODES) as u8)).expect("two ports");
        }
    }
    core
}

/// The nodes, and the last halt they know of.
pub fn nodes(config: &Config) -> ([Core; NODES], HaltId) {
    let mut nodes = std::array::from_fn(|node| connected(config, node));
    match config.start {
        Start::Fresh => nodes.iter_mut().for_each(|node| tell(node, Input::start())),
        Start::NearTheWrap => age(config.shape, &mut nodes),
    }
    arm(config, &mut nodes);
    let last = nodes[0].last_halt();
    (nodes, last)
}

fn tell(node: &mut Core, input: Input<'_, NODES>) {
    let _done = node.step(input).expect("what happens while a model is prepared is possible");
}

/// Lives through 256 epochs: two large steps, since numbers order only within half of their circle, and then event by
/// event to the last but one.
fn age(shape: Shape, nodes: &mut [Core; NODES]) {
    let half = EventNumber(0x7E00_0000);
    for node in nodes.iter_mut() {
        node.remember_halt(HaltId(0x7FFF));
        tell(node, Input::Start { known: half });
    }
    talk(shape, nodes);
    for node in nodes.iter_mut() {
        for port in node.linked().iter() {
            let hello = Hello {
                number: EventNumber(0xFF00_0000),
                of_you: EventNumber(0xFE00_0000),
                last_halt: HaltId(u16::MAX - 1),
                halted: false,
            };
            tell(node, Input::Hello { port, hello, resumed: false });
        }
    }
    talk(shape, nodes);
    for node in nodes.iter_mut() {
        while node.number() != EventNumber(u32::MAX - 1) {
            tell(node, Input::Event(Event::local(0)));
        }
    }
}

/// Every node hears of every other: messages twice round.
fn talk(shape: Shape, nodes: &mut [Core; NODES]) {
    for wire in (0..2 * NODES).map(|turn| turn % NODES).filter(|&wire| wire < shape.wires()) {
        let ((from, out), (to, into)) = (Shape::holder(wire, 0), Shape::holder(wire, 1));
        let mut stamp = [0; Core::STAMP_ROOM];
        let sent = nodes[from].step(Input::Send { port: out, stamp: &mut stamp }).expect("it runs");
        tell(&mut nodes[to], Input::Receive { port: into, stamp: &stamp[..sent.stamp.into()] });
    }
}

fn arm(config: &Config, nodes: &mut [Core; NODES]) {
    let Some(predicate) = config.predicate else { return };
    for (index, node) in nodes.iter_mut().enumerate() {
        let mut builder = ProgramBuilder::new(predicate.stages.len() as u8);
        let mine = predicate.stages.iter().enumerate().filter(|(_, stage)| stage.node == index);
        if mine.clone().next().is_none() {
            continue;
        }
        for (place, stage) in mine {
            let (kind, argument) = match stage.what {
                What::Local => (EventKind::Local, Some(TAG)),
                What::Send => (EventKind::Send, None),
                What::Receive => (EventKind::Receive, None),
            };
            builder = builder.push_event_term(place as u8 + 1, stage.times.into(), kind, argument);
        }
        let program = builder.finish().expect("a short program");
        let (slot, generation, detector) = (SLOT, GENERATION, predicate.detector);
        tell(node, Input::Command(Command::Install { slot, generation, detector, program: program.as_bytes() }));
    }
    for node in nodes.iter_mut().filter(|node| node.predicates().installed(SLOT).is_some()) {
        tell(node, Input::Command(Command::Enable { slot: SLOT, generation: GENERATION, silent: PortSet::EMPTY }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::models;

    #[test]
    fn nodes_near_the_wrap_know_each_other_and_stand_one_event_before_it() {
        let config = models::all().into_iter().find(|config| config.start == Start::NearTheWrap).unwrap();
        let (nodes, last) = nodes(&config);
        assert_eq!(last, HaltId(u16::MAX - 1));
        for node in &nodes {
            assert_eq!(node.number(), EventNumber(u32::MAX - 1));
            assert_eq!(node.last_halt(), last);
        }
    }
}
