//! `stillpoint log`: what four nodes on two boards say, in an order that no message contradicts.
use crate::cli::{Bench, Done, LIMIT, Watchdog, signal, wait_for};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::Child;

fn entries(done: &Done) -> Vec<Value> {
    done.json()["entries"].as_array().expect("a list of entries").clone()
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or("")
}

/// What was printed, without the times in its first column.
fn without_times(done: &Done) -> String {
    let line = |line: &str| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ") + "\n";
    done.out.lines().map(line).collect()
}

/// Runs the command until what it prints is so.
fn run_until(bench: &Bench, args: &[&str], is_so: impl Fn(&Done) -> bool) -> Done {
    wait_for(format!("{args:?} comes to it"), || Ok(Some(bench.run(args).expect(0)).filter(&is_so))).unwrap()
}

/// Every line follows from the one before it: the token goes from node to node, and its first three laps are logged.
fn laps() -> String {
    let takes = |lap: u32| {
        ["left1", "right0", "right1", "left0"].map(|node| format!("{node} info took the token, lap {lap}\n")).concat()
    };
    format!("left0 info makes the token\n{}", (1..=3).map(takes).collect::<String>())
}

#[test]
fn the_log_of_a_halted_system_is_in_the_order_in_which_the_token_went_round() {
    let bench = Bench::running("token_ring");
    run_until(&bench, &["log", "--level", "info"], |done| without_times(done) == laps());
    bench.run(["halt"]).expect(0);
    let all = bench.run(["log"]).expect(0);
    assert_eq!(bench.run(["log"]).expect(0).out, all.out, "a look changes nothing");
    assert_eq!(without_times(&bench.run(["log", "--level", "info"]).expect(0)), laps());
    assert!(all.out.bytes().all(|byte| byte != 0x1B), "no colours where no terminal is");

    // The others wait from the beginning, each in its own time.
    let waits: Vec<_> =
        without_times(&all).lines().filter(|line| line.ends_with("waits for the token")).map(str::to_owned).collect();
    assert_eq!(waits.len(), 3, "{waits:?}");
    let of = bench.run(["log", "--node", "right1", "--node", "B.0", "--level", "debug"]).expect(0);
    assert_eq!(without_times(&of).lines().count(), 8, "{of:?}");
    assert!(of.out.lines().all(|line| line.contains("right")));
    bench
        .run(["log", "--full", "--node", "left0"])
        .expect(0)
        .expect_out("token_ring::pass  target-agent/examples/token_ring.rs:");
    assert_eq!(bench.run(["log", "--module", "token_ring::pass"]).expect(0).out, all.out);

    // Every line has its place among the events of its node, and the clocks only grow.
    let json = entries(&bench.run(["log", "--json"]).expect(0));
    assert_eq!(json.len(), all.out.lines().count());
    assert!(json.iter().all(|entry| entry["ordered"] == true && entry["event"].as_u64() > Some(0)), "{json:?}");

    // What is taken is not shown again.
    assert_eq!(bench.run(["log", "--take"]).expect(0).out, all.out);
    assert_eq!(bench.run(["log"]).expect(0).out, "");
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_wrong_question_is_answered_with_what_to_ask() {
    let bench = Bench::running("token_ring");
    bench.run(["log", "--node", "left9"]).expect(2).expect_err("did you mean left0?");
    bench.run(["log", "--module", "token_ring::pas"]).expect(2).expect_err("did you mean token_ring::pass?");
    bench.run(["log", "--level", "warning"]).expect(2).expect_err("trace, debug, info, warn, error");
    bench.run(["log", "--follow", "--take"]).expect(2);
    bench.kill(1);
    bench.run(["log"]).expect(2).expect_err("board B");
}

#[test]
fn a_second_token_is_warned_of_where_it_comes_about() {
    let bench = Bench::with_words("token_ring", &["bug=duplicate"]);
    let seen = |done: &Done| done.out.contains("left1") && done.out.contains("lap 5 came twice");
    let warned = run_until(&bench, &["log", "--level", "warn"], seen);
    let said = without_times(&warned);
    let lost = said.find("left0 warn no token for 100 ms").expect("left0 says why");
    assert!(lost < said.find("left1 warn lap 5 came twice").expect("left1 sees it"), "{said}");
}

/// What a log of the demo `chatter` adds up to.
#[derive(Debug, Default)]
struct Tally {
    lines: u64,
    missing: u64,
    /// Messages whose send and receive are both in the log: those that go round, and those between the cores of a board.
    round: u64,
    balls: u64,
}

/// Each line has its number: whatever is missing is announced there, and is exactly as much. For each message the line
/// before its send comes before the line after its receive.
fn check(entries: &[Value]) -> Tally {
    let mut tally = Tally::default();
    let mut due: BTreeMap<&str, u64> = BTreeMap::new();
    let mut sent: BTreeMap<(&str, &str, u64), usize> = BTreeMap::new();
    let mut received: Vec<(&str, &str, u64, usize)> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let node = text(entry, "node");
        if let Some(count) = entry["dropped"].as_u64() {
            tally.missing += count;
            *due.entry(node).or_default() += count;
            continue;
        }
        assert_eq!(entry["ordered"], true, "{entry}");
        let words: Vec<&str> = text(entry, "text").trim_start_matches('#').split(' ').collect();
        let number: u64 = words[0].parse().unwrap_or_else(|_| panic!("{entry}"));
        let due = due.entry(node).or_default();
        assert_eq!(number, *due, "{node}: line {number} where {due} is due, after {tally:?}");
        *due += 1;
        tally.lines += 1;
        match words[1..] {
            ["sends", message] => {
                sent.insert((node, "ring", message.parse().unwrap()), place);
            }
            ["throws", ball] => {
                sent.insert((node, "ball", ball.parse().unwrap()), place);
            }
            ["got", message] => received.push((node, "ring", message.parse().unwrap(), place)),
            ["caught", ball] => received.push((node, "ball", ball.parse().unwrap(), place)),
            _ => {}
        }
    }
    for (node, what, message, place) in received {
        let from = match (node, what) {
            ("left1", _) => "left0",
            ("right1", _) => "right0",
            ("left0", "ball") | ("right0", "ring") => "left1",
            _ => "right1",
        };
        if let Some(before) = sent.get(&(from, what, message)) {
            assert!(*before < place, "{node} got {what} {message} at {place}, {from} sends it at {before}");
            *(if what == "ring" { &mut tally.round } else { &mut tally.balls }) += 1;
        }
    }
    tally
}

fn json_lines(done: &Done) -> Vec<Value> {
    done.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Follows the log, a thousand lines at a time, until what all of it adds up to is enough. Each goes on where the last ended.
fn follow_until(bench: &Bench, is_enough: impl Fn(&Tally) -> bool) -> Tally {
    let mut all = Vec::new();
    let tally = wait_for("the log has enough of everything", || {
        all.extend(json_lines(&bench.run(["log", "--follow", "--json", "--lines", "1000"]).expect(0)));
        Ok(Some(check(&all)).filter(&is_enough))
    });
    tally.unwrap_or_else(|error| panic!("{error}: {:?}", check(&all)))
}

#[test]
fn four_nodes_that_log_at_full_rate_lose_nothing_that_is_not_announced_and_contradict_no_message() {
    let bench = Bench::running("chatter");
    let tally = follow_until(&bench, |tally| tally.missing > 0 && tally.lines > 4000 && tally.round + tally.balls > 0);
    println!("full rate: {tally:?}");
    // What was missing is also said to whoever reads no JSON.
    run_until(&bench, &["log", "--follow", "--lines", "4000"], |done| done.err.contains("missing"));
    bench.expect_progress();
}

/// With these pauses a ring lasts for about ten seconds, in which the computer need not have time for the reader.
#[test]
fn four_nodes_that_log_no_faster_than_they_are_read_lose_nothing() {
    let bench = Bench::with_words("chatter", &["pause=20000"]);
    let tally = follow_until(&bench, |tally| tally.round > 20 && tally.balls > 20);
    println!("with pauses: {tally:?}");
    assert_eq!(tally.missing, 0);
}

/// Starts to follow and waits for the first lines.
fn following(bench: &Bench) -> (Child, BufReader<std::process::ChildStdout>, Watchdog) {
    let mut child = bench.command(["log", "--follow"]).spawn().unwrap();
    let watchdog = Watchdog::over(&child, LIMIT);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("left") || line.contains("right"), "{line}");
    (child, out, watchdog)
}

#[test]
fn a_pipe_that_closes_and_ctrl_c_both_end_it_quietly_and_the_boards_go_on() {
    let bench = Bench::with_words("chatter", &["pause=5000"]);
    let (child, out, _watchdog) = following(&bench);
    drop(out);
    let closed = Done::of(child).expect(0);
    assert!(!closed.err.contains("panicked") && !closed.err.contains("stillpoint:"), "{closed:?}");

    let (child, out, _watchdog) = following(&bench);
    bench.run(["status"]).expect(0);
    signal("INT", child.id());
    // It writes what it has read; somebody must take it.
    let rest: Vec<String> = out.lines().map(|line| line.unwrap()).collect();
    Done::of(child).expect(0).expect_err("lines shown");
    assert!(rest.iter().all(|line| line.contains("left") || line.contains("right")));
    bench.expect_progress();
}

#[test]
fn a_command_that_waits_ends_when_its_reader_goes_away_and_leaves_the_boards_free() {
    let bench = Bench::running("token_ring");
    run_until(&bench, &["log", "--level", "info"], |done| without_times(done) == laps());
    // Nothing happens from now on, so nothing is written that could fail.
    bench.run(["halt"]).expect(0);
    bench.run(["log", "--take"]).expect(0);
    for words in [&["log", "--follow"][..], &["log", "--follow", "--json"], &["watch", "--live"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Done::within(LIMIT / 4, bench.command(words).stdout(writer).spawn().unwrap()).expect(0);
        bench.run(["status"]).expect(0);
    }
    // A result that cannot be written, of a command that needs boards.
    for words in [&["cut", "--json"][..], &["cut"], &["status"], &["log", "--follow"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let done = Done::within(LIMIT, bench.command(words).stdout(full).spawn().unwrap()).expect(2);
        done.expect_err("cannot write to standard output");
    }
}
