//! `stillpoint trace info` - what is in a recording.
use super::counted::Counted;
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::trace::{NodeSum, Summary, TraceReader};

/// Say what is in a recording, and where it is damaged if it is.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. Exit code 1 if the file is damaged or cut off: what lies before the \
                        damage is summed up all the same.\n\nExample:\n  stillpoint trace info run.trace"
)]
pub struct Args {
    /// The recording.
    file: PathBuf,
}

#[derive(Serialize)]
struct Result_ {
    system: String,
    tool: String,
    boards: Vec<(String, String, String)>,
    /// How long it took, if it was ended in order.
    seconds: Option<f64>,
    nodes: Vec<NodeSum>,
    /// Where it is damaged, and how.
    damage: Option<String>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let mut trace = TraceReader::open(&args.file)?;
    let nodes = trace.header.nodes.iter();
    let mut summaries: Vec<_> = nodes.map(|node| Summary::new(node.id, node.name.clone())).collect();
    // Piece by piece: a recording may be larger than the memory.
    while let Some(chunk) = trace.chunk()? {
        if let Some(summary) = summaries.iter_mut().find(|summary| summary.sum().id == chunk.node) {
            summary.add(&chunk);
        }
    }
    let boards = trace.header.boards.iter();
    let result = Result_ {
        system: trace.header.system.clone(),
        tool: trace.header.tool.clone(),
        boards: boards.map(|of| (of.name.clone(), of.firmware.clone(), of.identity.clone())).collect(),
        seconds: trace.ended.map(|ended| ended as f64 / 1e6),
        nodes: summaries.iter().map(|summary| summary.sum().clone()).collect(),
        damage: trace.damage.as_ref().map(ToString::to_string),
    };
    let exit = if result.damage.is_some() { Exit::Bad } else { Exit::Ok };
    context.out().print(&result);
    Ok(exit)
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "recorded from {} by {}", self.system, self.tool)?;
        for (name, firmware, identity) in &self.boards {
            writeln!(f, "board {name}  {firmware}, {identity}")?;
        }
        for node in &self.nodes {
            write!(f, "{}{:<8}{:#}{:#}", paint::NAME, node.name, paint::NAME, Counted(node))?;
            if let (Some(first), Some(last)) = (node.first, node.last) {
                write!(f, "  {first} to {last}")?;
            }
            writeln!(f)?;
        }
        match (&self.damage, self.seconds) {
            (Some(damage), _) => writeln!(f, "{}{damage}{:#}", paint::BAD, paint::BAD),
            (None, Some(seconds)) => writeln!(f, "ended in order after {seconds:.1} s"),
            (None, None) => writeln!(
                f,
                "not ended in order: the recorder was stopped before it could finish, or the file was cut; events may be missing at \
                 the end"
            ),
        }
    }
}
