//! With which cases properties are tried.
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// The same cases every time, and nothing left behind; `CASES=20000` for as many others, by hand.
pub fn config(cases: u32) -> ProptestConfig {
    let by_hand = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok());
    let rng_seed = if by_hand.is_some() { RngSeed::Random } else { RngSeed::Fixed(1988) };
    let cases = by_hand.unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, rng_seed, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}
