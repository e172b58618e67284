//! `stillpoint show`, `export` and `diff` on real recordings, and on what is not one.
use crate::cli::{self, Bench, Done, firmware};
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
    bench.run(["show", "no.trace"]).expect(2).expect_err("is no trace");
    bench.run(["diff", "one.trace", "missing.trace"]).expect(2).expect_err("cannot read");
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

/// The fields of a protobuf message: number, value of a varint, bytes of what has a length.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, rest) = bytes.split_first().expect("a whole number");
            *bytes = rest;
            value |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (value, length) = match tag & 7 {
            0 => (varint(&mut bytes), 0),
            1 => (0, 8),
            2 => (0, varint(&mut bytes) as usize),
            5 => (0, 4),
            other => panic!("wire type {other}"),
        };
        let (content, rest) = bytes.split_at(length);
        bytes = rest;
        found.push((tag >> 3, value, content));
    }
    found
}

/// left0 waits 100 ms for a token that is late, by embassy's clock: the one time in the demo that is known.
#[test]
fn every_output_shows_the_100_ms_that_the_firmware_waited() {
    let bench = Bench::with_words("token_ring", &["bug=duplicate"]);
    let logged = cli::wait_for("left0 gives the token up", || {
        let log = bench.run(["log", "--node", "left0", "--json"]).expect(0).json();
        let lines = log["entries"].as_array().expect("a list of entries").clone();
        Ok(lines
            .into_iter()
            .find(|line| line["text"].as_str().is_some_and(|text| text.starts_with("no token for 100"))))
    });
    let logged = logged.unwrap()["time_us"].as_f64().unwrap();
    bench.run(["trace", "record", "run.trace", "--events", "400"]).expect(0);

    let all = events(&bench.run(["show", "run.trace", "--json"]).expect(0));
    let is = |row: &serde_json::Value, action: &str| {
        row["node"] == "left0" && row["action"].as_str().unwrap().contains(action)
    };
    let end = all.iter().position(|row| is(row, "token given up for lost")).expect("the recording has it");
    let begin = all[..end].iter().rposition(|row| is(row, "send(ring)")).expect("left0 had passed the token on");
    let near = |what: &str, micros: f64, exactly: f64| {
        // The timer is set after the send, and a busy machine may look at it late; never 16 times as late, or early.
        assert!((99_998.0..1_000_000.0).contains(&micros), "{what}: {micros} us");
        assert!((micros - exactly).abs() < 2.0, "{what}: {micros} us, and {exactly} us elsewhere");
    };
    let micros = |place: usize| all[place]["micros"].as_f64().expect("the header has the rate");
    let waited = micros(end) - micros(begin);
    near("show --json", waited, waited);
    // No halt so far: the log's time, which is the application's, is that of the recording.
    assert!((logged - micros(end)).abs() < 20_000.0, "log: {logged} us, recording: {} us", micros(end));

    let name = |place: usize| all[place]["event"].as_str().unwrap().to_owned();
    let listing = bench.run(["show", "run.trace"]).expect(0).out;
    let listed = |place: usize| {
        let line = listing.lines().find(|line| line.split_whitespace().next() == Some(&name(place)));
        line.and_then(|line| line.split_whitespace().nth(1)).expect("an event with its time").to_owned()
    };
    let seconds = |place: usize| listed(place).parse::<f64>().expect("seconds");
    near("show", (seconds(end) - seconds(begin)) * 1e6, waited);

    bench.run(["show", "run.trace", "--html", "run.html", "--around", &name(end)]).expect(0);
    let page = std::fs::read_to_string(bench.path("run.html")).unwrap();
    assert!(page.contains(&listed(end)), "the page has the time of {}: {}", name(end), listed(end));

    let csv = bench.run(["export", "--format", "csv", "run.trace", "-o", "-"]).expect(0).out;
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let column = |head: &str| heads.iter().position(|of| *of == head).expect("a column");
    let rows: Vec<_> = lines.collect();
    let exported = |place: usize| {
        let row = rows.iter().find(|row| row[column("event")] == name(place)).expect("a row");
        row[column("micros")].parse::<f64>().unwrap()
    };
    near("csv", exported(end) - exported(begin), waited);

    let json = bench.run(["export", "--format", "json", "run.trace", "-o", "-"]).expect(0).out;
    let of_name = format!("\"event\":\"{}\"", name(end));
    assert!(json.contains(&of_name) && json.contains(&format!("\"micros\":{}", micros(end))), "json: {}", micros(end));

    bench.run(["export", "--format", "perfetto", "run.trace", "-o", "run.pftrace"]).expect(0);
    let bytes = std::fs::read(bench.path("run.pftrace")).unwrap();
    let packets = fields(&bytes).into_iter().map(|(_, _, packet)| fields(packet));
    let times: Vec<u64> = packets
        .filter(|packet| packet.iter().any(|(field, ..)| *field == 11))
        .map(|packet| packet.iter().find(|(field, ..)| *field == 8).expect("a timestamp").1)
        .collect();
    assert_eq!(times.len(), all.len(), "a packet for each event");
    near("perfetto", (times[end] - times[begin]) as f64 / 1e3, waited);
}
