//! A node that is told anything, in any order.
use super::Bytes;
use super::script::{any_command, any_event};
use stillpoint_core::log::{LogItem, LogReader, LogRing, LogWriter};
use stillpoint_core::predicate::{Generation, Reached, SlotId};
use stillpoint_core::time::Ticks;
use stillpoint_core::{
    Direction, Effects, Event, EventNumber, HaltId, HaltMarker, HaltOrder, Hello, Input, Node, NodeId, Phase, PortId,
    PortSet, StampKind, Then,
};

type Tested = Node<3, 5>;
const ROOM: usize = Tested::STAMP_ROOM;

/// Any inputs, in any order: no panic, no change by what is refused, and effects that fit what the node has become.
pub fn node(data: &[u8]) {
    let mut bytes = Bytes(data);
    let kind = if bytes.flag() { StampKind::Vector } else { StampKind::Event };
    let mut node = Tested::new(NodeId(0), kind).unwrap();
    // Ports 0 and 1 to and from node 1, 2 and 3 to and from node 2, 4 not connected.
    for port in 0..4 {
        let direction = if port % 2 == 0 { Direction::Out } else { Direction::In };
        node.connect(PortId(port), direction, NodeId(1 + port / 2)).unwrap();
    }
    node.remember_halt(HaltId(bytes.below(8).into()));
    let mut peer = Node::<3, 1>::new(NodeId(1), kind).unwrap();
    peer.connect(PortId(0), Direction::Out, NodeId(0)).unwrap();
    let _ = peer.step(Input::start()).unwrap();
    let mut log = Log { ring: LogRing::new(), writer: LogWriter::new(), reader: LogReader::new(), now: 0 };
    while !bytes.is_empty() {
        let before = node.clone();
        if bytes.byte() % 16 == 0 {
            // A message that its sender really sent.
            let mut stamp = [0; Node::<3, 1>::STAMP_ROOM];
            let sent = peer.step(Input::Send { port: PortId(0), stamp: &mut stamp }).unwrap();
            let stamp = &stamp[..sent.stamp.into()];
            settle(&mut node, &before, Input::Receive { port: PortId(1), stamp }, &mut log);
        } else {
            told_anything(&mut node, &before, &mut bytes, &mut log);
        }
    }
}

fn told_anything(node: &mut Tested, before: &Tested, bytes: &mut Bytes<'_>, log: &mut Log) {
    let port = PortId(bytes.below(6));
    let id = HaltId(bytes.below(8).into());
    let (mut stamp, marker) = ([0; ROOM], any_marker(bytes, id));
    let input = match bytes.below(14) {
        0 => Input::Start { known: EventNumber(bytes.word()) },
        1 => Input::Event(any_event(bytes)),
        2 => Input::Send { port, stamp: &mut stamp[bytes.below(2).into()..] },
        3 => Input::Receive { port, stamp: bytes.piece(ROOM as u8) },
        4 => Input::Watch { watch: bytes.below(10), value: bytes.half_word().into() },
        5 if bytes.flag() => Input::Fault { cause: bytes.word() },
        6 => Input::Marker { port, marker: &marker },
        7 => Input::Delivered { ports: PortSet(bytes.byte().into()), id },
        8 => Input::DrainLimit,
        9 => Input::Release { port, id },
        10 => {
            let (slot, generation) = (SlotId::ALL[usize::from(bytes.below(4))], Generation(bytes.below(3)));
            Input::PredicateMarker { port, reached: Reached::new(slot, generation, 1 + bytes.below(8)).unwrap() }
        }
        11 => {
            let (number, of_you) = (EventNumber(bytes.word()), EventNumber(bytes.word()));
            let hello = Hello { number, of_you, last_halt: id, halted: bytes.flag() };
            Input::Hello { port, hello, resumed: bytes.flag() }
        }
        12 => Input::LinkDown { port },
        _ => Input::Command(any_command(bytes)),
    };
    settle(node, before, input, log);
}

fn any_marker(bytes: &mut Bytes<'_>, id: HaltId) -> HaltMarker<3> {
    let names = 1 + bytes.below(2);
    let order = (0..names).map(|_| NodeId(bytes.below(3))).fold(HaltOrder::new(), HaltOrder::then);
    HaltMarker { id, position: bytes.below(9).into(), order }
}

fn settle(node: &mut Tested, before: &Tested, input: Input<'_, 3>, log: &mut Log) {
    // After these the counts of messages or the mode may differ: the driver calls for a sync record.
    if matches!(input, Input::Hello { .. } | Input::Command(_)) {
        log.writer.resynchronise(Ticks(log.now));
    }
    match node.step(input) {
        Err(error) => {
            assert_eq!(node, before, "refused and changed: {error}");
            assert!(!error.to_string().is_empty());
        }
        Ok(effects) => {
            check(node, before, &effects);
            if let Some(event) = effects.log {
                log.write_and_read(node, event);
            }
            if let Some(event) = effects.halt_record() {
                log.write_and_read(node, event);
            }
        }
    }
}

fn check(node: &Tested, before: &Tested, effects: &Effects) {
    let (now, then) = (node.number(), before.number());
    // A node that is told it had been half a circle ahead begins one epoch above that, and leaves out epoch 0. One that
    // knows of no event of its own takes over whatever it is told.
    let is_counted_up = then.0 == 0 || now.0.wrapping_sub(then.0) <= (1 << 31) + (2 << 24);
    assert!(is_counted_up, "{then:?} to {now:?}: events are counted up");
    assert!(effects.log.is_none() || now != then, "a record is of an event");
    let halted = matches!(node.phase(), Phase::Draining { .. } | Phase::Parked { .. });
    let linked = node.linked();
    for ports in [effects.markers, effects.releases, effects.announce_to, node.up()] {
        assert_eq!(ports.difference(linked), PortSet::EMPTY, "ports that are not connected");
    }
    assert!(effects.markers.is_empty() || halted, "a marker comes from a node that halts");
    for port in (0..6).map(PortId) {
        let marker = node.halt_marker(port);
        assert_eq!(marker.is_some(), halted && linked.contains(port));
        assert_eq!(node.hello(port).is_some(), linked.contains(port));
        assert!(marker.is_none_or(|marker| marker.order.nodes().last() == Some(&NodeId(0))), "itself last");
    }
    match effects.then {
        Then::Halt => assert!(halted),
        Then::Park => assert!(matches!(node.phase(), Phase::Parked { .. } | Phase::Suspended)),
        Then::Resume | Then::Run => assert!(!halted),
        Then::Continue => {}
    }
    if let Phase::Draining { open, undelivered, .. } = node.phase() {
        assert!(!open.is_empty() && open.intersection(undelivered).is_empty());
    }
    assert!(!effects.fired.iter().any(|slot| !node.predicates().has_fired(slot)));
    assert!(effects.fired.is_empty() || halted, "what fired halts");
}

/// The node's log, read at once: what the node did is what the reader makes of it.
struct Log {
    ring: LogRing<512>,
    writer: LogWriter<3>,
    reader: LogReader,
    now: u64,
}

impl Log {
    fn write_and_read(&mut self, node: &Tested, event: Event) {
        self.now += 3;
        self.writer.push(&self.ring, &event, Ticks(self.now as u32), &node.standing());
        let mut bytes = [0; 512];
        let piece = self.ring.peek(&mut bytes);
        let (mut rest, mut records) = (&bytes[..piece.length], 0);
        while let Some((item, used)) = self.reader.next(rest).expect("a log that can be read") {
            rest = &rest[used..];
            let LogItem::Record(record) = item else { continue };
            records += 1;
            assert_eq!((record.event, record.number, record.time.0), (event, node.number(), self.now));
            assert!(record.message.is_none() || record.message == node.count(PortId(event.arg as u8)));
        }
        assert!(rest.is_empty() && records == 1);
        self.ring.consume(piece);
    }
}

/// A life: start, messages, a predicate, a halt, a release; and one among restarting peers.
pub fn seeds() -> Vec<Vec<u8>> {
    // Each input: not a real message, port, halt id, a marker's names and position, then which input it is.
    let input = |port: u8, id: u8, which: u8, rest: &[u8]| [&[1, port, id, 0, 1, 4, which], rest].concat();
    let start = input(0, 0, 0, &[0; 4]);
    let program = [13, 5, 0, 1, 0, 11, 0x22, 0x61, 1, 0, 1, 2, 0, 0x12, 2, 0x60, 10];
    let install = input(0, 0, program[0], &program[1..]);
    let enable = input(0, 0, 13, &[6, 0, 1]);
    let send = input(0, 0, 2, &[0]);
    let watch = input(0, 0, 4, &[0, 20, 0]);
    let halt = input(0, 1, 13, &[0]);
    let marker = input(1, 1, 6, &[]);
    let delivered = input(0, 1, 7, &[15]);
    let release = input(1, 1, 9, &[]);
    let hello = input(1, 1, 11, &[0, 0, 0, 1, 9, 0, 0, 0, 1]);
    let message = vec![0];
    let life = [&start, &install, &enable, &message, &send, &watch, &marker, &delivered, &release, &message, &send];
    let halting = [&start, &send, &halt, &marker, &delivered, &release, &message, &halt, &delivered];
    let resets = [&hello, &start, &message, &hello, &send, &hello, &marker, &hello, &delivered, &release, &send];
    let choose = |kind: u8, parts: &[&Vec<u8>]| {
        parts.iter().fold(vec![kind], |mut seed, part| {
            seed.extend(*part);
            seed
        })
    };
    vec![choose(0, &life), choose(1, &life), choose(1, &halting), choose(0, &resets), choose(1, &resets)]
}
