//! `stillpoint trace`: what all nodes do, recorded while they run, and read back.
use crate::cli::{Bench, Done, signal, wait_for};
use std::collections::BTreeMap;
use std::path::Path;
use stillpoint::trace::{Item, TraceFile};
use stillpoint_core::EventKind;

/// Checks that a node's records are numbered without a gap that the log does not explain. Says how many there are, and
/// which messages were sent and received at each port.
fn check_numbers(trace: &TraceFile, node: u8) -> (usize, BTreeMap<(u8, EventKind), Vec<u32>>) {
    let (mut last, mut records, mut messages) = (None::<u32>, 0, BTreeMap::<_, Vec<u32>>::new());
    for entry in trace.entries(node) {
        match entry.item {
            Item::Record(record) => {
                let number = record.number.0;
                let counts = !matches!(record.event.kind, EventKind::Halt | EventKind::Resume);
                if let Some(last) = last {
                    assert_eq!(number, last + u32::from(counts), "node {node}: {record:?}");
                }
                last = Some(number);
                records += 1;
                if let Some(message) = record.message {
                    messages.entry((record.event.arg as u8, record.event.kind)).or_default().push(message);
                }
            }
            Item::Sync(sync) => assert!(last.is_none_or(|last| sync.number == last + 1 || sync.number == last)),
            Item::Unplaced(_) => assert_eq!(last, None, "only before the first sync record"),
            other => panic!("node {node}: {other:?} in a recording without drops"),
        }
    }
    (records, messages)
}

/// What was received is, message by message, what was sent, on every channel.
fn check_channels(trace: &TraceFile) {
    let all: BTreeMap<u8, _> = trace.nodes().map(|node| (node, check_numbers(trace, node))).collect();
    assert!(all.values().all(|(records, _)| *records > 10), "every node did something");
    let mut matched = 0;
    for channel in &trace.header.channels {
        let of = |node: u8, port, kind| all[&node].1.get(&(port, kind)).cloned().unwrap_or_default();
        let sent = of(channel.from, channel.out, EventKind::Send);
        let received = of(channel.to, channel.into, EventKind::Receive);
        for numbers in [&sent, &received] {
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{channel:?}: {numbers:?}");
        }
        let (Some(first), Some(last_sent)) = (sent.first(), sent.last()) else { continue };
        // The rings are read one after the other, so the receiver's may be some messages ahead or behind.
        let inside = received.iter().filter(|number| (first..=last_sent).contains(number)).count();
        let ahead = received.last().map_or(0, |last| last.saturating_sub(*last_sent));
        assert!(ahead <= 64, "{channel:?}: {ahead} received that were never sent");
        matched += inside;
    }
    assert!(matched > 10, "no message was seen at both its ends");
}

#[test]
fn a_recording_has_every_event_and_every_message_at_both_its_ends() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let recorded = bench.run(["trace", "record", "run.trace", "--events", "1000"]).expect(0);
    recorded.expect_out(" s into run.trace: ");
    recorded.expect_err("bytes saved");
    let trace = TraceFile::open(&bench.path("run.trace")).unwrap();
    assert_eq!((&trace.damage, trace.ended.is_some()), (&None, true));
    assert_eq!(
        trace.header.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(),
        ["left0", "left1", "right0", "right1"]
    );
    assert_eq!(trace.header.channels.len(), 6);
    check_channels(&trace);
    let info = bench.run(["trace", "info", "run.trace"]).expect(0);
    info.expect_out("ended in order");

    // A second recording goes on where the first ended: rings are freed only by what was saved.
    let again = bench.run(["trace", "record", "two.trace", "--events", "1000", "--json"]).expect(0).json();
    let events: u64 = again["nodes"].as_array().unwrap().iter().map(|node| node["events"].as_u64().unwrap()).sum();
    assert!(events > 40, "{again}");
    assert!(again["nodes"].as_array().unwrap().iter().all(|node| node["dropped"] == 0), "{again}");
    println!("a board can be drained at {} MiB/s", again["drain_mib_per_second"]);
    check_channels(&TraceFile::open(&bench.path("two.trace")).unwrap());
    bench.run(["trace", "record", "two.trace"]).expect(2).expect_err("never written over");
    bench.expect_progress();
}

/// Node by node, what `trace record` said of a file and what `trace info` says of it.
fn figures(bench: &Bench, name: &str, more: &[&str]) -> [Vec<serde_json::Value>; 2] {
    let nodes = |done: Done| done.expect(0).json()["nodes"].as_array().expect("a list of nodes").clone();
    let said = nodes(bench.run([&["trace", "record", name, "--json"], more].concat()));
    [said, nodes(bench.run(["trace", "info", name, "--json"]))]
}

/// The rings are full before anybody records. They keep what happened last, and both commands say how much came before.
#[test]
fn a_late_recording_has_the_newest_events_and_says_how_many_came_before() {
    let bench = Bench::running("pipeline");
    let events = || -> Vec<u64> {
        let info = bench.run(["info", "--json"]).expect(0).json();
        let nodes = info["boards"].as_array().unwrap().iter().flat_map(|board| board["nodes"].as_array().unwrap());
        nodes.map(|node| node["event"].as_u64().unwrap() & 0xFF_FFFF).collect()
    };
    let overflow = || {
        let before = events();
        let is_full = || events().iter().zip(&before).all(|(now, before)| now - before > 6000);
        wait_for("every ring overflows", || Ok(is_full().then_some(()))).unwrap();
    };
    let figure = |node: &serde_json::Value, name| node[name].as_u64().unwrap();
    overflow();
    bench.run(["halt"]).expect(0);
    let halted_at = events();
    let [said, info] = figures(&bench, "halted.trace", &["--events", "1"]);
    assert_eq!(said, info);
    for (node, events) in said.iter().zip(halted_at) {
        assert!(figure(node, "before") > 0, "{node}");
        assert_eq!(figure(node, "last") & 0xFF_FFFF, events, "the last event before the halt is recorded: {node}");
        let known = figure(node, "before") + figure(node, "events") + figure(node, "dropped");
        assert!(known >= events, "of {events} events: {node}");
    }
    bench.run(["resume"]).expect(0);
    overflow();
    let [said, info] = figures(&bench, "running.trace", &["--seconds", "1"]);
    assert_eq!(said, info);
    assert!(said.iter().all(|node| figure(node, "before") > 6000), "what came before is counted: {said:?}");
}

fn wait_for_size(path: &Path, bytes: u64) {
    let size = || std::fs::metadata(path).map_or(0, |meta| meta.len());
    wait_for(format!("the file grows to {bytes} bytes"), || Ok((size() >= bytes).then_some(()))).unwrap();
}

#[test]
fn a_recorder_that_is_killed_leaves_all_it_wrote_and_the_next_goes_on() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    // What the rings hold of the time before, which may be all of one node and nothing yet of the next.
    bench.run(["trace", "record", "before.trace", "--events", "1"]).expect(0);
    let path = bench.path("run.trace");
    let mut recorder = bench.command(["trace", "record", "run.trace"]).spawn().unwrap();
    wait_for_size(&path, 16_000);
    signal("KILL", recorder.id());
    recorder.wait().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    let trace = TraceFile::open(&path).unwrap();
    assert_eq!((&trace.damage, trace.ended), (&None, None), "every frame of {size} bytes is whole");
    check_channels(&trace);
    bench.run(["trace", "info", "run.trace"]).expect(0).expect_out("not ended in order");

    // Ctrl-C ends the next one in order.
    let next = bench.command(["trace", "record", "next.trace"]).spawn().unwrap();
    wait_for_size(&bench.path("next.trace"), 16_000);
    signal("INT", next.id());
    Done::of(next).expect(0).expect_out("recorded");
    let trace = TraceFile::open(&bench.path("next.trace")).unwrap();
    assert!(trace.ended.is_some());
    check_channels(&trace);
    bench.expect_progress();
}

#[test]
fn what_a_node_records_can_be_chosen_while_it_runs() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    bench.run(["trace", "mode", "left1", "off"]).expect(0).expect_out("records everything, with causes");
    // What the rings still hold of before.
    bench.run(["trace", "record", "before.trace", "--events", "1"]).expect(0);
    bench.run(["trace", "record", "run.trace", "--events", "1000"]).expect(0);
    let trace = TraceFile::open(&bench.path("run.trace")).unwrap();
    let records = |node| trace.entries(node).iter().filter(|of| matches!(of.item, Item::Record(_))).count();
    assert_eq!(records(1), 0, "left1 records nothing");
    assert!(records(0) > 0);
    let causes =
        |node| trace.entries(node).iter().any(|of| matches!(of.item, Item::Causes { changed, .. } if changed != 0));
    assert!(causes(0), "left0 says what it learned");
    bench.run(["trace", "mode", "left1", "recv"]).expect(0).expect_out("records recv");
    bench.run(["trace", "record", "some.trace", "--events", "1000"]).expect(0);
    let trace = TraceFile::open(&bench.path("some.trace")).unwrap();
    let kinds: Vec<EventKind> = trace
        .entries(1)
        .into_iter()
        .filter_map(|of| match of.item {
            Item::Record(record) => Some(record.event.kind),
            _ => None,
        })
        .collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == EventKind::Receive), "{kinds:?}");
    bench.run(["trace", "mode", "lef1", "full"]).expect(2).expect_err("did you mean left1?");
}

/// Hyder 6.3: the debugger delivers events in causal order while the program runs.
#[test]
fn what_is_followed_is_what_the_finished_recording_holds_in_an_order_that_keeps_causality() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    // Into a file: a pipe that nobody reads would hold the recorder up.
    let screen = std::fs::File::create(bench.path("followed")).unwrap();
    let mut follower = bench.command(["trace", "record", "run.trace", "--follow", "--json"]);
    let follower = follower.stdout(screen).spawn().unwrap();
    wait_for_size(&bench.path("run.trace"), 64_000);
    signal("INT", follower.id());
    Done::of(follower).expect(0);
    let followed = std::fs::read_to_string(bench.path("followed")).unwrap();
    bench.expect_progress();
    let trace = TraceFile::open(&bench.path("run.trace")).unwrap();
    assert_eq!((&trace.damage, trace.ended.is_some()), (&None, true), "Ctrl-C leaves the file whole");

    let lines: Vec<serde_json::Value> = followed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, lines) = lines.split_last().unwrap();
    let notes = lines.iter().filter(|line| line["note"].is_string()).count();
    let events: Vec<&serde_json::Value> = lines.iter().filter(|line| line["event"].is_string()).collect();
    assert_eq!(
        (events.len() + notes, last["recorded"]["followed"]["events"].as_u64()),
        (lines.len(), Some(events.len() as u64))
    );
    assert_eq!(last["recorded"]["followed"]["hurried"], 0, "{last}");
    assert!(events.len() > 1000, "{}", events.len());

    let listed = bench.run(["show", "run.trace", "--json"]).expect(0).json();
    let key = |row: &serde_json::Value| {
        let text = |field: &str| row[field].to_string();
        (text("event"), text("kind"), text("clock"), text("unknown"), text("message"))
    };
    let mut expected: Vec<_> = listed["events"].as_array().unwrap().iter().map(key).collect();
    let mut shown: Vec<_> = events.iter().map(|row| key(row)).collect();
    // Every event comes after all that its clock says it knows of and the recording holds.
    let mut seen = [0_u64; 4];
    let nodes = ["left0", "left1", "right0", "right1"];
    let all: BTreeMap<usize, Vec<u64>> = (0..4)
        .map(|node| {
            let of_node = events.iter().filter(|row| row["node"] == nodes[node]);
            (node, of_node.map(|row| row["number"].as_u64().unwrap()).collect())
        })
        .collect();
    for row in &events {
        let me = nodes.iter().position(|name| row["node"] == *name).unwrap();
        for (node, known) in row["clock"].as_array().unwrap().iter().map(|of| of.as_u64().unwrap()).enumerate() {
            let held = all[&node].iter().copied().filter(|number| *number <= known).max().unwrap_or(0);
            assert!(
                node == me || held <= seen[node],
                "{row} knows of {} #{held}, and {seen:?} were shown",
                nodes[node]
            );
        }
        let number = row["number"].as_u64().unwrap();
        assert!(number >= seen[me], "{row}");
        seen[me] = number;
    }
    expected.sort();
    shown.sort();
    assert_eq!(shown.len(), expected.len());
    for (shown, expected) in shown.iter().zip(&expected) {
        assert_eq!(shown, expected);
    }

    // The file has everything, whatever is shown; and a reader that has seen enough ends the recording in order.
    bench
        .run(["trace", "record", "x.trace", "--follow", "--only", "kinds=sned"])
        .expect(2)
        .expect_err("no kind of event");
    assert!(!bench.path("x.trace").exists(), "nothing is made for a wrong question");
    let args = ["trace", "record", "some.trace", "--follow", "--only", "nodes=left0", "--events", "500"];
    let some = bench.run(args).expect(0);
    assert!(some.out.lines().all(|line| line.starts_with("left0#") || line.starts_with("  ~~~ ")), "{}", some.out);
    some.expect_err("not shown");
    assert!(TraceFile::open(&bench.path("some.trace")).unwrap().nodes().count() == 4);
}
