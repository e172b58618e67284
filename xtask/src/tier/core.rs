//! The algorithms: their unit tests and examples on the host, and what is left of panics on a microcontroller.
use anyhow::ensure;

use super::{Tier, cargo_test, test_command};
use crate::command;
use crate::firmware::Firmware;
use crate::panics;
use crate::say::say;
use crate::toolchain::{CORTEX_M0, CORTEX_M33, Toolchain};
use crate::workspace;

pub const TIER: Tier = Tier {
    name: "core",
    proves: "the algorithms on the host; for M33 and M0+ they build, link no allocator and cannot panic",
    run,
};

fn run() -> anyhow::Result<()> {
    cargo_test(&["stillpoint-core"])?;
    let mut least = test_command(&["stillpoint-core"]);
    command::run(least.args(["--no-default-features", "--test", "without_predicates"]))?;
    let targets = [CORTEX_M33, CORTEX_M0];
    let toolchain = Toolchain::ready(&targets)?;
    for target in targets {
        say("build", format_args!("stillpoint-core for {target} ({})", toolchain.name()));
        for features in [&[] as &[&str], &["--no-default-features"]] {
            let mut cargo = toolchain.cargo();
            cargo.args(["build", "--package", "stillpoint-core", "--release"]).args(features);
            command::run(cargo.args(["--target", target, "--target-dir"]).arg(toolchain.target_dir()))?;
        }
    }
    cannot_panic(toolchain)
}

/// Every function that a unit test reaches is in this image; only the tests themselves may panic.
fn cannot_panic(toolchain: Toolchain) -> anyhow::Result<()> {
    let root = workspace::root();
    let mut in_tests = 0;
    let mut complaints = Vec::new();
    for panic in panics::reachable(&Firmware::unit_tests().build(toolchain)?)? {
        if panics::is_in_test(&panic, &root)? {
            in_tests += 1;
        } else {
            complaints.push(format!("  {panic}"));
        }
    }
    ensure!(in_tests > 0, "no test's own panic was found in the image, so nothing was checked");
    ensure!(complaints.is_empty(), "stillpoint-core must never panic, but can here:\n{}", complaints.join("\n"));
    println!("panics reachable in stillpoint-core: 0 (and {in_tests} in its tests)");
    Ok(())
}
