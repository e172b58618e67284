//! The tools that are tried: probe-rs from crates.io, gdb from the system, and our own `qemu-probe`.
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::command;
use crate::packages::{Apt, Package};
use crate::say::say;
use crate::toolchain::cargo;
use crate::workspace;

/// The version whose output was last read by a person. It is that of the probe-rs library that qemu-probe builds on.
const PROBE_RS: &str = "0.32.0";
const GDB: Package =
    Package { apt: "gdb-multiarch", dnf: "gdb", pacman: "arm-none-eabi-gdb", brew: "arm-none-eabi-gdb" };

/// Installs what is missing; the folder of the program `probe-rs`.
pub fn tools() -> anyhow::Result<PathBuf> {
    if command::output(Command::new("gdb-multiarch").arg("--version")).is_err() {
        Apt::find().install(&[GDB.apt], &GDB, || true)?;
    }
    let root = workspace::target_dir().join("stock");
    let bin = root.join("bin");
    let is_right = |said: String| said.split_whitespace().nth(1) == Some(PROBE_RS);
    if !command::output(Command::new(bin.join("probe-rs")).arg("--version")).is_ok_and(is_right) {
        say("install", format_args!("probe-rs-tools {PROBE_RS} (cargo, takes minutes)"));
        let mut install = cargo();
        install.args(["install", "probe-rs-tools", "--locked", "--force", "--version", PROBE_RS]);
        // Built without debug information and optimisation: it is used for seconds.
        install.args(["--debug", "--config", "profile.dev.debug=0", "--root"]).arg(&root);
        install.arg("--target-dir").arg(root.join("build"));
        command::run(&mut install).context("cannot install probe-rs-tools")?;
    }
    say("ready", format_args!("probe-rs {PROBE_RS}, gdb-multiarch"));
    Ok(bin)
}

/// Builds `qemu-probe`; the folder it is in.
pub fn qemu_probe() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--package", "qemu-probe", "--bin", "qemu-probe"]);
    build.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let built = crate::firmware::executables(&command::output(&mut build)?);
    let program = built.into_iter().find(|(name, _)| name == "qemu-probe").map(|(_, path)| path);
    let folder = program.as_ref().and_then(|path| path.parent()).context("cargo built no program qemu-probe")?;
    Ok(folder.to_owned())
}
