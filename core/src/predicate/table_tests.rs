use super::*;
use crate::predicate::{Defect, Op, ProgramBuilder, Relation};
use crate::{EventKind, PortId};
use stillpoint_test::test;

const A: SlotId = SlotId::ALL[0];
const D: SlotId = SlotId::ALL[3];
const G1: Generation = Generation(1);
const G2: Generation = Generation(2);

fn reached(slot: SlotId, generation: Generation, stage: u8) -> Reached {
    Reached::new(slot, generation, stage).unwrap()
}

fn carrying(reached: Reached) -> Carry {
    let mut carry = Carry::EMPTY;
    carry.set(reached);
    carry
}

/// A node that looks for `local(1) -> local(2) -> ...`, or for the stages of it that `mine` names.
fn chain(stages: u8, mine: &[u8]) -> Program {
    let start = ProgramBuilder::new(stages);
    let add = |builder: ProgramBuilder, &stage: &u8| {
        builder.push_event_term(stage, 1, EventKind::Local, Some(u16::from(stage)))
    };
    mine.iter().fold(start, add).finish().unwrap()
}

fn armed(detector: Detector, program: &Program) -> Predicates {
    let mut predicates = Predicates::new();
    predicates.install(A, G1, detector, program).unwrap();
    predicates.enable(A, G1).unwrap();
    predicates
}

fn happens(predicates: &mut Predicates, event: Event) -> Outcome {
    predicates.after_event(&event, &EvalContext { count: 1, epoch: 0, clock: &[] })
}

fn local(predicates: &mut Predicates, tag: u16) -> Outcome {
    happens(predicates, Event::local(tag))
}

/// Armed again where it fired, a condition does not fire a second time for the same change.
#[test]
fn a_condition_that_held_when_armed_occurs_only_after_it_was_false() {
    let hundred = [Op::Watch(0), Op::Const(100), Op::Remainder, Op::Const(0), Op::Compare(Relation::Equal)];
    let seven = [Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: 107 }];
    let either =
        ProgramBuilder::new(1).push_condition_term(1, 1, &hundred).push_condition_term(1, 1, &seven).finish().unwrap();
    let mut watches = [0; WATCHES];
    watches[0] = 100;
    let context = EvalContext { count: 1, epoch: 0, clock: &[] };
    let held = either.with_held(&watches, &context);
    assert!(held.terms().map(|term| term.held).eq([true, false]), "{held}");
    // It stays true for some events, becomes false, and is true in the next hundred; or another term comes true first.
    let mut predicates = armed(Detector::Causal, &held);
    assert!(![100, 100, 101, 199].into_iter().any(|lap| watch_becomes(&mut predicates, lap)));
    assert!(watch_becomes(&mut predicates, 200));
    let mut predicates = armed(Detector::Causal, &held);
    assert!(watch_becomes(&mut predicates, 107));
    // False at the very next event: the one after that counts.
    let mut predicates = armed(Detector::Causal, &held);
    assert!(!watch_becomes(&mut predicates, 101) && watch_becomes(&mut predicates, 200));
    // Not marked, it fires at once.
    assert!(watch_becomes(&mut armed(Detector::Causal, &either), 100));
}

/// Sets watch 0 and lets something happen; whether slot A fired.
fn watch_becomes(predicates: &mut Predicates, value: i32) -> bool {
    predicates.set_watch(0, value).unwrap();
    local(predicates, 99).fired.contains(A)
}

fn watch_above_ten(stages: u8, stage: u8, n: u16) -> Program {
    let above = Op::WatchCompare { watch: 0, relation: Relation::Greater, constant: 10 };
    ProgramBuilder::new(stages).push_condition_term(stage, n, &[above]).finish().unwrap()
}

#[test]
fn with_nothing_armed_the_table_is_idle_and_says_nothing() {
    let mut predicates = Predicates::new();
    assert!(predicates.is_idle() && !predicates.has_carry() && predicates.carry().is_empty());
    assert!(local(&mut predicates, 1).is_empty());
    assert_eq!(predicates, Predicates::default());
}

#[test]
fn stage_one_does_not_count_before_it_is_enabled() {
    let mut predicates = Predicates::new();
    predicates.install(A, G1, Detector::Causal, &chain(1, &[1])).unwrap();
    assert!(predicates.is_idle() && local(&mut predicates, 1).is_empty());
    assert_eq!(predicates.enable(A, G2), Err(EnableError::OtherGeneration { installed: G1 }));
    assert_eq!(predicates.enable(D, G1), Err(EnableError::NotInstalled));
    predicates.enable(A, G1).unwrap();
    assert!(local(&mut predicates, 1).fired.contains(A));
}

#[test]
fn later_stages_need_no_enabling() {
    let mut predicates = Predicates::new();
    predicates.install(A, G1, Detector::Causal, &chain(2, &[1, 2])).unwrap();
    predicates.merge(&carrying(reached(A, G1, 1)));
    assert!(local(&mut predicates, 2).fired.contains(A));
}

#[test]
fn an_event_without_argument_matches_any_and_with_one_only_that() {
    let any = ProgramBuilder::new(1).push_event_term(1, 1, EventKind::Send, None).finish().unwrap();
    let port_2 = ProgramBuilder::new(1).push_event_term(1, 1, EventKind::Send, Some(2)).finish().unwrap();
    assert!(!happens(&mut armed(Detector::Causal, &any), Event::receive(PortId(5))).fired.contains(A));
    assert!(happens(&mut armed(Detector::Causal, &any), Event::send(PortId(5))).fired.contains(A));
    assert!(!happens(&mut armed(Detector::Causal, &port_2), Event::send(PortId(5))).fired.contains(A));
    assert!(happens(&mut armed(Detector::Causal, &port_2), Event::send(PortId(2))).fired.contains(A));
}

#[test]
fn any_term_of_a_stage_satisfies_it_and_each_counts_for_itself() {
    let program = ProgramBuilder::new(1)
        .push_event_term(1, 2, EventKind::Local, Some(1))
        .push_event_term(1, 300, EventKind::Local, Some(2))
        .finish()
        .unwrap();
    let mut predicates = armed(Detector::Causal, &program);
    assert!(local(&mut predicates, 1).is_empty());
    assert!((0..299).all(|_| local(&mut predicates, 2).is_empty()));
    assert!(local(&mut predicates.clone(), 1).fired.contains(A));
    assert!(local(&mut predicates, 2).fired.contains(A));
}

#[test]
fn one_event_advances_at_most_one_stage() {
    let program = ProgramBuilder::new(2)
        .push_event_term(1, 1, EventKind::Timer, None)
        .push_event_term(2, 1, EventKind::Timer, None)
        .finish()
        .unwrap();
    let mut predicates = armed(Detector::Causal, &program);
    let timer = Event::new(EventKind::Timer, 0);
    let first = happens(&mut predicates, timer);
    assert!(first.advanced.contains(A) && first.fired.is_empty());
    assert_eq!(predicates.reached(A), Some(reached(A, G1, 1)));
    assert!(happens(&mut predicates, timer).fired.contains(A));
}

#[test]
fn a_condition_occurs_when_it_becomes_true_not_while_it_stays_true() {
    let short = [Op::WatchCompare { watch: 0, relation: Relation::Greater, constant: 10 }];
    let long = [Op::Watch(0), Op::Const(10), Op::Compare(Relation::Greater)];
    for condition in [&short[..], &long[..]] {
        let program = ProgramBuilder::new(1).push_condition_term(1, 2, condition).finish().unwrap();
        let mut predicates = armed(Detector::Causal, &program);
        assert!(!watch_becomes(&mut predicates, 11));
        assert!(!watch_becomes(&mut predicates, 12));
        assert!(!watch_becomes(&mut predicates, 10));
        assert!(watch_becomes(&mut predicates, 11));
    }
}

#[test]
fn a_condition_that_is_true_when_its_stage_arrives_occurs_at_once() {
    let mut predicates = armed(Detector::Causal, &watch_above_ten(2, 2, 1));
    assert!(!watch_becomes(&mut predicates, 11));
    predicates.merge(&carrying(reached(A, G1, 1)));
    assert!(happens(&mut predicates, Event::receive(PortId(0))).fired.contains(A));
}

#[test]
fn occurrences_before_the_stage_arrived_do_not_count() {
    let mut predicates = armed(Detector::Causal, &watch_above_ten(2, 2, 2));
    for value in [11, 0, 11, 0, 11] {
        assert!(!watch_becomes(&mut predicates, value));
    }
    predicates.merge(&carrying(reached(A, G1, 1)));
    assert!(!watch_becomes(&mut predicates, 11), "the first: it was true on arrival");
    assert!(!watch_becomes(&mut predicates, 0));
    assert!(watch_becomes(&mut predicates, 11), "the second");
}

#[test]
fn after_an_advance_by_this_node_a_true_condition_occurs_at_the_next_event() {
    let above = Op::WatchCompare { watch: 0, relation: Relation::Greater, constant: 10 };
    let program = ProgramBuilder::new(2)
        .push_condition_term(1, 1, &[above])
        .push_condition_term(2, 1, &[above])
        .finish()
        .unwrap();
    let mut predicates = armed(Detector::Causal, &program);
    assert!(!watch_becomes(&mut predicates, 11));
    assert!(watch_becomes(&mut predicates, 11));
}

#[test]
fn the_receive_of_a_stage_can_itself_satisfy_the_next() {
    let program = ProgramBuilder::new(2).push_event_term(2, 1, EventKind::Receive, Some(0)).finish().unwrap();
    let mut predicates = armed(Detector::Causal, &program);
    assert!(happens(&mut predicates, Event::receive(PortId(0))).is_empty());
    assert_eq!(predicates.merge(&carrying(reached(A, G1, 1))), SlotSet::EMPTY.with(A));
    assert!(happens(&mut predicates, Event::receive(PortId(0))).fired.contains(A));
}

#[test]
fn a_stage_satisfied_by_a_send_travels_with_that_message() {
    let program = ProgramBuilder::new(2).push_event_term(1, 1, EventKind::Send, Some(0)).finish().unwrap();
    let mut predicates = armed(Detector::Causal, &program);
    assert!(predicates.carry().is_empty());
    let _ = happens(&mut predicates, Event::send(PortId(0)));
    assert_eq!(predicates.carry(), carrying(reached(A, G1, 1)));
}

#[test]
fn a_node_without_the_program_passes_on_what_it_hears() {
    let mut predicates = Predicates::new();
    predicates.merge(&carrying(reached(D, G1, 2)));
    assert!(predicates.is_idle() && predicates.has_carry());
    assert_eq!(predicates.carry(), carrying(reached(D, G1, 2)));
    predicates.merge(&carrying(reached(D, G1, 1)));
    assert_eq!(predicates.carry(), carrying(reached(D, G1, 2)), "an earlier stage of another sender changes nothing");
}

#[test]
fn a_newer_generation_replaces_and_an_older_is_ignored() {
    let mut predicates = armed(Detector::Causal, &chain(2, &[2]));
    predicates.merge(&carrying(reached(A, Generation(0), 1)));
    assert!(local(&mut predicates, 2).is_empty(), "stage 1 of the last use of the slot is not ours");
    predicates.merge(&carrying(reached(A, G2, 1)));
    assert!(predicates.is_idle() && predicates.installed(A).is_none());
    assert_eq!(predicates.carry(), carrying(reached(A, G2, 1)));
    let refused = predicates.install(A, G1, Detector::Causal, &chain(2, &[2]));
    assert_eq!(refused, Err(InstallError::OldGeneration { known: G2 }));
}

#[test]
fn a_program_that_comes_late_keeps_the_stage_already_heard() {
    let mut predicates = Predicates::new();
    predicates.merge(&carrying(reached(A, G1, 1)));
    predicates.install(A, G1, Detector::Causal, &chain(2, &[2])).unwrap();
    predicates.enable(A, G1).unwrap();
    assert!(local(&mut predicates, 2).fired.contains(A));
}

#[test]
fn installing_the_same_again_changes_nothing_and_something_else_is_refused() {
    let program = chain(3, &[1, 2, 3]);
    let mut predicates = armed(Detector::Causal, &program);
    let _ = local(&mut predicates, 1);
    let before = predicates.clone();
    assert_eq!(predicates.install(A, G1, Detector::Causal, &program), Ok(()));
    assert_eq!(predicates.enable(A, G1), Ok(()));
    let refused = Err(InstallError::GenerationUsed);
    assert_eq!(predicates.install(A, G1, Detector::Causal, &chain(3, &[1])), refused);
    assert_eq!(predicates.install(A, G1, Detector::Marker, &program), refused);
    assert_eq!(predicates, before);
}

#[test]
fn late_news_do_not_bring_back_what_was_removed() {
    let mut predicates = armed(Detector::Causal, &chain(2, &[1, 2]));
    let _ = local(&mut predicates, 1);
    predicates.remove(A);
    predicates.merge(&carrying(reached(A, G1, 1)));
    assert!(predicates.is_idle() && !predicates.has_carry() && predicates.installed(A).is_none());
    assert_eq!(predicates.install(A, G1, Detector::Causal, &chain(1, &[1])), Err(InstallError::GenerationUsed));
    assert_eq!(predicates.install(A, G2, Detector::Causal, &chain(1, &[1])), Ok(()));
    predicates.remove(D);
    assert_eq!(predicates.install(D, Generation(200), Detector::Causal, &chain(1, &[1])), Ok(()));
}

#[test]
fn who_satisfies_the_last_stage_fires_once_and_who_hears_of_it_stops_looking() {
    let mut predicates = armed(Detector::Causal, &chain(1, &[1]));
    let mut other = predicates.clone();
    assert!(local(&mut predicates, 1).fired.contains(A) && predicates.has_fired(A));
    assert!(predicates.is_idle() && local(&mut predicates, 1).is_empty());
    other.merge(&predicates.carry());
    assert!(other.is_idle() && local(&mut other, 1).is_empty() && !other.has_fired(A));
}

#[test]
fn a_stage_the_predicate_does_not_have_is_ignored() {
    let mut predicates = armed(Detector::Causal, &chain(2, &[1, 2]));
    let before = predicates.clone();
    assert!(predicates.merge(&carrying(reached(A, G1, 3))).is_empty());
    assert_eq!(predicates, before);
}

#[test]
fn the_marker_detector_announces_and_forwards_each_stage_once_and_carries_nothing() {
    let mut first = armed(Detector::Marker, &chain(2, &[1]));
    let outcome = local(&mut first, 1);
    assert!(outcome.announce.contains(A) && outcome.fired.is_empty() && !first.has_carry());
    let marker = first.reached(A).unwrap();
    let mut relay = Predicates::new();
    assert!(relay.on_marker(marker) && !relay.on_marker(marker) && !relay.has_carry());
    assert!(!first.on_marker(marker), "its own marker coming back is not news");
    let mut last = armed(Detector::Marker, &chain(2, &[2]));
    assert!(local(&mut last, 2).is_empty());
    assert!(last.on_marker(marker));
    let outcome = local(&mut last, 2);
    assert!(outcome.fired.contains(A) && outcome.announce.contains(A));
    assert!(relay.on_marker(last.reached(A).unwrap()) && !relay.on_marker(marker));
}

#[test]
fn neither_detector_advances_predicates_of_the_other() {
    let mut causal = armed(Detector::Causal, &chain(2, &[2]));
    assert!(!causal.on_marker(reached(A, G1, 1)) && local(&mut causal, 2).is_empty());
    let mut marker = armed(Detector::Marker, &chain(2, &[2]));
    assert!(marker.merge(&carrying(reached(A, G1, 1))).is_empty() && local(&mut marker, 2).is_empty());
}

#[test]
fn four_predicates_go_their_own_ways() {
    let mut predicates = Predicates::new();
    for slot in SlotId::ALL {
        predicates.install(slot, G1, Detector::Causal, &chain(2, &[1, 2])).unwrap();
    }
    for slot in [SlotId::ALL[1], D] {
        predicates.enable(slot, G1).unwrap();
    }
    assert_eq!(local(&mut predicates, 1).advanced, SlotSet::EMPTY.with(SlotId::ALL[1]).with(D));
    predicates.enable(A, G1).unwrap();
    assert_eq!(local(&mut predicates, 1).advanced, SlotSet::EMPTY.with(A));
    predicates.remove(D);
    assert_eq!(local(&mut predicates, 2).fired, SlotSet::EMPTY.with(A).with(SlotId::ALL[1]));
    assert_eq!(predicates.carry().iter().count(), 2);
}

/// What explores the states of nodes relies on it.
#[test]
fn tables_that_know_the_same_are_equal_however_they_came_to_know_it() {
    let program = ProgramBuilder::new(2)
        .push_event_term(1, 1, EventKind::Local, Some(1))
        .push_event_term(1, 2, EventKind::Local, Some(2))
        .finish()
        .unwrap();
    let (mut straight, mut roundabout) = (armed(Detector::Causal, &program), armed(Detector::Causal, &program));
    let _ = local(&mut straight, 1);
    let _ = local(&mut roundabout, 2);
    assert_ne!(straight, roundabout);
    let _ = local(&mut roundabout, 1);
    assert_eq!(straight, roundabout);
}

#[test]
fn a_watch_out_of_range_is_refused() {
    let mut predicates = Predicates::new();
    assert_eq!(predicates.set_watch(8, 1), Err(WatchError::OutOfRange(8)));
    assert_eq!(predicates, Predicates::new());
    assert_eq!(predicates.set_watch(7, -5), Ok(()));
    assert_eq!((predicates.watch(7), predicates.watch(8)), (Some(-5), None));
}

#[test]
fn a_term_at_the_very_end_of_the_program_space_is_evaluated() {
    let wide = Op::WatchCompare { watch: 1, relation: Relation::Equal, constant: 0x12345 };
    let narrow = Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: -5 };
    let mut builder = ProgramBuilder::new(2);
    for _ in 0..3 {
        builder = builder.push_event_term(1, 2, EventKind::Local, Some(0x0101));
    }
    builder = builder.push_condition_term(1, 1, &[wide]).push_condition_term(2, 2, &[narrow]);
    let too_long = builder.clone().push_event_term(2, 1, EventKind::Fault, None).finish();
    assert_eq!(too_long.unwrap_err().defect, Defect::TooLong(34));
    let program = builder.finish().unwrap();
    assert_eq!(program.as_bytes().len(), 32);

    let mut predicates = armed(Detector::Causal, &program);
    predicates.set_watch(1, 0x12345).unwrap();
    assert!(local(&mut predicates, 0).advanced.contains(A));
    assert!(!watch_becomes(&mut predicates, -5));
    assert!(!watch_becomes(&mut predicates, 5));
    assert!(watch_becomes(&mut predicates, -5));
}
