//! The algorithms: their unit tests and examples on the host, and what their code links on a microcontroller.
use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use super::{Tier, cargo_test};
use crate::archive;
use crate::command;
use crate::say::say;
use crate::toolchain::{CORTEX_M0, CORTEX_M33, Toolchain};

pub const TIER: Tier = Tier {
    name: "core",
    proves: "the algorithms on the host; built for M33 and M0+ they link no allocator and no panic",
    run,
};

fn run() -> anyhow::Result<()> {
    cargo_test(&["stillpoint-core"])?;
    let targets = [CORTEX_M33, CORTEX_M0];
    let toolchain = Toolchain::ready(&targets)?;
    for target in targets {
        let library = build(toolchain, target)?;
        let report = archive::Report::of(&library)?;
        ensure!(
            report.complaints.is_empty(),
            "stillpoint-core for {target} must link no allocator and no panic, but:\n{}",
            report.complaints.join("\n")
        );
        say("ok", format_args!("{target}: {} functions, no allocator, no panic", report.functions));
    }
    Ok(())
}

/// Builds the library for `target` and returns its archive.
fn build(toolchain: Toolchain, target: &str) -> anyhow::Result<PathBuf> {
    let mut cargo = toolchain.cargo();
    cargo.args(["build", "--package", "stillpoint-core", "--no-default-features", "--release", "--target", target]);
    cargo.arg("--target-dir").arg(toolchain.target_dir());
    command::run(&mut cargo)?;
    let library = toolchain.target_dir().join(target).join("release/libstillpoint_core.rlib");
    library.is_file().then_some(library).context("cargo left no libstillpoint_core.rlib")
}
