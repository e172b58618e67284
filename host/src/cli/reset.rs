//! `stillpoint reset` - start boards from the beginning.
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::Session;

/// Reset boards and let them run from the start.
#[derive(clap::Args)]
#[command(
    after_help = "A node that starts anew does so in a new epoch; what was on its way to it is counted as lost.\n\n\
                        Example:\n  stillpoint reset\n  stillpoint reset B"
)]
pub struct Args {
    /// These boards only.
    #[arg(value_name = "BOARD")]
    boards: Vec<String>,
}

#[derive(Serialize)]
struct Answer {
    reset: Vec<String>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let chosen = context.chosen_boards(&args.boards)?;
    let done = context.on_each(&chosen, |file, board| Session::open(file, board)?.reset())?;
    let mut reset = Vec::new();
    for (board, done) in chosen.iter().zip(done) {
        done.map_err(|source| CliError::Session { board: board.name.clone(), source })?;
        reset.push(board.name.clone());
    }
    super::trace::give_chosen(context)?;
    context.out().print(&Answer { reset });
    Ok(Exit::Ok)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reset.iter().try_for_each(|name| writeln!(f, "{}board {name}{:#}  reset", paint::NAME, paint::NAME))
    }
}
