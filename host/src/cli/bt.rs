//! `stillpoint bt` - where a core stands, or the futures that a task waits in, as a backtrace.
//!
//!     $ stillpoint bt left1/pass
//!     left1/pass[0] is waiting
//!       0  poll_fn  target-agent/src/port.rs:231
//!       1  stillpoint_agent::port::Inbox::recv  target-agent/src/port.rs:231
//!       2  token_ring::pass  target-agent/examples/token_ring.rs:97
use super::print::{check_halted, pretty_variable};
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::backtrace::{Backtrace, FrameKind};
use stillpoint::print::Limits;
use stillpoint::tasks::{Task, TaskVariable};
use stillpoint::{DebugInfo, System};

/// Show the backtrace of a core of the halted system, or of a task: the futures that it waits in, the innermost first.
#[derive(clap::Args)]
#[command(
    after_help = "A task that is running has the backtrace of its core. Futures that a `select` or a `join` polls are all shown, \
                  each with the field that holds it.\n\nExample:\n  stillpoint bt left1\n  stillpoint bt left1/pass --vars\n  \
                  stillpoint bt 'left0/pass[1]' --json"
)]
pub struct Args {
    /// The node, or a task of it.
    #[arg(value_name = "NODE[/TASK]")]
    of: String,
    /// Show the variables of each future or frame.
    #[arg(long)]
    vars: bool,
    /// Show every frame, those of libraries and of the kit that keep a core parked too.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    pub(super) look: super::Look,
}

#[derive(Serialize)]
struct Answer {
    of: String,
    task: Option<Task>,
    backtrace: Option<Backtrace>,
    variables: Option<Vec<TaskVariable>>,
    #[serde(skip)]
    full: bool,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let is_dump = context.is_dump();
    let system = context.present()?;
    let (node, task) = match args.of.split_once('/') {
        Some((node, task)) => (node, Some(task)),
        None => (args.of.as_str(), None),
    };
    let at = system.find(node)?;
    if !is_dump {
        check_halted(system, &[at.board], "")?;
    }
    let limits = Limits { depth: 3, elements: 16 };
    let mut debug = DebugInfo::default();
    let answer = match task {
        None => {
            let backtrace = backtrace(system, at, &mut debug)?;
            let variables = match args.vars {
                true => Some(system.frame_variables(at, &backtrace, None, limits, &mut debug).map_err(usage)?),
                false => None,
            };
            Answer { of: system.node_name(at), task: None, backtrace: Some(backtrace), variables, full: args.full }
        }
        Some(name) => {
            let (name, instance) = split(name)?;
            let report = system.tasks(&mut debug)?;
            let found = report.find(&system.node_name(at), name, instance).map_err(CliError::Usage)?.clone();
            let variables = match args.vars {
                true => Some(system.task_variables(&found, None, limits, &mut debug).map_err(usage)?),
                false => None,
            };
            let backtrace = found.backtrace.clone();
            Answer { of: found.id(), task: Some(found), backtrace, variables, full: args.full }
        }
    };
    out.print(&answer);
    Ok(Exit::Ok)
}

fn usage(error: stillpoint::print::PrintError) -> CliError {
    CliError::Usage(error.to_string())
}

/// The backtrace of a node's core.
pub(super) fn backtrace(
    system: &mut System,
    at: stillpoint::NodeAddress,
    debug: &mut DebugInfo,
) -> Result<Backtrace, CliError> {
    let name = system.node_name(at);
    let found = system.core_backtrace(at, debug)?;
    found.map_err(|why| CliError::Bad(format!("{name} has no backtrace: {why}")))
}

/// A task and which of its pool: `pass[1]`.
fn split(name: &str) -> Result<(&str, Option<u64>), CliError> {
    let Some((name, rest)) = name.split_once('[') else { return Ok((name, None)) };
    let number = rest.strip_suffix(']').and_then(|number| number.parse().ok());
    let number =
        number.ok_or_else(|| CliError::Usage(format!("`[{rest}` is not a place in a pool; write {name}[0]")))?;
    Ok((name, Some(number)))
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, faint) = (paint::NAME, paint::FAINT);
        match &self.task {
            Some(task) => writeln!(f, "{name}{}{name:#} is {}", self.of, task.state)?,
            None => writeln!(f, "{name}{}{name:#}", self.of)?,
        }
        if let Some(note) = self.task.as_ref().and_then(|task| task.note.as_ref()) {
            writeln!(f, "  {note}")?;
        }
        if let Some(backtrace) = &self.backtrace {
            let frames = if self.full { &backtrace.frames[..] } else { backtrace.past_the_agent() };
            for (number, frame) in frames.iter().enumerate() {
                if self.full || frame.kind != FrameKind::Library {
                    writeln!(f, "{number:>3}  {frame}")?;
                }
            }
        } else if let Some(chain) = self.task.as_ref().and_then(|task| task.chain.as_ref()) {
            for (number, (_, link)) in chain.walk().into_iter().rev().enumerate() {
                let line = link.line.as_ref().map_or_else(String::new, |line| format!("  {line}"));
                let field = if link.field.is_empty() { String::new() } else { format!("{}: ", link.field) };
                let note = link.note.as_ref().map_or_else(String::new, |note| format!("  ({note})"));
                writeln!(f, "{number:>3}  {field}{}{line}{faint}{note}{faint:#}", link.name)?;
            }
        }
        for variable in self.variables.iter().flatten() {
            pretty_variable(f, variable, true)?;
        }
        Ok(())
    }
}
