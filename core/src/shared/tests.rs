//! The protocol alone, between nodes that exchange messages, and against an order computed in another way.
use super::*;
use crate::predicate::{Detector, Generation, Op, ProgramBuilder, Relation, SlotId};
use crate::{
    Command, Direction, Effects, Event, EventKind, HaltId, Input, Node, PortId, PortSet, StampKind, StepError, Then,
};
use AccessKind::{Read, Write};
use stillpoint_test::test;

const NODES: usize = 3;
type Peer = Node<NODES, { 2 * NODES }>;
const ROOM: usize = Peer::STAMP_ROOM;
const OBJECT: u16 = 9;

/// Three nodes with a channel from each to each: port `to` out, port `NODES + from` in.
fn nodes(stamps: StampKind) -> [Peer; NODES] {
    core::array::from_fn(|id| {
        let mut node = Peer::new(NodeId(id as u8), stamps).unwrap();
        for peer in (0..NODES as u8).filter(|peer| usize::from(*peer) != id) {
            node.connect(PortId(peer), Direction::Out, NodeId(peer)).unwrap();
            node.connect(PortId(NODES as u8 + peer), Direction::In, NodeId(peer)).unwrap();
        }
        let _ = node.step(Input::start()).unwrap();
        node
    })
}

fn message(nodes: &mut [Peer; NODES], from: u8, to: u8) -> Effects {
    let mut stamp = [0; ROOM];
    let sent = nodes[usize::from(from)].step(Input::Send { port: PortId(to), stamp: &mut stamp }).unwrap();
    let stamp = &stamp[..sent.stamp.into()];
    nodes[usize::from(to)].step(Input::Receive { port: PortId(NODES as u8 + from), stamp }).unwrap()
}

fn access(nodes: &mut [Peer; NODES], node: u8, object: &mut SharedObject<NODES>, kind: AccessKind) -> Accessed<NODES> {
    nodes[usize::from(node)].access(object, Access { kind, object: OBJECT, place: 4 }).unwrap().1
}

#[test]
fn accesses_that_a_message_orders_do_not_race() {
    let (mut nodes, mut object) = (nodes(StampKind::Vector), SharedObject::new());
    for (writer, reader) in [(0, 1), (1, 2), (2, 0)] {
        assert!(!access(&mut nodes, writer, &mut object, Write).is_race());
        let _ = message(&mut nodes, writer, reader);
        assert!(!access(&mut nodes, reader, &mut object, Read).is_race());
    }
}

#[test]
fn reads_do_not_race_with_each_other_and_a_write_races_with_each_of_them() {
    let (mut nodes, mut object) = (nodes(StampKind::Vector), SharedObject::new());
    for reader in [0, 1, 0, 1] {
        assert!(!access(&mut nodes, reader, &mut object, Read).is_race());
    }
    let found = access(&mut nodes, 2, &mut object, Write);
    // Both read twice, the second time as their event 3: the start was the first.
    let last = [0, 1].map(|node| (Accessor { node: NodeId(node), number: EventNumber(3) }, Read));
    assert!(found.races().eq(last), "{found:?}");
    assert_eq!((found.reads, found.last_write, found.version), (4, None, 1));
}

/// 3.4: what the protocol let through one after the other is in no order of the program's.
#[test]
fn a_race_is_found_however_often_serialisation_has_ordered_its_nodes_before() {
    let (mut nodes, mut object) = (nodes(StampKind::Vector), SharedObject::new());
    let _first = access(&mut nodes, 0, &mut object, Write);
    for turn in 0..10 {
        let (one, other) = if turn % 2 == 0 { (1, 0) } else { (0, 1) };
        assert!(access(&mut nodes, one, &mut object, Write).is_race(), "turn {turn} after {other} is hidden");
    }
}

/// Of two objects the first orders nothing for the second.
#[test]
fn an_object_that_is_read_after_a_write_orders_no_access_of_another() {
    let (mut nodes, mut data, mut flag) = (nodes(StampKind::Vector), SharedObject::new(), SharedObject::new());
    let _ = access(&mut nodes, 0, &mut data, Write);
    let _ = access(&mut nodes, 0, &mut flag, Write);
    let _ = access(&mut nodes, 1, &mut flag, Read);
    assert!(access(&mut nodes, 1, &mut data, Read).is_race());
}

#[test]
fn an_access_changes_the_clock_of_nobody_but_the_accessor_and_there_one_entry() {
    let (mut nodes, mut object) = (nodes(StampKind::Vector), SharedObject::new());
    let _ = access(&mut nodes, 0, &mut object, Write);
    let before = *nodes[1].clock();
    let _ = access(&mut nodes, 1, &mut object, Read);
    let mut expected = before;
    expected.tick(NodeId(1));
    assert_eq!(*nodes[1].clock(), expected);
}

#[test]
fn with_event_stamps_nobody_looks_for_races() {
    let (mut nodes, mut object) = (nodes(StampKind::Event), SharedObject::new());
    let _ = access(&mut nodes, 0, &mut object, Write);
    assert!(!access(&mut nodes, 1, &mut object, Write).is_race());
}

#[test]
fn the_record_says_what_was_done_where_and_that_it_races() {
    let (mut nodes, mut object) = (nodes(StampKind::Vector), SharedObject::<NODES>::new());
    for turn in 0..70_u32 {
        let node = (turn % 2) as usize;
        let access = Access { kind: Write, object: OBJECT, place: 0xABCD };
        let (effects, _) = nodes[node].access(&mut object, access).unwrap();
        let event = effects.log.unwrap();
        assert_eq!((event.kind, event.arg), (EventKind::Access, OBJECT));
        let version = ((turn + 1) % 64) as u8;
        let expected = AccessValue { kind: Write, race: turn > 0, version, reads: 0, place: 0xABCD };
        assert_eq!(AccessValue::from_bits(event.value), expected);
    }
}

/// Table 3-2: a writer records how many reads there were since the write before it.
#[test]
fn the_record_of_a_write_says_how_many_reads_there_were_since_the_write_before_it() {
    let (mut nodes, mut object) = (nodes(StampKind::Event), SharedObject::<NODES>::new());
    let mut recorded = |node: usize, kind| {
        let (effects, _) = nodes[node].access(&mut object, Access { kind, object: OBJECT, place: 0xABCD }).unwrap();
        AccessValue::from_bits(effects.log.unwrap().value)
    };
    for reads in [0, 1, 5, 127, 128, 130_u32] {
        for read in 0..reads {
            let value = recorded(1 + (read % 2) as usize, Read);
            assert_eq!((value.kind, value.reads, value.place), (Read, 0, 0xABCD));
        }
        let value = recorded(0, Write);
        assert_eq!((value.kind, u32::from(value.reads), value.place), (Write, reads % 128, 0xABCD));
    }
}

/// The count of reads makes the record of a write at a place one byte longer at most, and that of a read none.
#[test]
fn every_value_survives_its_bits_and_a_write_is_one_byte_longer_at_most() {
    let length = |bits: u32| (i64::from(bits as i32).unsigned_abs() * 2).max(1).ilog2() / 7 + 1;
    for kind in [Read, Write] {
        for (race, version, reads) in [(false, 0, 0), (true, 63, 127), (false, 1, 64), (true, 32, 1)] {
            for place in [1, 63, 64, 0x1FFF, 0x2000, 0x8000, 0xFFFF] {
                let reads = if kind == Write { reads } else { 0 };
                let value = AccessValue { kind, race, version, reads, place };
                assert_eq!(AccessValue::from_bits(value.to_bits()), value);
                let write = u32::from(kind == Write);
                let without = write | u32::from(race) << 1 | u32::from(version) << 2 | u32::from(place) << 8;
                assert!(length(value.to_bits()) <= length(without) + write, "{value:?}");
            }
        }
    }
}

#[test]
fn a_refused_access_changes_neither_node_nor_object() {
    let [mut node, other, _] = nodes(StampKind::Vector);
    let mut object = SharedObject::<1>::new();
    let read = Access { kind: Read, object: OBJECT, place: 0 };
    let _ = node.access(&mut object, read).unwrap();
    let (mut late, before) = (other.clone(), object);
    assert_eq!(late.access(&mut object, read), Err(StepError::TooManyReaders));
    assert_eq!((late, object), (other, before));
    let _ = node.step(Input::Halt).unwrap();
    let halted = node.clone();
    assert_eq!(node.access(&mut object, read), Err(StepError::NotRunning));
    assert_eq!((node, object), (halted, before));
}

/// A stage that a write satisfied is known to who accesses the object later, and only to them.
#[test]
fn stages_of_causal_predicates_travel_with_what_is_written() {
    let mut nodes = nodes(StampKind::Vector);
    let (mut object, mut untouched) = (SharedObject::new(), SharedObject::new());
    let (slot, generation, detector) = (SlotId::ALL[0], Generation(1), Detector::Causal);
    let when = |watch| [Op::WatchCompare { watch, relation: Relation::Equal, constant: 1 }];
    for (node, stage) in [(0, 1), (1, 2), (2, 2)] {
        let program = ProgramBuilder::new(2).push_condition_term(stage, 1, &when(0)).finish().unwrap();
        let install = Command::Install { slot, generation, detector, program: program.as_bytes() };
        for command in [install, Command::Enable { slot, generation, silent: PortSet::EMPTY }] {
            let _ = nodes[node].step(Input::Command(command)).unwrap();
        }
    }
    let _ = access(&mut nodes, 0, &mut untouched, Write);
    let _ = nodes[0].step(Input::Watch { watch: 0, value: 1 }).unwrap();
    let _ = access(&mut nodes, 0, &mut object, Write);
    let _ = access(&mut nodes, 1, &mut object, Read);
    let _ = access(&mut nodes, 2, &mut untouched, Read);
    let fires = |node: &mut Peer| node.step(Input::Watch { watch: 0, value: 1 }).unwrap().then == Then::Halt;
    assert!(!fires(&mut nodes[2]), "what it read was written before the first stage");
    assert!(fires(&mut nodes[1]));
    assert_eq!(nodes[1].last_halt(), HaltId(1));
}

/// One access of a random run, with its past as a set of all events: another way to know the order than clocks.
#[derive(Clone, Copy)]
struct Made {
    by: Accessor,
    kind: AccessKind,
    place: u32,
    past: u128,
}

impl Made {
    fn is_before(&self, other: &Self) -> bool {
        other.past >> self.place & 1 != 0
    }
}

/// A generator small enough for the target.
struct Random(u32);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) % bound
    }
}

/// On random runs an access is reported with exactly those of the last write and the last reads since that are unordered,
/// and an object has a report exactly if any two of its accesses race.
#[test]
fn what_is_reported_on_random_runs_is_true_and_no_racing_object_goes_unreported() {
    const EVENTS: u32 = 60;
    let (mut racing, mut clean) = (0, 0);
    for seed in 0..300 {
        let (mut random, mut nodes, mut object) = (Random(seed), nodes(StampKind::Vector), SharedObject::new());
        // The more messages, the more runs without a race.
        let messages = 1 + random.below(12);
        let mut past = [0_u128; NODES];
        let mut made: [Option<Made>; EVENTS as usize] = [None; EVENTS as usize];
        let (mut count, mut reported, mut place) = (0, false, 0);
        while place + 2 < EVENTS {
            let node = random.below(NODES as u32) as u8;
            if random.below(messages + 1) > 0 {
                let to = (node + 1 + random.below(NODES as u32 - 1) as u8) % NODES as u8;
                let _ = message(&mut nodes, node, to);
                past[usize::from(node)] |= 1 << place;
                past[usize::from(to)] |= past[usize::from(node)] | 1 << (place + 1);
                place += 2;
                continue;
            }
            let kind = if random.below(3) == 0 { Write } else { Read };
            let found = access(&mut nodes, node, &mut object, kind);
            past[usize::from(node)] |= 1 << place;
            let by = Accessor { node: NodeId(node), number: nodes[usize::from(node)].number() };
            let this = Made { by, kind, place, past: past[usize::from(node)] };
            place += 1;
            let earlier = || made[..count].iter().flatten();
            let last_write = made[..count].iter().rposition(|access| access.is_some_and(|access| access.kind == Write));
            let is_remembered = |index: usize, access: &Made| match last_write {
                Some(write) if index < write => false,
                Some(write) if index == write => true,
                // Of each node the last read since the write; reads matter to writes only.
                _ => {
                    kind == Write
                        && !earlier().skip(index + 1).any(|later| later.by.node == access.by.node && later.kind == Read)
                }
            };
            let expected = |with: &(Accessor, AccessKind)| {
                earlier().enumerate().any(|(index, access)| {
                    (access.by, access.kind) == *with && is_remembered(index, access) && !access.is_before(&this)
                })
            };
            assert!(found.races().all(|with| expected(&with)), "seed {seed}: {found:?}");
            let wanted = earlier()
                .enumerate()
                .filter(|(index, access)| is_remembered(*index, access) && !access.is_before(&this));
            assert_eq!(wanted.count(), found.races().count(), "seed {seed}: {found:?}");
            reported |= found.is_race();
            made[count] = Some(this);
            count += 1;
        }
        let pairs = || made[..count].iter().flatten().enumerate();
        let races = pairs().any(|(index, one)| {
            made[..index].iter().flatten().any(|other| one.kind.conflicts(other.kind) && !other.is_before(one))
        });
        assert_eq!(reported, races, "seed {seed}");
        *if races { &mut racing } else { &mut clean } += 1;
    }
    assert!(racing > 50 && clean > 50, "{racing} runs with a race, {clean} without: the runs show little");
}

#[test]
fn an_ordinary_event_of_this_kind_says_nothing_about_a_place() {
    let bare = AccessValue::from_bits(Event { kind: EventKind::Access, arg: 1, value: 1 }.value);
    assert_eq!(bare, AccessValue { kind: Write, race: false, version: 0, reads: 0, place: 0 });
}
