//! Thousands of random systems on random schedules: every promise of halting, stamps and logs holds in all of them, and
//! a driver that breaks one of its duties is found out.
mod cases;

use cases::config;
use proptest::prelude::*;
use stillpoint_core::Violation as Refused;
use stillpoint_core::predicate::Detector;
use stillpoint_tests::faulty::Random;
use stillpoint_tests::sim::{Adversity, Failure, Plan, Sabotage, Violation};

const CALM: Adversity = Adversity {
    links: false,
    resets: false,
    unread: true,
    twins: false,
    forgetful: false,
    haste: false,
    debugger: false,
};

fn holds(nodes: usize, shape: u64, choices: Vec<u32>, adversity: Adversity) -> Result<(), TestCaseError> {
    let plan = Plan::random(nodes, shape, choices, adversity);
    plan.run().map(drop).map_err(|failure| TestCaseError::fail(format!("{:?}\n{failure}", plan.setup)))
}

fn schedule(length: usize) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..length)
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn every_halt_is_one_consistent_moment_and_every_release_loses_nothing(
        nodes in 2_usize..=5, shape: u64, choices in schedule(200),
    ) {
        holds(nodes, shape, choices, CALM)?;
    }

    #[test]
    fn a_hasty_host_and_impatient_drivers_break_nothing(nodes in 2_usize..=5, shape: u64, choices in schedule(200)) {
        holds(nodes, shape, choices, Adversity { haste: true, ..CALM })?;
    }

    #[test]
    fn links_that_go_down_and_come_up_break_nothing(nodes in 2_usize..=5, shape: u64, choices in schedule(200)) {
        holds(nodes, shape, choices, Adversity { links: true, ..CALM })?;
    }

    #[test]
    fn nodes_that_reset_and_remember_nothing_are_told_where_they_stood(nodes in 2_usize..=5, shape: u64, choices in schedule(200)) {
        holds(nodes, shape, choices, Adversity { resets: true, forgetful: true, ..CALM })?;
    }

    #[test]
    fn resets_and_links_that_go_down_together_break_nothing(nodes in 2_usize..=5, shape: u64, choices in schedule(200)) {
        holds(nodes, shape, choices, Adversity { resets: true, links: true, ..CALM })?;
    }

    #[test]
    fn nodes_that_reset_break_nothing(nodes in 2_usize..=5, shape: u64, choices in schedule(200)) {
        holds(nodes, shape, choices, Adversity { resets: true, ..CALM })?;
    }
}

proptest! {
    #![proptest_config(config(3000))]

    /// Miller & Choi 2.2.3: the debugger has a channel to every process. Commands, markers and releases meet in any order, and
    /// a command may come long after the halt that it names is over.
    #[test]
    fn halts_that_a_debugger_commands_to_every_node_are_consistent_and_never_begin_late(
        nodes in 2_usize..=5, shape: u64, choices in restless(120), links: bool, resets: bool, haste: bool,
    ) {
        holds(nodes, shape, choices, Adversity { debugger: true, resets, links, haste, ..CALM })?;
    }
}

/// The choices that halt, release and reset, see `Plan`.
const HALT: u32 = 233;
const RELEASE: u32 = 236;
const RESET: u32 = 253;

/// A schedule in which a quarter of all steps are halts and a quarter resets.
fn restless(length: usize) -> impl Strategy<Value = Vec<u32>> {
    let step = (any::<u32>(), 0..4).prop_map(|(choice, often)| match often {
        0 => choice & !0xFF | HALT,
        1 => choice & !0xFF | RESET,
        _ => choice,
    });
    prop::collection::vec(step, 0..length)
}

proptest! {
    #![proptest_config(config(3000))]

    /// Halts that never get far because their initiator is reset, and halts of nodes that have not started.
    #[test]
    fn resets_in_the_middle_of_halts_keep_nobody_from_the_next_halt(
        nodes in 2_usize..=5, shape: u64, choices in restless(60), links: bool, forgetful: bool, haste: bool,
    ) {
        holds(nodes, shape, choices, Adversity { resets: true, links, forgetful, haste, ..CALM })?;
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_channel_over_a_serial_line_with_faults_is_a_channel(
        nodes in 2_usize..=5, shape: u64, choices in schedule(400), edge: usize, haste: bool,
    ) {
        let mut plan = Plan::random(nodes, shape, choices, Adversity { haste, ..CALM });
        plan.setup.serial = Some((edge % plan.setup.edges.len(), shape));
        if let Err(failure) = plan.run() {
            return Err(TestCaseError::fail(format!("{:?}\n{failure}", plan.setup)));
        }
    }
}

/// Were the runs about anything? Halts with messages in flight, logs, losses and repetitions all occurred.
#[test]
fn the_runs_are_not_about_nothing() {
    let (mut halts, mut in_flight, mut events, mut records, mut dropped, mut lost, mut repeated) =
        (0, 0, 0, 0, 0, 0, 0);
    for seed in 0..200 {
        let mut plan = seeded_plan(seed);
        plan.adversity = Adversity { resets: seed % 4 == 1, links: seed % 4 == 2, ..CALM };
        plan.linked = plan.linked.filter(|_| !plan.adversity.resets);
        plan.setup.serial = (seed % 4 == 3).then_some((0, seed));
        let seen = if seed % 8 == 0 { plan.run_with_ring::<128>() } else { plan.run() };
        let seen = seen.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        (halts, in_flight) = (halts + seen.halts, in_flight + seen.in_flight);
        (events, records, dropped) = (events + seen.events, records + seen.records, dropped + seen.dropped);
        (lost, repeated) = (lost + seen.lost, repeated + seen.repeated);
    }
    println!("200 runs: {halts} halts with {in_flight} messages in flight, {events} events, {records} records,");
    println!("{dropped} dropped, {lost} messages lost by resets, {repeated} frames sent again");
    assert!(halts >= 400 && in_flight > 400 && events > 5_000 && records > 2_000);
    assert!(dropped > 20 && lost > 20 && repeated > 100);
}

/// The same plans for every mutant, from seeds.
fn seeded_plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let nodes = 2 + random.below(4) as usize;
    let length = 50 + random.below(250);
    let choices = (0..length).map(|_| random.next() as u32).collect();
    Plan::random(nodes, random.next(), choices, CALM)
}

/// Drops every choice that is not needed for the run to fail.
fn shrink(mut plan: Plan, mut failure: Failure) -> Failure {
    let mut at = plan.choices.len();
    while at > 0 {
        at -= 1;
        let choice = plan.choices.remove(at);
        match plan.run() {
            Err(shorter) => failure = shorter,
            Ok(_) => plan.choices.insert(at, choice),
        }
    }
    failure
}

/// A mutant is noticed in at least `often` of 100 runs, each time for a good reason; without it all of them pass.
fn is_noticed(sabotage: Sabotage, often: usize, expected: impl Fn(&Violation) -> bool) {
    let mut failures = Vec::new();
    for seed in 0..100 {
        let mut plan = seeded_plan(seed);
        if sabotage == Sabotage::ForgetEpoch {
            (plan.adversity.resets, plan.linked) = (true, None);
        }
        if sabotage == Sabotage::ObeyOldCommand {
            // A node is stopped by a marker and released before its command comes.
            plan.adversity.debugger = true;
            plan.choices.iter_mut().step_by(40).for_each(|choice| *choice = *choice & !0x1FF | HALT);
            plan.choices.iter_mut().skip(2).step_by(3).for_each(|choice| *choice = *choice & !0xFF | RELEASE);
        }
        plan.detector = Detector::Causal;
        let sound = plan.run();
        assert!(sound.is_ok(), "seed {seed}: {}", sound.unwrap_err());
        plan.setup.sabotage = Some(sabotage);
        failures.extend(plan.run().err().map(|failure| (plan, failure)));
    }
    assert!(failures.len() >= often, "{sabotage:?} was noticed in {} of 100 runs only", failures.len());
    for (_, failure) in &failures {
        assert!(expected(&failure.violation), "{sabotage:?} was noticed for another reason: {failure}");
    }
    let noticed = failures.len();
    let (plan, failure) = failures.swap_remove(0);
    println!("{sabotage:?} was noticed in {noticed} of 100 runs; the first, shrunk:\n{}", shrink(plan, failure));
}

#[test]
fn a_dropped_marker_is_noticed() {
    is_noticed(Sabotage::DropMarker, 50, |violation| {
        matches!(violation, Violation::NotStopped(_) | Violation::Certificate(Refused::MissingMarker(_)))
    });
}

#[test]
fn a_message_that_overtakes_another_is_noticed() {
    is_noticed(Sabotage::OvertakeMessage, 50, |violation| {
        matches!(violation, Violation::WrongMessage(_) | Violation::WrongClock { .. } | Violation::Refused(..))
    });
}

#[test]
fn a_send_after_the_halt_is_noticed() {
    is_noticed(Sabotage::SendAfterHalt, 10, |violation| {
        matches!(
            violation,
            Violation::Certificate(Refused::UncountedMessage { .. } | Refused::AfterMarker { .. })
                | Violation::WrongMessage(_)
                | Violation::WrongClock { .. }
                | Violation::Refused(..)
        )
    });
}

#[test]
fn a_marker_one_message_too_far_is_noticed() {
    is_noticed(Sabotage::MarkerTooFar, 90, |violation| {
        matches!(violation, Violation::NotStopped(_) | Violation::Certificate(Refused::MarkerAhead { .. }))
    });
}

#[test]
fn a_stale_marker_taken_for_a_new_one_is_noticed() {
    is_noticed(Sabotage::RelabelStaleMarker, 50, |violation| matches!(violation, Violation::NobodyStarted(..)));
}

#[test]
fn a_stale_release_that_is_obeyed_is_noticed() {
    is_noticed(Sabotage::ObeyStaleRelease, 20, |violation| matches!(violation, Violation::NobodyReleased(..)));
}

#[test]
fn a_command_for_a_halt_that_is_over_and_is_obeyed_is_noticed() {
    is_noticed(Sabotage::ObeyOldCommand, 10, |violation| matches!(violation, Violation::NobodyStarted(..)));
}

#[test]
fn a_receive_without_merging_the_stamp_is_noticed() {
    is_noticed(Sabotage::StripStamp, 30, |violation| {
        matches!(
            violation,
            Violation::WrongClock { .. }
                | Violation::Certificate(Refused::EffectWithoutCause { .. })
                | Violation::Log(..)
        )
    });
}

#[test]
fn a_stage_that_is_not_forwarded_is_noticed() {
    is_noticed(Sabotage::StripStages, 5, |violation| matches!(violation, Violation::Predicate(_)));
}

#[test]
fn a_message_forgotten_by_a_resume_is_noticed() {
    is_noticed(Sabotage::LoseOnResume, 50, |violation| {
        matches!(
            violation,
            Violation::WrongMessage(_)
                | Violation::NotStopped(_)
                | Violation::Lost(_)
                | Violation::OtherChannelState(_)
                | Violation::Certificate(Refused::LostMessage { .. })
                | Violation::Refused(..)
                | Violation::WrongClock { .. }
        )
    });
}

#[test]
fn a_restart_in_an_old_epoch_is_noticed() {
    is_noticed(Sabotage::ForgetEpoch, 20, |violation| {
        // The counts of two lives are one, the numbers of two lives are the same, or others know newer ones.
        matches!(
            violation,
            Violation::StaleStart { .. } | Violation::Log(..) | Violation::Certificate(_) | Violation::Lost(_)
        )
    });
}

#[test]
fn an_application_that_runs_on_after_the_halt_is_noticed() {
    is_noticed(Sabotage::KeepRunning, 90, |violation| {
        matches!(violation, Violation::OtherState(_) | Violation::WrongMessage(_))
    });
}
