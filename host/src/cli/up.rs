//! `stillpoint up` - start the emulated boards.
//!
//!     $ stillpoint up
//!     board A  started, process 4711
//!     board B  started, process 4712
//!     flash them with `stillpoint flash`
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::StateDir;
use stillpoint::config::ProbeConfig;
use stillpoint::emulated::{self, Up};

/// Start the emulated boards: powered, joined by their links, and empty until they are flashed.
#[derive(clap::Args)]
#[command(after_help = "Boards that are up stay as they are; boards behind a real probe are not touched. \
                        Exit code 1 if the firmware of a board is missing; the boards are up then, too.\n\n\
                        Examples:\n  stillpoint up && stillpoint flash\n  \
                        stillpoint up --run-dirs    # for another debugger: qemu-probe serve --run-dir DIR")]
pub struct Args {
    /// Also print the run directory of each board, for `qemu-probe serve --run-dir`
    #[arg(long)]
    run_dirs: bool,
}

#[derive(Serialize)]
struct Answer {
    boards: Vec<Board>,
    #[serde(skip)]
    run_dirs: bool,
}

#[derive(Serialize)]
struct Board {
    name: String,
    emulated: bool,
    started: bool,
    process: Option<u32>,
    /// Its firmware, if that file is not there.
    missing_firmware: Option<PathBuf>,
    run_dir: Option<PathBuf>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let file = context.file()?;
    context.detach()?;
    let done = emulated::up(&file).map_err(CliError::Machines)?;
    let state = StateDir::of(&file).map_err(|error| CliError::Machines(error.into()))?;
    let boards = file.boards.iter().map(|board| {
        let up = done.iter().find(|(name, _)| *name == board.name).map(|(_, up)| *up);
        let process = up.map(|up| match up {
            Up::Started(pid) | Up::Already(pid) => pid,
        });
        let started = matches!(up, Some(Up::Started(_)));
        let missing_firmware = (!board.firmware.exists()).then(|| board.firmware.clone());
        let emulated = board.probe == ProbeConfig::Qemu;
        let run_dir = up.is_some().then(|| state.machine(board));
        Board { name: board.name.clone(), emulated, started, process, missing_firmware, run_dir }
    });
    let answer = Answer { boards: boards.collect(), run_dirs: args.run_dirs };
    context.out().print(&answer);
    let is_missing = answer.boards.iter().any(|board| board.missing_firmware.is_some());
    Ok(if is_missing { Exit::Bad } else { Exit::Ok })
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, end) = (paint::NAME, format_args!("{:#}", paint::NAME));
        for board in &self.boards {
            write!(f, "{name}board {}{end}  ", board.name)?;
            match (board.process, board.started) {
                (Some(pid), true) => writeln!(f, "started, process {pid}")?,
                (Some(pid), false) => writeln!(f, "is up already, process {pid}")?,
                (None, _) => writeln!(f, "is behind a real probe: switch it on yourself")?,
            }
        }
        for (board, run_dir) in self.boards.iter().filter_map(|board| Some((board, board.run_dir.as_ref()?))) {
            if self.run_dirs {
                writeln!(f, "{name}board {}{end}  {}", board.name, run_dir.display())?;
            }
        }
        let mut missing: Vec<_> = self.boards.iter().filter_map(|board| board.missing_firmware.as_ref()).collect();
        missing.dedup();
        for path in &missing {
            writeln!(f, "{}missing{:#}  the firmware {}", paint::WARN, paint::WARN, path.display())?;
        }
        if !missing.is_empty() {
            writeln!(
                f,
                "build it, or name another file in stillpoint.toml; then flash the boards with `stillpoint flash`"
            )?;
        } else if self.boards.iter().any(|board| board.started) {
            writeln!(f, "flash them with `stillpoint flash`")?;
        }
        Ok(())
    }
}
