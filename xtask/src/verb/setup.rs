//! `cargo xtask setup` - install what demo and tests need.
//!
//! ```text
//! $ cargo xtask setup
//!      ready  QEMU 7.2.22
//!      ready  thumbv8m.main-none-eabi, thumbv6m-none-eabi (rustup)
//!      ready  rustfmt, clippy
//! ```
use std::process::Command;

use anyhow::Context as _;

use crate::command;
use crate::qemu;
use crate::say::say;
use crate::toolchain::{CORTEX_M0, CORTEX_M33, Toolchain, cargo};

/// Nothing to choose.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask setup\n  STILLPOINT_TOOLCHAIN=debian cargo xtask setup")]
pub struct Args {}

/// Installs what is missing of everything; the other verbs do the part they need by themselves.
pub fn run(_: &Args) -> anyhow::Result<()> {
    let version = qemu::ready()?;
    say("ready", format_args!("QEMU {version}"));
    let targets = [CORTEX_M33, CORTEX_M0];
    let toolchain = Toolchain::ready(&targets)?;
    say("ready", format_args!("{} ({})", targets.join(", "), toolchain.name()));
    lint_tools_ready()?;
    say("ready", "rustfmt, clippy");
    Ok(())
}

/// Makes sure of rustfmt and clippy, which a minimal Rust comes without.
pub fn lint_tools_ready() -> anyhow::Result<()> {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if command::output(cargo().args([tool, "--version"])).is_ok() {
            continue;
        }
        say("install", format_args!("{component} (rustup)"));
        command::output(Command::new("rustup").args(["component", "add", component]))
            .with_context(|| format!("{component} is missing; install it with `rustup component add {component}`"))?;
    }
    Ok(())
}
