//! `stillpoint watch`: values of watches while boards run, while they are halted, and when they are gone.
use crate::cli::{Bench, Done, signal};
use serde_json::Value;

const ALL: [&str; 8] = [
    "left0.holding",
    "left0.lap",
    "left1.holding",
    "left1.lap",
    "right0.holding",
    "right0.lap",
    "right1.holding",
    "right1.lap",
];

fn names(values: &Value) -> Vec<String> {
    let values = values["values"].as_array().expect("a list of values");
    values.iter().map(|line| line["expression"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn watches_are_shown_of_boards_that_run_stand_and_are_gone() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let running = bench.run(["watch", "--json"]).expect(0).json();
    assert_eq!(names(&running), ALL);
    assert!(running["silent"].as_array().unwrap().is_empty());
    bench.expect_progress();

    bench.run(["halt"]).expect(0);
    let halted = bench.run(["watch"]).expect(0);
    assert_eq!(halted.out, bench.run(["watch"]).expect(0).out, "what stands still has the same values");
    let lap = |json: &Value, node: usize| json["values"][2 * node + 1]["value"].as_i64().unwrap();
    let json = bench.run(["watch", "--json"]).expect(0).json();
    let difference = bench.run(["watch", "left0.lap - right1.lap", "left1.holding + 0 * left1.lap", "left0.lap / 0"]);
    let expected = format!(
        "left0.lap - right1.lap         {}\nleft1.holding + 0 * left1.lap  {}\nleft0.lap / 0                  division by zero\n",
        lap(&json, 0) - lap(&json, 3),
        json["values"][2]["value"]
    );
    assert_eq!(difference.expect(0).out, expected);

    bench.run(["dump", "x.dump"]).expect(0);
    bench.run(["down"]).expect(0);
    assert_eq!(bench.run(["--from", "x.dump", "watch"]).expect(0).out, halted.out, "a dump has the same values");
    // Nothing moves in a dump: one look is all.
    assert_eq!(bench.run(["watch", "--live", "--from", "x.dump"]).expect(0).out, halted.out);

    for (text, problem) in [
        ("left0.holdin", "did you mean `holding`?"),
        ("lfet0.holding", "did you mean `left0`?"),
        ("left0:fault", "an event has no value"),
        ("left0.holding ==", "\n  left0.holding =="),
    ] {
        bench.run(["watch", text, "--from", "x.dump"]).expect(2).expect_err(problem);
    }
}

#[test]
fn live_values_come_line_by_line_where_there_is_no_terminal_until_they_are_enough() {
    let bench = Bench::running("token_ring");
    let looks = bench.run(["watch", "left0.count", "--live", "--every", "1", "--times", "5", "--json"]).expect(0);
    let looks: Vec<Value> = looks.out.lines().map(|line| serde_json::from_str(line).expect("a value a line")).collect();
    assert_eq!(looks.len(), 5);
    let counts: Vec<i64> = looks.iter().map(|look| look["values"][0]["value"].as_i64().unwrap()).collect();
    assert!(counts.is_sorted(), "events are only ever added: {counts:?}");
    let text = bench.run(["watch", "left0.count", "left0.epoch", "--live", "--every", "1", "--times", "5"]).expect(0);
    assert_eq!(text.out.matches("left0.epoch").count(), 1, "what does not change is not repeated: {}", text.out);

    // Ctrl-C ends it in good order, and the boards go on.
    let child = bench.command(["watch", "--live", "--json"]).spawn().unwrap();
    let process = child.id();
    bench.wait_until_connected(&child);
    signal("INT", process);
    assert_eq!(Done::of(child).code, Some(0));
    bench.expect_progress();
}
