//! `stillpoint dump` - save the halted system to one file, to be looked at later and elsewhere.
//!
//!     $ stillpoint dump crash.dump
//!     saved halt 3 of 4 cores to crash.dump: 36.0 MiB of memory in 1.1 MiB, certificate valid
//!     $ stillpoint --from crash.dump cut
use super::break_store::Store;
use super::{CliError, Context, Exit, Report, paint};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::dump::{DumpOptions, DumpStep, Written};

/// Save the halted system to a file: memory, registers, messages in flight, certificate, names and firmware.
#[derive(clap::Args)]
#[command(
    after_help = "Look at it with `stillpoint --from FILE cut`, `status`, `info`, `log`, `watch` or `print`; no board is needed then, and no firmware \
                        either, unless --without-elf left it out. docs/DUMP.md describes the file.\n\
                        Exit code 1 if what was saved is not one consistent moment.\n\n\
                        Example:\n  stillpoint halt && stillpoint dump crash.dump\n  stillpoint --from crash.dump cut"
)]
pub struct Args {
    /// The file to make.
    file: PathBuf,
    /// Leave the ELF files out; they are needed again to read the dump.
    #[arg(long)]
    without_elf: bool,
    /// Save a system that is not halted, or of which boards are missing: its certificate will fail.
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Answer {
    file: PathBuf,
    bytes: u64,
    memory: u64,
    cores: usize,
    halt: Option<u16>,
    valid: bool,
    missing: Vec<String>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let (out, file) = (context.out(), context.file()?);
    let breakpoints = serde_json::to_value(Store::of(context)?.kept()).unwrap_or_default();
    let system = context.present()?;
    let missing: Vec<String> = system.missing().iter().map(|lost| lost.board.clone()).collect();
    let style = ProgressStyle::with_template("{prefix:>10}  {bar:30} {bytes}/{total_bytes}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(0).with_style(style).with_prefix("saving");
    let options = DumpOptions { with_elf: !args.without_elf, force: args.force };
    let written = system.dump(&file, &breakpoints, &args.file, options, |step| match step {
        DumpStep::Ahead(bytes) => bar.inc_length(bytes),
        DumpStep::Done(bytes) => bar.inc(bytes),
    });
    bar.finish_and_clear();
    let Written { bytes, memory, cores, report } = written?;
    let valid = report.valid && missing.is_empty();
    out.print(&Answer { file: args.file.clone(), bytes, memory, cores, halt: report.halt, valid, missing });
    Ok(if valid { Exit::Ok } else { Exit::Bad })
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.halt.map_or_else(|| "no halt".into(), |halt| format!("halt {halt}"));
        let (style, verdict) = if self.valid { (paint::GOOD, "valid") } else { (paint::BAD, "FAILED") };
        let [memory, bytes] = [self.memory, self.bytes].map(HumanBytes);
        writeln!(
            f,
            "saved {what} of {} cores to {}: {memory} of memory in {bytes}, certificate {style}{verdict}{style:#}",
            self.cores,
            self.file.display()
        )?;
        for board in &self.missing {
            writeln!(f, "  {}board {board} is missing{:#}", paint::BAD, paint::BAD)?;
        }
        Ok(())
    }
}
