//! The log ring and the marker slot on every order of its loads and stores that the memory model allows.
use super::Tier;
use crate::command;
use crate::toolchain::cargo;

pub const TIER: Tier = Tier {
    name: "loom",
    proves: "the log ring and the marker slot are right in every order that the memory model allows; broken rings are caught",
    run,
};

fn run() -> anyhow::Result<()> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut cargo = cargo();
    cargo.args(["test", "--release", "--package", "stillpoint-core"]);
    cargo.args(["--test", "loom", "--test", "loom_lane"]);
    Ok(command::run(cargo.env("RUSTFLAGS", format!("{flags} --cfg loom").trim_start()))?)
}
