//! `stillpoint export` - a recording in the forms that other tools read.
//!
//!     $ stillpoint export --format perfetto run.trace -o run.pftrace
//!     wrote 12034 events into run.pftrace, 1234567 bytes; open it at https://ui.perfetto.dev
use super::{CliError, Context, Exit, Report, files, history};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use stillpoint::OutputFile;
use stillpoint_trace::View;
use stillpoint_trace::export::{self, Format};

/// Write a recording for other tools: ShiViz, Perfetto, or anything that reads JSON, CSV or Parquet.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. What is missing or broken in the recording is told on standard error, and is in the JSON; \
                  exit code 1 if the recording is damaged: what lies before the damage is written. Boards have no common clock: for Perfetto \
                  their times are joined by the messages between them.\n\n\
                  Examples:\n  stillpoint export --format perfetto run.trace -o run.pftrace\n  stillpoint export --format csv run.trace -o - | head\n  \
                  stillpoint export --format shiviz run.trace -o run.log --only kinds=trace --only nodes=left0,left1"
)]
pub struct Args {
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// The form.
    #[arg(long, value_name = "FORM")]
    format: Form,
    /// The recording.
    file: PathBuf,
    /// The file to write; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Only some: nodes=A,B or kinds=send,recv or actions=send(out),lap. What is left out still orders what is written.
    #[arg(long, value_name = "WHAT=NAMES")]
    only: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// For ShiViz, with its default parser expression.
    Shiviz,
    /// For the Perfetto viewer.
    Perfetto,
    /// One JSON object.
    Json,
    /// A line an event.
    Csv,
    /// Columns, for DuckDB, DataFusion or Spark.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl From<Form> for Format {
    fn from(form: Form) -> Self {
        match form {
            Form::Shiviz => Self::Shiviz,
            Form::Perfetto => Self::Perfetto,
            Form::Json => Self::Json,
            Form::Csv => Self::Csv,
            #[cfg(feature = "parquet")]
            Form::Parquet => Self::Parquet,
        }
    }
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
    events: usize,
    bytes: u64,
    /// How to open it.
    hint: &'static str,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let history = args.order.of(history::load(&args.file, context)?);
    let view = View::parse(&args.only, &history.header).map_err(|error| CliError::Usage(error.to_string()))?;
    let shown = view.of(&history);
    for note in history.notes() {
        out.say("note", note.say(&history.header));
    }
    let exit = if history::is_damaged(&history) { Exit::Bad } else { Exit::Ok };
    let format = args.format.into();
    if args.output == Path::new("-") {
        out.write(|to| export::export(&shown, format, to));
        return Ok(exit);
    }
    files::check_is_other(&args.output, &args.file)?;
    let bytes = files::write(OutputFile::at(&args.output), context, |file| export::export(&shown, format, file))?;
    let hint = match args.format {
        Form::Shiviz => "open it at https://bestchai.bitbucket.io/shiviz",
        Form::Perfetto => "open it at https://ui.perfetto.dev",
        _ => "",
    };
    out.print(&Written { file: args.output.clone(), events: shown.len(), bytes, hint });
    Ok(exit)
}

impl Report for Written {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, events, bytes, hint } = self;
        write!(f, "wrote {events} events into {}, {bytes} bytes", file.display())?;
        if hint.is_empty() { writeln!(f) } else { writeln!(f, "; {hint}") }
    }
}
