//! `stillpoint flash` - write each board's firmware to it and start it.
//!
//!     $ stillpoint flash
//!     board A  flashed and started, 31204 bytes
//!     board B  flashed and started, 31204 bytes
use super::started::{Patience, await_start};
use super::{CliError, Context, Exit, NodeSeen, Report, paint};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use stillpoint::config::BoardConfig;
use stillpoint::{FlashStep, Session, flash, start_together};

/// Write each board's firmware to it, check what was written, and start all boards.
#[derive(clap::Args)]
#[command(
    after_help = "The boards are written at the same time and started together. Exit code 1 if a node does not run \
                        afterwards.\n\n\
                        Example:\n  stillpoint flash\n  stillpoint flash B"
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
    boards: Vec<Board>,
    failed: Vec<NodeSeen>,
}

#[derive(Serialize)]
pub(super) struct Board {
    pub name: String,
    pub bytes: usize,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let chosen = context.chosen_boards(&args.boards)?;
    let boards = write_and_start(context, &chosen)?;
    super::trace::give_chosen(context)?;
    let failed = await_start(context, &chosen, args.patience)?.failed;
    let exit = if failed.is_empty() { Exit::Ok } else { Exit::Bad };
    context.out().print(&Answer { boards, failed });
    Ok(exit)
}

/// Writes these boards at the same time, and starts them when all are written.
pub(super) fn write_and_start(context: &mut Context, chosen: &[BoardConfig]) -> Result<Vec<Board>, CliError> {
    let bars = MultiProgress::new();
    let style = ProgressStyle::with_template("{prefix:>10}  {bar:30} {bytes}/{total_bytes}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let written = context.on_each(chosen, |file, board| {
        let bar = bars.add(ProgressBar::new(0).with_style(style.clone()).with_prefix(board.name.clone()));
        let written = flash(file, board, |step| match step {
            FlashStep::Ahead(bytes) => bar.inc_length(bytes),
            FlashStep::Done(bytes) => bar.inc(bytes),
        });
        bar.finish_and_clear();
        written
    })?;
    let written = chosen.iter().zip(written).map(|(board, written)| Ok((board, written?)));
    // Only when all are written: none shall wait for a peer that is not.
    let written = written.collect::<Result<Vec<_>, CliError>>()?;
    let (boards, mut sessions): (Vec<Board>, Vec<Session>) = written
        .into_iter()
        .map(|(board, (session, bytes))| (Board { name: board.name.clone(), bytes }, session))
        .unzip();
    reset_and_start(chosen, &mut sessions)?;
    Ok(boards)
}

/// Resets these boards and starts them together: none starts before all are reset, as what it sent to one that is not would
/// be lost.
pub(super) fn reset_and_start(boards: &[BoardConfig], sessions: &mut [Session]) -> Result<(), CliError> {
    let fail = |board: &BoardConfig| {
        let board = board.name.clone();
        move |source| CliError::Session { board, source }
    };
    // First they all stop, so that none runs on beside one that is reset already.
    for (board, session) in boards.iter().zip(&mut *sessions) {
        session.halt().map_err(fail(board))?;
    }
    for (board, session) in boards.iter().zip(&mut *sessions) {
        session.reset_and_halt().map_err(fail(board))?;
    }
    boards.iter().zip(start_together(sessions)).try_for_each(|(board, started)| started.map_err(fail(board)))
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Board { name, bytes } in &self.boards {
            writeln!(f, "{}board {name}{:#}  flashed and started, {bytes} bytes", paint::NAME, paint::NAME)?;
        }
        self.failed.iter().try_for_each(|node| node.text(f))
    }
}
