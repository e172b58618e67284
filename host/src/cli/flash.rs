//! `stillpoint flash` - write each board's firmware to it and start it.
//!
//!     $ stillpoint flash
//!     board A  flashed and started, 31204 bytes
//!     board B  flashed and started, 31204 bytes
use super::{CliError, Context, Exit, Report, paint};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use stillpoint::config::BoardConfig;
use stillpoint::{FlashStep, Session, flash};

/// Write each board's firmware to it, check what was written, and start all boards.
#[derive(clap::Args)]
#[command(after_help = "The boards are written at the same time and started together.\n\n\
                        Example:\n  stillpoint flash\n  stillpoint flash B")]
pub struct Args {
    /// These boards only.
    #[arg(value_name = "BOARD")]
    boards: Vec<String>,
}

#[derive(Serialize)]
struct Answer {
    boards: Vec<Board>,
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
    context.out().print(&Answer { boards });
    Ok(Exit::Ok)
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
    let start = |(board, (mut session, bytes)): (&BoardConfig, (Session, usize))| {
        session.reset().map_err(|source| CliError::Session { board: board.name.clone(), source })?;
        Ok(Board { name: board.name.clone(), bytes })
    };
    written.into_iter().map(start).collect()
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Board { name, bytes } in &self.boards {
            writeln!(f, "{}board {name}{:#}  flashed and started, {bytes} bytes", paint::NAME, paint::NAME)?;
        }
        Ok(())
    }
}
