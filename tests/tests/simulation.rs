//! Thousands of random systems on random schedules: every promise of halting, stamps and logs holds in all of them.
use proptest::prelude::*;
use stillpoint_tests::sim::{Adversity, Plan};

const CALM: Adversity = Adversity { links: false, resets: false, haste: false };

fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

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
    fn nodes_that_reset_break_nothing(nodes in 2_usize..=5, shape: u64, choices in schedule(200)) {
        holds(nodes, shape, choices, Adversity { resets: true, ..CALM })?;
    }
}
