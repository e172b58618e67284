//! `cargo xtask lint` - format, lints and documentation, warnings denied, on the host crates and on the firmware.
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::command;
use crate::firmware::{AGENT, Firmware, PLATFORM};
use crate::packages::{Apt, Package};
use crate::say::say;
use crate::toolchain::{CORTEX_M33, Toolchain, cargo};
use crate::verb::setup::lint_tools_ready;

/// Nothing to choose.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask lint\n  cargo fmt --all      puts the format right")]
pub struct Args {}

/// Programs of the host that measure. They are not built by plain `cargo build`.
const BENCHMARKS: [&str; 5] = [
    "stillpoint-count",
    "stillpoint-bench-bytes",
    "stillpoint-bench-host",
    "stillpoint-bench-scaling",
    "stillpoint-bench-halting",
];

/// Runs every check, stopping at the first that fails.
pub fn run(_: &Args) -> anyhow::Result<()> {
    lint_everything()
}

/// Format, then lints, then documentation: the quickest first.
pub fn lint_everything() -> anyhow::Result<()> {
    lint_tools_ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    say("lint", "format");
    command::run(cargo().args(["fmt", "--all", "--check"])).context("run `cargo fmt --all`")?;
    say("lint", "host crates");
    command::run(cargo().args([
        "clippy",
        "--quiet",
        "--all-targets",
        "--features",
        "stillpoint/qemu-tests",
        "--",
        "-D",
        "warnings",
    ]))?;
    command::run(cargo().args(["clippy", "--quiet", "--package", AGENT, "--tests", "--", "-D", "warnings"]))?;
    say("lint", "benchmarks");
    let benchmarks = BENCHMARKS.iter().flat_map(|package| ["--package", package]);
    command::run(cargo().args(["clippy", "--quiet", "--all-targets"]).args(benchmarks).args(["--", "-D", "warnings"]))?;
    say("lint", format_args!("firmware ({})", toolchain.name()));
    debian_clippy_ready(toolchain)?;
    let whole = [Firmware::examples(), Firmware::examples().with_only("enabled"), Firmware::examples().without_kit()];
    let demos = whole.into_iter().chain([Firmware::replay(), Firmware::sabotaged(), Firmware::stock_executor()]);
    let counted = [Firmware::benchmarks(), Firmware::agent_benchmarks(4), Firmware::agent_benchmarks(32)];
    for firmware in demos.chain([Firmware::unit_tests()]).chain(counted) {
        command::run(firmware.cargo(toolchain, "clippy").args(["--quiet", "--", "-D", "warnings"]))?;
    }
    say("lint", "documentation");
    command::run(document(&mut cargo()))?;
    let mut agent = toolchain.cargo();
    let agent = document(&mut agent).args(["--package", AGENT, "--features", PLATFORM, "--target", CORTEX_M33]);
    command::run(agent.args(["--profile", "firmware", "--target-dir"]).arg(toolchain.target_dir()))?;
    Ok(())
}

fn document(cargo: &mut Command) -> &mut Command {
    cargo.args(["doc", "--quiet", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings")
}

/// Debian keeps its clippy in a package that building firmware does not need.
fn debian_clippy_ready(toolchain: Toolchain) -> anyhow::Result<()> {
    if toolchain == Toolchain::Debian && !Path::new("/usr/bin/cargo-clippy").exists() {
        let package = "rust-web-clippy";
        let by_hand = Package { apt: package, dnf: "clippy", pacman: "rust", brew: "rust" };
        Apt::find().install(&[package], &by_hand, || true)?;
    }
    Ok(())
}
