//! What is recorded is chosen for the system, a board and a node, inherited, taken away again, and kept over resets.
use crate::cli::Bench;
use serde_json::Value;
use std::collections::BTreeSet;
use stillpoint::trace::{Item, TraceFile};
use stillpoint_core::EventKind;

/// The nodes of a table, by name: what each records, and from where it has that.
fn nodes(table: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("nothing said").to_owned();
    let nodes = table["nodes"].as_array().expect("a list of nodes").iter();
    nodes
        .map(|node| {
            assert_eq!(node["differs"], false, "{table:#}");
            (text(&node["name"]), text(&node["records"]), text(&node["from"]))
        })
        .collect()
}

fn expected(of: [(&str, &str, &str); 4]) -> Vec<(String, String, String)> {
    of.map(|(name, records, from)| (name.into(), records.into(), from.into())).to_vec()
}

/// The kinds of events that each node recorded, without what the rings held before.
fn recorded(bench: &Bench, name: &str) -> Vec<BTreeSet<String>> {
    bench.run(["trace", "record", &format!("before-{name}"), "--events", "1"]).expect(0);
    bench.run(["trace", "record", name, "--events", "400"]).expect(0);
    let trace = TraceFile::open(&bench.path(name)).unwrap();
    let kinds = |node| {
        let records = trace.entries(node).into_iter().filter_map(|entry| match entry.item {
            Item::Record(record) | Item::Unplaced(record) => Some(record.event.kind),
            _ => None,
        });
        let ordinary = records.filter(|kind| !matches!(kind, EventKind::Reset | EventKind::LinkUp));
        ordinary.map(|kind| format!("{kind:?}")).collect()
    };
    trace.nodes().map(kinds).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_node_records_what_is_chosen_for_it_or_else_for_its_board_or_else_for_the_system() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let mode = |args: &[&str]| {
        let args = ["trace", "mode", "--json"].into_iter().chain(args.iter().copied());
        bench.run(args).expect(0).json()
    };
    let everything = ("everything", "firmware");
    let untouched = ["left0", "left1", "right0", "right1"].map(|name| (name, everything.0, everything.1));
    assert_eq!(nodes(&mode(&[])), expected(untouched), "nobody chose anything");

    mode(&["all", "off"]);
    mode(&["B", "full"]);
    let table = mode(&["right1", "send,recv"]);
    let chosen = expected([
        ("left0", "nothing", "system"),
        ("left1", "nothing", "system"),
        ("right0", "everything, with causes", "board"),
        ("right1", "send, recv", "node"),
    ]);
    assert_eq!(nodes(&table), chosen);
    let kinds = recorded(&bench, "chosen.trace");
    assert_eq!((&kinds[0], &kinds[1]), (&set(&[]), &set(&[])), "board A inherits off from the system");
    assert!(kinds[2].contains("Watch") && kinds[2].contains("Receive"), "{:?}", kinds[2]);
    assert_eq!(kinds[3], set(&["Receive", "Send"]));

    // A node that starts anew has it again by itself; `reset` finds nothing to tell.
    let reset = bench.run(["reset"]).expect(0);
    assert!(!reset.err.contains("recording"), "{}", reset.err);
    bench.run(["run"]).expect(0);
    assert_eq!(nodes(&mode(&[])), chosen, "after a reset");

    // Taken away again, what lies around counts.
    let table = mode(&["right1", "inherit"]);
    assert_eq!(nodes(&table)[3], ("right1".into(), "everything, with causes".into(), "board".into()));
    assert_eq!(nodes(&mode(&["B", "inherit"]))[3], ("right1".into(), "nothing".into(), "system".into()));
    assert_eq!(nodes(&mode(&["all", "inherit"])), expected(untouched));
    let kinds = recorded(&bench, "all.trace");
    assert!(kinds.iter().all(|kinds| kinds.contains("Receive") && kinds.contains("Watch")), "{kinds:?}");

    // What overrides counts for all that lies inside (Hyder 5.3.1).
    mode(&["left0", "send"]);
    assert_eq!(nodes(&mode(&["all", "off,override"]))[0], ("left0".into(), "nothing".into(), "system".into()));

    for (args, said) in [
        (["rigth1", "off"], "there is no board or node rigth1; did you mean right1?"),
        (["C", "off"], "there is no board or node C"),
        (["left0", "sned"], "`sned` is no mode and no kind of event; did you mean send?"),
        (["left0", "trace(holdin)"], "there is no tracepoint holdin"),
        (["left0", "full,send"], "leaves no choice of kinds"),
    ] {
        bench.run(["trace", "mode"].into_iter().chain(args)).expect(2).expect_err(said);
    }
    assert_eq!(nodes(&mode(&[]))[0].1, "nothing", "bad input changes nothing");
    bench.run(["down"]).expect(0);
    bench.run(["trace", "mode", "all", "full"]).expect(2).expect_err("start it with `stillpoint up`");
}

#[test]
fn the_system_file_says_what_freshly_started_boards_record_until_a_command_does() {
    let bench = Bench::new("token_ring");
    let file = std::fs::read_to_string(bench.system_file()).unwrap();
    let file = file.replacen("name = \"B\"", "name = \"B\"\nrecord = \"full\"", 1);
    let node = "\n[[node]]\nname = \"left1\"\nrecord = \"recv\"\n";
    bench.write_system(&format!("record = \"off\"\n{file}{node}"));
    bench.run(["up"]).expect(0);
    bench.run(["flash"]).expect(0).expect_err("left0 records nothing");
    bench.run(["run"]).expect(0);
    let table = bench.run(["trace", "mode", "--json"]).expect(0).json();
    let by_file = expected([
        ("left0", "nothing", "system"),
        ("left1", "recv", "node"),
        ("right0", "everything, with causes", "board"),
        ("right1", "everything, with causes", "board"),
    ]);
    assert_eq!(nodes(&table), by_file);
    let kinds = recorded(&bench, "run.trace");
    assert_eq!((&kinds[0], &kinds[1]), (&set(&[]), &set(&["Receive"])));
    bench.run(["trace", "mode", "left1", "inherit"]).expect(0).expect_out("inherit ");
    bench.run(["trace", "mode"]).expect(0).expect_out("off (file)");
    let table = bench.run(["trace", "mode", "left1", "file", "--json"]).expect(0).json();
    assert_eq!(nodes(&table), by_file);

    let wrong = format!("record = \"off\"\n{file}{}", node.replace("left1", "lefft1"));
    bench.write_system(&wrong);
    bench.run(["trace", "mode"]).expect(2).expect_err("did you mean left1?");
}

/// left0 receives on `ring` and on `hand`, and sends on `ring` and on `out`.
#[test]
fn single_ports_and_tracepoints_are_recorded_by_name() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let chosen = bench.run(["trace", "mode", "left0", "send(ring),recv(hand),trace(token taken)"]).expect(0);
    chosen.expect_out("records some trace, some send, some recv");
    recorded(&bench, "some.trace");
    let trace = TraceFile::open(&bench.path("some.trace")).unwrap();
    let header = &trace.header;
    let actions = trace.entries(0).into_iter().filter_map(|entry| match entry.item {
        Item::Record(record) | Item::Unplaced(record) => Some(header.action(0, &record.event)),
        _ => None,
    });
    let actions: BTreeSet<String> = actions.collect();
    assert_eq!(actions, set(&["recv(hand)", "send(ring)", "trace(token taken)"]));
    // The order among what is recorded is as exact as ever.
    let holds =
        "pred left1:recv(ring) { left0:send(ring) } not parallel (*:trace(\"token taken\"), *:trace(\"token taken\"))";
    bench.run(["check", "-e", holds, "some.trace", "--allow-unknown"]).expect(0);
    let mode = |what: &str| bench.run(["trace", "mode", "left0", what]);
    mode("send(rnig)").expect(2).expect_err("there is no port rnig in ");
    mode("trace(token taken)").expect(0);
    mode("access(totals)").expect(2).expect_err("there is no shared object totals");
    // Numbers stand for what has no name.
    mode("trace(1),trace(2),trace(3),trace(4),trace(5),trace(6),trace(7),trace(8)").expect(0);
    mode("trace(1),trace(2),trace(3),trace(4),trace(5),trace(6),trace(7),trace(8),trace(9)")
        .expect(2)
        .expect_err("at most 8 names");
    mode("inherit").expect(0);
    bench.expect_progress();
}
