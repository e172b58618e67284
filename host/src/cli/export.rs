//! `stillpoint export` - a recording in the forms that other tools read.
//!
//!     $ stillpoint export --format perfetto run.trace -o run.pftrace
//!     wrote 12034 events into run.pftrace, 1234567 bytes; open it at https://ui.perfetto.dev
use super::{CliError, Context, Exit, Report, history};
use serde::Serialize;
use std::fmt;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use stillpoint_trace::export::{self, Format};

/// Write a recording for other tools: ShiViz, Perfetto, or anything that reads JSON, CSV or Parquet.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. What is missing or broken in the recording is told on standard error, and is in the JSON; \
                  exit code 1 if the recording is damaged: what lies before the damage is written. Boards have no common clock: for Perfetto \
                  their times are joined by the messages between them.\n\n\
                  Examples:\n  stillpoint export --format perfetto run.trace -o run.pftrace\n  stillpoint export --format csv run.trace -o - | head"
)]
pub struct Args {
    /// The form.
    #[arg(long, value_name = "FORM")]
    format: Form,
    /// The recording.
    file: PathBuf,
    /// The file to write; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
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
    let history = history::load(&args.file, context)?;
    for note in history.notes() {
        out.say("note", note.say(&history.header));
    }
    let exit = if history::is_damaged(&history) { Exit::Bad } else { Exit::Ok };
    let format = args.format.into();
    if args.output == Path::new("-") {
        let mut stdout = BufWriter::new(std::io::stdout());
        return match export::export(&history, format, &mut stdout).and_then(|()| stdout.flush()) {
            // A reader that has seen enough, such as `head`, is no error.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(CliError::Usage(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(exit),
        };
    }
    let bytes = write(&args.output, &args.file, |file| export::export(&history, format, file))?;
    let hint = match args.format {
        Form::Shiviz => "open it at https://bestchai.bitbucket.io/shiviz",
        Form::Perfetto => "open it at https://ui.perfetto.dev",
        _ => "",
    };
    out.print(&Written { file: args.output.clone(), events: history.events.len(), bytes, hint });
    Ok(exit)
}

/// Writes a file whole or not at all: what was there stays until the new one is complete.
fn write(
    path: &Path,
    trace: &Path,
    work: impl FnOnce(&mut (dyn std::io::Write + Send)) -> std::io::Result<()>,
) -> Result<u64, CliError> {
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    if same(path).is_some() && same(path) == same(trace) {
        return Err(CliError::Usage(format!("{} is the recording itself: name another file", path.display())));
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = std::fs::File::create(&part).and_then(|file| {
        let mut file = BufWriter::new(file);
        work(&mut file)?;
        file.flush()?;
        let bytes = file.get_ref().metadata()?.len();
        std::fs::rename(&part, path).map(|()| bytes)
    });
    written.map_err(|error| {
        // It may not be there.
        let _ = std::fs::remove_file(&part);
        CliError::Usage(format!("cannot write {}: {error}", path.display()))
    })
}

impl Report for Written {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, events, bytes, hint } = self;
        write!(f, "wrote {events} events into {}, {bytes} bytes", file.display())?;
        if hint.is_empty() { writeln!(f) } else { writeln!(f, "; {hint}") }
    }
}
