//! `stillpoint show`, `export` and `diff` on real recordings, and on what is not one.
mod cli;

use cli::{Bench, Done, firmware};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// Records what the rings hold since the nodes started, with a halt of all nodes in it.
fn record(bench: &Bench, name: &str) {
    bench.expect_progress();
    bench.run(["halt"]).expect(0);
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
    bench.run(["trace", "record", name, "--events", "400"]).expect(0);
}

fn events(shown: &Done) -> Vec<serde_json::Value> {
    shown.json()["events"].as_array().expect("a list of events").clone()
}

#[test]
fn a_recording_is_shown_exported_and_compared() {
    let bench = Bench::running("token_ring");
    record(&bench, "one.trace");
    let all = bench.run(["show", "one.trace", "--json"]).expect(0);
    let all = events(&all);
    assert!(all.len() > 100, "{} events", all.len());
    let received = all.iter().find(|event| event["kind"] == "recv").expect("a message was taken");
    let name = received["event"].as_str().unwrap();

    // The listing has every event, and stops without a word when nobody reads on.
    let listing = bench.run(["show", "one.trace"]).expect(0);
    assert_eq!(listing.out.lines().filter(|line| line.contains('#') && !line.contains("~~~")).count(), all.len());
    let mut reader = bench.command(["show", "one.trace"]).stdout(Stdio::piped()).spawn().unwrap();
    let first = BufReader::new(reader.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(first.contains('#') || first.contains("~~~"), "{first}");
    let ended = reader.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().contains("panic")), (Some(0), false));

    // The diagram of a message, and its past.
    let diagram = bench.run(["show", "one.trace", "--diagram", "--past", name, "--most", "6"]).expect(0);
    diagram.expect_out(&format!("{name} recv("));
    let past = events(&bench.run(["show", "one.trace", "--past", name, "--json"]).expect(0));
    assert!(past.iter().any(|event| event["event"] == received["partner"]), "the send happened before");
    let sends = events(&bench.run(["show", "one.trace", "--only", "kinds=send", "--json"]).expect(0));
    assert!(!sends.is_empty() && sends.iter().all(|event| event["kind"] == "send"));

    // The cut of the halt is one line over all nodes.
    let halt = all.iter().position(|event| event["kind"] == "halt").expect("the halt is in the log");
    let before = all[..halt].iter().rev().find(|event| event["kind"] != "resume").unwrap()["event"].as_str().unwrap();
    bench
        .run(["show", "one.trace", "--svg", "one.svg", "--html", "one.html", "--around", before])
        .expect(0)
        .expect_out("drew ");
    let svg = std::fs::read_to_string(bench.path("one.svg")).unwrap();
    assert!(svg.contains("halt 1: what is above was seen, 4 of 4 lanes"), "no cut line");
    assert!(std::fs::read_to_string(bench.path("one.html")).unwrap().contains("const data="));
    for kind in ["program", "elaborated", "event"] {
        bench.run(["show", "one.trace", "--graph", kind]).expect(0).expect_out("digraph");
        bench.run(["show", "one.trace", "--graph", kind, "--svg", "graph.svg"]).expect(0);
        assert!(std::fs::read_to_string(bench.path("graph.svg")).unwrap().starts_with("<svg"));
    }

    for (form, file) in [("shiviz", "one.log"), ("perfetto", "one.pftrace"), ("json", "one.json"), ("csv", "one.csv")] {
        let done = bench.run(["export", "--format", form, "one.trace", "-o", file]).expect(0);
        done.expect_out(&format!("wrote {} events into {file}", all.len()));
        assert!(std::fs::metadata(bench.path(file)).unwrap().len() > 1000);
    }
    let csv = bench.run(["export", "--format", "csv", "one.trace", "-o", "-"]).expect(0);
    assert_eq!(csv.out.lines().count(), all.len() + 1);

    bench.run(["diff", "one.trace", "one.trace"]).expect(0).expect_out("no difference in");
    bench.run(["show", "one.trace", "--from", "lefft0#1"]).expect(2).expect_err("did you mean left0?");
    bench.run(["show", "one.trace", "--from", "left0"]).expect(2).expect_err("write NODE#NUMBER");
    bench
        .run(["show", "one.trace", "--around", "left0#16000000"])
        .expect(2)
        .expect_err("is not in this trace, which has left0#");
    bench.run(["show", "one.trace", "--svg", "one.trace"]).expect(2).expect_err("is the recording itself");
    bench
        .run(["export", "--format", "csv", "one.trace", "-o", "one.trace"])
        .expect(2)
        .expect_err("is the recording itself");
    bench.run(["export", "--format", "csv", "one.trace", "-o", "nowhere/one.csv"]).expect(2).expect_err("cannot write");

    // Cut off in the middle: what is before is shown, and the exit code says that it is not all.
    let bytes = std::fs::read(bench.path("one.trace")).unwrap();
    std::fs::write(bench.path("half.trace"), &bytes[..bytes.len() * 2 / 3]).unwrap();
    let half = bench.run(["show", "half.trace", "--json"]).expect(1);
    assert!(!events(&half).is_empty() && events(&half).len() < all.len());
    bench.run(["show", "half.trace", "--most", "5"]).expect(1).expect_out("damaged at byte");
    bench.run(["export", "--format", "json", "half.trace", "-o", "half.json"]).expect(1).expect_err("damaged at byte");
    std::fs::write(bench.path("no.trace"), "hello").unwrap();
    bench.run(["show", "no.trace"]).expect(1).expect_err("is no trace");
    bench.run(["diff", "one.trace", "missing.trace"]).expect(1).expect_err("cannot read");
}

/// left0 of the faulty run gives a token up for lost in lap 5; up to there nothing differs on it.
#[test]
fn the_run_with_the_bug_differs_and_other_firmware_is_refused() {
    let bench = Bench::running("token_ring");
    record(&bench, "good.trace");
    bench.run(["down"]).expect(0);
    bench.write_words(&["bug=duplicate"]);
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.expect_progress();
    bench.run(["trace", "record", "bad.trace", "--events", "3000"]).expect(0);
    let differ = bench.run(["diff", "good.trace", "bad.trace", "--json"]).expect(1).json();
    let differences = differ["differences"].as_array().unwrap();
    assert!(!differences.is_empty() && differ["same"] == false, "{differ}");
    assert!(differences.iter().all(|of| of["one"]["node"] == of["other"]["node"]), "{differ}");
    let text = bench.run(["diff", "good.trace", "bad.trace"]).expect(1);
    text.expect_out(" differs: ");
    text.expect_out("  > ");

    bench.run(["down"]).expect(0);
    std::fs::copy(firmware("pipeline"), bench.path("firmware.elf")).unwrap();
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.run(["trace", "record", "other.trace", "--events", "50"]).expect(0);
    bench.run(["diff", "good.trace", "other.trace"]).expect(2).expect_err("not of the same system");
}
