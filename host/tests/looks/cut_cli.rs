//! `stillpoint cut`: what the user sees of two halted boards.
use crate::cli::{Bench, wait_for};
use serde_json::Value;

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}"))
}

/// The token is in one channel, or in a node's hands. Halts until it is in a channel.
fn halted_with_the_token_in_flight(bench: &Bench) -> Value {
    let halt = || {
        bench.run(["halt", "--at", "left0"]).expect(0);
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
        // The agent saved the registers where it keeps the core.
        assert_eq!(frames[0]["kind"], "kit", "{} is not parked: {frames:#?}", node["name"]);
        let user = frames.iter().position(|frame| frame["kind"] == "user").expect("a frame of the demo");
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

    assert_eq!(cut["ledger"]["triggers"], serde_json::json!(["host"]));
    let lines = list(&cut["ledger"], "lines");
    assert_eq!(lines[0]["events"], 0, "the trigger stopped at its trigger");
    assert!(lines.iter().all(|line| line["events"].is_u64() && line["path"][1] == "left0"), "{lines:#?}");
    assert_eq!(lines[3]["path"], serde_json::json!(["host", "left0", "right0", "right1"]));
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

/// The samples of the sensor, as they are in flight when the sensor stops itself at sending one.
fn sample_in_flight(bench: &Bench) -> Value {
    let stopped = || {
        bench.run(["break", "sensor:send(samples)", "--timeout", "60"]).expect(0);
        let cut = bench.run(["cut", "--json"]).expect(0).json();
        bench.run(["cut"]).expect(0);
        let samples = list(&cut, "channels").iter().find(|channel| channel["carries"] == "Sample").unwrap();
        match list(samples, "in_flight").first() {
            Some(sample) => Ok(Some(sample.clone())),
            None => {
                bench.run(["break", "rm", "all"]).expect(0);
                bench.run(["resume"]).expect(0);
                Ok(None)
            }
        }
    };
    wait_for("a sample is in flight", stopped).unwrap()
}

#[test]
fn messages_with_enums_texts_and_sequences_are_decoded_and_calls_say_which_way_they_go() {
    let bench = Bench::running("rpc_timeouts");
    let sample = sample_in_flight(&bench);
    let value = &sample["value"];
    let number = value["number"].as_u64().unwrap_or_else(|| panic!("the sample is decoded: {sample}"));
    // What the firmware computes from the number.
    let hundredths = 2000 + number % 100;
    let reading = serde_json::json!({ "Value": { "hundredths": hundredths } });
    assert_eq!(value["reading"], if number.is_multiple_of(10) { serde_json::json!("WarmingUp") } else { reading });
    assert_eq!(value["unit"], "celsius");
    let before: Vec<u64> = (number - number % 5..number).map(|number| 2000 + number % 100).collect();
    assert_eq!(value["before"], serde_json::json!(before));

    // The same samples, once they were taken: those in use of a queue for four, behind three wrappers.
    let recent = bench.run(["print", "RECENT", "--node", "sensor", "--depth", "3", "--json"]).expect(0).json();
    let recent = recent["values"][0]["value"].as_array().unwrap_or_else(|| panic!("{recent}")).clone();
    assert!(recent.len() <= 4);
    for (place, sample) in recent.iter().enumerate() {
        assert_eq!(sample["number"].as_u64().unwrap(), number - (recent.len() - place) as u64, "{recent:#?}");
        assert_eq!(sample["unit"], "celsius");
    }

    // Calls: those of a client whose server stops it while its question is on the way.
    bench.run(["break", "rm", "all"]).expect(0);
    bench.run(["resume"]).expect(0);
    bench.run(["break", "neighbour:send(questions)", "--timeout", "60"]).expect(0);
    let cut = bench.run(["cut", "--json"]).expect(0).json();
    let questions = list(&cut, "channels")
        .iter()
        .find(|channel| channel["name"].as_str().unwrap().starts_with("neighbour:questions"));
    let question = &list(questions.unwrap(), "in_flight")[0]["value"]["call"];
    assert_eq!(question["thread"], 0);
    // The first call has the number 1 and asks for the square of 0.
    assert_eq!(question["id"].as_u64().unwrap(), question["request"]["number"].as_u64().unwrap() + 1, "{question}");
    bench.run(["cut"]).expect(0).expect_out("call { id: ");

    // The server takes the same call: that is an event of its own, with its own word.
    bench.run(["break", "rm", "all"]).expect(0);
    bench.run(["resume"]).expect(0);
    bench.run(["break", "server:call(square)", "--no-wait"]).expect(0);
    let served = bench.run(["break", "server:serve(square)", "--timeout", "60"]).expect(0);
    served.expect_out("server:serve(square)");
    let listed = bench.run(["break", "list"]).expect(0);
    assert!(
        listed.out.lines().any(|line| line.contains("armed") && line.contains("server:call(square)")),
        "{}",
        listed.out
    );
}

/// The log of each node has the time of its halt, by the counter that the cores of a board share.
#[test]
fn the_skew_of_a_board_is_that_of_its_shared_counter_however_many_halts_came_before() {
    let bench = Bench::running("token_ring");
    for round in 1..=10 {
        bench.expect_progress();
        bench.run(["halt"]).expect(0);
        let cut = bench.run(["cut", "--json"]).expect(0).json();
        let name = format!("{round}.trace");
        bench.run(["trace", "record", &name, "--events", "1"]).expect(0);
        let shown = bench.run(["show", &name, "--only", "kinds=halt", "--json"]).expect(0).json();
        let stopped = |node: &Value| {
            let of_halt = |row: &&Value| row["node"] == *node && row["arg"] == cut["halt"];
            list(&shown, "events").iter().find(of_halt).and_then(|row| row["micros"].as_f64())
        };
        for line in list(&cut["ledger"], "lines") {
            let said = line["after"]["time"].as_f64().expect("a time");
            let found = stopped(&line["node"]).zip(stopped(&line["after"]["than"]));
            let (node, than) = found.unwrap_or_else(|| panic!("halt {}: {line} is not in {shown}", cut["halt"]));
            assert!((said - (node - than)).abs() < 2.0, "halt {round}: {line}, and by the log {} us", node - than);
        }
        bench.run(["resume"]).expect(0);
    }
}
