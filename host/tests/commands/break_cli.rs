//! `stillpoint break` as a user types it, on two emulated boards.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::cli::{self, Bench, LIMIT, Watchdog, wait_for};
use std::io::{BufRead as _, BufReader, Read as _};

/// What `break list` says of a breakpoint.
fn state_of(bench: &Bench, number: usize) -> String {
    let list = bench.run(["break", "list", "--json"]).expect(0).json();
    list["breakpoints"][number]["state"].as_str().unwrap_or_else(|| panic!("{list:#}")).to_owned()
}

fn list(bench: &Bench) -> String {
    bench.run(["break", "list"]).expect(0).out
}

#[test]
fn a_breakpoint_is_set_fires_is_listed_and_removed() {
    let bench = Bench::running("token_ring");
    let chain = "left0:send(ring) -> right1.holding == 1";

    let done = bench.run(["break", chain]).expect(0);
    assert!(done.err.contains("promised  exact: each stage really happened before the next"), "{}", done.err);
    assert!(done.err.contains("armed  breakpoint 0 on 4 nodes"), "{}", done.err);
    let lines: Vec<_> = done.out.lines().collect();
    assert_eq!(lines[0], format!("breakpoint 0 fired: {chain}"));
    assert!(lines[1].starts_with("  stage 1  left0   event "), "{}", done.out);
    assert!(lines[1].ends_with("left0:send(ring)     happened before"), "{}", done.out);
    assert!(lines[2].starts_with("  stage 2  right1  event "), "{}", done.out);
    assert!(lines[2].ends_with("right1.holding == 1  completed it"), "{}", done.out);
    assert!(lines[3].contains("begun by right1, is one consistent moment of 4 nodes"), "{}", done.out);

    let events = lines[1..3].join("\n");
    assert_eq!(list(&bench), format!("0  fired    {chain}  (stage 2 of 2 satisfied)\n{events}\n"));
    let cut = bench.run(["cut"]).expect(0).out;
    assert!(cut.contains(&events), "the cut shows both events, the first before the second: {cut}");
    let second = bench.run(["break", "left1:fault"]).expect(0).out;
    assert!(second.contains("breakpoint 1 armed, and the system is halted") && second.contains("stillpoint resume"));
    assert_eq!(bench.run(["break", "rm", "0"]).expect(0).out, "breakpoint 0  removed\n");
    assert_eq!(list(&bench), "1  armed    left1:fault\n");
    assert!(bench.run(["break", "rm", "0"]).expect(2).err.contains("there is no breakpoint 0"));
    assert!(bench.run(["break", "rm", "7"]).expect(2).err.contains("breakpoints are 0 to 3, or all"));
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
    assert_eq!(bench.run(["break", "rm", "all"]).expect(0).out, "breakpoint 1  removed\n");
    assert_eq!(list(&bench), "no breakpoint is armed\n");
}

#[test]
fn a_breakpoint_that_has_fired_gives_its_slot_back_when_the_system_is_resumed() {
    let bench = Bench::running("token_ring");
    for round in 0..5 {
        let done = bench.run(["break", "left0:send(ring)"]).expect(0);
        done.expect_out("breakpoint 0 fired: left0:send(ring)");
        assert_eq!(state_of(&bench, 0), "fired", "round {round}");
        bench.run(["cut"]).expect(0).expect_out("left0:send(ring)");
        let resume = bench.run(["resume", "--json"]).expect(0).json();
        assert_eq!(resume["freed"], serde_json::json!([0]), "{resume}");
        assert_eq!(list(&bench), "no breakpoint is armed\n");
    }
    // A step ends the halt of a breakpoint, too, and needs a slot itself.
    for _ in 0..2 {
        bench.run(["break", "left0:send(ring)"]).expect(0);
        bench.run(["step"]).expect(0);
        assert_eq!(list(&bench), "no breakpoint is armed\n");
        bench.run(["resume"]).expect(0);
    }
    bench.expect_progress();
}

/// Several events of left0 happen in one lap.
#[test]
fn when_fires_once_in_each_lap_in_which_its_condition_becomes_true() {
    let bench = Bench::running("token_ring");
    let when = ["when", "left0.lap % 10 == 0 do { watch left0.lap; resume }", "--times", "4", "--timeout", "120"];
    let done = bench.run(when).expect(0);
    let watched = done.out.lines().filter_map(|line| line.strip_prefix("left0.lap"));
    let laps: Vec<u32> = watched.filter_map(|rest| rest.trim_matches([' ', '=']).parse().ok()).collect();
    assert_eq!(laps.len(), 4, "{}", done.out);
    assert!(laps.iter().all(|lap| lap % 10 == 0), "{laps:?}");
    assert!(laps.windows(2).all(|pair| pair[0] < pair[1]), "twice in one lap: {laps:?}");
    bench.run(["resume"]);
    bench.expect_progress();
}

/// Kills a command once it has said that its breakpoint is armed.
fn kill_when_armed(bench: &Bench, args: &[&str]) {
    let mut command = bench.command(args).spawn().unwrap();
    let lines = BufReader::new(command.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.into_iter().any(|line| line.contains("armed  breakpoint 0")), "{args:?} armed nothing");
    command.kill().unwrap();
    command.wait().unwrap();
}

#[test]
fn a_breakpoint_of_a_killed_command_is_removed_unless_it_was_to_stay_armed() {
    let bench = Bench::running("token_ring");
    let stop = ["stop", "in", "left0", "at", "send(ring)", "if", "holding > 5"];
    for (args, verb) in [(&["when", "left0:fault do { cut }"][..], "when"), (&stop, "stop")] {
        for next in [&["status"][..], &["resume"], &["break", "list"]] {
            kill_when_armed(&bench, args);
            let next = bench.run(next).expect(0);
            next.expect_err(&format!("removed  breakpoint 0, left by a `{verb}` that was killed"));
            assert_eq!(list(&bench), "no breakpoint is armed\n");
        }
    }
    // A breakpoint stops the system without anybody waiting for it: it stays, with its text.
    kill_when_armed(&bench, &["break", "left1:fault"]);
    assert_eq!(list(&bench), "0  armed    left1:fault\n");
    bench.expect_progress();
}

#[test]
fn what_cannot_be_armed_is_refused_with_a_caret_and_leaves_nothing_armed() {
    let bench = Bench::running("token_ring");
    for (expression, caret, advice) in [
        ("lfet0:send(ring)", "\n  ^^^^^\n", "did you mean `left0`? the nodes are left0, left1, right0, right1"),
        ("left0.hodling == 1", "\n        ^^^^^^^\n", "did you mean `holding`?"),
        ("left0:send(rign)", "\n             ^^^^\n", "did you mean `ring`?"),
        ("left0:send(ring) ->", "\n                     ^\n", "expected a node's name"),
        ("left0.holding & right1.holding", "\n  ^^^^^^^^^^^^^^^", "stop when one comes after the other"),
    ] {
        let error = bench.run(["break", expression]).expect(2).err;
        assert!(error.contains(caret) && error.contains(advice), "{error}");
    }
    assert_eq!(list(&bench), "no breakpoint is armed\n");
}

/// Nothing of a breakpoint is in the process that set it.
#[test]
fn after_ctrl_c_or_no_wait_the_breakpoint_stays_armed_and_stops_the_system_by_itself() {
    let bench = Bench::running("token_ring");
    let mut waiting = bench.command(["break", "left1:fault"]).spawn().expect("the program can be run");
    let _watchdog = Watchdog::over(&waiting, LIMIT);
    let mut said = BufReader::new(waiting.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("armed") {
        line.clear();
        assert!(said.read_line(&mut line).expect("text") > 0, "it ended before it was armed");
    }
    cli::signal("INT", waiting.id());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(waiting.wait().expect("it ends").code(), Some(130), "{rest}");
    assert!(rest.contains("stays armed"), "{rest}");
    assert_eq!(state_of(&bench, 0), "armed");

    let text = "left0.holding == 1 ^10";
    let armed = bench.run(["break", text, "--no-wait"]).expect(0).out;
    assert!(armed.contains(&format!("breakpoint 1 armed: {text}")), "{armed}");
    wait_for("it fires", || Ok((state_of(&bench, 1) == "fired").then_some(()))).unwrap();
    assert_eq!(state_of(&bench, 0), "armed", "the other stays as it was");
    let late = bench.run(["break", "left0:fault", "--timeout", "1"]).expect(0).out;
    assert!(late.contains("the system is halted"), "nobody waits for what cannot happen: {late}");
    bench.run(["resume"]).expect(0);
    let late = bench.run(["break", "right0:fault", "--timeout", "1"]).expect(1).out;
    assert!(late.contains("not fired in time; it stays armed"), "{late}");
}

/// The file that remembers the texts is believed only as far as the boards confirm it.
#[test]
fn what_the_boards_have_counts_not_what_is_remembered() {
    let bench = Bench::running("token_ring");
    bench.run(["break", "left1:fault", "--no-wait"]).expect(0);
    let remembered = bench.lock_file("A").with_file_name("breakpoints.json");
    let text = std::fs::read_to_string(&remembered).expect("the remembered texts");
    std::fs::write(&remembered, text.replace("\"generation\": 1", "\"generation\": 9")).unwrap();
    assert_eq!(state_of(&bench, 0), "unknown", "another generation is another breakpoint");
    std::fs::write(&remembered, "not json").unwrap();
    assert!(bench.run(["break", "list"]).expect(2).err.contains("delete it"));
    std::fs::remove_file(&remembered).unwrap();
    assert!(list(&bench).contains("unknown  armed by another host"), "{}", list(&bench));
    bench.run(["break", "rm", "0"]).expect(0);
    assert_eq!(list(&bench), "no breakpoint is armed\n");
}

/// The watches of nodes, as `watch` reads them from the halted system.
fn watched(bench: &Bench, names: &[&str]) -> Vec<i64> {
    let read = bench.run(["watch", "--json"].into_iter().chain(names.iter().copied())).expect(0).json();
    let values = read["values"].as_array().unwrap_or_else(|| panic!("{read:#}"));
    values.iter().map(|value| value["value"].as_i64().unwrap_or_else(|| panic!("{read:#}"))).collect()
}

/// Nodes and channels come from the boards, a dump or a recording, and the sources from the debug information.
#[test]
fn what_can_be_promised_is_the_same_from_boards_a_dump_and_a_recording() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let lap = "left0.lap == 4 === right1.lap == 5";
    let live = bench.run(["stable", lap]).expect(0).out;
    assert!(live.contains("recognised  at right1") && live.contains("which right1 feeds through right0"), "{live}");
    assert!(live.ends_with("carried by  left0.out, right0.ring; 4 other channels carry nothing\n"), "{live}");
    let holding = bench.run(["stable", "left0.holding == 1 === right1.holding == 1"]).expect(1).out;
    assert!(holding.starts_with("cannot be promised: left0 can set `holding` (token_ring.rs:"), "{holding}");
    bench.run(["halt"]).expect(0);
    bench.run(["dump", "now.dump"]).expect(0);
    assert_eq!(bench.run(["--from", "now.dump", "stable", lap]).expect(0).out, live);
    bench.run(["resume"]).expect(0);
    bench.run(["trace", "record", "run.trace", "--events", "100"]).expect(0);
    assert_eq!(bench.run(["stable", lap, "--trace", "run.trace"]).expect(0).out, live);
    // Sources in another folder are the same; those of another build are told apart by their lines.
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target-agent/examples/token_ring.rs");
    let text = std::fs::read_to_string(source).unwrap();
    let copy = bench.path("elsewhere/examples/token_ring.rs");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::write(&copy, &text).unwrap();
    let elsewhere = ["stable", lap, "--trace", "run.trace", "--source", "elsewhere"];
    assert_eq!(bench.run(elsewhere).expect(0).out, live);
    std::fs::write(&copy, "\n".repeat(20) + &text).unwrap();
    bench.run(elsewhere).expect(2).expect_err("is not the source of");
    std::fs::write(&copy, text.lines().take(100).collect::<Vec<_>>().join("\n")).unwrap();
    bench.run(elsewhere).expect(2).expect_err("and the firmware has code of line");
    std::fs::remove_file(&copy).unwrap();
    bench.run(elsewhere).expect(2).expect_err("has no file");
    let shown = bench.run(["show", "run.trace", "--lines", "--only", "kinds=send,recv"]).expect(0).out;
    let events: Vec<_> = shown.lines().filter(|line| line.contains("send(") || line.contains("recv(")).collect();
    assert!(!events.is_empty() && events.iter().all(|line| line.contains("token_ring.rs:")), "{shown}");
}

/// What is wrong with the sources or with the event is said in a sentence, and nothing is armed.
#[test]
fn a_simultaneous_event_that_cannot_be_understood_arms_nothing() {
    let bench = Bench::running("token_ring");
    let lap = "left0.lap == 4 === right1.lap == 5";
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target-agent/examples/token_ring.rs");
    let text = std::fs::read_to_string(source).unwrap();
    let copy = bench.path("elsewhere/examples/token_ring.rs");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let refused = |event: &str, text: &str, why: &str| {
        std::fs::write(&copy, text).unwrap();
        let error = bench.run(["break", event, "--source", "elsewhere"]).expect(2).err;
        assert!(error.contains(why), "{error}");
        assert_eq!(list(&bench), "no breakpoint is armed\n", "{why}");
    };
    let line = text.lines().position(|line| line.contains("fn pass")).expect("the demo has it") + 1;
    refused(lap, &text.replacen("fn pass", "fn (pass", 1), &format!("token_ring.rs:{line} does not parse"));
    refused(lap, &("\n".repeat(20) + &text), "is not the source of");
    let hidden = text.replace("lap.set(", "library::set(&lap, ");
    refused(lap, &hidden, "`set` gets a port, watch or function and is not in the sources");
    let recursive = text.replace("lap.set(", "again(&lap, ") + "fn again(lap: &Watch, to: i32) { again(lap, to) }";
    refused(lap, &recursive, "`again` calls itself");
    refused("left0.lap == right1.lap === right1.lap == 5", &text, "cannot read a watch of right1");
    refused("left0.lap == 4 === left0.holding == 1", &text, "two components are of one node");
    refused(&["left0.lap == 4"; 9].join(" === "), &text, "an event has at most 8 components, this has 9");
    std::fs::write(&copy, &text).unwrap();
    bench.run(["break", lap, "--source", "elsewhere", "--no-wait"]).expect(0);
    // One at a time: a second plan would take the place of the first.
    let error = bench.run(["break", lap, "--no-wait"]).expect(2).err;
    assert!(error.contains("breakpoint 0 is a simultaneous event, and nodes have room for one"), "{error}");
    bench.run(["break", "rm", "all"]).expect(0);
    bench.run(["break", lap, "--no-wait"]).expect(0);
}

/// A linked breakpoint's stages travel on the channels between its nodes only, and it fires as before.
#[test]
fn stages_of_a_linked_breakpoint_travel_only_between_its_nodes() {
    let bench = Bench::running("token_ring");
    let done = bench.run(["break", "left0:send(ring) -> right1.holding == 1", "--timeout", "60"]).expect(0);
    assert!(done.err.contains("carried  by left0.out, right0.ring; 4 other channels carry nothing"), "{}", done.err);
    assert!(done.out.contains("happened before") && done.out.contains("completed it"), "{}", done.out);
    bench.run(["resume"]).expect(0);
}

/// How often the promised event is waited for: `FIRES`, or a few times.
fn fires() -> u32 {
    std::env::var("FIRES").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Waits for an event of two watches again and again. Both have to be `rest` modulo 10 in each halted state.
fn fire_promised(bench: &Bench, event: &str, watches: [&str; 2], rests: [i64; 2], recogniser: &str) {
    for fire in 0..fires() {
        let done = bench.run(["break", event, "--timeout", "60"]).expect(0);
        assert!(done.err.contains("promised  when it fires, every component holds"), "{}", done.err);
        assert!(done.err.contains(&format!("; {recogniser} recognises it")), "{}", done.err);
        assert_eq!(done.out.matches("holds in the halted state").count(), 2, "{}", done.out);
        let seen = watched(bench, &watches);
        assert!(seen.iter().zip(rests).all(|(seen, rest)| *seen % 10 == rest), "fire {fire}: {seen:?}");
        bench.run(["resume"]).expect(0);
    }
    assert_eq!(list(bench), "no breakpoint is armed\n");
}

#[test]
fn every_fire_of_a_promised_event_at_a_barrier_shows_it_in_the_halted_state() {
    let bench = Bench::running("barrier");
    let event = "near.phase % 10 == 4 === far.phase % 10 == 4";
    fire_promised(&bench, event, ["near.phase", "far.phase"], [4, 4], "gate");
}

#[test]
fn every_fire_of_a_promised_event_in_a_ring_shows_it_in_the_halted_state() {
    let bench = Bench::running("token_ring");
    let event = "left0.lap % 10 == 4 === right1.lap % 10 == 5";
    fire_promised(&bench, event, ["left0.lap", "right1.lap"], [4, 5], "right1");
}

/// What shall not be promised is stopped at as best effort: every stop shows it, after halts that do not.
#[test]
fn a_simultaneous_event_is_stopped_at_as_best_effort_and_every_stop_shows_it() {
    let bench = Bench::running("barrier");
    let event = "near.phase % 10 == 4 === far.phase % 10 == 4";
    let (mut shown, mut seen) = (0, 0);
    for _ in 0..fires().min(50) {
        let done = bench.run(["break", event, "--best-effort", "--timeout", "60"]).expect(0);
        assert!(done.err.contains("best effort  when it stops"), "{}", done.err);
        let counts = done.err.split("shown  ").nth(1).unwrap_or_else(|| panic!("{}", done.err));
        let mut counts = counts.split(" of ").map_while(|text| text.split(' ').next()?.parse::<u32>().ok());
        (shown, seen) = (shown + counts.next().unwrap_or(0), seen + counts.next().unwrap_or(0));
        let phases = watched(&bench, &["near.phase", "far.phase"]);
        assert!(phases.iter().all(|seen| seen % 10 == 4), "{phases:?}");
        bench.run(["resume"]).expect(0);
    }
    assert!(shown == fires().min(50) && shown <= seen, "{shown} of {seen}");
    println!("as best effort {shown} of {seen} halted states showed the event");
    assert_eq!(list(&bench), "no breakpoint is armed\n");
}
