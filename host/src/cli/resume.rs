//! `stillpoint resume` - let everything that is halted go on.
//!
//!     $ stillpoint resume
//!     resumed: left0, left1, right0, right1
use super::break_left::{remove_fired, remove_left};
use super::{CliError, Context, Exit, NodeSeen, Output, Report, paint};
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use stillpoint::{Lost, Resumed, System, SystemError};

/// Let everything that is halted go on, together: a consistent halt, a delayed one, cores stopped by the probe.
#[derive(clap::Args)]
#[command(
    after_help = "Nothing is resumed if a board is missing or cannot be read; --partial resumes the others. Exit code 1 if a node \
                        is missing or does not run afterwards: a crashed one runs again after a reset of its board.\nThe nodes leave their halt on a release that travels in band, so one resumes a mailbox latency after the \
                        other, not a probe latency.\n\nExample:\n  stillpoint resume"
)]
pub struct Args {
    /// Resume the nodes that can be reached, though a board is missing.
    #[arg(long)]
    partial: bool,
    /// Give up after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    limit: u64,
}

#[derive(Serialize)]
struct Answer {
    resumed: Vec<String>,
    stayed: Vec<NodeSeen>,
    missing: Vec<Missing>,
    /// The breakpoints that had fired and were removed.
    freed: Vec<u8>,
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
    let freed = free_breakpoints(context)?;
    let out = context.out();
    let system = context.present()?;
    resume(system, args.partial, freed, out, Duration::from_secs(args.limit))
}

/// Removes the breakpoints that a killed command left, and those that have fired: their halt is about to end. Returns the
/// numbers of the latter.
///
/// Boards that are missing, and cores that are stopped, cannot take part; then the breakpoints stay until the next resume.
fn free_breakpoints(context: &mut Context) -> Result<Vec<u8>, CliError> {
    let system = context.present()?;
    if !system.missing().is_empty() || !system.stopped()?.is_empty() {
        return Ok(Vec::new());
    }
    remove_left(context)?;
    // One that cannot be read is reported after the resume.
    let Ok(nodes) = context.system()?.nodes() else { return Ok(Vec::new()) };
    remove_fired(context, &nodes)
}

fn resume(system: &mut System, partial: bool, freed: Vec<u8>, out: Output, limit: Duration) -> Result<Exit, CliError> {
    let resumed = if partial { system.resume_partly(limit) } else { system.resume_all(limit) };
    let Resumed { resumed, stayed } = resumed.map_err(|error| match error {
        SystemError::NotAllThere(_) => CliError::Bad(format!("{error}; --partial resumes the others")),
        other => other.into(),
    })?;
    let stayed: Vec<NodeSeen> = stayed.into_iter().map(NodeSeen::from).collect();
    let missing: Vec<Missing> = system.missing().iter().map(Missing::from).collect();
    let exit = if missing.is_empty() && stayed.is_empty() { Exit::Ok } else { Exit::Bad };
    out.print(&Answer { resumed, stayed, missing, freed });
    Ok(exit)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resumed.as_slice() {
            [] => writeln!(f, "nothing was halted")?,
            names => writeln!(f, "{}resumed{:#}: {}", paint::GOOD, paint::GOOD, names.join(", "))?,
        }
        self.stayed.iter().try_for_each(|node| node.text(f))?;
        for Missing { nodes, why, board } in &self.missing {
            writeln!(f, "{}missing{:#}: {} (board {board}: {why})", paint::BAD, paint::BAD, nodes.join(", "))?;
        }
        Ok(())
    }
}
