//! `stillpoint run` - see to it that every board runs its firmware.
//!
//!     $ stillpoint run
//!     board A  runs
//!     board B  had another image: flashed and started
use super::started::{Patience, Started, await_start};
use super::{CliError, Context, Exit, NodeSeen, Report, flash, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::config::BoardConfig;
use stillpoint::{BoardError, Firmware, Likeness, OpenCause, OpenError, Session};

/// See to it that every board runs the firmware of the system file: write it where it is not, start what is stopped.
#[derive(clap::Args)]
#[command(after_help = "What runs already is not disturbed; nodes that are halted stay so (`stillpoint resume`).\n\
                        Exit code 1 if a node does not run or halt afterwards.\n\n\
                        Example:\n  stillpoint up && stillpoint run")]
pub struct Args {
    #[command(flatten)]
    patience: Patience,
}

#[derive(Serialize)]
struct Answer {
    boards: Vec<Board>,
    halted: Vec<String>,
    failed: Vec<NodeSeen>,
}

#[derive(Serialize)]
struct Board {
    name: String,
    did: Did,
}

/// What had to be done.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Did {
    Nothing,
    Started,
    Flashed,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let all = context.chosen_boards(&[])?;
    let mut found = Vec::new();
    for (board, session) in all.iter().zip(&mut context.sessions(&all)?) {
        let did = find(board, session).map_err(|cause| OpenError { board: board.name.clone(), cause })?;
        found.push(did);
    }
    let stale: Vec<BoardConfig> =
        all.iter().zip(&found).filter(|(_, did)| **did == Did::Flashed).map(|(board, _)| board.clone()).collect();
    if !stale.is_empty() {
        flash::write_and_start(context, &stale)?;
    }
    super::trace::give_chosen(context)?;
    let Started { halted, failed } = await_start(context, &all, args.patience)?;
    let boards = all.iter().zip(found).map(|(board, did)| Board { name: board.name.clone(), did }).collect();
    let exit = if failed.is_empty() { Exit::Ok } else { Exit::Bad };
    context.out().print(&Answer { boards, halted, failed });
    Ok(exit)
}

/// Compares every byte of a board with its ELF file, and starts what is stopped.
fn find(board: &BoardConfig, session: &mut Session) -> Result<Did, OpenCause> {
    let firmware = Firmware::read(&board.firmware)?;
    if firmware.image.compare(session).map_err(BoardError::from)? != Likeness::Same {
        return Ok(Did::Flashed);
    }
    if !session.released().is_empty() {
        return Ok(Did::Started);
    }
    if !session.halted()?.contains(&true) {
        return Ok(Did::Nothing);
    }
    session.run()?;
    Ok(Did::Started)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Board { name, did } in &self.boards {
            let did = match did {
                Did::Nothing => "runs",
                Did::Started => "was stopped: started",
                Did::Flashed => "had another image: flashed and started",
            };
            writeln!(f, "{}board {name}{:#}  {did}", paint::NAME, paint::NAME)?;
        }
        if !self.halted.is_empty() {
            let names = self.halted.join(", ");
            writeln!(f, "{}halted{:#}: {names}; let them go with `stillpoint resume`", paint::WARN, paint::WARN)?;
        }
        self.failed.iter().try_for_each(|node| node.text(f))
    }
}
