//! The commands themselves: what they say to bad input, and that they leave nothing behind.
use super::{Tier, cargo_test};

pub const TIER: Tier = Tier {
    name: "xtask",
    proves: "these commands meet bad input with a sentence and leave nothing behind; BENCHMARKS.md is what was recorded",
    run: || cargo_test(&["xtask", "stillpoint-bench-bytes"]),
};
