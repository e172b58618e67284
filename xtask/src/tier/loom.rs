//! What cores and the host share, on every order of its loads and stores that the memory model allows; and Miri.
use super::Tier;
use crate::command;
use crate::say::say;
use crate::toolchain::cargo;
use std::process::Command;

pub const TIER: Tier = Tier {
    name: "loom",
    proves: "log ring, channels, doorbells, lanes, notices and lock are right in every order of loads and stores; broken ones are caught",
    run,
};

fn run() -> anyhow::Result<()> {
    let mut log_ring = with_flag("--cfg loom");
    log_ring.args(["test", "--release", "--package", "stillpoint-core"]);
    command::run(log_ring.args(["--test", "loom", "--test", "loom_lane"]))?;
    // A flag of its own: the agent has statics with log rings in them, and those of loom cannot be made in a constant.
    let mut agent = with_flag("--cfg loom_agent");
    command::run(agent.args(["test", "--release", "--package", "stillpoint-agent", "--lib", "model::"]))?;
    miri(cargo)
}

/// The unit tests of the agent under Miri, which checks everything `unsafe` that builds on the host.
fn miri(cargo: impl Fn() -> Command) -> anyhow::Result<()> {
    if !has_miri(cargo()) {
        say("skip", NO_MIRI);
        return Ok(());
    }
    let mut miri = cargo();
    // Coroutines switch stacks in assembly, which Miri cannot interpret.
    miri.args(["miri", "test", "--package", "stillpoint-agent", "--lib", "--", "--skip", "preempt::"]);
    Ok(command::run(miri.env("MIRIFLAGS", MIRI_FLAGS))?)
}

fn has_miri(mut cargo: Command) -> bool {
    cargo.args(["miri", "--version"]).output().is_ok_and(|output| output.status.success())
}

/// What a run without Miri says.
const NO_MIRI: &str = "Miri: this toolchain does not have it, so nothing looked for undefined behaviour in unsafe code";

/// Tests leak what is a static in firmware.
const MIRI_FLAGS: &str = "-Zmiri-ignore-leaks -Zmiri-permissive-provenance";

/// Cargo with this flag for rustc beside the user's.
fn with_flag(flag: &str) -> Command {
    let own = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut cargo = cargo();
    cargo.env("RUSTFLAGS", format!("{own} {flag}").trim_start());
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_without_miri_passes_and_the_output_says_that_nothing_was_checked() {
        let without = || Command::new("false");
        assert!(!has_miri(without()) && !has_miri(Command::new("there-is-no-such-program")));
        assert!(miri(without).is_ok());
        assert!(NO_MIRI.contains("does not have it") && NO_MIRI.contains("nothing looked for"));
    }

    #[test]
    fn miri_that_finds_something_fails_the_tier() {
        // `--version` of this one succeeds, and `test` does not.
        let broken = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "test \"$2\" = --version", "sh"]);
            shell
        };
        assert!(has_miri(broken()));
        assert!(miri(broken).is_err());
    }
}
