//! The analysis against the paper's text, and against an interpreter that tries every schedule.
#[path = "simultaneous/machine.rs"]
mod machine;
#[path = "simultaneous/paper.rs"]
mod paper;
#[path = "simultaneous/random.rs"]
mod random;
#[path = "simultaneous/sources.rs"]
mod sources;
#[path = "simultaneous/walk.rs"]
mod walk;

use machine::{Limits, Machine, Mutant, Outcome};
use paper::{component, parse};
use proptest::prelude::*;
use random::Shape;
use stillpoint_analysis::{
    Action, Class, Component, Flow, Hold, Interactions, Pairs, Point, Program, Recognition, Release, StatementId,
    recognise,
};

const LIMITS: Limits = Limits { room: 2, messages: 3, resets: 0, states: 20_000 };

fn explore(program: &Program, event: &[Component], plan: &Recognition, mutant: Mutant, limits: Limits) -> Outcome {
    Machine { program, event, plan, mutant, limits }.explore()
}

/// The two components, recognised by this node if the analysis lets it.
fn recognised_by(program: &Program, names: [&str; 2], node: u8) -> (Vec<Component>, Option<Recognition>) {
    let event = names.map(|name| component(program, name)).to_vec();
    let plan = recognise(program, &event).0.into_iter().find(|plan| plan.node.0 == node);
    (event, plan)
}

/// A plan that the analysis did not make: `carrier` brings the first component, `release` is said to hold it back.
fn forged(
    program: &Program,
    event: &[Component],
    carrier: &str,
    sent: &str,
    received: &str,
    write: &str,
) -> Recognition {
    let channel = |name| program.channel(name).unwrap();
    let release = Some(Release { sent: channel(sent), received: channel(received) });
    let node = event[1].node;
    let first = Hold { component: 0, class: Class::GeneralisedDependent, carriers: vec![channel(carrier)], release };
    let own = Hold { component: 1, class: Class::Dependent, carriers: Vec::new(), release: None };
    let points = vec![Point::Receive(channel(carrier)), Point::Write(program.watch(write).unwrap())];
    Recognition { node, points, holds: vec![first, own] }
}

const PING_PONG: &str = "P: loop { set x; send up; recv down }  Q: loop { recv up; set y; send down }";

#[test]
fn a_recognised_event_holds_in_every_state_after_the_halt() {
    let program = parse(PING_PONG);
    let (event, plan) = recognised_by(&program, ["x", "y"], 1);
    let outcome = explore(&program, &event, &plan.unwrap(), Mutant::None, Limits { resets: 1, ..LIMITS });
    assert!(outcome.complete && outcome.fired > 0, "{outcome:?}");
    assert_eq!(outcome.broken, 0);
}

/// P `loop { send a; recv b; p }`, Q `loop { send b; recv a; set x }` meets every condition of the paper, and yet `a` may
/// already be under way at p. With the counts compared it never halts there.
#[test]
fn a_message_already_under_way_is_not_overlooked_in_a_loop() {
    let program = parse("P: loop { send a; recv b; set p }  Q: loop { send b; recv a; set x }");
    let (event, plan) = recognised_by(&program, ["x", "p"], 0);
    let plan = plan.expect("the rule holds: the counts are what makes it sound");
    let with = |mutant| explore(&program, &event, &plan, mutant, LIMITS);
    assert_eq!(with(Mutant::None).broken, 0);
    assert!(with(Mutant::NoCount).broken > 0, "without counts this is the paper's mistake");
}

#[test]
fn a_value_that_outlives_its_session_is_found_out() {
    let program = parse(
        "P: set x; send far; loop { recv down; set x; send far }
         M: loop { recv far; send on; send on }
         Q: loop { recv on; set y; either { send down } or { skip } }",
    );
    let (event, plan) = recognised_by(&program, ["x", "y"], 2);
    let limits = Limits { resets: 1, states: 400_000, ..LIMITS };
    let with = |mutant| explore(&program, &event, plan.as_ref().unwrap(), mutant, limits);
    let right = with(Mutant::None);
    assert!(right.fired > 0 && right.broken == 0, "{right:?}");
    assert!(with(Mutant::OldSession).broken > 0);
}

#[test]
fn a_path_on_which_the_condition_changes_is_not_forgotten() {
    let text =
        "P: loop { set x; send up; either { set x } or { skip }; recv down }  Q: loop { recv up; set y; send down }";
    let program = parse(text);
    let (event, plan) = recognised_by(&program, ["x", "y"], 1);
    assert_eq!(plan, None);
    let plan = forged(&program, &event, "up", "down", "down", "y");
    assert!(explore(&program, &event, &plan, Mutant::None, LIMITS).broken > 0);
}

#[test]
fn a_sister_task_that_sets_the_watch_is_not_ignored() {
    let program =
        parse("P: loop { send up; recv down }  P/two: loop { wait; set x }  Q: loop { recv up; set y; send down }");
    let (event, plan) = recognised_by(&program, ["x", "y"], 1);
    assert_eq!(plan, None);
    let plan = forged(&program, &event, "up", "down", "down", "y");
    assert!(explore(&program, &event, &plan, Mutant::None, LIMITS).broken > 0);
}

/// A task that waits for the release is held back wherever the value is sent; an interrupt handler is not.
#[test]
fn an_interrupt_handler_may_stand_anywhere() {
    let text = |mark| {
        format!(
            "P{mark}: loop {{ recv down; skip; set x }}  P/two: loop {{ wait; send up }}  Q: loop {{ recv up; set y; send down }}"
        )
    };
    let program = parse(&text(""));
    let (event, plan) = recognised_by(&program, ["x", "y"], 1);
    let outcome = explore(&program, &event, &plan.unwrap(), Mutant::None, LIMITS);
    assert!(outcome.complete && outcome.fired > 0 && outcome.broken == 0, "{outcome:?}");
    assert_eq!(recognised_by(&parse(&text("!")), ["x", "y"], 1).1, None);
    let preempted = parse(
        "P: loop { recv down; skip; set x }  P/two!: loop { wait; send up }  Q: loop { recv up; set y; send down }",
    );
    let (event, plan) = recognised_by(&preempted, ["x", "y"], 1);
    assert_eq!(plan, None);
    let plan = forged(&preempted, &event, "up", "down", "down", "y");
    assert!(explore(&preempted, &event, &plan, Mutant::None, LIMITS).broken > 0);
}

#[test]
fn a_task_that_swallows_messages_is_no_wire() {
    let program = parse(
        "P: loop { set x; send up; recv down }
         M: loop { recv back; either { send down } or { send down; send down } }
         Q: loop { recv up; set y; send back }",
    );
    let (event, plan) = recognised_by(&program, ["x", "y"], 2);
    assert_eq!(plan, None);
    let plan = forged(&program, &event, "up", "back", "down", "y");
    assert!(explore(&program, &event, &plan, Mutant::None, LIMITS).broken > 0);
}

/// Every case as many times as `CASES` says; about a second of them without it.
fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() }
}

fn xorshift(mut seed: u64) -> impl FnMut(usize) -> usize {
    seed |= 1;
    move |below| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % below
    }
}

proptest! {
    #![proptest_config(cases(150))]

    /// 0 nodes called recognising that some schedule breaks, with and without a reset.
    #[test]
    fn no_schedule_breaks_what_was_recognised(choices in prop::collection::vec(any::<u8>(), 0..60), resets in 0u8..2) {
        let (program, event) = random::program(&choices, Shape { nodes: 3, loops: true, tasks: 2 });
        for plan in recognise(&program, &event[..2]).0 {
            let wired = plan.holds.iter().filter_map(|hold| hold.release).any(|release| release.sent != release.received);
            let resets = if wired { 0 } else { resets };
            let limits = Limits { resets, states: 2_000, ..LIMITS };
            let outcome = explore(&program, &event[..2], &plan, Mutant::None, limits);
            prop_assert_eq!(outcome.broken, 0, "{:?} of {:?}", plan, program);
        }
    }

    /// PRE and the feasible pairs are overestimates: whatever a run shows is in them.
    #[test]
    fn pre_contains_every_chain_that_a_run_shows(choices in prop::collection::vec(any::<u8>(), 0..80), seed in any::<u64>()) {
        let (program, _) = random::program(&choices, Shape { nodes: 4, loops: true, tasks: 2 });
        let (flow, pairs) = (Flow::new(&program), Pairs::new(&program));
        let sets = Interactions::new(&program, &flow, &pairs);
        let mut choose = xorshift(seed);
        for _ in 0..10 {
            let run = walk::walk(&program, 200, &mut choose);
            for (send, receive) in &run.pairs {
                prop_assert!(pairs.receives(*send).contains(receive), "{send:?} {receive:?} in {program:?}");
            }
            for (first, last) in &run.chains {
                prop_assert!(sets.pre(*last).contains(first.index()), "{first:?} {last:?} in {program:?}");
            }
        }
    }

    /// POST1 and POST2 are underestimates, where no message is left over and nothing loops.
    #[test]
    fn post_contains_only_what_every_complete_run_shows(choices in prop::collection::vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        let (program, _) = random::program(&choices, Shape { nodes: 3, loops: false, tasks: 1 });
        let sets = Interactions::new(&program, &Flow::new(&program), &Pairs::new(&program));
        let mut choose = xorshift(seed);
        for run in (0..20).map(|_| walk::walk(&program, 400, &mut choose)).filter(|run| run.complete) {
            let communicates = |id: &StatementId| matches!(program.action(*id), Action::Send(_) | Action::Receive(_));
            for of in program.statements().filter(communicates) {
                for first in sets.post1(of).ones().map(|at| StatementId(at as u32)) {
                    prop_assert!(!run.executed.contains(&first) || run.executed.contains(&of), "{first:?} {of:?} {program:?}");
                }
                for last in sets.post2(of).ones().map(|at| StatementId(at as u32)) {
                    let before = run.before.iter().find(|(at, _)| *at == last).map(|(_, before)| before);
                    prop_assert!(last == of || before.is_none_or(|before| before.contains(&of)), "{of:?} {last:?} {program:?}");
                }
            }
        }
    }
}
