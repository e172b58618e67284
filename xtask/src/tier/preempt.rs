//! The shipped agent on a platform that preempts it at every access to an atomic, a UART register or the platform.
use super::Tier;
use crate::command;
use crate::toolchain::cargo;

pub const TIER: Tier = Tier {
    name: "preempt",
    proves: "no interrupt, crash or other core breaks the agent, at whatever point it comes; faults of the past are caught",
    run,
};

/// Random runs besides the exhaustive ones.
const RUNS: &str = "50000";

fn run() -> anyhow::Result<()> {
    // Optimised: the same search takes many times as long without.
    let mut cargo = cargo();
    cargo.args(["test", "--release", "--package", "stillpoint-agent", "--lib", "preempt::", "--", "--nocapture"]);
    Ok(command::run(cargo.env("STILLPOINT_PREEMPTED_RUNS", RUNS))?)
}
