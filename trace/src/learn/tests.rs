//! Models learned from simulated good runs, held against more good runs and against bad ones.
use super::{LearnError, Run, learn};
use crate::check::{Options, Report, Source, Verdict, check, parse};
use crate::{History, Sketch, View};

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

fn learned(runs: &[History]) -> String {
    let runs: Vec<Run<'_>> = runs.iter().map(|history| Run { name: "good", history }).collect();
    learn(&runs, &View::EVERYTHING).unwrap()
}

fn held(text: &str, history: &History) -> Report {
    let model = parse(&Source { name: "learned".into(), text: text.into() }).unwrap_or_else(|error| panic!("{error}"));
    check(&[model], history, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A token goes round four nodes; in `doubled` a copy of it begins at node 2 in that lap.
fn ring(seed: u64, doubled: Option<usize>) -> History {
    let mut sketch = Sketch::new(&["left0", "left1", "right0", "right1"]);
    let mut dice = Dice(seed);
    let pass = |sketch: &mut Sketch, node: usize| {
        sketch.local(node, 1);
        sketch.send(node, (node + 1) % 4);
    };
    let laps = 20 + dice.roll(5);
    for lap in 0..laps {
        for node in 0..4 {
            if lap + node > 0 {
                sketch.receive((node + 3) % 4, node);
            }
            if doubled == Some(lap) && node == 1 {
                pass(&mut sketch, 2);
            }
            pass(&mut sketch, node);
        }
    }
    sketch.history()
}

/// Two-phase commit of a coordinator and two workers, which vote; a worker that said no is sent an abort. With `forgets` the
/// coordinator commits after the first vote.
fn commit(seed: u64, forgets: bool) -> History {
    let (ask, yes, no, commit, abort) = (1, 2, 3, 4, 5);
    let mut sketch = Sketch::new(&["coordinator", "worker1", "worker2"]);
    let mut dice = Dice(seed);
    for round in 0..8 {
        sketch.local(0, ask);
        for worker in 1..3 {
            sketch.message(0, worker);
        }
        // Both outcomes are in every run.
        let votes = [round % 2 == 0 || dice.roll(2) == 0, round % 3 != 0];
        for (worker, vote) in (1..3).zip(votes) {
            sketch.local(worker, if vote { yes } else { no });
            sketch.message(worker, 0);
        }
        let ends = if votes == [true; 2] || forgets && round > 4 { commit } else { abort };
        sketch.local(0, ends);
        for worker in 1..3 {
            sketch.message(0, worker);
        }
    }
    sketch.history()
}

/// The solver of 1.2.1 with four blocks. Mult k sends its block in execution k, or with `early` in its first.
fn solver(seed: u64, early: bool) -> History {
    let mut sketch = Sketch::new(&["solve", "mult1", "mult2", "mult3"]);
    let mut dice = Dice(seed);
    let mut done = [0; 4];
    for column in 1..=4 {
        if column > 1 {
            let mult = column - 1;
            sketch.receive(mult, 0);
        }
        sketch.local(0, 7);
        let mut order: Vec<usize> = (column..4).collect();
        for mult in &order {
            sketch.send(0, *mult);
        }
        while !order.is_empty() {
            let mult = order.remove(dice.roll(order.len()));
            sketch.receive(0, mult);
            let is_late = early && column > 1;
            done[mult] += 1;
            if done[mult] == if early { 1 } else { mult } && !is_late {
                if early {
                    // The block leaves before the work of the last column.
                    sketch.send(mult, 0);
                    sketch.local(mult, 8);
                } else {
                    sketch.local(mult, 8);
                    sketch.send(mult, 0);
                }
            } else {
                sketch.local(mult, 8);
            }
        }
    }
    sketch.history()
}

fn ten(of: impl Fn(u64) -> History, from: u64) -> Vec<History> {
    (from..from + 10).map(of).collect()
}

#[test]
fn what_ten_good_runs_taught_holds_in_ten_more_and_not_in_bad_ones() {
    type Demo = (&'static str, fn(u64) -> History, fn(u64) -> History, &'static str);
    let demos: [Demo; 3] = [
        ("ring", |seed| ring(seed, None), |seed| ring(seed, Some(5 + seed as usize % 5)), "right0"),
        ("commit", |seed| commit(seed, false), |seed| commit(seed, true), "coordinator"),
        ("solver", |seed| solver(seed, false), |seed| solver(seed, true), "solve"),
    ];
    for (name, good, bad, culprit) in demos {
        let text = learned(&ten(good, 1));
        for history in ten(good, 100) {
            let report = held(&text, &history);
            assert_eq!(report.count(Verdict::Fails), 0, "{name}\n{text}\n{report}");
        }
        for seed in 0..10 {
            let report = held(&text, &bad(seed));
            assert!(report.count(Verdict::Fails) > 0, "{name} {seed}\n{text}\n{report}");
            let first = report.first.as_ref().expect("something is first");
            assert!(
                first.what.starts_with(culprit) || first.what.contains(culprit),
                "{name} {seed}: {first:?}\n{text}"
            );
        }
    }
}

#[test]
fn a_learned_model_is_sorted_text_with_support_and_does_not_depend_on_the_order_of_runs() {
    let runs = ten(|seed| ring(seed, None), 1);
    let text = learned(&runs);
    assert!(text.contains("in left1_1 {left0_1}  # 10 runs, "), "{text}");
    assert!(text.contains("pred left1:trace(1)^i { left0:trace(1)^i"), "{text}");
    assert!(text.contains("not parallel (left0:trace(1), left1:trace(1))  # 10 runs, "), "{text}");
    let back: Vec<History> = runs.into_iter().rev().collect();
    assert_eq!(learned(&back), text);
}

#[test]
fn what_cannot_be_learned_from_is_refused_in_a_sentence() {
    assert_eq!(learn(&[], &View::EVERYTHING), Err(LearnError::NoRuns));
    let (one, other) = (ring(1, None), commit(1, false));
    let runs = [Run { name: "one", history: &one }, Run { name: "other.trace", history: &other }];
    let error = learn(&runs, &View::EVERYTHING).unwrap_err();
    assert_eq!(error.to_string(), "other.trace is of another system: it has no node left0");
    let silent = Sketch::new(&["a"]).history();
    assert_eq!(learn(&[Run { name: "a", history: &silent }], &View::EVERYTHING), Err(LearnError::NoActions));
}
