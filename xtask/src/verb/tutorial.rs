//! `cargo xtask tutorial` - run every command of docs/TUTORIAL.md on two boards, and see whether it prints what stands there.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail, ensure};

use super::rewrite::Args;
use crate::demo::Program;
use crate::firmware::Firmware;
use crate::qemu;
use crate::say::say;
use crate::toolchain::{CORTEX_M33, Toolchain};
use crate::tutorial::{Bench, Document, Step, first_difference};
use crate::workspace;

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    say("build", "token_ring, stillpoint");
    let firmware = Firmware::example("token_ring").build(toolchain)?;
    let program = Program::build(&workspace::root())?;
    let text = std::fs::read_to_string(path()).context("cannot read docs/TUTORIAL.md")?;
    let document = Document::parse(&text).context("docs/TUTORIAL.md")?;
    ensure!(document.steps().next().is_some(), "docs/TUTORIAL.md has no command to run");
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("cannot listen for Ctrl-C")?;

    let programs = program.executable().parent().context("the program is in a folder")?;
    let bench = Bench::new(&firmware, &[programs]).context("cannot make a folder for the tutorial")?;
    let mut outputs = Vec::new();
    for Step { command, output } in document.steps() {
        println!("$ {command}");
        let printed = bench.run(command)?;
        print!("{printed}");
        ensure!(!interrupted.load(Ordering::Relaxed), "interrupted; both boards are stopped");
        if !args.write
            && let Some((expected, found)) = first_difference(output, &printed)
        {
            bail!(
                "`{command}` does not print what docs/TUTORIAL.md shows\n  expected: {expected}\n  found:    {found}\n\
                 If the change is meant: cargo xtask tutorial --write, then read it once more"
            );
        }
        outputs.push(printed);
    }
    if args.write {
        std::fs::write(path(), document.with_outputs(&outputs).text()).context("cannot write docs/TUTORIAL.md")?;
    }
    Ok(())
}

fn path() -> PathBuf {
    workspace::root().join("docs/TUTORIAL.md")
}
