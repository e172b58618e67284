//! `stillpoint check` and `stillpoint detect` on recordings of the demos: what is right holds, what is wrong is found, and
//! what cannot be read says so.
use crate::cli::{Bench, Done, wait_for};
use serde_json::Value;

/// The token goes round in order, from the first time on. It crosses to the other board by way of left0 and right0, which so
/// receive from whoever sent it there.
const RING: &str = r#"
event taken = *:trace("token taken")
not parallel (taken, taken)

model ring {
    start  = left0:send(ring)^1
    left0  = left0:trace("token taken")
    left1  = left1:trace("token taken")
    right0 = right0:trace("token taken")
    right1 = right1:trace("token taken")
    start -> left0
    in left1 {left0} | {start}
    in right0 {start, left1} | {left0, left1, right1}
    in right1 {right0}
    in left0 {start, left1, right0, right1} | {left1, right0, right1}
    out left1 {left0, right0}
}
"#;

/// The same in the middle of a run.
const LAPS: &str = r#"
event taken = *:trace("token taken")
not parallel (taken, taken)
pred left0:trace("token taken") { right1:trace("token taken"), right0:trace("token taken") }
model ring {
    left0  = left0:trace("token taken")
    left1  = left1:trace("token taken")
    right0 = right0:trace("token taken")
    right1 = right1:trace("token taken")
    in left1 {left0}
    in right0 {left0, left1, right1}
    in right1 {right0}
    in left0 {left1, right0, right1}
    out left1 {left0, right0}
}
"#;

fn bench(demo: &str, word: &str) -> Bench {
    let bench = Bench::new(demo);
    let system = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(
        &system
            .replace("\"board=A\"", &format!("\"board=A\"{word}"))
            .replace("\"board=B\"", &format!("\"board=B\"{word}")),
    );
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench
}

/// The outcome of a check, by the beginning of its text.
fn outcome<'a>(json: &'a Value, text: &str) -> &'a Value {
    let checks = json["checks"].as_array().expect("a list of checks");
    checks.iter().find(|check| check["text"].as_str().unwrap().starts_with(text)).expect("the check is there")
}

fn number(outcome: &Value, field: &str) -> u64 {
    outcome[field].as_u64().unwrap_or_else(|| panic!("{field} in {outcome}"))
}

#[test]
fn a_correct_ring_gives_no_report_in_twenty_runs() {
    let bench = Bench::new("token_ring");
    std::fs::write(bench.path("ring.model"), RING).unwrap();
    let mut events = 0;
    for at in 0..20 {
        bench.run(["up"]).expect(0);
        bench.run(["run"]).expect(0);
        let file = format!("run{at}.trace");
        // The rings hold what happened from the beginning on.
        bench.run(["trace", "record", file.as_str(), "--events", "400"]).expect(0);
        let json = bench.run(["check", "ring.model", file.as_str(), "--json"]).expect(0).json();
        for check in json["checks"].as_array().unwrap() {
            assert_eq!((number(check, "failed"), number(check, "unknown")), (0, 0), "{check:#}");
        }
        events += number(outcome(&json, "model ring"), "events");
        bench.run(["down"]).expect(0);
    }
    assert!(events > 20 * 40, "{events} events of the model in twenty runs");
}

#[test]
fn a_recording_that_begins_late_gives_no_false_report() {
    let bench = Bench::running("token_ring");
    std::fs::write(bench.path("laps.model"), LAPS).unwrap();
    bench.run(["trace", "record", "first.trace", "--events", "200"]).expect(0);
    bench.run(["trace", "record", "late.trace", "--events", "800"]).expect(0);
    let json = bench.run(["check", "laps.model", "late.trace", "--allow-unknown", "--json"]).expect(0).json();
    assert_eq!(json["checks"].as_array().unwrap().len(), 3);
    assert!(json["checks"].as_array().unwrap().iter().all(|check| number(check, "failed") == 0), "{json:#}");
    // What was before is not known, and so it is said.
    let checked = bench.run(["check", "laps.model", "late.trace"]).expect(1);
    checked.expect_out("cannot tell  model ring");
    checked.expect_out("begins late");
}

#[test]
fn a_duplicated_token_is_found_where_it_happens_and_ever_after() {
    let bench = bench("token_ring", ", \"bug=duplicate\"");
    std::fs::write(bench.path("ring.model"), RING).unwrap();
    bench.expect_progress();
    bench.run(["trace", "record", "run.trace", "--events", "3000"]).expect(0);
    let checked = bench.run(["check", "ring.model", "run.trace"]).expect(1);
    checked.expect_out("FAILS  not parallel (taken, taken)");
    checked.expect_out("FAILS  model ring");
    checked.expect_out("these are concurrent");
    checked.expect_out("before right0 the model expects {start, left1} or {left0, left1, right1}");
    // With its place in the source and its past in short.
    checked.expect_out("trace(token taken)");
    checked.expect_out("token_ring.rs:");
    checked.expect_out("knew of ");
    let json = bench.run(["check", "ring.model", "run.trace", "--json", "--show", "2"]).expect(1).json();
    let model = outcome(&json, "model ring");
    assert_eq!(model["verdict"], "fails");
    let what = model["failures"][0]["what"].as_str().unwrap();
    assert!(what.starts_with("left1#") && what.contains("led to {right0}"), "{what}");
    // Both are held at once, as far as anybody can tell.
    let found = bench.run(["detect", "left0.holding == 1 & right0.holding == 1", "run.trace", "--json"]);
    assert_eq!(found.json()["possibly"], "yes", "{found:?}");
    let lost =
        bench.run(["detect", "left0:trace(\"token given up for lost\") -> left1:trace(\"token taken\")", "run.trace"]);
    lost.expect(0).expect_out("trace(token given up for lost)");
    bad_input(&bench);
}

/// The wait for other nodes is part of it: an event is decided on when everything before it was read.
#[test]
fn a_violation_halts_a_running_ring_within_50_ms_of_its_record_being_read() {
    let bench = Bench::new("token_ring");
    bench.write_words(&["bug=duplicate"]);
    std::fs::write(bench.path("ring.model"), RING).unwrap();
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    let checked = bench.run(["check", "ring.model", "--live", "--halt", "--json"]).expect(1);
    checked.expect_err("not live  ring.model:5: model ring");
    checked.expect_err("is concurrent with taken");
    checked.expect_err("certified");
    let json = checked.json();
    let never = outcome(&json, "not parallel (taken, taken)");
    assert_eq!((never["verdict"].as_str(), number(never, "failed")), (Some("FAILS"), 1), "{json:#}");
    assert_eq!(outcome(&json, "model ring")["verdict"], "not checked");
    let after = json["halt_after_ms"].as_f64().expect("the halt began");
    println!("the halt began {after:.1} ms after the record was read");
    assert!(after < 50.0, "{after} ms");
    // The nodes are halted by that very halt, and go on when told to.
    bench.run(["cut"]).expect(0);
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_correct_ring_holds_while_it_runs_and_is_neither_halted_nor_taken_from_a_recorder() {
    let bench = Bench::running("token_ring");
    let holds = "event taken = *:trace(\"token taken\") not parallel (taken, taken)";
    let live = ["check", "-e", holds, "--live", "--halt", "--seconds", "2"];
    bench.run(live).expect(0).expect_out("1 of 1 checks hold so far");
    let json = bench.run(live.into_iter().chain(["--json"])).expect(0).json();
    assert!(number(outcome(&json, "not parallel"), "events") > 10, "{json:#}");
    assert_eq!(json["halt"], Value::Null);
    // The rings still have their first record for a recorder.
    bench.run(["trace", "record", "run.trace", "--events", "100"]).expect(0);
    bench.run(["check", "-e", holds, "run.trace"]).expect(0);
    // A check that needs the finished recording is named, and counts as not told.
    let left = bench.run(["check", "-e", "parallel (left0:send, right0:send)", "--live", "--seconds", "1"]).expect(1);
    left.expect_err("concurrent events may come until the end");
    left.expect_out("0 of 1 checks hold so far, 1 not checked");
    bench.run(["check", "-e", holds, "--live", "run.trace", "run.trace"]).expect(2);
    bench.expect_progress();
}

/// Recordings and questions that are not what they should be: said, and never taken for good.
fn bad_input(bench: &Bench) {
    let check = |args: &[&str]| -> Done { bench.run(["check"].iter().chain(args)) };
    check(&["no.model", "run.trace"]).expect(2).expect_err("cannot read no.model");
    check(&["run.trace"]).expect(2).expect_err("say what to check");
    check(&["-e", "pred left0:send(ring) { }", "run.trace"]).expect(2).expect_err("-e:1:25");
    check(&["-e", "pred left0:send(rnig) { left1:recv }", "run.trace"]).expect(2).expect_err("did you mean `ring`?");
    check(&["-e", "pred left0:send { left1:recv }", "ring.model"]).expect(2).expect_err("is no trace");
    check(&["-e", "pred left0:send { left1:recv }", "run.trace", "--only", "nodes=lft0"])
        .expect(2)
        .expect_err("no node");
    bench.run(["detect", "left0.holdin == 1", "run.trace"]).expect(2).expect_err("did you mean `holding`?");
    let whole = std::fs::read(bench.path("run.trace")).unwrap();
    let holds = "pred left1:recv(ring) { left0:send(ring) }";
    // Cut off in a frame, and two recordings one behind the other: what can be read is checked, and is not all.
    std::fs::write(bench.path("cut.trace"), &whole[..whole.len() * 2 / 3]).unwrap();
    std::fs::write(bench.path("two.trace"), [whole.as_slice(), whole.as_slice()].concat()).unwrap();
    for file in ["cut.trace", "two.trace"] {
        let checked = check(&["-e", holds, file]).expect(1);
        checked.expect_out("cannot tell");
        checked.expect_out("trace: damaged at byte");
        check(&["-e", holds, file, "--allow-unknown"]).expect(0);
    }
    std::fs::write(bench.path("none.trace"), &whole[..40]).unwrap();
    check(&["-e", holds, "none.trace"]).expect(2).expect_err("damaged in its header");
}

#[test]
fn numbers_go_down_the_pipeline_and_never_up() {
    let bench = Bench::running("pipeline");
    // The sink's fifth number comes behind the producer's fifteenth, each of them with its events.
    bench.run(["trace", "record", "run.trace", "--events", "1000"]).expect(0);
    let check = |text: &str| bench.run(["check", "-e", text, "run.trace", "--allow-unknown"]);
    check("pred sink:recv(in) { square:send(out), filter:send(out), producer:send(out) }").expect(0);
    check("pred square:recv(in)^2 { filter:send(out)^2, producer:send(out)^6 }").expect(0).expect_out("holds");
    // The other way round nothing flows.
    let wrong = check("pred filter:send(out) { square:recv(in) }").expect(1);
    wrong.expect_out("has no square:recv(in) before it");
    wrong.expect_out("is concurrent with it");
    let linked = bench.run(["detect", "producer:send(out)^10 -> sink.count == 5", "run.trace"]).expect(0);
    linked.expect_out("watch(count) = 5");
    linked.expect_out("stage 2");
    bench.run(["detect", "sink.count == 5 -> producer:send(out)", "run.trace"]).expect(1);
    let both = bench.run(["detect", "producer.count > 10 & sink.count == 5", "run.trace", "--json"]).expect(0).json();
    assert_eq!(both["possibly"], "yes");
    assert!(both["steps"].as_u64().unwrap() < 100_000, "{}", both["steps"]);
}

/// Number 300 is the hundredth that reaches the sink. The producer counts a number after it sent it, so it had counted 299 of them
/// before, and whether it had counted the three hundredth nothing decides.
#[test]
fn an_order_and_a_conjunction_have_one_answer_from_break_check_and_detect() {
    let bench = Bench::new("pipeline");
    bench.write_words_of_each(&[], &["halt-at=2"]);
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    wait_for("the sink halts the system", || Ok((bench.run(["cut"]).code == Some(0)).then_some(()))).unwrap();
    let (yes, no) = ("producer.count == 299 -> sink.count == 100", "producer.count == 300 -> sink.count == 100");
    let at_once = "sink.count == 100 & sink.sum != 0";
    for expression in [no, yes, at_once] {
        bench.run(["break", expression, "--no-wait"]).expect(0);
    }
    bench.run(["resume"]).expect(0);
    let fired = || bench.run(["break", "list"]).expect(0).out;
    wait_for("a breakpoint fires", || Ok(fired().contains("fired").then_some(()))).unwrap();
    let listed = fired();
    bench.run(["trace", "record", "run.trace", "--seconds", "1"]).expect(0);
    let detected = |expression: &str, code: i32| {
        let json = bench.run(["detect", expression, "run.trace", "--json"]).expect(code).json();
        let events = json["found"][0]["events"].as_array().cloned().unwrap_or_default();
        let number = |event: &Value| event["id"]["number"].as_u64().unwrap() & 0xFF_FFFF;
        (json["possibly"].as_str().unwrap().to_owned(), events.iter().map(number).collect::<Vec<u64>>())
    };
    let check = |text: &str, code: i32| bench.run(["check", "-e", text, "run.trace", "--json"]).expect(code).json();
    // The order that is there: the same two events.
    let (possibly, events) = detected(yes, 0);
    let [earlier, later] = events[..] else { panic!("{events:?}") };
    assert_eq!(possibly, "yes");
    let stages: Vec<String> =
        listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for stage in [format!("stage 1 producer event {earlier} "), format!("stage 2 sink event {later} ")] {
        assert!(stages.iter().any(|line| line.starts_with(&stage)), "{stage:?} is not in\n{listed}");
    }
    let held = check("pred sink.count == 100 { producer.count == 299 }", 0);
    assert_eq!(number(&held["checks"][0], "events"), 1);
    // The order that is not.
    assert_eq!(detected(no, 1).0, "no");
    assert_eq!(check("pred sink.count == 100 { producer.count == 300 }", 1)["checks"][0]["verdict"], "fails");
    assert!(
        !stages.iter().any(|line| line.starts_with(&format!("stage 2 sink event {later} ")) && line.contains("300"))
    );
    assert_eq!(listed.matches("fired").count(), 2, "{listed}");
    // A conjunction of one node: the very event, and what was to hold there as it was written.
    let as_written = format!("stage 1 sink event {later} {at_once} ");
    assert!(stages.iter().any(|line| line.starts_with(&as_written)), "{as_written:?} is not in\n{listed}");
    assert_eq!(detected(at_once, 0), ("yes".into(), vec![later]));
    let one = check("pred sink.(count == 100 && sum != 0) { producer.count == 299 }", 0);
    assert_eq!(number(&one["checks"][0], "events"), 1);
    // Of two nodes: none can be stopped at, and the other two agree.
    let (at_once, never) = ("producer.count == 300 & sink.count == 100", "producer.count == 150 & sink.count == 100");
    bench.run(["break", at_once, "--no-wait"]).expect(2).expect_err("detect");
    assert_eq!((detected(at_once, 0).0.as_str(), detected(never, 1).0.as_str()), ("yes", "no"));
    check("parallel (producer.count == 300, sink.count == 100)", 0);
    check("not parallel (producer.count == 150, sink.count == 100)", 0);
    bench.run(["resume"]).expect(0);
}

#[test]
fn a_model_learned_from_good_runs_of_a_two_phase_commit_names_the_forgotten_vote_first() {
    let bench = Bench::new("two_phase");
    let record = |words: &[&str], file: &str| {
        bench.write_words(words);
        bench.run(["up"]).expect(0);
        bench.run(["run"]).expect(0);
        let is_over = || {
            let said = bench.run(["log", "--node", "coordinator"]).expect(0).out;
            Ok(said.contains("round 4 is").then_some(()))
        };
        wait_for("the rounds are over", is_over).unwrap();
        bench.run(["trace", "record", file, "--seconds", "1"]).expect(0);
        bench.run(["down"]).expect(0);
    };
    let good = ["good1.trace", "good2.trace", "good3.trace", "good4.trace"];
    for file in good {
        record(&["rounds=4"], file);
    }
    bench.run(["learn", good[0], good[1], good[2], "-o", "commit.model"]).expect(0);
    bench.run(["check", "commit.model", good[3]]).expect(0);
    record(&["rounds=4", "bug=forget"], "bad.trace");
    let found = bench.run(["check", "commit.model", "bad.trace", "--json"]).expect(1).json();
    let first = found["first"].to_string();
    assert!(first.contains("decides to commit") && first.contains("coordinator"), "{first}");
    // A breakpoint and a model use the spans of the stores.
    let spans = "pred coordinator:leave(round)^i { store1:enter(prepared)^i, store3:enter(prepared)^i }";
    bench.run(["check", "-e", spans, good[0]]).expect(0).expect_out("(4 events)");
    bench.run(["check", "-e", "pred store1:enter(prepared)^1 { store1:leave(prepared) }", good[0]]).expect(1);
    let drawn = bench.run(["show", good[0], "--collapse", "--only", "nodes=store1"]).expect(0);
    // The coordinator's decision lies between two events of `prepared`, and nothing between those of `apply`.
    drawn.expect_out("enter(prepared)");
    drawn.expect_out("span(apply), 3 events");
    bench.write_words(&["rounds=1000"]);
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    let fired = bench.run(["break", "coordinator:enter(round) -> store3:leave(prepared)"]).expect(0);
    fired.expect_out("stage 2  store3");
    bench.run(["resume"]).expect(0);
}
