//! `stillpoint stable` - whether a simultaneous event can be stopped at so that the halted state shows it.
//!
//!     $ stillpoint stable 'left0.lap == 4 === right1.lap == 5'
//!     left0.lap   changes only after recv(ring), token_ring.rs:87, :97, which right1 feeds through right0
//!     recognised  at right1, recv(ring), token_ring.rs:87, :97; set of `lap`, token_ring.rs:101
//!     carried by  left0.out, right0.ring; 4 other channels carry nothing
use super::{CliError, Context, Exit, Look, Report, history};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::expr::{self, Directory};
use stillpoint::program::{SystemProgram, Verdict, verdict};
use stillpoint::trace::{Header, header_of};

/// Explain whether conditions of several nodes can be stopped at while all of them hold.
#[derive(clap::Args)]
#[command(
    after_help = "Conditions of different nodes are joined by ===. The answer comes from the sources of the firmware, before \
                  anything runs: which node can recognise the event, which messages would have to say what, and which source \
                  lines that relies on. Exit code 0 if every component holds in the halted state whenever the event is \
                  recognised, 1 if that cannot be promised; the message names the line that is in the way.\n\
                  The sources are found by the debug information of the firmware. docs/SIMULTANEOUS.md has an example worked \
                  through.\n\n\
                  Examples:\n  stillpoint stable 'left0.lap == 4 === right1.lap == 5'\n  \
                  stillpoint stable 'left0.holding == 1 === right1.holding == 1' --trace run.trace\n  \
                  stillpoint stable 'left0.lap >= 4 === right1.lap >= 4' --growing left0.lap --growing right1.lap"
)]
pub struct Args {
    /// The event: NODE.CONDITION === NODE.CONDITION.
    #[arg(value_name = "EXPR")]
    expression: String,
    #[command(flatten)]
    pub(super) program: ProgramArgs,
    /// Take it that this watch never falls, as NODE.WATCH; then `>=` and `>` stay true.
    #[arg(long, value_name = "WATCH")]
    growing: Vec<String>,
    #[command(flatten)]
    pub(super) look: Look,
}

/// Where nodes, channels and sources come from.
#[derive(clap::Args)]
pub struct ProgramArgs {
    /// Take nodes and channels from a recording instead of from boards.
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// The folder of the sources, or the first file of the firmware; else they are where the debug information says.
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
}

impl ProgramArgs {
    /// Sources in this folder, or where the debug information says.
    pub fn at(source: Option<PathBuf>) -> Self {
        Self { trace: None, source }
    }

    /// The nodes and channels of the system.
    pub fn header(&self, context: &mut Context) -> Result<Header, CliError> {
        match &self.trace {
            Some(trace) => Ok(history::read(trace, context)?.header),
            None => {
                let file = context.file()?.path.display().to_string();
                Ok(header_of(context.system()?, &file)?)
            }
        }
    }

    /// The program of the system, from its sources.
    pub fn load(&self, header: &Header) -> Result<SystemProgram, CliError> {
        let usage = |error: stillpoint::program::ProgramError| {
            let advice = if error.wants_a_folder() { "; --source names the folder they are in" } else { "" };
            CliError::Usage(format!("{error}{advice}"))
        };
        SystemProgram::load(header, self.source.as_deref()).map_err(usage)
    }
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let header = args.program.header(context)?;
    let verdict = judge(&args.expression, &args.program, &args.growing, &header)?.1;
    let exit = if verdict.is_promised { Exit::Ok } else { Exit::Bad };
    context.out().print(&Answer(verdict));
    Ok(exit)
}

/// What the sources say of an event.
pub fn judge(
    text: &str,
    from: &ProgramArgs,
    growing: &[String],
    header: &Header,
) -> Result<(SystemProgram, Verdict), CliError> {
    let directory = Directory::of_trace(header);
    let event = expr::simultaneous(text, &directory).map_err(|error| CliError::Usage(error.to_string()))?;
    let program = from.load(header)?;
    let verdict = verdict(&program, &event, text, growing).map_err(CliError::Usage)?;
    Ok((program, verdict))
}

#[derive(Serialize)]
#[serde(transparent)]
struct Answer(Verdict);

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        if self.0.is_promised {
            return Ok(());
        }
        writeln!(f, "instead: `stillpoint detect` on a recording, or `stillpoint break` as best effort")
    }
}
