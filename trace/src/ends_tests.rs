//! Recordings of running systems end raggedly: logs are read one after the other. What is said of one is what is said of its
//! largest part that has the whole past of each of its events.
use crate::check::{Live, Options, Outcome, Source, check, parse};
use crate::detect::detect;
use crate::learn::learn;
use crate::logged::Logs;
use crate::random_run::{Run, runs};
use crate::{Builder, CausalOrder, Header, History, Item, View, learn as learned};
use proptest::strategy::{Strategy as _, ValueTree as _};

/// How nodes stamp messages and what their logs tell beside the records.
#[derive(Clone, Copy, Debug)]
struct Style {
    vector: bool,
    /// After how many records of a node there is another sync record; the first has one before it.
    sync_every: Option<u32>,
    causes: bool,
}

const STYLES: [Style; 6] = [
    Style { vector: false, sync_every: None, causes: false },
    Style { vector: false, sync_every: Some(3), causes: false },
    Style { vector: true, sync_every: Some(1000), causes: false },
    Style { vector: true, sync_every: Some(3), causes: false },
    Style { vector: true, sync_every: Some(1000), causes: true },
    Style { vector: true, sync_every: Some(4), causes: true },
];

const CHECKS: [&str; 9] = [
    "model m { p = a:trace(t0); q = b:trace(t1); r = a:trace(t2); p -> r; in q {p} | {}; out q {r} }",
    "model m { p = a:trace(t0); q = b:trace(t1); p -> q; q -> p; out p {q} }",
    "pred a:trace(t0) { b:trace(t1), a:trace(t2) }",
    "pred b:trace(t0)^i { a:trace(t1)^i }",
    "pred a.x == 1 { b:trace(t1) }",
    "pred immediate a:trace(t0) { b:trace(t1) }",
    "not parallel (a:trace(t0), b:trace(t1))",
    "not parallel (*:trace(t0), *:trace(t1))",
    "parallel (a:trace(t0), b:trace(t1))",
];

const QUESTIONS: [&str; 4] =
    ["a:trace(t0) -> b:trace(t1)", "a:trace(t0) || b:trace(t1)", "a.x == 1 & b.x == 1", "a:trace(t0) & b.x == 0"];

/// What each node logs of the first `ends` of its events.
fn logged(run: &Run, style: Style, ends: &[usize]) -> (Header, Vec<(u8, Item)>) {
    let mut logs = Logs::of(run.history.clone());
    let mut items = Vec::new();
    for (node, item) in run.sketch.items() {
        let Item::Record(record) = &item else { continue };
        logs.happens(node, record);
        if record.number.0 as usize > ends[usize::from(node)] {
            continue;
        }
        let is_due = |every: u32| (record.number.0 - 1) % every == 0;
        if style.sync_every.is_some_and(is_due) {
            items.push((node, logs.sync(node, record, style.vector, 2, style.causes)));
        } else if style.causes {
            items.extend(logs.causes(node, record).map(|causes| (node, causes)));
        }
        items.push((node, item));
    }
    let mut header = run.history.header.clone();
    header.nodes.iter_mut().for_each(|node| node.vector_stamps = style.vector);
    (header, items)
}

fn recorded((header, items): &(Header, Vec<(u8, Item)>)) -> History {
    let mut builder = Builder::new(header);
    for (wall, (node, item)) in items.iter().enumerate() {
        builder.push(*node, wall as u64, item.clone());
    }
    builder.finish(None)
}

/// The largest consistent cut below a ragged end, from the transitive closure: how many events of each node are in it.
fn consistent(run: &Run, ends: &[usize]) -> Vec<usize> {
    let is_recorded = |event: usize| run.events[event].1 <= ends[run.events[event].0];
    let is_whole = |event: &usize| {
        is_recorded(*event) && (0..run.events.len()).all(|other| !run.before[other][*event] || is_recorded(other))
    };
    let mut cut = vec![0; run.nodes];
    (0..run.events.len()).filter(is_whole).for_each(|event| cut[run.events[event].0] += 1);
    cut
}

fn checked(text: &str, history: &History) -> Outcome {
    let model = parse(&Source { name: "m".into(), text: text.into() }).unwrap();
    check(&[model], history, &Options::default()).unwrap().checks.remove(0)
}

/// All that does not name places in the recording.
fn said(outcome: &Outcome) -> String {
    let findings: Vec<&str> = outcome.failures.iter().map(|finding| finding.what.as_str()).collect();
    let (reasons, remarks) = (&outcome.reasons, &outcome.remarks);
    let counts = (outcome.events, outcome.failed, outcome.unknown);
    format!("{:?} {counts:?} {findings:?} {reasons:?} {remarks:?}", outcome.verdict)
}

fn found(text: &str, history: &History) -> String {
    let found = detect(text, history, 5).unwrap();
    let cuts: Vec<Vec<String>> =
        found.found.iter().map(|one| one.events.iter().map(|event| event.event.clone()).collect()).collect();
    format!("{:?} {:?} {} {cuts:?} {:?}", found.possibly, found.definitely, found.total, found.reasons)
}

fn taught(history: &History) -> String {
    learn(&[learned::Run { name: "run", history }], &View::EVERYTHING).unwrap_or_else(|error| error.to_string())
}

/// How many events live checking looked at, which of them failed, and how many it could not decide.
fn live(text: &str, (header, items): &(Header, Vec<(u8, Item)>)) -> Option<(u64, u64, u64)> {
    let model = parse(&Source { name: "m".into(), text: text.into() }).unwrap();
    let mut live = Live::new(&[model], header).unwrap();
    let mut order = CausalOrder::new(header);
    for (wall, (node, item)) in items.iter().enumerate() {
        order.push(*node, wall as u64, item.clone(), &mut |event, clock| drop(live.event(event, clock)));
    }
    order.finish(&mut |event, clock| drop(live.event(event, clock)));
    live.settle(u64::MAX);
    let so_far = live.progress().next()?;
    Some((so_far.events, so_far.failed, so_far.undecided))
}

/// Where the recording of each node ends: at a random event, or for about half of them at the last, and for a node that sent a
/// message before the send. Of a node without any event nothing is known.
fn ends(run: &Run, draws: &[usize]) -> Vec<usize> {
    let all = |node: usize| run.events.iter().filter(|(of, ..)| *of == node).count();
    let end = |node: usize| (1 + draws[node] % (2 * all(node))).min(all(node));
    let mut ends: Vec<usize> = (0..run.nodes).map(end).collect();
    if let Some((send, _)) = run.messages.get(draws[4] % run.messages.len().max(1)) {
        let (node, place, _) = run.events[*send];
        ends[node] = ends[node].min(place - 1).max(1);
    }
    ends
}

/// How many runs: 60, or what `CASES` says.
#[test]
fn a_ragged_end_is_left_out_up_to_the_largest_consistent_cut() {
    let cases = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (runs(50), proptest::collection::vec(0..1000_usize, 5));
    let (mut ragged, mut less) = (0, [0; CHECKS.len()]);
    for _ in 0..cases {
        let (run, draws) = strategy.new_tree(&mut runner).unwrap().current();
        let ends = ends(&run, &draws);
        let cut = consistent(&run, &ends);
        let left_out = ends.iter().sum::<usize>() - cut.iter().sum::<usize>();
        ragged += usize::from(left_out > 0);
        let whole = recorded(&logged(&run, STYLES[0], &cut));
        let right: Vec<Outcome> = CHECKS.iter().map(|text| checked(text, &whole)).collect();
        let answers = QUESTIONS.map(|text| found(text, &whole));
        let learned = taught(&whole);
        for (at, right) in right.iter().enumerate() {
            // A model cannot tell of a rule that no event came to; for nothing else.
            let is_rule = |why: &String| why.starts_with("nothing that follows");
            assert!(right.reasons.iter().all(is_rule) && (at < 2 || right.unknown == 0), "{right}");
        }
        for style in STYLES {
            let logs = logged(&run, style, &ends);
            let history = recorded(&logs);
            let context = |what: &str| format!("{what}\n{style:?} ends {ends:?} cut {cut:?}\n{run:?}");
            let beyond = history.events.iter().filter(|event| crate::local::is_beyond(event)).count();
            assert_eq!(beyond, left_out, "{}", context("left out"));
            for ((text, right), less) in CHECKS.iter().zip(&right).zip(&mut less) {
                let outcome = checked(text, &history);
                assert_eq!(said(&outcome), said(right), "{}", context(text));
                if let Some(live) = live(text, &logs) {
                    assert_eq!(live, (right.events, right.failed, 0), "{}", context(text));
                }
                *less += usize::from(left_out > 0 && right.events > 0);
            }
            for (text, right) in QUESTIONS.iter().zip(&answers) {
                assert_eq!(&found(text, &history), right, "{}", context(text));
            }
            assert_eq!(taught(&history), learned, "{}", context("learn"));
        }
    }
    assert!(ragged * 3 > cases, "{ragged} of {cases} ends are ragged");
    assert!(less.iter().all(|runs| *runs > 0), "each check has events before some ragged end: {less:?}");
}

/// What depends on an event beyond the end through an object lies beyond it, too.
#[test]
fn what_comes_after_the_end_through_an_object_is_left_out() {
    let access = |writes: bool| {
        use stillpoint_core::shared::{AccessKind, AccessValue};
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        let value = AccessValue { kind, race: false, version: 1, reads: 0, place: 0 }.to_bits();
        stillpoint_core::Event { kind: stillpoint_core::EventKind::Access, arg: 5, value }
    };
    let mut sketch = crate::Sketch::new(&["a", "b", "c"]);
    for node in 0..3 {
        sketch.local(node, 9);
    }
    sketch.local(0, 7);
    sketch.message(0, 1);
    sketch.event(1, access(true));
    sketch.event(2, access(false));
    sketch.local(2, 1);
    let text = "pred c:trace(1) { a:trace(7) }";
    // The log of a was read to its end, or up to its first event.
    for (end, events) in [(3, 1), (1, 0)] {
        let is_read = |(node, item): &(u8, Item)| match item {
            Item::Record(record) => *node != 0 || record.number.0 <= end,
            _ => true,
        };
        let header = sketch.header().clone();
        let logs = (header, sketch.items().filter(is_read).collect::<Vec<_>>());
        let history = recorded(&logs).causality();
        let outcome = checked(text, &history);
        assert_eq!((outcome.events, outcome.failed, outcome.unknown), (events, 0, 0), "{outcome}");
        assert_eq!(live(text, &logs), Some((events, 0, 0)));
        let beyond = history.events.iter().filter(|event| crate::local::is_beyond(event)).count();
        assert_eq!(beyond, if end == 1 { 4 } else { 0 });
    }
}

/// Whatever else is not known of it: a message whose record was dropped does not bring it back.
#[test]
fn what_lies_beyond_the_end_stays_there_when_more_is_missing() {
    let mut sketch = crate::Sketch::new(&["a", "b", "c"]);
    for node in 0..3 {
        sketch.local(node, 9);
    }
    sketch.message(0, 1);
    let dropped = sketch.send(2, 1);
    let after = sketch.local(2, 9);
    sketch.receive(2, 1);
    sketch.local(1, 1);
    let (mut logs, mut items) = (Logs::of(sketch.history()), Vec::new());
    for (node, item) in sketch.items() {
        let Item::Record(record) = &item else { continue };
        logs.happens(node, record);
        let is_lost = (node, record.number.0) == (2, dropped.number);
        if is_lost || node == 0 && record.number.0 > 1 {
            continue;
        }
        if (node, record.number.0) == (2, after.number) {
            items.extend([(2, Item::Gap(1)), (2, logs.sync(node, record, false, 2, false))]);
        }
        items.push((node, item));
    }
    let history = recorded(&(sketch.header().clone(), items));
    let beyond = history.events.iter().filter(|event| crate::local::is_beyond(event)).map(|event| event.id.node);
    assert_eq!(beyond.collect::<Vec<_>>(), [1, 1, 1], "{:?}", history.events);
}
