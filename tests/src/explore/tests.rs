//! The models that are small enough for every `cargo test`; `--bin explore` runs all of them.
use super::models;
use super::search::{Limits, Report, Verdict, explore};
use super::world::World;
use std::time::Duration;

const NO_LIMIT: Limits = Limits { states: usize::MAX, time: Duration::MAX };

fn world(name: &str) -> World {
    World::new(models::all().into_iter().find(|config| config.name == name).expect("a model of this name"))
}

fn mutant(name: &str) -> Report {
    let (_, config) = models::mutants().into_iter().find(|(mutant, _)| *mutant == name).expect("a mutant of this name");
    explore(&World::new(config), NO_LIMIT, |_| ())
}

#[test]
fn a_pipeline_with_initiators_at_both_ends_is_exhausted_and_met_all_it_is_there_for() {
    let world = world("line");
    let report = explore(&world, NO_LIMIT, |_| ());
    assert_eq!(report.verdict, Verdict::Exhausted);
    assert_eq!(world.unseen().next(), None);
    assert!(report.states > 10_000 && report.ends > 100, "{report:?}");
}

#[test]
fn linked_predicates_fire_exactly_when_they_should_by_either_detector() {
    for name in ["causal-predicate", "marker-predicate"] {
        let world = world(name);
        assert_eq!(explore(&world, NO_LIMIT, |_| ()).verdict, Verdict::Exhausted);
        assert_eq!(world.unseen().next(), None);
    }
}

#[test]
fn a_model_that_was_cut_off_is_not_exhausted() {
    let report = explore(&world("line"), Limits { states: 5_000, ..NO_LIMIT }, |_| ());
    assert!(matches!(report.verdict, Verdict::NotExhausted(_)));
}

#[test]
fn a_mutant_is_caught_by_the_property_it_breaks_and_its_run_can_be_read() {
    let Verdict::Broken(found) = mutant("stage not forwarded by an unarmed node").verdict else { panic!("not caught") };
    assert_eq!(found.broken.property, super::properties::FIRES);
    let (action, _) = found.steps.last().unwrap();
    assert_eq!(action, "node 2 has a local event");
    assert!(found.steps[0].1.contains("node 0: running"), "{}", found.steps[0].1);
}
