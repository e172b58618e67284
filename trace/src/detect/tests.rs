use super::*;
use crate::random_run::{Run, runs};
use proptest::prelude::*;
use std::collections::HashSet;

fn found(text: &str, run: &Run) -> Detection {
    detect(text, &run.history, 5).unwrap_or_else(|error| panic!("{error}"))
}

fn answer(yes: bool) -> Answer {
    if yes { Answer::Yes } else { Answer::No }
}

/// All cuts in which x is 1 on the first so many nodes.
fn satisfying(run: &Run, nodes: usize) -> Vec<Vec<usize>> {
    let holds = |cut: &Vec<usize>| (0..nodes).all(|node| run.x(node, cut[node]) == 1);
    run.cuts().into_iter().filter(holds).collect()
}

/// Whether every path from nothing to everything meets one of these cuts.
fn unavoidable(run: &Run, meets: &[Vec<usize>]) -> bool {
    let meets: HashSet<&Vec<usize>> = meets.iter().collect();
    let mut reached = vec![vec![0; run.nodes]];
    let mut known = HashSet::new();
    let mut at = 0;
    while let Some(cut) = reached.get(at).cloned() {
        at += 1;
        if meets.contains(&cut) {
            continue;
        }
        let next = run.steps(&cut);
        if next.is_empty() {
            return false;
        }
        reached.extend(next.into_iter().filter(|cut| known.insert(cut.clone())));
    }
    true
}

fn conjunction(nodes: usize) -> String {
    let parts: Vec<String> = ["a", "b", "c", "d"][..nodes].iter().map(|node| format!("{node}.x == 1")).collect();
    parts.join(" & ")
}

/// The frontier of what was found, as counts.
fn cut_of(run: &Run, sighting: &Sighting) -> Vec<usize> {
    let mut cut = vec![0; run.nodes];
    for event in &sighting.events {
        cut[usize::from(event.id.node)] = event.id.count() as usize;
    }
    cut
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn possibly_definitely_and_the_earliest_cut_are_those_of_the_lattice(run in runs(20), of in 2..5_usize) {
        let nodes = of.min(run.nodes);
        let (detection, cuts) = (found(&conjunction(nodes), &run), satisfying(&run, nodes));
        prop_assert_eq!(detection.possibly, answer(!cuts.is_empty()));
        prop_assert_eq!(detection.definitely, answer(unavoidable(&run, &cuts)));
        if let Some(sighting) = detection.found.first() {
            let earliest: Vec<usize> =
                (0..run.nodes).map(|node| cuts.iter().map(|cut| cut[node]).min().unwrap()).collect();
            prop_assert!(cuts.contains(&earliest));
            prop_assert_eq!(cut_of(&run, sighting), earliest);
        }
    }

    #[test]
    fn events_in_a_conjunction_hold_until_the_next(run in runs(20)) {
        let cuts: Vec<Vec<usize>> = run.cuts().into_iter().filter(|cut| {
            let at = |node: usize, tag| run.traces(node, tag).iter().any(|event| run.events[*event].1 == cut[node]);
            at(0, 0) && at(1, 1)
        }).collect();
        let detection = found("a:trace(t0) & b:trace(t1)", &run);
        prop_assert_eq!(detection.possibly, answer(!cuts.is_empty()));
        prop_assert_eq!(detection.definitely, answer(unavoidable(&run, &cuts)));
    }

    #[test]
    fn chains_and_concurrent_pairs_are_those_of_the_transitive_closure(run in runs(40)) {
        let (one, other) = (run.traces(0, 0), run.traces(1, 1));
        let completed = other.iter().filter(|event| one.iter().any(|first| run.before[*first][**event])).count();
        let linked = found("a:trace(t0) -> b:trace(t1)", &run);
        prop_assert_eq!(linked.total, completed as u64);
        for sighting in &linked.found {
            let places: Vec<usize> =
                sighting.events.iter().map(|event| run.history.index_of(event.id).unwrap()).collect();
            prop_assert!(places.windows(2).all(|pair| run.before[pair[0]][pair[1]]));
        }
        let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (*one, *other)));
        let concurrent = pairs.filter(|(one, other)| run.concurrent(*one, *other)).count();
        prop_assert_eq!(found("a:trace(t0) || b:trace(t1)", &run).total, concurrent as u64);
        let either = found("a:trace(t0) | b:trace(t1)", &run);
        prop_assert_eq!(either.total, (one.len() + other.len()) as u64);
    }
}

/// Each of these is nearly right; the comparison with the lattice must tell them from what is.
#[test]
fn wrong_ideas_of_possibly_and_definitely_are_caught() {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = runs(20);
    let mut caught = [false; 3];
    // One holds for a while, and only then the other hears of it and holds, too.
    let mut apart = Some(Run::of(2, &[(0, 5, 1), (0, 5, 0), (0, 0, 1), (1, 2, 0), (1, 5, 1)]));
    for _ in 0..200 {
        let run = apart.take().unwrap_or_else(|| strategy.new_tree(&mut runner).unwrap().current());
        let cuts = satisfying(&run, 2);
        let (possibly, definitely) = (!cuts.is_empty(), unavoidable(&run, &cuts));
        let ever = |node: usize| (0..=run.events.len()).any(|count| run.x(node, count) == 1);
        // Each holds at some time.
        caught[0] |= possibly != (ever(0) && ever(1));
        // Both hold in the order of the file.
        let mut now = [0, 0];
        let mut met = false;
        for (node, _, x) in run.events.iter().filter(|(node, ..)| *node < 2) {
            now[*node] = *x;
            met |= now == [1, 1];
        }
        caught[1] |= possibly != met;
        caught[2] |= definitely != possibly;
    }
    assert_eq!(caught, [true; 3]);
}

/// Four nodes, a conjunction of all: the number of comparisons grows as the number of events does.
#[test]
fn a_conjunction_of_four_nodes_takes_a_few_steps_for_each_event() {
    let steps = |rounds: usize| {
        let mut draws = Vec::new();
        for round in 0..rounds {
            // One after the other holds, and tells the next: never two at once.
            for node in 0..4 {
                let next = (node + 1) % 4;
                draws.extend([(node, 5, 1), (node, 5, 0), (node, 0, next), (next, 2, node), (node, 7, round % 3)]);
            }
        }
        let run = Run::of(4, &draws);
        let detection = found(&conjunction(4), &run);
        assert_eq!((detection.possibly, detection.definitely), (Answer::No, Answer::No));
        (detection.steps, draws.len() as u64)
    };
    let ((few, small), (many, large)) = (steps(10), steps(40));
    assert!(few <= 4 * small && many <= 4 * large, "{few} of {small}, {many} of {large}");
    assert!(many * 10 <= few * 4 * 11, "four times the events, and {few} became {many} steps");
}

#[test]
fn stages_are_counted_from_the_one_before_and_one_event_is_one_stage() {
    // a: t0, tells b; b: t1, t1.
    let run = Run::of(2, &[(1, 7, 1), (0, 7, 0), (0, 0, 1), (1, 2, 0), (1, 7, 1), (1, 7, 1)]);
    assert_eq!(found("a:trace(t0) -> b:trace(t1)", &run).total, 2);
    let second = found("a:trace(t0) -> b:trace(t1)^2", &run);
    assert_eq!((second.total, second.found[0].events[1].id.number), (1, 5));
    assert_eq!(found("b:trace(t1) -> b:trace(t1) -> b:trace(t1)", &run).total, 1);
    assert_eq!(found("b:trace(t1) -> a:trace(t0)", &run).possibly, Answer::No);
}

#[test]
fn alternatives_of_conjunctions_are_answered_each_by_itself() {
    let run = Run::of(2, &[(0, 5, 1), (1, 5, 1)]);
    let both = found("a.x == 1 & b.x == 1 | a.x == 5 & b.x == 1", &run);
    assert_eq!((both.possibly, both.definitely, both.total), (Answer::Yes, Answer::Yes, 1));
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_caret() {
    let run = Run::of(2, &[(0, 5, 1), (1, 5, 1)]);
    for (text, part) in [
        ("a.x == 1 & b.x == 1 -> a:trace(t0)", "cannot be a part"),
        ("a:trace(t0) || b:trace(t1) -> a:trace(t1)", "cannot stand here"),
        ("a:trace(t7)", "did you mean `t0`"),
        ("a.x == 1 ^2 & a.x == 0", "counts one predicate"),
        ("a:trace(t0) ||", "ends too early"),
        ("q:send || b:send", "no node is called `q`"),
        ("a:trace(t0) { }", "means nothing here"),
    ] {
        let error = detect(text, &run.history, 5).map(|_| ()).expect_err(text).to_string();
        assert!(error.contains(part) && error.contains('^'), "{text}\n{error}");
    }
}
