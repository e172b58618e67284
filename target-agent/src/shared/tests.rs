//! Two cores of one board, without a chip: what their logs say of accesses, and when a race halts them.
extern crate std;
use super::*;
use crate::agent::{Agent, Agents, Locals, Shared as Blocks};
use crate::fake::{Fake, begin, deliver_bells, on};
use crate::platform::CoreId;
use crate::{Channel, Event};
use std::boxed::Box;
use std::vec::Vec;
use stillpoint_core::log::{LogItem, LogReader};
use stillpoint_core::shared::AccessValue;
use stillpoint_core::{EventKind, NodeId, StampKind};

const LOG: usize = 1024;
type Core = Agent<Fake, 2, 2, LOG>;

/// The agents of both cores, which have begun and not started, and the memory that a host would read.
fn board(stamps: StampKind) -> [Core; 2] {
    let blocks: &'static Blocks<2, 2, LOG> = Box::leak(Box::new(Blocks::new()));
    let agents: &'static Agents<Fake, 2, 2, LOG> =
        Box::leak(Box::new(Agents::new(blocks, Box::leak(Box::new(Locals::new())))));
    [CoreId::ZERO, CoreId::ONE]
        .map(|core| on(core, || agents.begin(Name(1), NodeId(core.index() as u8), stamps).unwrap()))
}

fn object() -> &'static Shared<u32> {
    Box::leak(Box::new(Shared::new(7)))
}

fn events(core: &Core) -> Vec<Event> {
    let mut bytes = [0; LOG];
    let length = core.log().peek(&mut bytes).length;
    let (mut rest, mut reader, mut events) = (&bytes[..length], LogReader::new(), Vec::new());
    while let Ok(Some((item, used))) = reader.next(rest) {
        if let LogItem::Record(record) = item {
            events.push(record.event);
        }
        rest = &rest[used..];
    }
    events
}

fn accesses(core: &Core) -> Vec<(u16, AccessValue)> {
    let events = events(core).into_iter().filter(|event| event.kind == EventKind::Access);
    events.map(|event| (event.arg, AccessValue::from_bits(event.value))).collect()
}

#[test]
fn each_access_is_recorded_with_its_object_and_place_and_a_race_is_marked_by_the_second() {
    let _clean = begin();
    let [zero, one] = board(StampKind::Vector);
    // Each core names it for itself; the first name counts.
    let object = object();
    let handles = [(zero, Name(20)), (one, Name(30))].map(|(agent, name)| agent.share(name, object));
    for (core, agent) in [(CoreId::ZERO, zero), (CoreId::ONE, one)] {
        on(core, || agent.start().unwrap());
    }
    assert_eq!(handles[0].read(Name(3), |value| *value), 7);
    on(CoreId::ONE, || handles[1].write(Name(4), |value| *value += 1));
    let read = AccessValue { kind: AccessKind::Read, race: false, version: 0, reads: 0, place: 3 };
    let write = AccessValue { kind: AccessKind::Write, race: true, version: 1, reads: 1, place: 4 };
    assert_eq!((accesses(&zero), accesses(&one)), ([(20, read)].into(), [(20, write)].into()));
    assert_eq!(handles[0].read(Name(3), |value| *value), 8);
}

#[test]
fn a_message_between_two_accesses_leaves_no_race() {
    let _clean = begin();
    let [zero, one] = board(StampKind::Vector);
    let channel: &'static Channel<u32> = Box::leak(Box::new(Channel::new()));
    let mut outbox = zero.outbox(Name(5), channel, NodeId(1), CoreId::ONE).unwrap();
    let mut inbox = on(CoreId::ONE, || one.inbox(Name(6), channel, NodeId(0), CoreId::ZERO).unwrap());
    let value = zero.share(Name(20), object());
    zero.start().unwrap();
    on(CoreId::ONE, || one.start().unwrap());
    value.write(Name(1), |value| *value = 1);
    assert!(outbox.try_send(&1).is_ok());
    on(CoreId::ONE, || {
        assert_eq!(inbox.try_recv(), Ok(1));
        assert_eq!(value.read(Name(2), |value| *value), 1);
    });
    assert!([zero, one].iter().all(|core| accesses(core).iter().all(|(_, access)| !access.race)));
    deliver_bells();
}

#[test]
fn accesses_before_the_start_are_no_events() {
    let _clean = begin();
    let [zero, _] = board(StampKind::Vector);
    let value = zero.share(Name(20), object());
    value.write(Name(1), |value| *value = 1);
    zero.start().unwrap();
    assert!(accesses(&zero).is_empty());
    assert_eq!(value.read(Name(2), |value| *value), 1);
    assert_eq!(accesses(&zero).len(), 1);
}

#[test]
fn races_are_counted_in_a_watch_that_a_breakpoint_can_wait_for() {
    let _clean = begin();
    let [zero, one] = board(StampKind::Vector);
    on(CoreId::ONE, || one.watch_races(Name(9)).unwrap());
    let value = zero.share(Name(20), object());
    zero.start().unwrap();
    on(CoreId::ONE, || one.start().unwrap());
    for _ in 0..3 {
        value.write(Name(1), |value| *value += 1);
        on(CoreId::ONE, || value.write(Name(2), |value| *value += 1));
    }
    let watched = |core: &Core| {
        let events = events(core).into_iter().filter(|event| event.kind == EventKind::Watch);
        events.map(|event| event.value).collect::<Vec<_>>()
    };
    assert_eq!(watched(&one), [1, 2, 3]);
    // The other node found its two as well, and shows them nowhere: it was not asked to.
    assert_eq!(accesses(&zero).iter().filter(|(_, access)| access.race).count(), 2);
    assert!(watched(&zero).is_empty());
}

#[test]
#[should_panic(expected = "from inside its own access")]
fn a_write_inside_an_access_of_the_same_object_is_refused_with_a_sentence() {
    let [zero, _] = board(StampKind::Vector);
    let value = zero.share(Name(20), object());
    value.read(Name(1), |_| value.write(Name(2), |value| *value = 1));
}
