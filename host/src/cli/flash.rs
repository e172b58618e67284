//! `stillpoint flash` - write each board's firmware to it and start it.
//!
//!     $ stillpoint flash
//!     board A  flashed, 26 KiB
//!     board B  flashed, 26 KiB
use super::{CliError, Context, Exit, Report, paint};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use stillpoint::{FlashStep, OpenError, Session, flash};

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
struct Result_ {
    boards: Vec<Board>,
}

#[derive(Serialize)]
struct Board {
    name: String,
    bytes: u64,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let file = context.file()?;
    let chosen = context.chosen_boards(&args.boards)?;
    let bars = MultiProgress::new();
    let style = ProgressStyle::with_template("{prefix:>10}  {bar:30} {bytes}/{total_bytes}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let written: Vec<Result<(Session, u64), OpenError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = chosen
            .iter()
            .map(|board| {
                let bar = bars.add(ProgressBar::new(0).with_style(style.clone()).with_prefix(board.name.clone()));
                let file = &file;
                scope.spawn(move || {
                    let session = flash(file, board, |step| match step {
                        FlashStep::Ahead(bytes) => bar.inc_length(bytes),
                        FlashStep::Done(bytes) => bar.inc(bytes),
                    })?;
                    bar.finish_and_clear();
                    Ok((session, bar.position()))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("flashing does not panic")).collect()
    });
    let mut boards = Vec::new();
    let mut sessions = Vec::new();
    for (board, written) in chosen.iter().zip(written) {
        let (session, bytes) = written?;
        boards.push(Board { name: board.name.clone(), bytes });
        sessions.push(session);
    }
    // Only now: none of them shall wait for a peer that is still being written.
    for (board, session) in chosen.iter().zip(&mut sessions) {
        session.reset().map_err(|source| CliError::Session { board: board.name.clone(), source })?;
    }
    drop(sessions);
    context.out().print(&Result_ { boards });
    Ok(Exit::Ok)
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Board { name, bytes } in &self.boards {
            writeln!(f, "{}board {name}{:#}  flashed and started, {bytes} bytes", paint::NAME, paint::NAME)?;
        }
        Ok(())
    }
}
