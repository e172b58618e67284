//! `cargo xtask relay` - two boards, four cores, messages that go round all of them.
//!
//! `docs/relay.out` holds what it prints.
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::firmware::Firmware;
use crate::qemu;
use crate::relay::{self, DemoError, Image, Limits, Progress, Report};
use crate::say::{say, sentence};
use crate::toolchain::{CORTEX_M33, Toolchain};
use crate::workspace;

/// How to run and show it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo xtask relay\n  cargo xtask relay --log | grep 'B.1'\n  cargo xtask relay --json | jq .passed"
)]
pub struct Args {
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Print every line that every core logs.
    #[arg(long, conflicts_with = "json")]
    log: bool,
    /// Give up after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
    /// Run this image instead of building the demo.
    #[arg(long, value_name = "ELF")]
    firmware: Option<PathBuf>,
    /// Build the demo, print the path of its image and do not run it.
    #[arg(long, conflicts_with_all = ["json", "log", "firmware", "write_transcript"])]
    build: bool,
    /// Write what is printed to docs/relay.out; the tests compare both.
    #[arg(long, conflicts_with = "json")]
    write_transcript: bool,
}

/// Runs it and checks that every message arrived.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.build {
        println!("{}", build(Toolchain::ready(&[CORTEX_M33])?)?.display());
        return Ok(());
    }
    let result = run_demo(args);
    if args.json {
        let value = match &result {
            Ok(report) => report.json(),
            Err(error) => json!({ "passed": false, "error": sentence(error) }),
        };
        println!("{value:#}");
    }
    let report = result?;
    if !args.json {
        print!("{}", report.text());
    }
    let complaints = report.complaints();
    if !complaints.is_empty() {
        bail!("the demo is wrong: {}", complaints.join("; "));
    }
    if args.write_transcript {
        std::fs::write(transcript_path(), transcript(&report)).context("cannot write docs/relay.out")?;
    }
    say("finished", format_args!("in {:.1} s", report.time.as_secs_f64()));
    Ok(())
}

/// The demo as it is kept.
fn transcript(report: &Report) -> String {
    format!("$ cargo xtask relay\n{}", report.text())
}

/// Where the transcript is kept.
pub fn transcript_path() -> PathBuf {
    workspace::root().join("docs/relay.out")
}

fn run_demo(args: &Args) -> anyhow::Result<Report> {
    let version = qemu::ready()?;
    let elf = match &args.firmware {
        Some(elf) => elf.clone(),
        None => {
            let toolchain = Toolchain::ready(&[CORTEX_M33])?;
            say("ready", format_args!("QEMU {version}; {CORTEX_M33} ({})", toolchain.name()));
            build(toolchain)?
        }
    };
    let image = Image::read(&elf)?;
    let (send, interrupts) = mpsc::channel();
    // Nobody listens any more only when the demo is over.
    let stop = move || send.send(()).unwrap_or_default();
    ctrlc::set_handler(stop).context("cannot listen for Ctrl-C")?;
    let total = Duration::from_secs(args.limit);
    let limits = Limits { boot: total.min(Duration::from_secs(10)), total };
    match relay::run(&image, limits, &interrupts, &mut Progress::new(args.log)) {
        Err(DemoError::Board(error)) => Err(error).with_context(|| format!("running {}", shown(&elf))),
        other => Ok(other?),
    }
}

fn build(toolchain: Toolchain) -> anyhow::Result<PathBuf> {
    say("build", "relay");
    Ok(Firmware::example("relay").build(toolchain)?)
}

fn shown(elf: &Path) -> String {
    elf.file_name().unwrap_or(elf.as_os_str()).to_string_lossy().into_owned()
}
