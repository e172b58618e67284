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

/// The tiers that compute and nothing else: a whole run lets them have the processor time that the others leave.
pub const SEARCHES: &[&str] = &[explore::TIER.name, preempt::TIER.name, loom::TIER.name];

/// What the tiers `host`, `probe` and `qemu` test.
///
/// The packages of a command decide together with which features their dependencies are built. The same packages in every
/// command mean that each is built once; the programs that a tier runs are chosen by their names.
const TESTED_TOGETHER: &[&str] =
    &["stillpoint-trace", "stillpoint-analysis", "stillpoint", "stillpoint-tests", "stillpoint-agent", "qemu-probe"];

/// `cargo test` on these packages, with the user watching.
fn cargo_test(packages: &[&str]) -> anyhow::Result<()> {
    Ok(command::run(&mut test_command(packages))?)
}

/// `cargo test` on the packages of [`TESTED_TOGETHER`], whose tests may build firmware and run it in QEMU.
fn together() -> anyhow::Result<Command> {
    crate::qemu::ready()?;
    let mut cargo = test_command(TESTED_TOGETHER);
    cargo.args(["--features", "stillpoint/qemu-tests"]);
    Toolchain::ready(&[CORTEX_M33])?.lend_to_tests(&mut cargo)?;
    Ok(cargo)
}

/// Runs these of their test programs.
fn with_programs<'a>(cargo: &'a mut Command, programs: &[&str]) -> &'a mut Command {
    for program in programs {
        cargo.args(["--test", program]);
    }
    cargo
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The test programs that cargo finds in the folder of a package.
    fn programs_in(package: &str) -> Vec<String> {
        let tests = crate::workspace::root().join(package).join("tests");
        let files = std::fs::read_dir(tests).into_iter().flatten().map(|file| file.unwrap().path());
        let programs = files.filter(|file| match file.is_dir() {
            true => file.join("main.rs").exists(),
            false => file.extension().is_some_and(|extension| extension == "rs"),
        });
        programs.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    }

    /// The tiers name the programs that they run, so a program that no tier names would never run.
    #[test]
    fn every_test_program_is_run_by_one_tier() {
        let packages = ["trace", "analysis", "host", "tests", "target-agent", "qemu-probe"];
        assert_eq!(packages.len(), TESTED_TOGETHER.len());
        let found: BTreeSet<String> = packages.iter().flat_map(|package| programs_in(package)).collect();
        let named = [host::PROGRAMS, probe::PROGRAMS, qemu::PROGRAMS].concat();
        assert_eq!(named.iter().copied().collect::<BTreeSet<_>>().len(), named.len(), "a program is named twice");
        assert_eq!(found, named.into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
    }
}
