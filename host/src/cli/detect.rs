//! `stillpoint detect` - whether something ever happened in a recording, on several nodes at once or one after another.
//!
//!     $ stillpoint detect 'left0.holding == 1 & right0.holding == 1' run.trace
//!     left0.holding == 1 & right0.holding == 1
//!     possibly: yes   definitely: no
//!     the earliest such moment, up to and with
//!         left0 #57 watch(holding) = 1  left0.holding == 1
//!     ...
use super::{CliError, Context, Exit, Report, history, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint_trace::detect::{Answer, Detection, detect};

/// Look whether something ever happened in a recording.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. Exit code 0 if it happened or possibly did, 1 if it did not or cannot be \
                  told, 2 if the question or the recording cannot be read. The language is described in docs/CHECK.md.\n\n\
                  Example:\n  stillpoint detect 'left0.holding == 1 & right0.holding == 1' run.trace\n  \
                  stillpoint detect 'left0:send(ring) -> right1:recv(ring)' run.trace\n  \
                  stillpoint detect 'left0:send || right0:send' run.trace"
)]
pub struct Args {
    #[command(flatten)]
    picture: super::picture::PictureArgs,
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// What to look for.
    expression: String,
    /// The recording.
    trace: PathBuf,
    /// How many times are shown; all are counted.
    #[arg(long, default_value_t = 5, value_name = "N")]
    show: usize,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let usage = |text: String| CliError::Usage(text);
    let history = args.order.of(history::read(&args.trace, context)?);
    let detection = detect(&args.expression, &history, args.show).map_err(|error| usage(error.to_string()))?;
    let evidence: Vec<_> = detection.found.iter().map(|found| found.evidence(detection.asked)).collect();
    args.picture.draw(&history, &evidence, &args.trace, context)?;
    let exit = if detection.possibly == Answer::Yes { Exit::Ok } else { Exit::Bad };
    context.out().print(&Result_(detection));
    Ok(exit)
}

#[derive(Serialize)]
#[serde(transparent)]
struct Result_(Detection);

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.0.to_string().lines() {
            let style = match line == self.0.expression {
                true => paint::NAME,
                false => paint::PLAIN,
            };
            writeln!(f, "{style}{line}{style:#}")?;
        }
        Ok(())
    }
}
