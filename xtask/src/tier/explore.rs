//! Every schedule of small systems of shipped nodes, and mutants that must be caught.
use super::Tier;
use crate::command;
use crate::toolchain::cargo;

pub const TIER: Tier = Tier {
    name: "explore",
    proves: "halting, resuming and predicates on every schedule of small systems; broken variants are caught",
    run,
};

fn run() -> anyhow::Result<()> {
    // Optimised: the same search takes many times as long without.
    Ok(command::run(cargo().args(["run", "--release", "--package", "stillpoint-tests", "--bin", "explore"]))?)
}
