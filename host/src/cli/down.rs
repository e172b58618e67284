//! `stillpoint down` - stop the emulated boards.
//!
//!     $ stillpoint down
//!     board A  stopped
//!     board B  had ended already: QEMU has ended and left no message, as after `kill -9`
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::config::ProbeConfig;
use stillpoint::emulated::{self, MachineState};
use stillpoint::{StateDir, owner};

/// Stop the emulated boards and forget them.
#[derive(clap::Args)]
#[command(after_help = "Boards behind a real probe are not touched.\n\nExample:\n  stillpoint down")]
pub struct Args {}

#[derive(Serialize)]
struct Answer {
    boards: Vec<Board>,
}

#[derive(Serialize)]
struct Board {
    name: String,
    /// How it stood before.
    was: &'static str,
    reason: Option<String>,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let file = context.file()?;
    context.detach()?;
    let state = StateDir::of(&file).map_err(|error| CliError::Machines(error.into()))?;
    let _control = owner::control_if_owned(&state)?;
    let mut boards = Vec::new();
    for board in file.boards.iter().filter(|board| board.probe == ProbeConfig::Qemu) {
        let before = emulated::down(&file, board);
        let before = before.map_err(|source| CliError::Session { board: board.name.clone(), source })?;
        let (was, reason) = match before {
            MachineState::Up(_) => ("up", None),
            MachineState::Ended(why) => ("ended", Some(why)),
            MachineState::Down => ("down", None),
        };
        boards.push(Board { name: board.name.clone(), was, reason });
    }
    context.out().print(&Answer { boards });
    Ok(Exit::Ok)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Board { name, was, reason } in &self.boards {
            write!(f, "{}board {name}{:#}  ", paint::NAME, paint::NAME)?;
            match (*was, reason) {
                ("up", _) => writeln!(f, "stopped")?,
                (_, Some(why)) => writeln!(f, "had ended already: {why}")?,
                (_, None) => writeln!(f, "was not up")?,
            }
        }
        if self.boards.is_empty() {
            writeln!(f, "no board of this system is emulated")?;
        }
        Ok(())
    }
}
