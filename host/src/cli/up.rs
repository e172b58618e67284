//! `stillpoint up` - start the emulated boards.
//!
//!     $ stillpoint up
//!     board A  started, process 4711
//!     board B  started, process 4712
//!     flash them with `stillpoint flash`
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::config::ProbeConfig;
use stillpoint::emulated::{self, Up};

/// Start the emulated boards: powered, joined by their links, and empty until they are flashed.
#[derive(clap::Args)]
#[command(after_help = "Boards that are up stay as they are; boards behind a real probe are not touched.\n\n\
                        Example:\n  stillpoint up && stillpoint flash")]
pub struct Args {}

#[derive(Serialize)]
struct Answer {
    boards: Vec<Board>,
}

#[derive(Serialize)]
struct Board {
    name: String,
    emulated: bool,
    started: bool,
    process: Option<u32>,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let file = context.file()?;
    context.detach()?;
    let done = emulated::up(&file).map_err(CliError::Machines)?;
    let boards = file.boards.iter().map(|board| {
        let up = done.iter().find(|(name, _)| *name == board.name).map(|(_, up)| *up);
        let process = up.map(|up| match up {
            Up::Started(pid) | Up::Already(pid) => pid,
        });
        let started = matches!(up, Some(Up::Started(_)));
        Board { name: board.name.clone(), emulated: board.probe == ProbeConfig::Qemu, started, process }
    });
    context.out().print(&Answer { boards: boards.collect() });
    Ok(Exit::Ok)
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
        if self.boards.iter().any(|board| board.started) {
            writeln!(f, "flash them with `stillpoint flash`")?;
        }
        Ok(())
    }
}
