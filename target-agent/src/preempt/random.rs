//! Many interruptions at random.
extern crate std;
use super::explore::acts;
use super::system::run;
use super::world::Act;
use proptest::prelude::*;
use std::vec::Vec;

/// How far into a run interruptions come.
const REACH: u64 = 16_000;

/// Random numbers (xorshift), so that a million runs need no million strategies.
pub(super) struct Dice(pub u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Up to eight interruptions, many of them close to the one before. At most one of them is a crash.
pub(super) fn plan(dice: &mut Dice) -> Vec<(u64, Act)> {
    let (acts, mut at) = (acts(), 0);
    let count = 1 + dice.below(8);
    let chosen = (0..count).map(|_| {
        at = if dice.below(2) == 0 { at + dice.below(200) } else { dice.below(REACH) };
        (at, acts[dice.below(acts.len() as u64) as usize])
    });
    let plan: Vec<_> = chosen.collect();
    one_crash(&plan)
}

/// The plan without its second crash and those after it.
fn one_crash(plan: &[(u64, Act)]) -> Vec<(u64, Act)> {
    let mut crashes = 0;
    let keep = |(_, act): &&(u64, Act)| {
        crashes += u32::from(matches!(act, Act::Crash(_)));
        crashes < 2 || !matches!(act, Act::Crash(_))
    };
    plan.iter().filter(keep).copied().collect()
}

/// `STILLPOINT_PREEMPTED_RUNS` says how many.
#[test]
fn random_interruptions_break_nothing() {
    let runs = std::env::var("STILLPOINT_PREEMPTED_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(100);
    let seed = std::env::var("STILLPOINT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5111_9014);
    let (mut dice, mut points) = (Dice(seed), 0);
    for number in 1..=runs {
        let plan = plan(&mut dice);
        let found = run(&plan, 2, None);
        points += found.points;
        assert_eq!(found.outcome, Ok(()), "run {number}: {plan:?}");
    }
    std::println!("{runs} random runs, {points} points: no violation");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    /// The same with plans that shrink: what remains of a violation is the least that it takes.
    #[test]
    fn plans_that_shrink_break_nothing(
        plan in prop::collection::vec((1..REACH, prop::sample::select(acts())), 1..8),
    ) {
        let found = run(&one_crash(&plan), 2, None);
        prop_assert_eq!(found.outcome, Ok(()));
    }
}
