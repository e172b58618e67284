//! `stillpoint races` on recordings of the demo `solver`: the seeded race with its two lines, and none without it.
use crate::boards::{self, two_boards_with};
use crate::cli::{Bench, wait_for};
use std::ops::ControlFlow;
use stillpoint::System;
use stillpoint::trace::{History, Recorder};
use stillpoint_trace::races::Races;

const SOURCE: &str = include_str!("../../../target-agent/examples/solver.rs");

/// `target-agent/examples/solver.rs:N` of the first line with `text` that comes after one with `mark`.
fn line_after(mark: &str, text: &str) -> String {
    let mut lines = SOURCE.lines().enumerate().skip_while(|(_, line)| !line.contains(mark)).skip(1);
    let (index, _) = lines.find(|(_, line)| line.contains(text)).expect("the demo has such a line");
    format!("target-agent/examples/solver.rs:{}", index + 1)
}

/// The solver on two boards, every node started.
fn solver(words: &[&str]) -> Bench {
    Bench::with_words("solver", words)
}

/// What `info` says the watch of a node is.
fn watch(bench: &Bench, node: &str, name: &str) -> Option<i64> {
    let info = bench.run(["info", "--json"]).expect(0).json();
    let nodes = info["boards"].as_array()?.iter().flat_map(|board| board["nodes"].as_array().into_iter().flatten());
    let watches = nodes.filter(|of| of["name"] == node).flat_map(|of| of["watches"].as_array().into_iter().flatten());
    watches.filter(|of| of["name"] == name).find_map(|of| of["value"].as_i64())
}

fn wait_until_solved(bench: &Bench) {
    wait_for("the system is solved", || Ok((watch(bench, "solve", "solved") == Some(1)).then_some(()))).unwrap();
}

#[test]
fn the_seeded_race_is_found_with_its_two_lines_on_the_host_and_on_the_target() {
    let bench = solver(&["bug=race"]);
    wait_until_solved(&bench);
    bench.run(["trace", "record", "run.trace", "--seconds", "1"]).expect(0);
    let found = bench.run(["races", "run.trace"]).expect(1);
    let write = line_after("if wanted.race_bug {", "shared.write(here!()");
    let read = line_after("async fn mult_of_core_1", ".read(here!()");
    for x in ["x1", "x2", "x3"] {
        found.expect_out(&format!("race on {x} of board B\n"));
    }
    assert_eq!(found.out.matches(&format!("mult2  write  {write} ")).count(), 3, "{}", found.out);
    assert_eq!(found.out.matches(&format!("mult3  read   {read} ")).count(), 3, "{}", found.out);
    found.expect_out("3 races in 15 accesses of 7 objects\n");
    // Each is found once on the target, by whoever came second.
    let on_target = ["mult2", "mult3"].map(|node| watch(&bench, node, "races").unwrap());
    assert_eq!(on_target.iter().sum::<i64>(), 3, "{on_target:?}");
    let json = bench.run(["races", "run.trace", "--json"]).expect(1).json();
    let races = json["races"].as_array().unwrap();
    assert_eq!(races.len(), 3);
    for race in races {
        let places = [&race["first"]["place"], &race["second"]["place"]];
        assert!(places.contains(&&write.as_str().into()) && places.contains(&&read.as_str().into()), "{race}");
        assert_eq!(race["second"]["found_on_target"], true, "{race}");
    }
}

#[test]
fn a_breakpoint_waits_for_a_race() {
    let bench = solver(&["bug=race", "rounds=0"]);
    let fired = bench.run(["break", "mult2.races > 0 | mult3.races > 0"]).expect(0);
    fired.expect_out("fired: ");
    fired.expect_out("is one consistent moment of 4 nodes");
}

/// The system is solved, and what all nodes did is recorded from their first event on.
fn record(system: &mut System, path: &std::path::Path) -> anyhow::Result<History> {
    boards::wait_until(system, "the solution", |nodes| nodes[0].watches.iter().any(|(_, value)| *value == 1))?;
    let mut recorder = Recorder::start(system, "", path)?;
    while recorder.poll(system)? > 0 {}
    recorder.finish(system)?;
    Ok(History::load(path, |_| ControlFlow::Continue(()))?)
}

#[test]
fn no_race_is_reported_of_the_correct_firmware_in_twenty_runs_and_with_the_bug_all_three() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for run in 0..20 {
        // With event stamps nothing but the logs tells the order.
        let stamps = if run % 2 == 0 { "stamps=vector" } else { "stamps=event" };
        let (_machines, mut system) = two_boards_with("solver", [&[stamps], &[stamps]])?;
        let history = record(&mut system, &folder.path().join(format!("{run}.trace")))?;
        assert_eq!(history.notes(), []);
        let races = Races::of(&history);
        assert_eq!((&races.races[..], races.objects, races.accesses), (&[][..], 7, 15), "run {run}, {stamps}");
    }
    for stamps in ["stamps=vector", "stamps=event"] {
        let words: &[&str] = &["bug=race", stamps];
        let (_machines, mut system) = two_boards_with("solver", [words, words])?;
        let races = Races::of(&record(&mut system, &folder.path().join(stamps))?);
        let objects: Vec<_> = races.races.iter().map(|race| race.object.as_str()).collect();
        assert_eq!(objects, ["x1", "x2", "x3"], "{stamps}: {races:#?}");
        assert!(races.races.iter().all(|race| race.certain && race.pairs == 1));
    }
    Ok(())
}
