//! `cargo xtask stock` - stock probe-rs and gdb on an emulated board that runs a demo.
//!
//! Installs probe-rs-tools into the build directory and gdb by the system's package manager. Not part of the tests, as the
//! installation takes minutes.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, ensure};

use super::rewrite::Args;
use crate::firmware::Firmware;
use crate::qemu;
use crate::say::say;
use crate::stock::{Play, install, write_transcript};
use crate::toolchain::{CORTEX_M33, Toolchain};

/// Runs it; every step must print what it should.
pub fn run(args: &Args) -> anyhow::Result<()> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let tools = install::tools()?;
    say("build", "guide_after, qemu-probe");
    let firmware = Firmware::example("guide_after").build(toolchain)?;
    let probe = install::qemu_probe()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("cannot listen for Ctrl-C")?;
    let mut play = Play::new(&firmware, &[&probe, &tools])?;
    for part in Play::PARTS {
        part(&mut play)?;
        ensure!(!interrupted.load(Ordering::Relaxed), "interrupted; the board is stopped");
    }
    let transcript = play.end()?;
    if args.write {
        write_transcript(&transcript).context("cannot write qemu-probe/README.md")?;
    }
    Ok(())
}
