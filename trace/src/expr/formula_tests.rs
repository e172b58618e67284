use super::*;
use proptest::prelude::*;
use stillpoint_core::predicate::{
    Defect, Detector, EvalContext, Generation, Predicates, ProgramBuilder, Relation, SlotId, WATCHES,
};
use stillpoint_core::{Event, MAX_NODES};

const SLOT: SlotId = SlotId::ALL[0];

fn operators() -> impl Strategy<Value = Operator> {
    use Operator::{Add, And, Compare, Divide, Multiply, Or, Remainder, Subtract};
    let plain = prop::sample::select(vec![Add, Subtract, Multiply, Divide, Remainder, And, Or]);
    prop_oneof![plain, prop::sample::select(Relation::ALL.to_vec()).prop_map(Compare)]
}

/// Small numbers collide and divide by zero, large ones wrap.
fn numbers() -> impl Strategy<Value = i32> {
    prop_oneof![4 => -3..=3, 1 => any::<i32>(), 1 => prop::sample::select(vec![i32::MIN, i32::MAX, 127, 128, -129, 32768])]
}

fn formulas() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![
        2 => numbers().prop_map(Formula::Const),
        3 => (0..WATCHES as u8).prop_map(Formula::Watch),
        1 => Just(Formula::Count),
        1 => Just(Formula::Epoch),
        1 => (0..MAX_NODES as u8).prop_map(|node| Formula::Pred(NodeId(node))),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|inner| Formula::Not(Box::new(inner))),
            5 => (operators(), inner.clone(), inner).prop_map(|(operator, left, right)| Formula::binary(operator, left, right)),
        ]
    })
}

/// Whether core's evaluator finds that the condition holds: one stage, one event.
fn on_the_target(formula: &Formula, at: &Surroundings<'_>) -> Result<bool, Defect> {
    let program = ProgramBuilder::new(1).push_condition_term(1, 1, &formula.instructions()).finish();
    let program = program.map_err(|error| error.defect)?;
    let mut predicates = Predicates::new();
    predicates.install(SLOT, Generation(1), Detector::Causal, &program).unwrap();
    predicates.enable(SLOT, Generation(1)).unwrap();
    for (watch, value) in (0..).zip(at.watches) {
        predicates.set_watch(watch, *value).unwrap();
    }
    let clock: Vec<u32> = at.clock.iter().map(|number| number.0).collect();
    let context = EvalContext { count: at.number.count(), epoch: at.number.epoch(), clock: &clock };
    Ok(predicates.after_event(&Event::local(0), &context).fired.contains(SLOT))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn what_the_target_computes_is_what_the_expression_says(
        formula in formulas(),
        watches in prop::array::uniform8(numbers()),
        own in any::<u32>(),
        clock in prop::collection::vec(prop_oneof![0u32..4, any::<u32>()], 0..5),
    ) {
        let clock: Vec<_> = clock.into_iter().map(EventNumber).collect();
        let at = Surroundings { watches: &watches, number: EventNumber(own), clock: &clock };
        match on_the_target(&formula, &at) {
            Ok(holds) => prop_assert_eq!(holds, formula.holds(&at), "{:?} as {:?}", formula, formula.instructions()),
            Err(defect) => prop_assert!(matches!(defect, Defect::TooLong(_) | Defect::StackOverflow), "{:?}", defect),
        }
    }
}

fn watch(number: u8) -> Formula {
    Formula::Watch(number)
}

#[test]
fn a_watch_compared_with_a_constant_is_one_instruction_however_it_is_written() {
    let expected = |relation| [Op::WatchCompare { watch: 2, relation, constant: 5 }];
    let compare = |relation, left, right| Formula::binary(Operator::Compare(relation), left, right);
    let less = compare(Relation::Less, watch(2), Formula::Const(5));
    assert_eq!(less.instructions(), expected(Relation::Less));
    assert_eq!(compare(Relation::Less, Formula::Const(5), watch(2)).instructions(), expected(Relation::Greater));
    assert_eq!(Formula::Not(Box::new(less)).instructions(), expected(Relation::AtLeast));
    let sum = Formula::binary(Operator::Add, Formula::Const(2), Formula::Const(3));
    assert_eq!(compare(Relation::Equal, watch(2), sum).instructions(), expected(Relation::Equal));
}

#[test]
fn a_constant_division_by_zero_is_left_to_make_the_condition_false() {
    let broken = Formula::binary(Operator::Divide, Formula::Const(1), Formula::Const(0));
    let or_true = Formula::binary(Operator::Or, Formula::Const(1), broken);
    let at = Surroundings { watches: &[], number: EventNumber(1), clock: &[] };
    assert!(!or_true.holds(&at));
    assert_eq!(on_the_target(&or_true, &at), Ok(false));
}

#[test]
fn the_deeper_side_goes_first_so_that_leaning_either_way_takes_the_same_stack() {
    let lean = |right: bool| {
        (0..12).fold(watch(0), |inner, _| {
            let (left, other) = if right { (watch(1), inner) } else { (inner, watch(1)) };
            Formula::binary(Operator::Add, left, other)
        })
    };
    let at = Surroundings { watches: &[1; 8], number: EventNumber(1), clock: &[] };
    assert_eq!(on_the_target(&lean(true), &at), Ok(true));
    assert_eq!(lean(true).depth(), lean(false).depth());
}
