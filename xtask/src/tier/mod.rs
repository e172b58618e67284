//! The tiers of the test suite. One file each; the table below is the order of a full run.

mod core;
mod demo;
mod explore;
mod host;
mod lint;
mod loom;
mod preempt;
mod probe;
mod qemu;
mod target;
mod tutorial;
mod xtask;

use std::process::Command;

use crate::command;
use crate::toolchain::{CORTEX_M33, Toolchain, cargo};

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
pub const TIERS: &[Tier] = &[
    core::TIER,
    target::TIER,
    host::TIER,
    probe::TIER,
    qemu::TIER,
    explore::TIER,
    preempt::TIER,
    loom::TIER,
    demo::TIER,
    tutorial::TIER,
    xtask::TIER,
    lint::TIER,
];

/// `cargo test` on these packages, with the user watching.
fn cargo_test(packages: &[&str]) -> anyhow::Result<()> {
    Ok(command::run(&mut test_command(packages))?)
}

/// `cargo test` on packages whose tests build firmware and run it in QEMU.
fn cargo_test_with_firmware(packages: &[&str]) -> anyhow::Result<()> {
    crate::qemu::ready()?;
    let mut cargo = test_command(packages);
    Toolchain::ready(&[CORTEX_M33])?.lend_to_tests(&mut cargo)?;
    Ok(command::run(&mut cargo)?)
}

fn test_command(packages: &[&str]) -> Command {
    let mut cargo = cargo();
    // One failure must not hide the next.
    cargo.args(["test", "--no-fail-fast"]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    cargo
}
