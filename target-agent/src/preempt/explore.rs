//! Every single interruption at every point, and the faults of the past that this must find.
extern crate std;
use super::random::{Dice, plan};
use super::system::run;
use super::world::{Act, CORES, HOST, Irq};
use crate::sync::Mutant;
use std::string::String;
use std::vec::Vec;

/// One of everything that can come in between, at every core.
pub(super) fn acts() -> Vec<Act> {
    let irqs = [Irq::Urgent, Irq::Mailbox, Irq::Receive, Irq::Send, Irq::Alarm, Irq::Application];
    let per_core = |core| {
        let raised = irqs.into_iter().map(move |irq| Act::Raise(core, irq));
        let others = [Act::Crash(core), Act::Switch(core), Act::Halt(core), Act::HaltNow(core), Act::Suspend(core)];
        raised.chain(others)
    };
    let lines = [0, 2].into_iter().flat_map(|core| [Act::Lose(core), Act::Garble(core)]);
    (0..CORES).flat_map(per_core).chain([Act::Switch(HOST)]).chain(lines).collect()
}

/// A core of board A crashes while the other is stopped alone, so that it tells of its calls: at every point of that time.
fn crashes_while_stopped_alone() -> impl Iterator<Item = Vec<(u64, Act)>> {
    let crash = |core| move |at| std::vec![(STOP, Act::Suspend(core)), (STOP + at, Act::Crash(core))];
    (0..2).flat_map(move |core| (1..SPAN).map(crash(core)))
}

/// A halted core is given another command at every point of the halt: between its looks, and between a look and the sleep.
fn commands_while_halted() -> impl Iterator<Item = Vec<(u64, Act)>> {
    let command = |core| move |at| std::vec![(STOP, Act::HaltNow(core)), (STOP + at, Act::HaltNow(core))];
    (0..CORES).flat_map(move |core| (1..SPAN).map(command(core)))
}

/// A line loses a byte at every point of a halt, so that cores that sleep have to wake up by themselves and ask for it.
fn losses_while_halted() -> impl Iterator<Item = Vec<(u64, Act)>> {
    let lose = |to| move |at| std::vec![(STOP, Act::HaltNow(0)), (STOP + at, Act::Lose(to))];
    [0, 2].into_iter().flat_map(move |to| (1..SPAN).map(lose(to)))
}

/// Where the system is stopped in plans of two entries, and for how many points.
const STOP: u64 = 3000;
const SPAN: u64 = 2500;

/// All plans of two entries that are tried.
fn plans_of_two() -> impl Iterator<Item = Vec<(u64, Act)>> {
    crashes_while_stopped_alone().chain(commands_while_halted()).chain(losses_while_halted())
}

/// Violations, found by plans of one entry and then by random ones.
struct Found {
    runs: u64,
    plan: Vec<(u64, Act)>,
    error: String,
}

/// How many runs a fault may take to be found: about a minute of a slow machine.
const MOST_RUNS: usize = 150_000;

/// Tries plans of two entries, every point with a halt, every seventh with every act, then plans at random, until the system
/// breaks.
fn first_violation(mutant: Mutant) -> Option<Found> {
    let (calm, mut dice, mut runs) = (run(&[], 1, Some(mutant)), Dice(1), 0);
    let error = calm.outcome.err().map(|error| Found { runs, plan: Vec::new(), error });
    let single = (1..=calm.points).step_by(7).flat_map(|at| acts().into_iter().map(move |act| std::vec![(at, act)]));
    let halts =
        |at| acts().into_iter().filter(|act| matches!(act, Act::HaltNow(_))).map(move |act| std::vec![(at, act)]);
    let halts = (1..=calm.points).flat_map(halts);
    let random = core::iter::repeat_with(|| plan(&mut dice));
    error.or_else(|| {
        let mut plans = plans_of_two().chain(halts).chain(single).chain(random).take(MOST_RUNS);
        plans.find_map(|plan| {
            runs += 1;
            let error = run(&plan, 1, Some(mutant)).outcome.err()?;
            assert_eq!(run(&plan, 1, None).outcome, Ok(()), "the same plan without the fault: {plan:?}");
            Some(Found { runs, plan, error })
        })
    })
}

#[test]
fn undisturbed_the_system_does_its_work() {
    assert_eq!(run(&[], 2, None).outcome, Ok(()));
}

/// All of it takes minutes in a release build; a debug build tries every 1999th point.
#[test]
fn no_single_interruption_at_any_point_breaks_the_system() {
    let stride = if cfg!(debug_assertions) { 1999 } else { 1 };
    let calm = run(&[], 1, None);
    assert_eq!(calm.outcome, Ok(()), "undisturbed");
    let mut runs = 0u64;
    for at in (1..=calm.points).step_by(stride) {
        for act in acts() {
            let found = run(&[(at, act)], 1, None);
            runs += 1;
            assert_eq!(found.outcome, Ok(()), "{act:?} at point {at}");
        }
    }
    for plan in plans_of_two().step_by(stride) {
        let found = run(&plan, 1, None);
        runs += 1;
        assert_eq!(found.outcome, Ok(()), "{plan:?}");
    }
    let share = if stride == 1 { "all" } else { "some" };
    std::println!("{} points, {} interruptions at each, {share} explored: {runs} runs", calm.points, acts().len());
}

macro_rules! mutants {
    ($($name:ident: $mutant:ident),* $(,)?) => {$(
        #[test]
        #[cfg_attr(debug_assertions, ignore = "takes a release build: cargo xtask test preempt")]
        fn $name() {
            let begin = std::time::Instant::now();
            let found = first_violation(Mutant::$mutant).expect("the fault is found within a minute");
            let (took, Found { runs, plan, error }) = (begin.elapsed(), found);
            std::println!("{:?} found in run {runs} after {took:.1?}: {plan:?}: {error}", Mutant::$mutant);
        }
    )*};
}

mutants! {
    a_receive_ring_filled_with_interrupts_open_is_found: UnmaskedReceive,
    a_crash_that_leaves_the_gate_taken_is_found: GateNotTakenOver,
    a_notice_slot_that_stays_odd_is_found: OddNoticeSlot,
    a_report_taken_for_a_pump_is_found: AnyUseIsAPump,
    a_halt_inside_a_pump_is_found: HaltInsidePump,
    a_control_block_written_with_interrupts_open_is_found: UnmaskedPublish,
    a_bell_silenced_before_the_sleep_is_found: BellsSilencedBeforeSleep,
    a_sleep_without_a_last_look_is_found: SleepWithoutALastLook,
    a_sleep_that_no_timer_ends_is_found: SleepPastTimers,
}
