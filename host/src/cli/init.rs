//! `stillpoint init` - write a system file by looking at what is connected.
//!
//!     $ stillpoint init
//!     wrote stillpoint.toml: 2 emulated boards with token_ring
//!     start with `stillpoint up && stillpoint flash`
use super::{CliError, Context, Exit, Report, files, paint};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use stillpoint::OutputFile;
use stillpoint::config::{ProbeConfig, SystemFile};
use stillpoint::doctor::Surroundings;
use stillpoint::init::{FoundFirmware, Survey};

/// Write a commented stillpoint.toml from what is found: probes, QEMU, running boards, firmware with the kit in target folders.
#[derive(clap::Args)]
#[command(
    after_help = "Written where --system says, otherwise into this folder. With probes connected each is a board; without any, the file \
                        is for two emulated boards.\n\n\
                        Example:\n  stillpoint init\n  stillpoint init --firmware token_ring --force\n  stillpoint init --chip RP235x --stdout"
)]
pub struct Args {
    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
    /// Print the file instead of writing it.
    #[arg(long, conflicts_with = "force")]
    stdout: bool,
    /// Take this firmware: a name among those found, or an ELF file.
    #[arg(long, value_name = "NAME|FILE")]
    firmware: Option<PathBuf>,
    /// The chip of the boards behind probes, as probe-rs names it.
    #[arg(long)]
    chip: Option<String>,
}

#[derive(Serialize)]
struct Answer {
    path: PathBuf,
    written: bool,
    boards: Vec<Board>,
    /// Firmware with the kit that was found, the one that was taken first.
    firmware: Vec<PathBuf>,
    passed_over: Vec<String>,
    /// The firmware that was taken was built without breakpoints.
    lacks_breakpoints: bool,
    text: String,
}

#[derive(Serialize)]
struct Board {
    name: String,
    chip: String,
    probe: String,
    emulated: bool,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let path = context.named_file().map_or_else(|| PathBuf::from("stillpoint.toml"), Path::to_owned);
    // Bad input changes nothing, and a long look round is not for nothing.
    if !args.stdout && !args.force && path.symlink_metadata().is_ok() {
        let what = "is there already; look at it first, then replace it with --force, or print another with --stdout";
        return Err(CliError::Usage(format!("{} {what}", path.display())));
    }
    let mut survey = Survey::of(&Surroundings::of_this_machine(Some(&path)), &path);
    survey.chip = args.chip.clone();
    if let Some(wanted) = &args.firmware {
        choose(&mut survey, wanted)?;
    }
    let text = survey.system_file(&path);
    let file = SystemFile::parse(&path, text.clone())?;
    if !args.stdout {
        let file = OutputFile::at(&path);
        // A file that came while this command looked around stays.
        let file = if args.force { file } else { file.new_only() };
        files::write(file, context, |to| to.write_all(text.as_bytes()))?;
    }
    let board = |board: &stillpoint::config::BoardConfig| {
        let probe = match &board.probe {
            ProbeConfig::Qemu => "qemu".to_owned(),
            ProbeConfig::Probe { selector, .. } => selector.clone(),
        };
        Board { name: board.name.clone(), chip: board.chip.clone(), emulated: probe == "qemu", probe }
    };
    context.out().print(&Answer {
        path,
        written: !args.stdout,
        boards: file.boards.iter().map(board).collect(),
        firmware: survey.firmware.iter().map(|found| found.path.clone()).collect(),
        lacks_breakpoints: survey.firmware.first().is_some_and(FoundFirmware::lacks_breakpoints),
        passed_over: survey.passed_over,
        text,
    });
    Ok(Exit::Ok)
}

/// Puts the firmware that the user wants first: one that was found, or any other file that carries the kit.
fn choose(survey: &mut Survey, wanted: &Path) -> Result<(), CliError> {
    if survey.prefer(wanted) {
        return Ok(());
    }
    let names: Vec<String> = survey
        .firmware
        .iter()
        .filter_map(|found| Some(found.path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    if !wanted.exists() {
        let name = wanted.to_string_lossy();
        let hint = stillpoint::did_you_mean(&name, names.iter().map(String::as_str));
        let found = if names.is_empty() { "none".into() } else { names.join(", ") };
        return Err(CliError::Usage(format!("there is no firmware {name}{hint} (found with the kit in it: {found})")));
    }
    let found = FoundFirmware::read(wanted).map_err(|error| CliError::Usage(error.to_string()))?;
    if wanted.to_str().is_none() {
        let what = "is no UTF-8, and a system file can only name files that are; rename it";
        return Err(CliError::Usage(format!("{} {what}", wanted.display())));
    }
    survey.firmware.insert(0, found);
    Ok(())
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.written {
            return f.write_str(&self.text);
        }
        let count = self.boards.len();
        let emulated = self.boards.iter().all(|board| board.emulated);
        let kind = if emulated { "emulated board" } else { "board" };
        write!(f, "wrote {}: {count} {kind}{}", self.path.display(), if count == 1 { "" } else { "s" })?;
        match self.firmware.first() {
            Some(firmware) => writeln!(f, " with {}", firmware.file_name().unwrap_or_default().to_string_lossy())?,
            None => writeln!(f, "; no firmware with the kit was found")?,
        }
        if self.lacks_breakpoints {
            let what = "that firmware is built without the feature `predicates` of stillpoint-agent: it refuses every breakpoint";
            writeln!(f, "{}{what}{:#}", paint::WARN, paint::WARN)?;
        }
        match (self.text.contains("CHANGE THIS"), emulated) {
            (true, _) => writeln!(f, "look for CHANGE THIS in it, then ask `stillpoint doctor`"),
            (false, true) => writeln!(f, "start with `stillpoint up && stillpoint flash`"),
            (false, false) => writeln!(f, "start with `stillpoint flash`"),
        }
    }
}
