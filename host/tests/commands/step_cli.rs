//! `stillpoint step` and `next` as a user types them, on two emulated boards.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::cli::{self, Bench, Done, wait_for};
use serde_json::Value;

/// The JSON values that lines of a shell printed, one after the other.
fn values(done: &Done) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(&done.out).into_iter::<Value>();
    values.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error} in {done:?}"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value:#}"))
}

/// How many events each node of a halted system has executed, and how many messages are in flight.
fn frontier(info: &Value) -> (Vec<(String, u64)>, u64) {
    let nodes: Vec<&Value> = list(info, "boards").iter().flat_map(|board| list(board, "nodes")).collect();
    let event = |node: &&Value| (node["name"].as_str().unwrap().to_owned(), node["event"].as_u64().unwrap());
    let messages = |way: &str| -> u64 {
        let ports = nodes.iter().flat_map(|node| list(node, "ports")).filter(|port| port["direction"] == way);
        ports.map(|port| port["messages"].as_u64().unwrap()).sum()
    };
    (nodes.iter().map(event).collect(), messages("out") - messages("in"))
}

/// A demo that stands at one event of one node: what comes next is always the same.
fn stopped_at(demo: &str, expression: &str) -> Bench {
    let bench = Bench::running(demo);
    bench.run(["break", expression]).expect(0);
    bench.run(["break", "rm", "all"]).expect(0);
    bench
}

/// The source positions change with the demo; that they are of its file does not.
fn golden(done: &Done) -> String {
    let text = done.masked(&["event ", "halt ", "message ", "token_ring.rs:", "lap = "]);
    text.replace("/examples/", "/")
}

#[test]
fn a_step_shows_the_event_where_it_happened_and_nothing_else_ran() {
    let bench = stopped_at("token_ring", "left0:recv(ring)");
    let steps = [
        "left0 event # holding = 1 token_ring::pass::{{closure}} target-agent/token_ring.rs:#\n",
        "left0 event # lap = # token_ring::pass::{{closure}} target-agent/token_ring.rs:#\n",
        "left0 event # trace(\"token taken\") token_ring::pass::{{closure}} target-agent/token_ring.rs:#\n",
        "left0 event # holding = 0 token_ring::pass::{{closure}} target-agent/token_ring.rs:#\n",
        "left0 event # send(ring) token_ring::pass::{{closure}} target-agent/token_ring.rs:#\n",
    ];
    let end = "halt #, begun by left0, is one consistent moment of 4 nodes; resume with `stillpoint resume`\n";
    assert_eq!(golden(&bench.run(["step", "left0"]).expect(0)), format!("{}{end}", steps[0]));
    // The token is in left0's hands, so the next event of anybody is left0's.
    assert_eq!(golden(&bench.run(["step"]).expect(0)), format!("{}{end}", steps[1]));
    assert_eq!(golden(&bench.run(["step", "left0", "-n", "3"]).expect(0)), format!("{}{end}", steps[2..].concat()));
    assert_eq!(bench.run(["break", "list"]).expect(0).out, "no breakpoint is armed\n");
    // For left0 to go on, left1 has to hand it the token.
    assert_eq!(
        golden(&bench.run(["step", "left0"]).expect(0)),
        format!(
            "left0 event # recv(hand) token_ring::forward::{{{{closure}}}} target-agent/token_ring.rs:#\n\
             meanwhile left1 6 events: recv(ring), holding = 1, lap = #, trace(\"token taken\"), holding = 0, send(ring)\n{end}"
        )
    );
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
}

/// The line that sets a watch, not the one that declares it.
#[test]
fn a_step_to_a_watch_names_the_line_that_set_it() {
    const SOURCE: &str = include_str!("../../../target-agent/examples/token_ring.rs");
    let bench = stopped_at("token_ring", "left0:recv(ring)");
    for setter in ["holding.set(1);", "lap.set(token.lap as i32);"] {
        let line = 1 + SOURCE.lines().position(|line| line.contains(setter)).expect("the demo sets the watch");
        let step = bench.run(["step", "left0", "--json"]).expect(0).json();
        let place = step["steps"][0]["stepped"][0]["place"].as_str().unwrap_or_default().to_owned();
        assert!(place.ends_with(&format!("token_ring.rs:{line}")), "{setter} is at line {line}: {step:#}");
    }
}

#[test]
fn next_stops_the_successor_at_the_message_before_it_acts() {
    let bench = stopped_at("token_ring", "left0:trace(\"token taken\")");
    assert_eq!(
        golden(&bench.run(["next", "left0"]).expect(0)),
        "left1 event # recv(ring)\n\
         left0 reached left1 with message # on ring\n\
         meanwhile left0 2 events: holding = 0, send(ring)\n\
         halt #, begun by left1, is one consistent moment of 4 nodes; resume with `stillpoint resume`\n"
    );
    let info = bench.run(["info", "--json"]).expect(0).json();
    assert_eq!(frontier(&info).1, 0, "the token was received");
    let left1 = &info["boards"][0]["nodes"][1];
    let holding = list(left1, "watches").iter().find(|watch| watch["name"] == "holding").expect("the watch");
    assert_eq!(holding["value"], 0, "left1 has not acted on it");
    let reached = bench.run(["next", "left0", "--json"]).expect(0).json();
    assert_eq!(reached["steps"][0]["stepped"][0]["node"], "right0", "left0 passes on what left1 sends: {reached:#}");
}

/// So many steps of each of four nodes, in turn. What they say of themselves is held against the frontiers that another command
/// reads before and after each turn. Returns the messages in flight at the beginning of each.
#[track_caller]
fn steps_of_each(bench: &Bench, nodes: [&str; 4], count: usize) -> Vec<u64> {
    let mut lines = String::from("halt --json\ninfo --json\n");
    for node in nodes {
        lines += &format!("step {node} -n {count} --json\ninfo --json\n");
    }
    let values = values(&bench.shell(&lines).expect(0));
    assert_eq!(values.len(), 10);
    let mut in_flight = Vec::new();
    for (chosen, parts) in nodes.iter().zip(values[1..].windows(3).step_by(2)) {
        let [before, steps, after] = parts else { unreachable!("windows of three") };
        let ((before, waiting), (after, _)) = (frontier(before), frontier(after));
        in_flight.push(waiting);
        let steps = list(steps, "steps");
        assert_eq!(steps.len(), count);
        for step in steps {
            assert_eq!(step["halt"]["consistent"], true, "{step:#}");
            let [stepped] = list(step, "stepped").as_slice() else { panic!("one node stepped: {step:#}") };
            assert_eq!((&stepped["node"], &stepped["count"]), (&Value::from(*chosen), &Value::from(1)), "{step:#}");
        }
        for ((name, before), (_, after)) in before.iter().zip(&after) {
            let all = steps.iter().flat_map(|step| list(step, "stepped").iter().chain(list(step, "also")));
            let said: u64 =
                all.filter(|did| did["node"] == name.as_str()).map(|did| did["count"].as_u64().unwrap()).sum();
            assert_eq!(after - before, said, "{name}: {steps:#?}");
            let executed = after - before;
            assert!(name != chosen || executed == count as u64, "{name} executed {executed} events in {count} steps");
        }
    }
    in_flight
}

#[test]
fn a_chosen_node_executes_exactly_one_event_a_hundred_times() {
    let bench = Bench::running("token_ring");
    steps_of_each(&bench, ["left0", "right1", "left1", "right0"], 25);
}

#[test]
fn a_chosen_node_executes_exactly_one_event_while_messages_are_in_flight() {
    let bench = Bench::running("pipeline");
    // Rings are full only once the slowest link is.
    bench.run(["break", "sink.count >= 20"]).expect(0);
    bench.run(["break", "rm", "all"]).expect(0);
    // Up the pipeline: what lies ahead of a node that takes eight steps at most stays full, however long the steps take.
    let in_flight = steps_of_each(&bench, ["sink", "square", "filter", "producer"], 8);
    assert!(in_flight.iter().all(|messages| *messages > 0), "in flight: {in_flight:?}");
}

#[test]
fn what_keeps_a_step_from_happening_is_said_and_changes_nothing() {
    let bench = stopped_at("token_ring", "left0:recv(ring)");
    // A breakpoint of the user's that comes first.
    bench.run(["break", "left1:recv(ring)", "--no-wait"]).expect(0);
    let other = bench.run(["step", "right1"]).expect(1);
    assert_eq!(
        golden(&other),
        "not stepped: something else came first\n\
         right1 event # did nothing token_ring::main::{{closure}} target-agent/token_ring.rs:#\n\
         breakpoint 0 fired\n\
         meanwhile left0 5 events: holding = 1, lap = #, trace(\"token taken\"), holding = 0, send(ring)\n\
         meanwhile left1 1 event: recv(ring)\n\
         halt #, begun by left1, is one consistent moment of 4 nodes; resume with `stillpoint resume`\n"
    );
    assert!(bench.run(["break", "list"]).expect(0).out.starts_with("0  fired"), "it stays as it was");
    // No breakpoint is left for the step itself: one that has fired would give its slot back.
    bench.run(["break", "rm", "0"]).expect(0);
    for node in ["left0", "left1", "right0", "right1"] {
        bench.run(["break", &format!("{node}:fault")]).expect(0);
    }
    let before = frontier(&bench.run(["info", "--json"]).expect(0).json());
    for verb in ["step", "next"] {
        let full = bench.run([verb, "left0"]).expect(2).err;
        assert!(full.contains("all 4 breakpoints are in use") && full.contains("break rm N"), "{full}");
    }
    assert_eq!(frontier(&bench.run(["info", "--json"]).expect(0).json()), before);
    bench.run(["break", "rm", "all"]).expect(0);
    assert!(bench.run(["step", "lfet0"]).expect(2).err.contains("did you mean left0"));
    bench.run(["resume"]).expect(0);
    let running = bench.run(["step"]).expect(2).err;
    assert!(running.contains("left0, left1, right0, right1 are not halted; halt the system first"), "{running}");
}

/// The token was on board B when that was reset, so nothing ever happens again.
fn silent() -> Bench {
    let bench = stopped_at("token_ring", "right1:trace(\"token taken\")");
    bench.run(["reset", "B"]).expect(0);
    bench.run(["resume"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.run(["halt"]).expect(0);
    bench
}

#[test]
fn a_step_that_never_comes_is_over_with_its_limit_or_ctrl_c_and_the_system_runs() {
    let bench = silent();
    let all_run = |bench: &Bench| {
        let status = bench.run(["status"]).expect(0).out;
        assert_eq!(status, "left0   running\nleft1   running\nright0  running\nright1  running\n");
    };
    assert_eq!(bench.run(["step", "--limit", "1"]).expect(1).out, "not stepped in time; the system runs\n");
    all_run(&bench);
    bench.run(["halt"]).expect(0);
    assert_eq!(bench.run(["next", "left0", "--limit", "1"]).expect(1).out, "not reached in time; the system runs\n");
    all_run(&bench);
    bench.run(["halt"]).expect(0);

    let waiting = bench.command(["step", "left0"]).spawn().expect("the program can be run");
    let remembered = bench.lock_file("A").with_file_name("breakpoints.json");
    // It is armed, and about to wait or waiting.
    let is_armed = || std::fs::read_to_string(&remembered).unwrap_or_default().contains("left0.count == ");
    wait_for("the step is armed", || Ok(is_armed().then_some(()))).unwrap();
    cli::signal("INT", waiting.id());
    let done = Done::of(waiting).expect(130);
    done.expect_err("interrupted; its breakpoint is removed, and the system runs");
    all_run(&bench);
}
