//! Distributed predicates against the claims of Miller & Choi 1988, section 3, and against brute force.
#[path = "predicates/oracle.rs"]
mod oracle;
#[path = "predicates/system.rs"]
mod system;

use oracle::{HappenedBefore, detections, expression_of, matches, occurs};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use stillpoint_core::predicate::{
    Detector, EvalContext, Generation, Listing, MAX_STEPS, Op, Predicates, Program, ProgramBuilder, Relation, SlotId,
};
use stillpoint_core::{Event, EventKind, NodeId};
use system::{Linked, Mutant, NODES, SLOT, Simple, Step, System, What, linked_predicates, schedules};

const FIRST: Generation = Generation(255);
const SECOND: Generation = Generation(0);
/// How many histories exactness is checked on.
const CASES: u32 = 1000;

fn simple(node: usize, what: What) -> Vec<Simple> {
    vec![Simple { node, what, n: 1 }]
}

fn run(detector: Detector, linked: &Linked, steps: &[Step]) -> System {
    let mut system = System::new(Mutant::None);
    system.arm(SLOT, FIRST, detector, linked);
    steps.iter().for_each(|&step| system.step(step));
    system
}

fn local(tag: u16) -> Step {
    Step::Local { node: 0, tag }
}

proptest! {
    /// Section 3.4: LP means DPi [S - DPj]* DPj [S - DPk]* DPk ...
    #[test]
    fn a_linked_predicate_is_detected_where_its_regular_expression_matches(
        linked in prop::collection::vec(prop::collection::vec(0..4u16, 1..=2), 1..=3),
        word in prop::collection::vec(0..4u16, 0..20),
    ) {
        let terms = |stage: &Vec<u16>| stage.iter().map(|&tag| Simple { node: 0, what: What::Tag(tag), n: 1 }).collect();
        let steps: Vec<Step> = word.iter().map(|&tag| local(tag)).collect();
        let system = run(Detector::Causal, &linked.iter().map(terms).collect(), &steps);
        let expression = expression_of(&linked, &[0, 1, 2, 3]);
        let expected: Vec<usize> = (0..word.len()).filter(|&last| matches(&expression, &word[..=last])).collect();
        prop_assert_eq!(system.fired_in(SLOT), expected);
    }

    /// Section 3.6: the definition of LP is general enough to comprise SP; section 3.2 says what that is.
    #[test]
    fn a_simple_predicate_is_a_linked_predicate_of_one_stage_and_one_term(
        steps in schedules(30), node in 0..NODES, tag in 0..3u16,
    ) {
        let system = run(Detector::Causal, &vec![simple(node, What::Tag(tag))], &steps);
        let first = system.happened.iter().position(|event| event.node == node && occurs(event, What::Tag(tag)));
        prop_assert_eq!(system.fired_in(SLOT), Vec::from_iter(first));
    }

    /// Section 3.3: every process where an SP of the DP is satisfied can initiate the halting.
    #[test]
    fn a_disjunctive_predicate_is_a_linked_predicate_of_one_stage(
        locals in prop::collection::vec((0..NODES, 0..3u16), 0..20),
        terms in prop::collection::vec((0..NODES, 0..3u16), 1..=5),
    ) {
        let stage = terms.iter().map(|&(node, tag)| Simple { node, what: What::Tag(tag), n: 1 }).collect::<Vec<_>>();
        prop_assume!((0..NODES).all(|node| terms.iter().filter(|term| term.0 == node).count() <= 4));
        let steps: Vec<Step> = locals.iter().map(|&(node, tag)| Step::Local { node, tag }).collect();
        let system = run(Detector::Causal, &vec![stage], &steps);
        let mut expected: Vec<usize> = (0..NODES)
            .filter_map(|node| locals.iter().position(|event| event.0 == node && terms.contains(event)))
            .collect();
        expected.sort_unstable();
        prop_assert_eq!(system.fired_in(SLOT), expected);
    }

    /// Section 3.5, note: (SP)^i is a shorthand for SP -> SP -> ... -> SP.
    #[test]
    fn the_nth_occurrence_is_a_chain_of_n_stages(word in prop::collection::vec(0..3u16, 0..30), n in 1..=7u16) {
        let steps: Vec<Step> = word.iter().map(|&tag| local(tag)).collect();
        let chain = vec![simple(0, What::Tag(1)); usize::from(n)];
        let power = vec![vec![Simple { node: 0, what: What::Tag(1), n }]];
        let (chain, power) = (run(Detector::Causal, &chain, &steps), run(Detector::Causal, &power, &steps));
        prop_assert_eq!(chain.fired_in(SLOT), power.fired_in(SLOT));
    }

    /// The same for a condition that is never true at two events in a row.
    #[test]
    fn the_nth_pulse_of_a_condition_is_a_chain_of_n_stages(gaps in prop::collection::vec(1..4usize, 0..12), n in 1..=6u16) {
        let pulse = |&gap: &usize| {
            let down = (0..gap).map(|_| Step::SetWatch { node: 0, value: 0 });
            std::iter::once(Step::SetWatch { node: 0, value: 1 }).chain(down)
        };
        let steps: Vec<Step> = gaps.iter().flat_map(pulse).collect();
        let chain = vec![simple(0, What::Above(0)); usize::from(n)];
        let power = vec![vec![Simple { node: 0, what: What::Above(0), n }]];
        let (chain, power) = (run(Detector::Causal, &chain, &steps), run(Detector::Causal, &power, &steps));
        prop_assert_eq!(chain.fired_in(SLOT), power.fired_in(SLOT));
    }

    /// Section 3.5: (SP1 -> SP2) U (SP2 -> SP1) finds the ordered pairs of a conjunction, and nothing if all its pairs
    /// are unordered. The two links are armed side by side.
    #[test]
    fn an_ordered_conjunction_is_found_by_two_linked_predicates(steps in schedules(30)) {
        let (one, two) = (simple(0, What::Tag(0)), simple(1, What::Tag(1)));
        let (forth, back) = (SlotId::ALL[0], SlotId::ALL[1]);
        let mut system = System::new(Mutant::None);
        system.arm(forth, FIRST, Detector::Causal, &vec![one.clone(), two.clone()]);
        system.arm(back, FIRST, Detector::Causal, &vec![two, one]);
        steps.iter().for_each(|&step| system.step(step));

        let before = HappenedBefore::of(&system.happened);
        let all = |node: usize, tag: u16| {
            let satisfies = |&index: &usize| {
                system.happened[index].node == node && occurs(&system.happened[index], What::Tag(tag))
            };
            (0..system.happened.len()).filter(satisfies).collect::<Vec<_>>()
        };
        let pairs: Vec<(usize, usize)> = all(0, 0).iter().flat_map(|&a| all(1, 1).into_iter().map(move |b| (a, b))).collect();
        let first_after = pairs.iter().filter(|&&(a, b)| before.relates(a, b)).map(|&(_, b)| b).min();
        let first_back = pairs.iter().filter(|&&(a, b)| before.relates(b, a)).map(|&(a, _)| a).min();
        prop_assert_eq!(system.fired_in(forth), Vec::from_iter(first_after));
        prop_assert_eq!(system.fired_in(back), Vec::from_iter(first_back));
    }

    /// Section 3.6, with markers that are faster than messages: what really happened in order is never missed. (That
    /// more than that is reported is shown below.)
    #[test]
    fn swift_markers_report_no_later_than_causality(linked in linked_predicates(), steps in schedules(40)) {
        let causal = run(Detector::Causal, &linked, &steps);
        let mut marker = System::new(Mutant::None);
        marker.arm(SLOT, FIRST, Detector::Marker, &linked);
        for &step in &steps {
            marker.step(step);
            marker.deliver_markers();
        }
        if let Some(&exact) = causal.fired_in(SLOT).first() {
            prop_assert!(marker.fired_in(SLOT).first().is_some_and(|&first| first <= exact));
        }
    }

    /// However the bytes come, the verifier answers, and what it accepts can be printed and run.
    #[test]
    fn no_bytes_make_the_verifier_the_listing_or_the_evaluator_panic(
        bytes in nearly_programs(),
        watches in any::<[i32; 8]>(), stage in 1..=8u8,
    ) {
        let listing = Listing(&bytes).to_string();
        match Program::verify(&bytes) {
            Ok(program) => {
                prop_assert_eq!(program.as_bytes(), &bytes[..]);
                run_everything(&program, &watches, stage);
            }
            Err(error) => {
                prop_assert!(usize::from(error.at) <= bytes.len());
                prop_assert!(listing.contains(&error.to_string()), "{} does not say {}", listing, error);
            }
        }
    }

    /// The evaluator against a recursive one over expression trees.
    #[test]
    fn a_condition_has_the_value_of_its_expression(tree in expressions(), watches in any::<[i32; 8]>(), small in any::<[bool; 8]>()) {
        let watches: Vec<i32> = watches.iter().zip(small).map(|(&value, small)| if small { value % 3 } else { value }).collect();
        let mut condition = Vec::new();
        tree.flatten(&mut condition);
        prop_assume!(condition.len() <= MAX_STEPS);
        let Ok(program) = ProgramBuilder::new(1).push_condition_term(1, 1, &condition).finish() else {
            return Ok(()); // too long or too deep
        };
        let mut predicates = Predicates::new();
        predicates.install(SLOT, FIRST, Detector::Causal, &program).unwrap();
        predicates.enable(SLOT, FIRST).unwrap();
        for (watch, &value) in watches.iter().enumerate() {
            predicates.set_watch(watch as u8, value).unwrap();
        }
        let context = EvalContext { count: 77, epoch: 3, clock: &[0x0300_004d, 0x0900_0005] };
        let fired = predicates.after_event(&Event::local(0), &context).fired.contains(SLOT);
        prop_assert_eq!(fired, tree.value(&watches).is_some_and(|value| value != 0), "{}", program);
    }
}

/// Programs with a few bytes changed, put in, taken out or cut off.
fn nearly_programs() -> impl Strategy<Value = Vec<u8>> {
    let change = (0..40usize, any::<u8>(), 0..5u8);
    let terms = prop::collection::vec((1..=3u8, 1..4u16, prop::option::of(expressions())), 0..4);
    (terms, prop::collection::vec(change, 0..3)).prop_map(|(terms, changes)| {
        let add = |builder: ProgramBuilder, (stage, n, condition): &(u8, u16, Option<Tree>)| match condition {
            None => builder.push_event_term(*stage, *n, EventKind::Send, n.checked_sub(1)),
            Some(tree) => {
                let mut code = Vec::new();
                tree.flatten(&mut code);
                builder.push_condition_term(*stage, *n, &code)
            }
        };
        let built = terms.iter().fold(ProgramBuilder::new(3), add).finish();
        let mut bytes = built.map_or(vec![3], |program| program.as_bytes().to_vec());
        for (at, byte, how) in changes {
            match how {
                0 => bytes.insert(at.min(bytes.len()), byte),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.truncate(at),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|place| *place = byte),
            }
        }
        bytes
    })
}

/// Arms a program at a stage and lets one event of every kind happen.
fn run_everything(program: &Program, watches: &[i32; 8], stage: u8) {
    let mut predicates = Predicates::new();
    predicates.install(SLOT, FIRST, Detector::Causal, program).unwrap();
    predicates.enable(SLOT, FIRST).unwrap();
    for (watch, &value) in watches.iter().enumerate() {
        predicates.set_watch(watch as u8, value).unwrap();
    }
    let mut carry = stillpoint_core::predicate::Carry::EMPTY;
    carry.set(stillpoint_core::predicate::Reached::new(SLOT, FIRST, stage).unwrap());
    for round in 0..2 {
        for kind in EventKind::ALL {
            let context = EvalContext { count: u32::MAX, epoch: 255, clock: &[u32::MAX; 3] };
            let _ = predicates.after_event(&Event::new(kind, 0), &context);
        }
        if round == 0 {
            predicates.merge(&carry);
        }
    }
}

#[derive(Clone, Debug)]
enum Tree {
    Leaf(Op),
    Not(Box<Tree>),
    Both(Op, Box<Tree>, Box<Tree>),
}

fn expressions() -> impl Strategy<Value = Tree> {
    let relation = prop::sample::select(&Relation::ALL[..]);
    let constant = prop_oneof![-3..3i32, any::<i32>()];
    let leaf = prop_oneof![
        constant.clone().prop_map(Op::Const),
        (0..8u8).prop_map(Op::Watch),
        Just(Op::Count),
        Just(Op::Epoch),
        (0..3u8).prop_map(|node| Op::Pred(NodeId(node))),
        (0..8u8, relation.clone(), constant).prop_map(|(watch, relation, constant)| Op::WatchCompare {
            watch,
            relation,
            constant
        }),
    ];
    let plain = [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Remainder, Op::And, Op::Or];
    let both = prop_oneof![prop::sample::select(plain.to_vec()), relation.prop_map(Op::Compare)];
    leaf.prop_map(Tree::Leaf).prop_recursive(5, 14, 2, move |inner| {
        prop_oneof![
            inner.clone().prop_map(|tree| Tree::Not(Box::new(tree))),
            (both.clone(), inner.clone(), inner).prop_map(|(op, a, b)| Tree::Both(op, Box::new(a), Box::new(b))),
        ]
    })
}

impl Tree {
    fn flatten(&self, into: &mut Vec<Op>) {
        match self {
            Self::Leaf(op) => into.push(*op),
            Self::Not(tree) => {
                tree.flatten(into);
                into.push(Op::Not);
            }
            Self::Both(op, left, right) => {
                left.flatten(into);
                right.flatten(into);
                into.push(*op);
            }
        }
    }

    /// `None` if it divides by zero anywhere.
    fn value(&self, watches: &[i32]) -> Option<i32> {
        let truth = |value: bool| Some(i32::from(value));
        match self {
            Self::Leaf(Op::Const(value)) => Some(*value),
            Self::Leaf(Op::Watch(watch)) => Some(watches[usize::from(*watch)]),
            Self::Leaf(Op::Count) => Some(77),
            Self::Leaf(Op::Epoch) => Some(3),
            Self::Leaf(Op::Pred(node)) => Some([77, 5, 0][usize::from(node.0)]),
            Self::Leaf(Op::WatchCompare { watch, relation, constant }) => {
                truth(compare(*relation, watches[usize::from(*watch)], *constant))
            }
            Self::Leaf(op) => unreachable!("{op} is no leaf"),
            Self::Not(tree) => truth(tree.value(watches)? == 0),
            Self::Both(op, left, right) => {
                let (left, right) = (left.value(watches)?, right.value(watches)?);
                let (wide_left, wide_right) = (i64::from(left), i64::from(right));
                match op {
                    Op::Add => Some((wide_left + wide_right) as i32),
                    Op::Subtract => Some((wide_left - wide_right) as i32),
                    Op::Multiply => Some((wide_left * wide_right) as i32),
                    Op::Divide => wide_left.checked_div(wide_right).map(|value| value as i32),
                    Op::Remainder => wide_left.checked_rem(wide_right).map(|value| value as i32),
                    Op::And => truth(left != 0 && right != 0),
                    Op::Or => truth(left != 0 || right != 0),
                    Op::Compare(relation) => truth(compare(*relation, left, right)),
                    op => unreachable!("{op} does not take two"),
                }
            }
        }
    }
}

fn compare(relation: Relation, left: i32, right: i32) -> bool {
    match relation {
        Relation::Less => left < right,
        Relation::Equal => left == right,
        Relation::AtMost => left <= right,
        Relation::Greater => left > right,
        Relation::Unequal => left != right,
        Relation::AtLeast => left >= right,
    }
}

/// A condition that stays true is one occurrence; but a new stage looks afresh, and finds it true.
#[test]
fn a_condition_that_stays_true_counts_once_per_stage_and_not_once_per_event() {
    let steps = [Step::SetWatch { node: 0, value: 1 }, local(0), local(0), local(0)];
    let power = vec![vec![Simple { node: 0, what: What::Above(0), n: 2 }]];
    assert_eq!(run(Detector::Causal, &power, &steps).fired_in(SLOT), []);
    let chain = vec![simple(0, What::Above(0)); 2];
    assert_eq!(run(Detector::Causal, &chain, &steps).fired_in(SLOT), [1]);
}

/// Figure 4: SP1 -> SP2 finds (t11, t21), SP1 -> (SP2)^2 finds (t11, t22).
#[test]
fn the_power_of_the_second_link_chooses_the_time_pair() {
    let steps = [
        local(1),
        Step::Send { from: 0, to: 1 },
        Step::Local { node: 1, tag: 2 },
        Step::Receive { from: 0, to: 1 },
        Step::Local { node: 1, tag: 2 },
        Step::Local { node: 1, tag: 2 },
    ];
    for (n, detected_at) in [(1, 4), (2, 5)] {
        let linked = vec![simple(0, What::Tag(1)), vec![Simple { node: 1, what: What::Tag(2), n }]];
        assert_eq!(run(Detector::Causal, &linked, &steps).fired_in(SLOT), [detected_at]);
    }
}

fn a_on_0_then_b_on_1() -> Linked {
    vec![simple(0, What::Tag(1)), simple(1, What::Tag(2))]
}

/// Section 3.6 takes the marker's own arrival for order; the causal detector does not.
#[test]
fn a_b_that_is_concurrent_with_a_is_reported_by_markers_and_not_by_causality() {
    let concurrent = [local(1), Step::Local { node: 1, tag: 2 }];
    assert_eq!(run(Detector::Causal, &a_on_0_then_b_on_1(), &concurrent).fired_in(SLOT), []);

    let mut marker = System::new(Mutant::None);
    marker.arm(SLOT, FIRST, Detector::Marker, &a_on_0_then_b_on_1());
    marker.step(concurrent[0]);
    marker.deliver_markers();
    marker.step(concurrent[1]);
    assert_eq!(marker.fired_in(SLOT), [1]);
}

/// A marker may be slower than the program's own messages, and then comes too late.
#[test]
fn a_b_that_overtakes_the_marker_is_missed_by_markers_and_not_by_causality() {
    let ordered =
        [local(1), Step::Send { from: 0, to: 1 }, Step::Receive { from: 0, to: 1 }, Step::Local { node: 1, tag: 2 }];
    assert_eq!(run(Detector::Causal, &a_on_0_then_b_on_1(), &ordered).fired_in(SLOT), [3]);
    let mut marker = run(Detector::Marker, &a_on_0_then_b_on_1(), &ordered);
    assert!(marker.deliver_markers() > 0);
    assert_eq!(marker.fired_in(SLOT), []);
}

/// Each of the three nodes hears of a stage once and forwards it once: at most one marker per directed edge.
#[test]
fn a_flood_ends_and_reaches_nodes_without_the_program() {
    let mut system = System::new(Mutant::None);
    system.arm(SLOT, FIRST, Detector::Marker, &a_on_0_then_b_on_1());
    system.step(local(1));
    let arrived = system.deliver_markers();
    assert!((NODES - 1..=NODES * (NODES - 1)).contains(&arrived), "{arrived} markers");
    assert!(system.nodes.iter().all(|node| node.reached(SLOT).is_some_and(|reached| reached.stage() == 1)));
}

#[test]
fn a_stage_travels_through_a_node_that_has_no_program() {
    let linked = vec![simple(0, What::Tag(1)), simple(2, What::Tag(2))];
    let steps = [
        local(1),
        Step::Send { from: 0, to: 1 },
        Step::Receive { from: 0, to: 1 },
        Step::Send { from: 1, to: 2 },
        Step::Receive { from: 1, to: 2 },
        Step::Local { node: 2, tag: 2 },
    ];
    let system = run(Detector::Causal, &linked, &steps);
    assert!(system.nodes[1].installed(SLOT).is_none());
    assert_eq!(system.fired_in(SLOT), [5]);
}

/// What the causal detector must get right: after any earlier use of the slot, whose messages may still be under way,
/// it fires exactly where brute force over happened-before says.
fn exact(mutant: Mutant, earlier: &(Linked, Vec<Step>), linked: &Linked, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut system = System::new(mutant);
    system.arm(SLOT, FIRST, Detector::Causal, &earlier.0);
    earlier.1.iter().for_each(|&step| system.step(step));
    let start = system.happened.len();
    system.fired.clear();
    system.arm(SLOT, SECOND, Detector::Causal, linked);
    steps.iter().for_each(|&step| system.step(step));
    prop_assert_eq!(system.fired_in(SLOT), detections(&system.happened, start, linked));
    Ok(())
}

fn check_exactness(mutant: Mutant) -> bool {
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, proptest::test_runner::TestRng::deterministic_rng(Default::default()));
    let inputs = ((linked_predicates(), schedules(20)), linked_predicates(), schedules(100));
    runner.run(&inputs, |(earlier, linked, steps)| exact(mutant, &earlier, &linked, &steps)).is_ok()
}

proptest! {
    #![proptest_config(Config::with_cases(CASES))]

    #[test]
    fn the_causal_detector_fires_exactly_where_happened_before_says(
        earlier in (linked_predicates(), schedules(20)), linked in linked_predicates(), steps in schedules(100),
    ) {
        exact(Mutant::None, &earlier, &linked, &steps)?;
    }
}

/// The property must be able to fail: each of these mistakes breaks it, and their absence does not.
#[test]
fn without_a_mutant_the_exactness_check_holds() {
    assert!(check_exactness(Mutant::None));
}

#[test]
fn a_stage_not_forwarded_by_an_unarmed_node_is_caught() {
    assert!(!check_exactness(Mutant::UnarmedNodeForgets));
}

#[test]
fn a_condition_counted_on_level_instead_of_edge_is_caught() {
    assert!(!check_exactness(Mutant::LevelInsteadOfEdge));
}

#[test]
fn two_stages_advanced_by_one_event_are_caught() {
    assert!(!check_exactness(Mutant::ManyStagesPerEvent));
}

#[test]
fn a_stale_generation_obeyed_is_caught() {
    assert!(!check_exactness(Mutant::StaleGenerationObeyed));
}

#[test]
fn a_stage_attached_before_its_send_is_evaluated_is_caught() {
    assert!(!check_exactness(Mutant::CarryBeforeSend));
}

#[test]
fn a_stage_merged_after_its_receive_is_evaluated_is_caught() {
    assert!(!check_exactness(Mutant::MergeAfterReceive));
}
