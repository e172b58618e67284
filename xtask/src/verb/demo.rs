//! `cargo xtask demo` - the main job: two boards, four nodes, one consistent moment.
//!
//! `docs/demo.out` holds what it prints.
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Instant;

use anyhow::Context as _;

use crate::demo::{Program, SystemFolder, excerpt, play};
use crate::firmware::Firmware;
use crate::qemu;
use crate::say::say;
use crate::toolchain::{CORTEX_M33, Toolchain};
use crate::workspace;

/// How to show it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask demo")]
pub struct Args {
    /// Write what is printed to docs/demo.out, and a part of it to the README; the tests compare all three.
    #[arg(long)]
    write_transcript: bool,
}

/// Two tokens where there should be one: see `target-agent/examples/token_ring.rs`.
const BUG: &str = "bug=duplicate";

/// Runs it; every command of it must end well.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let version = qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    say("ready", format_args!("QEMU {version}; {CORTEX_M33} ({})", toolchain.name()));
    say("build", "token_ring, stillpoint");
    let firmware = Firmware::example("token_ring").build(toolchain)?;
    let folder = SystemFolder::write(workspace::target_dir().join("demo"), &firmware, &[BUG])
        .context("cannot write the demo's system file")?;
    let program = Program::build(folder.path())?;
    let (send, interrupts) = mpsc::channel();
    // Nobody listens any more only when the demo is over.
    ctrlc::set_handler(move || send.send(()).unwrap_or_default()).context("cannot listen for Ctrl-C")?;
    let began = Instant::now();
    let mut transcript = String::from("$ cargo xtask demo\n");
    play(&program, &interrupts, |text| {
        print!("{text}");
        transcript.push_str(text);
    })?;
    if args.write_transcript {
        write_transcript(&transcript).context("cannot write docs/demo.out and README.md")?;
    }
    say("finished", format_args!("in {:.1} s", began.elapsed().as_secs_f64()));
    Ok(())
}

/// Replaces the old transcript by the new one, also the part that the README shows.
fn write_transcript(new: &str) -> std::io::Result<()> {
    let old = std::fs::read_to_string(transcript_path()).unwrap_or_default();
    let readme = workspace::root().join("README.md");
    let text = std::fs::read_to_string(&readme)?;
    if !old.is_empty() {
        std::fs::write(readme, text.replace(&excerpt(&old), &excerpt(new)))?;
    }
    std::fs::write(transcript_path(), new)
}

/// Where the README's transcript is kept.
pub fn transcript_path() -> PathBuf {
    workspace::root().join("docs/demo.out")
}
