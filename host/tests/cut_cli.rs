//! `stillpoint cut`: what the user sees of two halted boards.
mod cli;

use cli::{Bench, wait_for};
use serde_json::Value;

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}"))
}

/// The token is in one channel, or in a node's hands. Halts until it is in a channel.
fn halted_with_the_token_in_flight(bench: &Bench) -> Value {
    let halt = || {
        bench.run(["halt"]).expect(0);
        let cut = bench.run(["cut", "--json"]).expect(0).json();
        if list(&cut, "channels").iter().any(|channel| !list(channel, "in_flight").is_empty()) {
            return Ok(Some(cut));
        }
        bench.run(["resume"]).expect(0);
        Ok(None)
    };
    wait_for("the token is in flight", halt).unwrap()
}

#[test]
fn a_cut_shows_user_code_on_every_core_the_token_in_flight_and_who_stopped_whom() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let cut = halted_with_the_token_in_flight(&bench);
    assert_eq!(cut["valid"], true);
    assert_eq!(list(&cut, "checks").len(), 5);
    assert!(list(&cut, "checks").iter().all(|check| check["checked"] == true && list(check, "wrong").is_empty()));

    for node in list(&cut, "nodes") {
        let frames = list(&node["backtrace"], "frames");
        let parked = frames.iter().position(|frame| frame["function"] == "stillpoint_park");
        let parked = parked.unwrap_or_else(|| panic!("{} is not parked: {frames:#?}", node["name"]));
        let behind = &frames[parked..];
        let user = parked + behind.iter().position(|frame| frame["kind"] == "user").expect("a frame of the demo");
        let function = frames[user]["function"].as_str().unwrap();
        assert!(function.starts_with("token_ring::"), "{function}");
        assert!(frames[user]["file"].as_str().unwrap().ends_with("examples/token_ring.rs"), "{frames:#?}");
        assert!(frames[user]["line"].as_u64().unwrap() > 0);
    }

    let held: Vec<&Value> = list(&cut, "channels").iter().filter(|of| !list(of, "in_flight").is_empty()).collect();
    assert_eq!(held.len(), 1, "there is one token: {held:#?}");
    assert_eq!(held[0]["carries"], "Token");
    let message = &list(held[0], "in_flight")[0];
    assert!(message["value"]["lap"].as_u64().is_some(), "the token is decoded: {message}");
    assert!(!list(message, "stamp").is_empty() && !list(message, "payload").is_empty(), "{message}");
    assert_eq!(message["number"].as_u64().unwrap(), held[0]["received"].as_u64().unwrap() + 1);

    assert_eq!(cut["ledger"]["triggers"], serde_json::json!(["left0"]));
    let lines = list(&cut["ledger"], "lines");
    assert_eq!(lines[0]["events"], 0, "the trigger stopped at its trigger");
    assert!(lines.iter().all(|line| line["events"].is_u64() && line["path"][0] == "left0"), "{lines:#?}");
    assert_eq!(lines[3]["path"], serde_json::json!(["left0", "right0", "right1"]));
    // Times within a board, none across.
    assert_eq!(lines[1]["after"]["than"], "left0");
    assert!(lines[1]["after"]["time"].is_f64() && lines[1]["after"]["unit"] == "us", "{lines:#?}");
    assert_eq!(lines[2]["after"]["than"], "right0");

    // The look changed nothing: the cores wait on, parked in the same halt, and go on when they are told.
    let again = bench.run(["cut"]).expect(0);
    again.expect_out("valid");
    again.expect_out("Token { lap: ");
    bench.run(["status"]).expect(0).expect_out("left0   parked");
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_system_that_runs_has_no_certificate_and_a_dead_board_is_named() {
    let bench = Bench::running("token_ring");
    let running = bench.run(["cut"]).expect(1);
    running.expect_out("FAILED");
    running.expect_out("left0 is not parked");
    running.expect_out("not checked");
    bench.expect_progress();

    bench.run(["halt"]).expect(0);
    bench.kill(1);
    let maimed = bench.run(["cut"]).expect(1);
    maimed.expect_out("board B");
    maimed.expect_out("is missing");
    maimed.expect_out("left0:out has no other end");
    maimed.expect_out("token_ring.rs:");
}
