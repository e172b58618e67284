//! The tiers of the test suite. One file each; the table below is the order of a full run.

mod core;
mod demo;
mod host;
mod lint;
mod probe;
mod target;
mod xtask;

/// A group of tests that proves one thing.
pub struct Tier {
    /// What to type.
    pub name: &'static str,
    /// What a pass means, in half a line.
    pub proves: &'static str,
    /// Runs it.
    pub run: fn() -> anyhow::Result<()>,
}

/// Every tier, the quickest to fail first.
pub const TIERS: &[Tier] = &[core::TIER, target::TIER, host::TIER, probe::TIER, demo::TIER, xtask::TIER, lint::TIER];

/// `cargo test` on these packages, with the user watching.
fn cargo_test(packages: &[&str]) -> anyhow::Result<()> {
    let mut cargo = crate::toolchain::cargo();
    cargo.arg("test");
    for package in packages {
        cargo.args(["--package", package]);
    }
    Ok(crate::command::run(&mut cargo)?)
}
