//! `stillpoint print` - a static variable of the halted firmware, by its name in the source.
//!
//!     $ stillpoint print RING.slots[2]
//!     token_ring::RING.slots[2]: Slot, at 0x38000758
//!       A  Slot { full: true, value: 41 }
//!       B  Slot { full: false, value: 40 }
use super::{CliError, Context, Exit, Look, Report, paint};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use stillpoint::dwarf::DebugTypes;
use stillpoint::payload::Value;
use stillpoint::print::{Limits, PrintError, Query, TaskQuery, parse, parse_task, pretty};
use stillpoint::tasks::TaskVariable;
use stillpoint::{Board, DebugInfo, NodeState, System};

/// Print a static variable of the halted system: structs, enums, arrays, texts, whatever the debug information knows.
#[derive(clap::Args)]
#[command(
    after_help = "A path may be shortened as long as only one static ends so. Then .field, .0, [3], and a star before it for \
                        what a pointer points to. Every board has its own memory: each that has the variable is shown, or that \
                        of --node.\nA variable of a task is NODE/TASK.variable: what lives across the `.await` in each of its futures, \
                        or the locals of a task that is running, as far as the debug information says where they are. \
                        NODE/core.variable is a local of the frames of the core.\n\nExample:\n  stillpoint print RING\n  stillpoint print 'token_ring::RING.slots[2]' --node left0\n  \
                        stillpoint print '*LIST.head' --json\n  stillpoint --from crash.dump print RING\n  stillpoint print left1/pass.place"
)]
pub struct Args {
    /// What to print: path, path.field, path[3], *path, NODE/TASK.variable.
    #[arg(value_name = "EXPR")]
    expression: String,
    /// Only in the memory of this node's board.
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// How deep structs and arrays are shown.
    #[arg(long, value_name = "N", default_value_t = 8)]
    depth: u32,
    /// How many elements of an array are shown.
    #[arg(long, value_name = "N", default_value_t = 64)]
    limit: usize,
    /// Read memory while it may change: values may be half old and half new.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(super) look: Look,
}

#[derive(Serialize)]
struct Answer {
    expression: String,
    values: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    board: String,
    path: String,
    r#type: String,
    address: u64,
    value: Value,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    // Before any board is touched: a mistake in the text needs none.
    if let Some(query) = parse_task(&args.expression) {
        return of_task(args, &query.map_err(|error| CliError::Usage(error.to_string()))?, context);
    }
    let query = parse(&args.expression).map_err(|error| CliError::Usage(error.to_string()))?;
    let system = context.present()?;
    let boards = match &args.node {
        Some(name) => vec![system.find(name)?.board],
        None => (0..system.boards().len()).collect(),
    };
    if !args.force {
        check_halted(system, &boards, ", or read it as it is with --force")?;
    }
    let limits = Limits { depth: args.depth, elements: args.limit };
    let mut types: HashMap<PathBuf, DebugTypes> = HashMap::new();
    let (mut values, mut unknown) = (Vec::new(), None);
    for index in boards {
        let board = &mut system.boards()[index];
        let path = board.firmware().path.clone();
        if !types.contains_key(&path) {
            let read = DebugTypes::read(&path).map_err(|error| CliError::Usage(error.to_string()))?;
            types.insert(path.clone(), read);
        }
        match show(board, &query, &types[&path], limits) {
            Ok(shown) => values.push(shown),
            // Boards with other firmware may have it.
            Err(PrintError::Expression(error)) => unknown = unknown.or(Some(error)),
            Err(PrintError::Memory(error)) => {
                return Err(CliError::Bad(format!("board {}: {error}", board.name())));
            }
        }
    }
    match unknown {
        Some(error) if values.is_empty() => Err(CliError::Usage(error.to_string())),
        _ => {
            out.print(&Answer { expression: args.expression.clone(), values });
            Ok(Exit::Ok)
        }
    }
}

/// Fails if a node of these boards runs. `advice` says what else can be done.
pub(super) fn check_halted(system: &mut System, boards: &[usize], advice: &str) -> Result<(), CliError> {
    let chosen: Vec<String> = boards.iter().map(|index| system.boards()[*index].name().to_owned()).collect();
    let runs =
        |state| matches!(state, NodeState::Starting | NodeState::Running | NodeState::Draining | NodeState::Silent);
    let stands = system.stands();
    let running = stands.iter().filter(|node| chosen.contains(&node.board) && runs(node.state));
    let names: Vec<&str> = running.map(|node| node.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let are = if names.len() == 1 { "is" } else { "are" };
    Err(CliError::Usage(format!(
        "{} {are} not halted, and memory changes while it is read; run `stillpoint halt` first{advice}",
        names.join(", ")
    )))
}

#[derive(Serialize)]
struct OfTask {
    expression: String,
    variables: Vec<TaskVariable>,
}

/// A variable of a task, or of the frames of a core, which is called `core`.
fn of_task(args: &Args, query: &TaskQuery, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let is_dump = context.is_dump();
    let system = context.present()?;
    let at = system.find(&query.node)?;
    if !args.force && !is_dump {
        check_halted(system, &[at.board], ", or read it as it is with --force")?;
    }
    let limits = Limits { depth: args.depth, elements: args.limit };
    let mut debug = DebugInfo::default();
    let report = system.tasks(&mut debug)?;
    let name = system.node_name(at);
    let found = report.find(&name, &query.task, query.instance).cloned();
    let variables = match found {
        Ok(task) => {
            if !task.is_spawned() {
                return Err(CliError::Usage(format!("{} is {} and has no variables", task.id(), task.state)));
            }
            system.task_variables(&task, Some(query), limits, &mut debug)
        }
        Err(_) if query.task == "core" => {
            let backtrace = super::bt::backtrace(system, at, &mut debug)?;
            system.frame_variables(at, &backtrace, Some(query), limits, &mut debug)
        }
        Err(why) => return Err(CliError::Usage(why)),
    };
    let variables = variables.map_err(|error| match error {
        PrintError::Expression(error) => CliError::Usage(error.to_string()),
        PrintError::Memory(error) => CliError::Bad(format!("{name}: {error}")),
    })?;
    if let (Some(wanted), true) = (&query.variable, variables.is_empty()) {
        let all = match report.find(&name, &query.task, query.instance) {
            Ok(task) => {
                system.task_variables(task, None, Limits { depth: 1, elements: 1 }, &mut debug).unwrap_or_default()
            }
            Err(_) => Vec::new(),
        };
        let mut names: Vec<&str> = all.iter().map(|variable| variable.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let has = if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) };
        let problem = format!("{}/{} has no variable {} now{has}", query.node, query.task, wanted.text);
        return Err(CliError::Usage(problem));
    }
    out.print(&OfTask { expression: args.expression.clone(), variables });
    Ok(Exit::Ok)
}

impl Report for OfTask {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.variables.is_empty() {
            writeln!(f, "no variables live here")?;
        }
        self.variables.iter().try_for_each(|variable| pretty_variable(f, variable, false))
    }
}

/// A variable of a task, with the function that it is in.
pub(super) fn pretty_variable(f: &mut fmt::Formatter<'_>, of: &TaskVariable, indented: bool) -> fmt::Result {
    let (name, faint) = (paint::NAME, paint::FAINT);
    let blank = if indented { "     " } else { "" };
    write!(f, "{blank}{name}{}{name:#} in {}: {}", of.name, of.function, of.r#type)?;
    if let Some(value) = &of.value {
        write!(f, " = {}", pretty(value, blank.len() + 2))?;
    }
    match &of.note {
        Some(note) => writeln!(f, "  {faint}({note}){faint:#}"),
        None => writeln!(f),
    }
}

fn show(board: &mut Board, query: &Query, types: &DebugTypes, limits: Limits) -> Result<Shown, PrintError> {
    let found = query.find(types)?;
    let read = found.read(types, board.memory(), limits)?;
    let path = query.text.replacen(&query.path.text, &found.path, 1);
    Ok(Shown { board: board.name().to_owned(), path, r#type: read.ty, address: read.address, value: read.value })
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.values.iter().map(|shown| shown.board.len()).max().unwrap_or(0);
        let mut last = None;
        for Shown { board, path, r#type, address, value } in &self.values {
            let title = (path, r#type, address);
            if last.replace(title) != Some(title) {
                let (name, faint) = (paint::NAME, paint::FAINT);
                writeln!(f, "{name}{path}{name:#}: {}{faint}, at {address:#010x}{faint:#}", r#type)?;
            }
            writeln!(f, "  {board:width$}  {}", pretty(value, width + 4))?;
        }
        Ok(())
    }
}
