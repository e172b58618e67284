use super::*;
use crate::expr::resolve::tests::directory;
use crate::expr::{parse, resolve};
use stillpoint_core::predicate::Detector;

fn resolved(text: &str) -> Resolved {
    resolve(&parse(text).unwrap(), &directory()).unwrap()
}

/// What each node gets, as core lists it.
fn listings(text: &str) -> Vec<String> {
    let compiled = compile(&resolved(text), &directory()).unwrap();
    compiled.programs.iter().map(|(_, program)| program.to_string()).collect()
}

fn refused(text: &str) -> ExprError {
    compile(&resolved(text), &directory()).unwrap_err()
}

#[test]
fn every_node_gets_its_own_terms_and_knows_how_many_stages_there_are() {
    assert_eq!(
        listings("left:send(ring)^3 -> n1.holding == 1 | left.laps > 10"),
        ["of 2: 1: send(0)^3; 2: watch1>10", "of 2: 2: watch0==1"]
    );
    assert_eq!(listings("left:fault"), ["of 1: 1: fault", "of 1: nothing here"]);
    assert_eq!(listings("left:trace(twice)")[0], "of 1: 1: local(9); 1: local(12)");
}

#[test]
fn conditions_of_one_node_joined_by_and_are_one_condition() {
    assert_eq!(listings("left.holding == 1 & left.laps > 3")[0], "of 1: 1: watch0==1 watch1>3 and");
    assert_eq!(resolved("left.holding == 1 & left.laps > 3").class(), Class::Simple);
}

#[test]
fn a_conjunction_over_nodes_is_refused_with_what_can_be_done_instead() {
    let text = "left.holding == 1 & n1.holding == 1";
    let error = refused(text);
    assert_eq!(resolved(text).class(), Class::Conjunctive);
    assert_eq!(error.span, 0..text.len());
    assert!(error.problem.contains("left and n1"), "{error}");
    assert!(error.advice.contains("detect"), "{error}");
    assert!(
        error.advice.contains("'left.holding == 1 -> n1.holding == 1' or 'n1.holding == 1 -> left.holding == 1'"),
        "{error}"
    );
    assert!(compile(&resolved("left:fault -> left.holding & n1.holding"), &directory()).is_err(), "also as a stage");
}

#[test]
fn an_event_and_a_condition_at_once_are_refused_with_the_ordered_form() {
    let error = refused("left:send(ring) & left.holding == 1");
    assert!(error.advice.contains("left.holding == 1 -> left:send(ring)"), "{error}");
    assert!(refused("left.holding == 1 ^2 & left.laps").problem.contains("^n"));
}

#[test]
fn what_does_not_fit_says_which_part_to_shorten() {
    let long = "left.laps * 70000 + holding * 80000 + laps * 90000 + holding * 100000 > 5 | left:send(ring)";
    let error = refused(long);
    assert!(error.problem.contains("the part of left takes") && error.problem.contains("room for 32"), "{error}");
    assert!(error.advice.contains("`left:send(ring)` takes 4"), "{error}");
    assert!(long[error.span].starts_with("left.laps"));
    let wide = ["left:fault"; 5].join(" | ");
    assert!(refused(&wide).problem.contains("more than 4 alternatives"));
    let many = ["left:fault | left:reset"; 5].join(" -> ").replace("reset", "timer");
    assert!(refused(&many).problem.contains("more than 8 places"));
}

#[test]
fn a_reset_stands_alone() {
    assert!(refused("left:reset -> n1:fault").problem.contains("reset"));
    let promise = resolved("left:reset | n1:fault").promise(Detector::Causal, &directory());
    assert!(promise.limits.iter().any(|limit| limit.contains("the host watches")), "{promise:?}");
}

#[test]
fn each_class_says_what_it_promises() {
    let promise = |text: &str, detector| {
        let resolved = resolved(text);
        (resolved.class(), resolved.promise(detector, &directory()))
    };
    let (class, simple) = promise("left:fault", Detector::Causal);
    assert!(class == Class::Simple && simple.limits.is_empty() && simple.holds.starts_with("exact"));
    let (class, either) = promise("left:fault | n1:fault", Detector::Causal);
    assert!(class == Class::Disjunctive && either.limits[0].contains("both are shown"));
    let (class, causal) = promise("left:fault -> n1:fault", Detector::Causal);
    assert!(class == Class::Linked && causal.holds.starts_with("exact") && causal.limits.len() == 1);
    let (_, markers) = promise("left:fault -> n1:fault", Detector::Marker);
    assert!(markers.limits[0].contains("too much") && markers.limits[1].contains("may miss"));
}

#[test]
fn a_name_with_several_places_is_said_to_be_counted_at_each() {
    let limits = |text: &str| resolved(text).promise(Detector::Causal, &directory()).limits;
    assert_eq!(
        limits("left:trace(twice)^2"),
        ["2 places in the firmware have the name in `left:trace(twice)^2`, and each counts for itself"]
    );
    assert!(limits("left:trace(twice)").is_empty() && limits("left:trace(taken)^2").is_empty());
}

#[test]
fn a_stage_that_no_message_leads_to_is_named() {
    let limits = |text: &str, detector| resolved(text).promise(detector, &directory()).limits;
    let gap = |limit: &String| limit.contains("stage 2 can never be reached: no message gets from n1 to left");
    assert!(limits("n1:fault -> left:fault", Detector::Causal).iter().any(gap));
    assert!(!limits("n1:fault -> left:fault", Detector::Marker).iter().any(gap));
    assert!(!limits("n1:fault -> n1:fault", Detector::Causal).iter().any(gap), "a node reaches itself");
}
