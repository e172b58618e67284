use super::*;
use crate::random_run::{Run, runs};
use proptest::prelude::*;

fn source(text: &str) -> Source {
    Source { name: "test.model".into(), text: text.into() }
}

fn checked(text: &str, history: &History) -> Report {
    let model = parse(&source(text)).unwrap_or_else(|error| panic!("{error}"));
    check(&[model], history, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(text: &str, history: &History) -> Verdict {
    checked(text, history).checks[0].verdict
}

fn verdict_of(holds: bool) -> Verdict {
    if holds { Verdict::Holds } else { Verdict::Fails }
}

/// Each a:t0 has a b:t1 and a c:t2 before it, in the sense of `before`.
fn pred_by(run: &Run, before: impl Fn(usize, usize) -> bool) -> u64 {
    let has = |index: usize, others: &[usize]| others.iter().any(|other| before(*other, index));
    let (needed, also) = (run.traces(1, 1), run.traces(0, 2));
    run.traces(0, 0).into_iter().filter(|index| !has(*index, &needed) || !has(*index, &also)).count() as u64
}

fn parallel_by(run: &Run, concurrent: impl Fn(usize, usize) -> bool) -> bool {
    let last = run.nodes - 1;
    let ((one, two), three) = ((run.traces(0, 0), run.traces(1, 1)), run.traces(last, 2));
    one.iter().any(|a| {
        two.iter().any(|b| {
            concurrent(*a, *b) && (last == 1 || three.iter().any(|c| concurrent(*a, *c) && concurrent(*b, *c)))
        })
    })
}

/// Hyder's definition 3-9 by brute force, for a model of three actions: how many events are in error.
fn order_by(run: &Run, immediate: impl Fn(&[usize], usize, usize) -> bool) -> u64 {
    let sets = [run.traces(0, 0), run.traces(1, 1), run.traces(0, 2)];
    let all: Vec<usize> = sets.iter().flatten().copied().collect();
    let action = |event: usize| sets.iter().position(|set| set.contains(&event)).unwrap();
    // p = a:t0, q = b:t1, r = a:t2; in q {p} | {}; out q {r}; p -> r
    let flow = [(0, 1), (1, 2), (0, 2)];
    let mut wrong = 0;
    for &event in &all {
        let around = |is: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let others = all.iter().filter(|other| is(**other)).map(|other| action(*other));
            let mut set: Vec<usize> = others.filter(|other| *other != action(event)).collect();
            set.sort_unstable();
            set.dedup();
            set
        };
        let before = around(&|other| immediate(&all, other, event));
        let after = around(&|other| immediate(&all, event, other));
        let q = action(event) == 1;
        let fires = !q || before == [0] || before.is_empty();
        let flows = before.iter().all(|other| flow.contains(&(*other, action(event))));
        wrong += u64::from(!fires || !flows);
        let later_r = sets[2].iter().any(|other| run.before[event][*other]);
        wrong += u64::from(q && after != [2] && (!after.is_empty() || later_r));
    }
    wrong
}

const ORDER: &str = "model m { p = a:trace(t0); q = b:trace(t1); r = a:trace(t2); p -> r; in q {p} | {}; out q {r} }";

fn is_immediate(run: &Run, all: &[usize], one: usize, other: usize) -> bool {
    run.before[one][other] && !all.iter().any(|mid| run.before[one][*mid] && run.before[*mid][other])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn pred_is_what_the_transitive_closure_says(run in runs(40)) {
        let report = checked("pred a:trace(t0) { b:trace(t1), a:trace(t2) }", &run.history);
        prop_assert_eq!(report.checks[0].failed, pred_by(&run, |one, other| run.before[one][other]));
        prop_assert_eq!(report.checks[0].unknown, 0);
    }

    #[test]
    fn parallel_is_what_the_transitive_closure_says(run in runs(40)) {
        let last = ["a", "b", "c", "d"][run.nodes - 1];
        let third = if run.nodes == 2 { String::new() } else { format!(", {last}:trace(t2)") };
        let text = format!("parallel (a:trace(t0), b:trace(t1){third})");
        let exists = parallel_by(&run, |one, other| run.concurrent(one, other));
        prop_assert_eq!(verdict(&text, &run.history), verdict_of(exists));
        prop_assert_eq!(verdict(&format!("not {text}"), &run.history), verdict_of(!exists));
    }

    #[test]
    fn any_node_may_be_meant_at_once(run in runs(40)) {
        let everywhere = |tag| (0..run.nodes).flat_map(|node| run.traces(node, tag)).collect::<Vec<_>>();
        let exists = everywhere(0).iter().any(|one| everywhere(1).iter().any(|other| run.concurrent(*one, *other)));
        prop_assert_eq!(verdict("parallel (*:trace(t0), *:trace(t1))", &run.history), verdict_of(exists));
    }

    #[test]
    fn a_model_finds_the_events_that_are_in_error_by_definition(run in runs(40)) {
        let outcome = &checked(ORDER, &run.history).checks[0];
        prop_assert_eq!(outcome.failed, order_by(&run, |all, one, other| is_immediate(&run, all, one, other)));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-c:.(){}|,;=#\"^ >!-]{0,40}|(pred|parallel|model|event|in|out| |[a-c{}(),:=])*") {
        let _ = parse(&source(&text)).map_err(|error| error.to_string());
    }
}

/// What is nearly right must come out differently somewhere, or the tests above prove nothing.
#[test]
fn wrong_ideas_of_order_are_caught() {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = runs(40);
    let mut caught = [false; 4];
    for _ in 0..400 {
        let run = strategy.new_tree(&mut runner).unwrap().current();
        let before = |one: usize, other: usize| run.before[one][other];
        // Order of the file for causal order.
        caught[0] |= pred_by(&run, |one, other| one < other) != pred_by(&run, before);
        // Different nodes for concurrent events.
        let apart = |one: usize, other: usize| run.events[one].0 != run.events[other].0;
        caught[1] |= parallel_by(&run, apart) != parallel_by(&run, |one, other| run.concurrent(one, other));
        // All that came before for what came immediately before.
        let right = order_by(&run, |all, one, other| is_immediate(&run, all, one, other));
        caught[2] |= order_by(&run, |_, one, other| before(one, other)) != right;
        // The last in the order of the file for the last in causal order.
        let nearest = |all: &[usize], one: usize, other: usize| {
            before(one, other) && !all.iter().any(|mid| one < *mid && *mid < other)
        };
        caught[3] |= order_by(&run, nearest) != right;
    }
    assert_eq!(caught, [true; 4]);
}

#[test]
fn errors_name_file_line_and_column_and_the_nearest_name() {
    let run = Run::of(2, &[(0, 7, 0), (1, 7, 1)]);
    for (text, place, part) in [
        ("pred a:trace(t0) { }", "test.model:1:20", "expected an event"),
        ("# all is well\n  prd a:trace(t0)", "test.model:2:3", "`prd` cannot stand here"),
        ("parallel (a:trace(t0))", "test.model:1:22", "another event"),
        ("pred a:trace(t0) { b:trace(t9) }", "test.model:1:28", "did you mean `t0`"),
        ("pred a:trace(t0) {\n  bb:trace(t1) }", "test.model:2:3", "did you mean `b`"),
        ("event solve = a:trace(t0)\npred solv { b:trace(t1) }", "test.model:2:6", "did you mean `solve`"),
        ("parallel (a:trace(t0), a:trace(t1))", "test.model:1:24", "are of one node"),
        ("model m { p = a:trace(t0) }", "test.model:1:1", "says nothing about order"),
        ("model m { p = a:trace(t0) p -> q }", "test.model:1:32", "no event is called `q`"),
        ("model m { p = a:trace(t0)", "test.model:1:26", "the model ends too early"),
        ("event e = a:trace(t0) event e = b:trace(t0)", "test.model:1:29", "the name of another event"),
        ("pred a.y == 1 { b:trace(t1) }", "test.model:1:8", "a has no watch `y`"),
        ("", "test.model:1:1", "there is nothing to check"),
        ("pred a:trace(\"t0) {", "test.model:1:14", "the quote is never closed"),
    ] {
        let error = parse(&source(text)).and_then(|model| check(&[model], &run.history, &Options::default()));
        let error = error.map(|_| ()).expect_err(text).to_string();
        assert!(error.starts_with(&format!("{place}: ")) && error.contains(part), "{text}\n{error}");
        assert!(error.contains('^'), "{error}");
    }
}

#[test]
fn two_preds_of_one_event_are_alternatives() {
    // a: t0 with b:t1 before it.
    let run = Run::of(2, &[(1, 7, 1), (1, 0, 0), (0, 2, 1), (0, 7, 0)]);
    let first = "pred a:trace(t0) { a:trace(t2) }";
    assert_eq!(verdict(first, &run.history), Verdict::Fails);
    let report = checked(&format!("{first}\npred a:trace(t0) {{ b:trace(t1) }}"), &run.history);
    assert_eq!((report.checks.len(), report.checks[0].verdict), (1, Verdict::Holds));
}

#[test]
fn events_are_named_by_occurrence_and_by_condition() {
    // x of a becomes 1 twice; b hears of the first only.
    let run = Run::of(2, &[(0, 5, 1), (0, 0, 1), (0, 5, 0), (0, 5, 1), (1, 2, 0), (1, 7, 0)]);
    assert_eq!(verdict("pred b:trace(t0) { a.x == 1 }", &run.history), Verdict::Holds);
    assert_eq!(verdict("pred b:trace(t0) { a.x == 1 ^1 }", &run.history), Verdict::Holds);
    assert_eq!(verdict("pred b:trace(t0) { a.x == 1 ^2 }", &run.history), Verdict::Fails);
    assert_eq!(verdict("pred b:trace(t0) { a:watch(x)^3 }", &run.history), Verdict::Fails);
}

#[test]
fn what_is_left_out_still_carries_order() {
    let run = Run::of(3, &[(0, 7, 0), (0, 0, 1), (1, 2, 0), (1, 0, 2), (2, 2, 1), (2, 7, 0)]);
    let model = parse(&source("pred c:trace(t0) { a:trace(t0) }\npred c:trace(t0) { b:send }")).unwrap();
    let only = View::parse(&["nodes=a,c"], &run.history.header).unwrap();
    let options = Options { only, ..Options::default() };
    let all = check(&[model], &run.history, &options).unwrap();
    assert_eq!(all.checks[0].verdict, Verdict::Holds);
    let model = parse(&source("pred c:trace(t0) { b:send }")).unwrap();
    assert_eq!(check(&[model], &run.history, &options).unwrap().checks[0].verdict, Verdict::Fails);
}

#[test]
fn a_long_model_names_the_line_of_each_statement() {
    let header = crate::Sketch::new(&["a", "b"]).history().header;
    let statement = |tag: usize| format!("pred a:trace({tag})\n  {{ b:trace({tag}) }}\n\n");
    let text: String = (0..2000).map(statement).chain((0..2000).map(statement)).collect();
    let checks =
        super::resolve::resolve(&[parse(&source(&text)).unwrap()], &crate::expr::Directory::of_trace(&header)).unwrap();
    // Two statements for one action are one check, where the first stands.
    assert_eq!(checks.len(), 2000);
    assert!(checks.iter().enumerate().all(|(at, check)| check.place == format!("test.model:{}", 3 * at + 1)));
    assert!(checks.iter().all(|check| check.text.contains(" or ")));
}
