//! Small histories, drawn by hand.
use crate::{CausalOrder, History, Item, Note, Past, Relation, Sketch, Sync, Why};
use stillpoint_core::log::Record;
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber, MAX_NODES};

fn place(history: &History, id: crate::EventId) -> usize {
    history.index_of(id).expect("the event is in the history")
}

#[test]
fn a_message_orders_what_lies_before_its_send_and_after_its_receive() {
    let mut sketch = Sketch::new(&["a", "b", "c"]);
    let (first, elsewhere) = (sketch.local(0, 1), sketch.local(2, 2));
    let (_, received) = sketch.message(0, 1);
    let (_, last) = sketch.message(1, 2);
    let history = sketch.history();
    let [first, elsewhere, received, last] = [first, elsewhere, received, last].map(|id| place(&history, id));
    assert!(history.before(first, received) && history.before(first, last) && history.before(elsewhere, last));
    assert_eq!(history.relation(elsewhere, received), Relation::Concurrent);
    assert_eq!(history.clock(last), [2, 2, 2]);
    assert!(history.notes().is_empty(), "{:?}", history.notes());
}

/// Hyder 6.3: the arrival of events is in no particular order, their delivery is causal.
#[test]
fn an_event_waits_for_what_happened_before_it() {
    let mut sketch = Sketch::new(&["a", "b", "c"]);
    sketch.message(0, 1);
    sketch.message(1, 2);
    let mut order = crate::CausalOrder::new(sketch.header());
    let mut seen = Vec::new();
    let items: Vec<_> = sketch.items().collect();
    for (node, item) in
        items.iter().rev().filter(|(node, _)| *node == 2).chain(items.iter().filter(|(node, _)| *node != 2))
    {
        order.push(*node, 0, item.clone(), &mut |event, _| seen.push((event.id.node, event.kind())));
    }
    let expected = [(0, EventKind::Send), (1, EventKind::Receive), (1, EventKind::Send), (2, EventKind::Receive)];
    assert_eq!(seen, expected);
    assert_eq!(order.held(), 0, "what no successor needs is dropped");
}

#[test]
fn a_receive_whose_send_is_not_in_the_trace_has_an_unknown_past() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.receive(0, 1);
    let history = sketch.history();
    assert_eq!(history.events[0].past, Past::Unknown { why: Why::After(0) });
    assert_eq!(history.notes(), [Note::Missing { node: 0 }]);
}

#[test]
fn two_receives_that_wait_for_each_other_are_log_damage_and_do_not_hang() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.local(0, 1);
    sketch.local(1, 1);
    let (a, b) = (sketch.receive(1, 0), sketch.receive(0, 1));
    sketch.send(0, 1);
    sketch.send(1, 0);
    let history = sketch.history();
    assert_eq!(history.events.len(), 6);
    let Some(Note::Cycle { events }) = history.notes().first() else { panic!("{:?}", history.notes()) };
    assert_eq!(events, &[b, a]);
    assert!(!history.events[2].past.is_known());
    let said = history.notes()[0].say(&history.header);
    assert!(said.contains("b#2, a#2"), "{said}");
}

#[test]
fn a_silent_node_is_waited_for_only_so_long() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.message(0, 1);
    let receive = sketch.items().nth(1).unwrap();
    let mut order = crate::CausalOrder::new(sketch.header());
    let mut seen = Vec::new();
    order.push(1, 50, receive.1, &mut |event, _| seen.push(event.past));
    order.hurry(49, &mut |event, _| seen.push(event.past));
    assert!(seen.is_empty());
    order.hurry(50, &mut |event, _| seen.push(event.past));
    assert_eq!(seen, [Past::Unknown { why: Why::Silent(0) }]);
}

#[test]
fn a_log_that_goes_back_is_left_out_from_there_on() {
    let mut sketch = Sketch::new(&["a", "b"]);
    let items = {
        sketch.local(0, 1);
        sketch.local(0, 2);
        sketch.items().collect::<Vec<_>>()
    };
    let mut builder = crate::Builder::new(sketch.header());
    for (node, item) in items.iter().chain(&items) {
        builder.push(*node, 0, item.clone());
    }
    let history = builder.finish(None);
    assert_eq!(history.events.len(), 2);
    assert_eq!(history.notes()[0], Note::Backwards { node: 0, last: 2, number: 1, left_out: 2 });
}

#[test]
fn a_halt_lies_between_the_events_around_it() {
    let mut sketch = Sketch::new(&["a", "b"]);
    let before = sketch.local(0, 1);
    sketch.event(0, Event::new(EventKind::Halt, 1));
    let (_, received) = sketch.message(0, 1);
    let history = sketch.history();
    let (before, received) = (place(&history, before), place(&history, received));
    let halt = (0..4).find(|at| history.events[*at].kind() == EventKind::Halt).unwrap();
    assert!(history.before(before, halt) && history.before(halt, received));
    assert_eq!(history.index_of(history.events[halt].id), Some(before));
}

#[test]
fn nodes_that_cannot_be_are_left_alone() {
    let mut sketch = Sketch::new(&["a"]);
    sketch.header().nodes[0].id = 200;
    let mut builder = crate::Builder::new(sketch.header());
    builder.push(200, 0, Item::Gap(1));
    builder.push(MAX_NODES as u8 - 1, 0, Item::Restart);
    assert!(builder.finish(None).events.is_empty());
}

#[test]
fn a_channel_from_a_node_that_cannot_be_brings_nothing() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.message(0, 1);
    sketch.header().channels[0].from = 200;
    let history = sketch.history();
    assert_eq!(history.events.len(), 2);
    assert_eq!(history.events[1].past, Past::Unknown { why: Why::Missing(0) });
}

/// The way that is quick for a node alone must not be too quick for those that wait for it.
#[test]
fn whoever_waits_goes_on_with_the_message_or_with_the_end_of_the_log_it_should_be_in() {
    let mut sketch = Sketch::new(&["a", "b"]);
    for _ in 0..3 {
        sketch.message(0, 1);
    }
    sketch.local(0, 1);
    sketch.receive(0, 1);
    let items: Vec<_> = sketch.items().collect();
    let (mut order, mut seen) = (crate::CausalOrder::new(sketch.header()), Vec::new());
    for (node, item) in items.iter().filter(|(node, _)| *node == 1).chain(items.iter().filter(|(node, _)| *node == 0)) {
        order.push(*node, 0, item.clone(), &mut |event, _| seen.push((event.id.node, event.past)));
    }
    let [send, receive] = [(0, Past::Known), (1, Past::Known)];
    assert_eq!(seen, [send, receive, send, receive, send, receive, send]);
    order.end(0, &mut |event, _| seen.push((event.id.node, event.past)));
    assert_eq!(seen.last(), Some(&(1, Past::Unknown { why: Why::After(0) })));
    assert_eq!((seen.len(), order.held()), (8, 0));
}

/// A node that has what it waited for, and has not gone on yet, waits for nobody.
#[test]
fn nodes_that_go_on_in_turn_are_not_taken_for_nodes_that_wait_for_each_other() {
    let mut sketch = Sketch::new(&["a", "b", "c"]);
    for _ in 0..3 {
        sketch.message(2, 1);
        sketch.message(1, 0);
        sketch.message(0, 1);
    }
    let items: Vec<_> = sketch.items().collect();
    let (mut order, mut seen) = (crate::CausalOrder::new(sketch.header()), Vec::new());
    for of in [1, 0, 2] {
        for (node, item) in items.iter().filter(|(node, _)| *node == of) {
            order.push(*node, 0, item.clone(), &mut |event, _| seen.push(event.past));
        }
    }
    assert_eq!(seen, vec![Past::Known; items.len()]);
    assert!(order.notes().is_empty(), "{:?}", order.notes());
}

/// Two lives of a node were lost before its log could be read; another node knows of an event of the first of them.
#[test]
fn what_a_life_knew_that_was_lost_before_the_first_record_is_not_known() {
    let number = |epoch: u32, count| EventNumber(epoch << 24 | count);
    let record = |event, number| Item::Record(Record { event, number, time: Ticks(9), message: None });
    // A halt is all that there is of the life that was read, or an event that is not its first.
    for first in [EventKind::Halt, EventKind::Local] {
        let mut sketch = Sketch::new(&["a", "b"]);
        sketch.message(0, 1);
        let mut header = sketch.header().clone();
        header.nodes.iter_mut().for_each(|node| node.vector_stamps = true);
        let sync = |number: EventNumber, clock| {
            let (mode, with_causes, time) = (2, false, Ticks(9));
            Item::Sync(Sync {
                mode,
                with_causes,
                number: number.0,
                time,
                records: 4,
                clock,
                counts: vec![0],
                origins: vec![0],
            })
        };
        let (a, b) = (number(2, 2), number(0, 7));
        let first = Event { kind: first, arg: 1, value: 0 };
        let of_a = [Item::Restart, Item::Gap(4), sync(a, vec![a.0, 0]), record(first, a)];
        let of_b = [Item::Gap(6), sync(b, vec![number(1, 2).0, b.0]), record(Event::local(1), b)];
        let (mut order, mut pasts) = (CausalOrder::new(&header), Vec::new());
        for (node, item) in of_a.map(|item| (0, item)).into_iter().chain(of_b.map(|item| (1, item))) {
            order.push(node, 0, item, &mut |event, _| pasts.push((event.id.node, event.past)));
        }
        order.finish(&mut |event, _| pasts.push((event.id.node, event.past)));
        let unread = Past::Unknown { why: Why::Unread(0) };
        assert_eq!(pasts, [(0, unread), (1, unread)], "{first:?}");
    }
}

/// Numbers compare within 128 epochs.
#[test]
fn a_node_that_is_reset_too_often_for_its_numbers_to_compare_is_named_once() {
    let header = Sketch::new(&["a", "b"]).header().clone();
    let notes = |lives: u32| {
        let mut order = CausalOrder::new(&header);
        for epoch in 0..lives {
            let event = Event::new(EventKind::Reset, epoch as u16);
            let record =
                Record { event, number: EventNumber(epoch << 24 | 1), time: Ticks(epoch.into()), message: None };
            order.push(0, 0, Item::Record(record), &mut |_, _| {});
        }
        order.finish(&mut |_, _| {});
        let many = order.notes().iter().filter(|note| matches!(note, Note::ManyResets { .. }));
        many.map(|note| note.say(&header)).collect::<Vec<_>>()
    };
    assert_eq!(notes(128), Vec::<String>::new());
    let said =
        "a: a#1 and a@128#1 are 128 or more resets apart, so their order is not known; record such a run in parts";
    assert_eq!(notes(250), [said]);
}
