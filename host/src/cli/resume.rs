//! `stillpoint resume` - let everything that is halted go on.
//!
//!     $ stillpoint resume
//!     resumed: left0, left1, right0, right1
use super::{CliError, Context, Exit, Output, Report, paint};
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use stillpoint::{Lost, System};

/// Let everything that is halted go on, together: a consistent halt, a delayed one, cores stopped by the probe.
#[derive(clap::Args)]
#[command(
    after_help = "The nodes leave their halt on a release that travels in band, so one resumes a mailbox latency after the \
                        other, not a probe latency.\n\nExample:\n  stillpoint resume"
)]
pub struct Args {
    /// Give up after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    limit: u64,
}

#[derive(Serialize)]
struct Answer {
    resumed: Vec<String>,
    missing: Vec<Missing>,
}

#[derive(Serialize)]
struct Missing {
    board: String,
    nodes: Vec<String>,
    why: String,
}

impl From<&Lost> for Missing {
    fn from(lost: &Lost) -> Self {
        Self { board: lost.board.clone(), nodes: lost.nodes.clone(), why: lost.why.clone() }
    }
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system = context.present()?;
    resume(system, out, Duration::from_secs(args.limit))
}

fn resume(system: &mut System, out: Output, limit: Duration) -> Result<Exit, CliError> {
    let mut resumed = system.run_stopped()?;
    for name in system.resume_all(limit)? {
        if !resumed.contains(&name) {
            resumed.push(name);
        }
    }
    let missing: Vec<Missing> = system.missing().iter().map(Missing::from).collect();
    let exit = if missing.is_empty() { Exit::Ok } else { Exit::Bad };
    out.print(&Answer { resumed, missing });
    Ok(exit)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resumed.as_slice() {
            [] => writeln!(f, "nothing was halted")?,
            names => writeln!(f, "{}resumed{:#}: {}", paint::GOOD, paint::GOOD, names.join(", "))?,
        }
        for Missing { nodes, why, board } in &self.missing {
            writeln!(f, "{}missing{:#}: {} (board {board}: {why})", paint::BAD, paint::BAD, nodes.join(", "))?;
        }
        Ok(())
    }
}
