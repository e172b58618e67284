//! `stillpoint learn` - a model from recordings of good runs.
//!
//!     $ stillpoint learn good1.trace good2.trace good3.trace -o ring.model
//!     wrote ring.model: 4 actions of 3 runs in 23 lines; read it, then `stillpoint check ring.model run.trace`
use super::{CliError, Context, Exit, Report, files, history};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use stillpoint::OutputFile;
use stillpoint_trace::learn::{Run, learn};
use stillpoint_trace::{History, View};

/// Write a model of what always held in recordings of good runs.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. The model has the observed firing and routing rules of tracepoints (of sends and receives where there \
                  are none), the orders that always held, and the pairs that never ran in parallel, each with its support. It is text to be \
                  edited; docs/CHECK.md describes it.\n\n\
                  Example:\n  stillpoint learn good1.trace good2.trace good3.trace -o ring.model\n  stillpoint check ring.model bad.trace"
)]
pub struct Args {
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// The recordings of good runs.
    #[arg(required = true, value_name = "TRACE")]
    files: Vec<PathBuf>,
    /// The model to write; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Learn only from some events: nodes=A,B kinds=trace actions=lap. What is left out still carries order.
    #[arg(long, value_name = "WHAT=NAMES")]
    only: Vec<String>,
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
    runs: usize,
    lines: usize,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let usage = |text: String| CliError::Usage(text);
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let histories: Vec<History> = args
        .files
        .iter()
        .map(|file| history::read(file, context).map(|history| args.order.of(history)))
        .collect::<Result<_, _>>()?;
    for (path, history) in args.files.iter().zip(&histories) {
        history::say_notes(path, history, context.out());
    }
    let runs: Vec<Run<'_>> =
        names.iter().zip(&histories).map(|(name, history)| Run { name: name.as_str(), history }).collect();
    let header = histories.first().map(|history| history.header.clone()).unwrap_or_default();
    let only = View::parse(&args.only, &header).map_err(|error| usage(error.to_string()))?;
    let text = learn(&runs, &only).map_err(|error| usage(error.to_string()))?;
    if args.output == Path::new("-") {
        context.out().write(|to| to.write_all(text.as_bytes()));
        return Ok(Exit::Ok);
    }
    args.files.iter().try_for_each(|file| files::check_is_other(&args.output, file))?;
    files::write(OutputFile::at(&args.output), context, |to| to.write_all(text.as_bytes()))?;
    let lines = text.lines().count();
    context.out().print(&Written { file: args.output.clone(), runs: runs.len(), lines });
    Ok(Exit::Ok)
}

impl Report for Written {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, runs, lines } = self;
        let file = file.display();
        writeln!(f, "wrote {file}: {lines} lines from {runs} runs; read it, then `stillpoint check {file} run.trace`")
    }
}
