//! `stillpoint reset` - start boards from the beginning.
//!
//!     $ stillpoint reset
//!     board A  reset
//!     board B  reset
use super::flash::reset_and_start;
use super::started::{Patience, await_start};
use super::{CliError, Context, Exit, NodeSeen, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::config::{BoardConfig, SystemFile};
use stillpoint::{BoardError, Firmware, Likeness, Memory as _, OpenCause, OpenError, Session};

/// Reset boards and let them run from the start.
#[derive(clap::Args)]
#[command(
    after_help = "Several boards are stopped, reset and started together, so none sends to one that is not reset yet.\n\
                  A node that starts anew does so in a new epoch; messages that were on their way to it are lost and counted. \
                  Where one board of several is reset, a message that the firmware does not send again stays lost: a \
                  token ring has no token then, until all its boards are reset.\n\
                  Exit code 1 if a node does not run afterwards.\n\n\
                  Example:\n  stillpoint reset\n  stillpoint reset B"
)]
pub struct Args {
    /// These boards only.
    #[arg(value_name = "BOARD")]
    boards: Vec<String>,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Serialize)]
struct Answer {
    reset: Vec<String>,
    /// The boards that are joined to one that was reset, and were not.
    not_reset: Vec<String>,
    failed: Vec<NodeSeen>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let chosen = context.chosen_boards(&args.boards)?;
    let mut sessions = context.sessions(&chosen)?;
    for (board, session) in chosen.iter().zip(&mut sessions) {
        forget(board, session).map_err(|cause| OpenError { board: board.name.clone(), cause })?;
    }
    reset_and_start(&chosen, &mut sessions)?;
    drop(sessions);
    super::trace::give_chosen(context)?;
    let failed = await_start(context, &chosen, args.patience)?.failed;
    let exit = if failed.is_empty() { Exit::Ok } else { Exit::Bad };
    let not_reset = joined(context.file()?.as_ref(), &chosen);
    if !not_reset.is_empty() {
        let what = "messages that were on their way to or from";
        context.out().say("lost", format!("{what} board {}, which was not reset", not_reset.join(", ")));
    }
    let reset = chosen.into_iter().map(|board| board.name).collect();
    context.out().print(&Answer { reset, not_reset, failed });
    Ok(exit)
}

/// Stops the board and clears the first word of its control blocks: they are of the life that ends, and must not be taken for
/// those of the next. A board without firmware is refused, as there is nothing to start.
fn forget(board: &BoardConfig, session: &mut Session) -> Result<(), OpenCause> {
    // A board can be reset without its ELF file; then its nodes cannot be read back, and this is said.
    let Ok(firmware) = Firmware::read(&board.firmware) else { return Ok(()) };
    match firmware.image.glance(session).map_err(BoardError::from)? {
        Likeness::Same => {
            session.halt()?;
            Ok(session.write(firmware.shared, &[0]).map_err(BoardError::from)?)
        }
        Likeness::Other => Ok(()),
        Likeness::Blank => Err(OpenCause::Blank),
    }
}

/// The boards that are joined to one of these and are none of them.
fn joined(file: &SystemFile, chosen: &[BoardConfig]) -> Vec<String> {
    let is_chosen = |board: usize| chosen.iter().any(|chosen| chosen.name == file.boards[board].name);
    let ends = file.links.iter().map(|link| link.between.map(|end| end.board));
    let mut beside: Vec<usize> = ends
        .filter(|ends| ends.iter().any(|board| is_chosen(*board)))
        .flatten()
        .filter(|board| !is_chosen(*board))
        .collect();
    beside.sort_unstable();
    beside.dedup();
    beside.into_iter().map(|board| file.boards[board].name.clone()).collect()
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reset.iter().try_for_each(|name| writeln!(f, "{}board {name}{:#}  reset", paint::NAME, paint::NAME))?;
        self.failed.iter().try_for_each(|node| node.text(f))
    }
}
