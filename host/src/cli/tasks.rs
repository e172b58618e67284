//! `stillpoint tasks` - what every task of the halted system does, and the futures that it waits in.
//!
//!     $ stillpoint tasks
//!     left0   pump      waiting  target-agent/examples/token_ring.rs:133
//!               Agent::pump  target-agent/src/agent/mod.rs:284
//!     left1   pass[0]   waiting  target-agent/examples/token_ring.rs:97
//!               Inbox::recv  target-agent/src/port.rs:231
use super::print::check_halted;
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::DebugInfo;
use stillpoint::backtrace::{Frame, FrameKind};
use stillpoint::tasks::{Link, Task, TaskReport, TaskState};

/// Show every embassy task of the halted system: its state, the `.await` at which it waits, and the futures inside.
#[derive(clap::Args)]
#[command(
    after_help = "States: running (a core is polling it; its backtrace is shown), ready (it waits for its executor), waiting (it \
                  waits to be woken), ended, never spawned. A task without a node was never spawned, or its executor does not \
                  say on which core it runs. Exit code 1 if the tasks of a board cannot be found.\n\nExample:\n  stillpoint halt && stillpoint tasks\n  stillpoint tasks left0\n  stillpoint tasks --why\n  \
                  stillpoint tasks --json | jq '.tasks[] | select(.state == \"waiting\") | .line'\n  stillpoint tasks --from crash.dump"
)]
pub struct Args {
    /// Only the tasks of these nodes.
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,
    /// Show why tasks wait: what for, which task holds the other end, and what that one does.
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    pub(super) look: super::Look,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    report: TaskReport,
    #[serde(skip)]
    why: bool,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let is_dump = context.is_dump();
    let system = context.present()?;
    let chosen = args.nodes.iter().map(|name| system.find(name)).collect::<Result<Vec<_>, _>>()?;
    let chosen: Vec<String> = chosen.into_iter().map(|at| system.node_name(at)).collect();
    if !is_dump {
        let boards: Vec<usize> = (0..system.boards().len()).collect();
        check_halted(system, &boards, "")?;
    }
    let mut report = system.tasks(&mut DebugInfo::default())?;
    report.tasks.retain(|task| chosen.is_empty() || task.node.as_ref().is_some_and(|node| chosen.contains(node)));
    // A board whose tasks cannot be found has none to be at ease about.
    let exit = if report.notes.is_empty() { Exit::Ok } else { Exit::Bad };
    out.print(&Answer { report, why: args.why });
    Ok(exit)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.report.tasks.is_empty() {
            writeln!(f, "no tasks")?;
        }
        match self.why {
            true => reasons(f, &self.report.tasks)?,
            false => table(f, &self.report.tasks, true)?,
        }
        let warn = paint::WARN;
        self.report.notes.iter().try_for_each(|note| writeln!(f, "{warn}{note}{warn:#}"))
    }
}

/// A line for each task, and below it the futures that it waits in, or where it runs.
pub(super) fn table(f: &mut fmt::Formatter<'_>, tasks: &[Task], with_chains: bool) -> fmt::Result {
    let width = |of: &dyn Fn(&Task) -> usize| tasks.iter().map(of).max().unwrap_or(0);
    let nodes = width(&|task| node_of(task).len());
    let titles = width(&|task| task.title().len());
    let states = width(&|task| task.state.word().len());
    for task in tasks {
        let (node, title, state) = (node_of(task), task.title(), task.state);
        let style = match state {
            TaskState::Running | TaskState::Ready => paint::GOOD,
            TaskState::Unknown => paint::BAD,
            TaskState::Waiting => paint::WARN,
            TaskState::Ended | TaskState::NeverSpawned => paint::FAINT,
        };
        let (name, name_off) = (paint::NAME, format!("{:#}", paint::NAME));
        write!(f, "  {name}{node:nodes$}  {title:titles$}{name_off}  {style}{state:states$}{style:#}")?;
        if let Some(line) = &task.line {
            write!(f, "  {line}")?;
        }
        if task.woken {
            write!(f, "  woken again")?;
        }
        writeln!(f)?;
        let indent = nodes + 6;
        if let Some(note) = &task.note {
            writeln!(f, "{:indent$}{}{note}{:#}", "", paint::WARN, paint::WARN)?;
        }
        if with_chains {
            task.chain.as_ref().map_or(Ok(()), |chain| links(f, chain, indent))?;
            running(f, task, indent)?;
        }
    }
    Ok(())
}

/// A line for each thing that a task waits for, with the task at the other end and what that one does.
fn reasons(f: &mut fmt::Formatter<'_>, tasks: &[Task]) -> fmt::Result {
    let ids = tasks.iter().map(|task| task.id().len()).max().unwrap_or(0);
    for task in tasks.iter().filter(|task| task.is_spawned()) {
        let (name, line) = (paint::NAME, task.line.as_ref().map_or_else(String::new, |line| format!(" at {line}")));
        writeln!(f, "  {name}{:ids$}{name:#}  {}{line}", task.id(), task.state)?;
        if let Some(note) = &task.note {
            writeln!(f, "  {:ids$}  {}{note}{:#}", "", paint::WARN, paint::WARN)?;
        }
        for wait in &task.waits {
            write!(f, "  {:ids$}  waits for {}", "", wait.thing)?;
            match wait.remaining {
                Some(left) if left < 0.0 => write!(f, ", due since {:.1} ms", -left)?,
                Some(left) => write!(f, ", due in {left:.1} ms")?,
                None => {}
            }
            match wait.in_flight {
                Some(1) => write!(f, ", 1 message is on its way")?,
                Some(count) if count > 1 => write!(f, ", {count} messages are on their way")?,
                _ => {}
            }
            match (wait.tasks.as_slice(), &wait.node, &wait.doing) {
                ([], Some(node), _) => write!(f, ", from {node}, where no task holds the other end")?,
                ([one], _, Some(doing)) => write!(f, ", from {one}, which is {doing}")?,
                ([first, ..], _, Some(doing)) => {
                    write!(f, ", from {}; {first} is {doing}", wait.tasks.join(" or "))?;
                }
                _ => {}
            }
            if wait.circle {
                write!(f, "  {}a circle of waits{:#}", paint::BAD, paint::BAD)?;
            }
            writeln!(f)?;
        }
    }
    Ok(())
}

fn node_of(task: &Task) -> &str {
    task.node.as_deref().unwrap_or("-")
}

/// The futures inside a task; the task's own line is in the table.
fn links(f: &mut fmt::Formatter<'_>, chain: &Link, indent: usize) -> fmt::Result {
    for (depth, link) in chain.walk() {
        if depth == 0 && link.note.is_none() {
            continue;
        }
        let field = if link.field.is_empty() { String::new() } else { format!("{}: ", link.field) };
        write!(f, "{:width$}{field}{}", "", link.short_name(), width = indent + 2 * depth.saturating_sub(1))?;
        if let Some(line) = link.line.as_ref().filter(|_| depth > 0) {
            write!(f, "  {line}")?;
        }
        if let Some(note) = &link.note {
            write!(f, "  {}({note}){:#}", paint::FAINT, paint::FAINT)?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// Where a core stands in a task that runs.
fn running(f: &mut fmt::Formatter<'_>, task: &Task, indent: usize) -> fmt::Result {
    let Some(backtrace) = &task.backtrace else { return Ok(()) };
    // What called the executor is the same for all its tasks.
    let is_executor = |frame: &&Frame| frame.function.starts_with("embassy_executor::raw::TaskStorage<");
    let frames = backtrace.past_the_agent().iter().take_while(|frame| !is_executor(frame));
    for frame in frames.filter(|frame| matches!(frame.kind, FrameKind::User | FrameKind::Kit)) {
        writeln!(f, "{:indent$}{}{frame}{:#}", "", paint::FAINT, paint::FAINT)?;
    }
    Ok(())
}
