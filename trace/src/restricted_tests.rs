//! What checks, detection and races say of recordings that leave something out: neither a false failure nor a false all-clear.
use crate::check::{Options, Source, Verdict, check, parse};
use crate::detect::{Answer, Detection, detect};
use crate::logged::Logs;
use crate::races::Races;
use crate::{BoardInfo, Builder, History, Item, NameInfo, Sketch};
use stillpoint_core::log::Record;
use stillpoint_core::{Event, EventKind};

/// Nodes a and b with tracepoints t0 and t1.
fn sketch() -> Sketch {
    let mut sketch = Sketch::new(&["a", "b"]);
    let name =
        |number: u16| NameInfo { kind: "trace".into(), number, text: format!("t{number}"), ..NameInfo::default() };
    sketch.header().boards = vec![BoardInfo { names: vec![name(0), name(1)], ..BoardInfo::default() }];
    sketch
}

/// a does t0 and tells b, which does t1; twice, with something else around it.
fn told_twice() -> Sketch {
    let mut sketch = sketch();
    for node in [0, 1] {
        sketch.local(node, 9);
    }
    for _ in 0..2 {
        sketch.local(0, 0);
        sketch.message(0, 1);
        sketch.local(1, 1);
    }
    for node in [0, 1] {
        sketch.local(node, 9);
    }
    sketch
}

/// The same run as nodes with vector stamps log it that record only what `keeps` says.
fn restricted(mut sketch: Sketch, keeps: impl Fn(u8, &Record) -> bool) -> History {
    let mut logs = Logs::of(sketch.history());
    for node in &mut sketch.header().nodes {
        node.vector_stamps = true;
    }
    let mut builder = Builder::new(sketch.header());
    for (wall, (node, item)) in sketch.items().enumerate() {
        let Item::Record(record) = &item else { continue };
        logs.happens(node, record);
        if !keeps(node, record) {
            continue;
        }
        let before = logs.causes(node, record).unwrap_or_else(|| logs.sync(node, record, true, 1, true));
        builder.push(node, wall as u64, before);
        builder.push(node, wall as u64, item);
    }
    builder.finish(None)
}

fn checked(text: &str, history: &History) -> (Verdict, String) {
    let model = parse(&Source { name: "test.model".into(), text: text.into() }).unwrap();
    let outcome = check(&[model], history, &Options::default()).unwrap().checks.remove(0);
    (outcome.verdict, outcome.reasons.join("; "))
}

fn asked(text: &str, history: &History) -> Detection {
    detect(text, history, 5).unwrap_or_else(|error| panic!("{error}"))
}

const CAUSE: &str = "pred b:trace(t1) { a:trace(t0) }";
const CHAIN: &str = "a:trace(t0) -> b:trace(t1)";

/// Hyder 5.3: what is not recorded still passes its predecessors on.
#[test]
fn order_through_messages_that_were_not_recorded_is_as_good_as_any() {
    let history = restricted(told_twice(), |_, record| record.event.kind == EventKind::Local);
    assert!(history.events.iter().all(|event| event.past.is_known()), "{:?}", history.events);
    assert_eq!(checked(CAUSE, &history), (Verdict::Holds, String::new()));
    assert_eq!(asked(CHAIN, &history).definitely, Answer::Yes);
    assert_eq!(
        checked("parallel (a:trace(t0), b:trace(t1))", &history).0,
        checked("parallel (a:trace(t0), b:trace(t1))", &told_twice().history()).0
    );
}

#[test]
fn what_may_have_happened_unrecorded_is_no_failure_and_no_all_clear() {
    for (node, other, what) in [(0, "a", "the cause"), (1, "b", "what is checked")] {
        // One node records messages only, and not the tracepoints that are asked for.
        let history = restricted(told_twice(), |of, record| of != node || record.event.kind != EventKind::Local);
        let (verdict, why) = checked(CAUSE, &history);
        assert_eq!(verdict, Verdict::Unknown, "{what} is not recorded");
        assert!(why.contains(other) && why.contains("record"), "{why}");
        let detection = asked(CHAIN, &history);
        assert_eq!((detection.possibly, detection.definitely), (Answer::Unknown, Answer::Unknown), "{detection:?}");
        assert!(detection.reasons.concat().contains(other), "{detection:?}");
        let (verdict, why) = checked("not parallel (a:trace(t0), b:trace(t1))", &history);
        assert_eq!(verdict, Verdict::Unknown, "{why}");
    }
}

/// That a node recorded nothing more does not mean that its recording ended: it may do so on purpose.
#[test]
fn what_a_node_with_a_restricted_log_sends_last_is_not_taken_for_the_end_of_the_recording() {
    let mut drawn = told_twice();
    for _ in 0..3 {
        drawn.local(1, 1);
    }
    let (mut logs, header) = (Logs::of(drawn.history()), drawn.header());
    header.nodes.iter_mut().for_each(|node| node.vector_stamps = true);
    let mut builder = Builder::new(header);
    for (wall, (node, item)) in drawn.items().enumerate() {
        let Item::Record(record) = &item else { continue };
        logs.happens(node, record);
        // Of a only tracepoints before its first message; b tells its clock with every second event.
        let (mode, is_kept) = if node == 0 { (1, record.number.0 < 3) } else { (2, true) };
        if is_kept && record.number.0 % 2 == 1 {
            builder.push(node, wall as u64, logs.sync(node, record, true, mode, false));
        }
        if is_kept {
            builder.push(node, wall as u64, item);
        }
    }
    let history = builder.finish(None);
    let last = *history.of_node(1).last().unwrap() as usize;
    assert!(history.events[last].past.is_known(), "{:?}", history.events[last]);
    assert_eq!(checked("pred b:trace(t1)^4 { a:trace(t0) }", &history), (Verdict::Holds, String::new()));
}

#[test]
fn a_node_that_recorded_nothing_is_named() {
    let history = restricted(told_twice(), |node, _| node == 1);
    let (verdict, why) = checked(CAUSE, &history);
    assert_eq!(verdict, Verdict::Unknown);
    assert!(why.contains("no event of a is in the trace"), "{why}");
    assert_eq!(asked(CHAIN, &history).possibly, Answer::Unknown);
}

#[test]
fn races_say_where_accesses_may_be_missing_and_are_not_made_up_by_what_is() {
    let access = |value| Event { kind: EventKind::Access, arg: 5, value };
    let run = || {
        let mut sketch = sketch();
        sketch.local(0, 9);
        sketch.local(1, 9);
        sketch.event(0, access(1));
        sketch.message(0, 1);
        sketch.event(1, access(0));
        sketch.local(0, 9);
        sketch.local(1, 9);
        sketch
    };
    // Without the messages that put them in order: their order is known all the same.
    let races = Races::of(&restricted(run(), |_, record| record.message.is_none()));
    assert_eq!((races.races.len(), races.accesses), (0, 2), "{races:?}");
    // Without the accesses of one node: nothing is found, and not all is well.
    let races = Races::of(&restricted(run(), |node, record| node == 0 || record.event.kind != EventKind::Access));
    assert_eq!((races.races.len(), races.unseen.len()), (0, 1), "{races:?}");
    assert!(races.unseen[0].contains("b did not record everything"), "{races:?}");
    let races = Races::of(&restricted(run(), |node, _| node == 0));
    assert!(races.unseen[0].contains("no event of b"), "{races:?}");
    let races = Races::of(&run().history());
    assert_eq!((races.races.len(), races.unseen.len()), (0, 0), "{races:?}");
}

/// What each node logs from its event `begins` on, with a sync record first, as a recorder that comes late finds it.
fn recorded_late(mut sketch: Sketch, begins: [u32; 2]) -> History {
    let mut logs = Logs::of(sketch.history());
    for node in &mut sketch.header().nodes {
        node.vector_stamps = true;
    }
    let mut builder = Builder::new(sketch.header());
    for (wall, (node, item)) in sketch.items().enumerate() {
        let Item::Record(record) = &item else { continue };
        let (number, begins) = (record.number.0, begins[usize::from(node)]);
        logs.happens(node, record);
        if number == begins {
            builder.push(node, wall as u64, logs.sync(node, record, true, 2, false));
        }
        if number >= begins {
            builder.push(node, wall as u64, item);
        }
    }
    builder.finish(None)
}

/// The log of one node begins when the other's has gone on for some rounds: each waits for what the other does not have.
#[test]
fn a_recording_that_begins_late_knows_its_past_after_a_round() {
    let mut sketch = sketch();
    for _ in 0..30 {
        sketch.message(0, 1);
        sketch.message(1, 0);
    }
    // Two events a round: b's log begins five rounds after a's.
    let history = recorded_late(sketch, [21, 31]);
    assert_eq!(history.events.len(), 40 + 30);
    let of = |node| history.of_node(node).iter().map(|place| &history.events[*place as usize]);
    let unknown = |node| of(node).filter(|event| !event.past.is_known()).map(|event| event.id.number).max();
    assert!(unknown(0).is_some(), "b did not record what it sent in the first rounds");
    assert!(unknown(0) <= Some(32) && unknown(1) <= Some(32), "{:?} and {:?}", unknown(0), unknown(1));
    // What is said to be known is the truth.
    let whole = {
        let mut sketch = self::sketch();
        for _ in 0..30 {
            sketch.message(0, 1);
            sketch.message(1, 0);
        }
        sketch.history()
    };
    for (at, event) in history.events.iter().enumerate().filter(|(_, event)| event.past.is_known()) {
        let truth = whole.clock(whole.index_of(event.id).unwrap());
        assert_eq!(history.clock(at), truth, "{event:?}");
    }
}
