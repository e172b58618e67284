//! `stillpoint trace mode` - choose what the system, a board or a node records, and show what is in effect.
//!
//!     $ stillpoint trace mode right1 send,recv
//!     system          off
//!     board A         -
//!       left0         -               records nothing (as the system)
//!       ...
//!       right1        send,recv       records send, recv
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::config::SystemFile;
use stillpoint::recording::{
    Choice, Choices, Level, Origin, Place, Plan, PlanError, Selected, Setting, StoreError, say,
};
use stillpoint::{System, did_you_mean};

/// Choose what the system, a board or a node records, and show what is in effect.
#[derive(clap::Args)]
#[command(
    after_help = "WHAT is full, off, replay, or kinds of events, as in send,recv,watch; `restricted` means send,recv. Of messages, tracepoints, \
                  shared objects, spans and procedures single ones can be chosen by name, as in send(ring),'trace(token taken)',access(totals): any \
                  number of ports and eight other names. Halts, \
                  resumes, faults and resets are among every choice of kinds. With `override` it counts for all that lies inside, \
                  whatever was chosen there. `inherit` takes a choice away, so that what lies around counts; `file` goes back to what \
                  the system file says.\n\n\
                  What is not chosen for a node is as for its board, then as for the system, then everything. Nodes that record \
                  everything beside one that does not also record causes (`causes` asks for them in any case), so that order stays exact.\n\n\
                  To begin with the system file says what is recorded: `record = \"off\"` at the top, in a [[board]], or in a [[node]] with its \
                  `name`. What is chosen here is kept in the folder of the system ($STILLPOINT_STATE) until it is taken away, and given to \
                  boards by run, flash, reset and trace record. A node keeps it over resets, and any host reads there what is in effect.\n\n\
                  Examples:\n  stillpoint trace mode\n  stillpoint trace mode all off\n  stillpoint trace mode B full\n  \
                  stillpoint trace mode left0 send,recv,trace(lap)\n  stillpoint trace mode left0 inherit"
)]
pub struct Args {
    /// `all`, a board or a node; without it what is in effect is shown and nothing is changed.
    #[arg(value_name = "WHERE")]
    place: Option<String>,
    /// What it records.
    #[arg(value_name = "WHAT", requires = "place")]
    what: Vec<String>,
}

/// What is chosen for a board.
#[derive(Serialize)]
struct Board {
    name: String,
    #[serde(flatten)]
    selected: Selected,
}

#[derive(Serialize)]
struct Node {
    name: String,
    board: String,
    #[serde(flatten)]
    selected: Selected,
    /// From where it has what it is to record.
    from: Level,
    /// What it is to record, in words.
    chosen: String,
    /// What it does record, as its control block says.
    records: Option<String>,
    /// These differ: somebody else told it something, or it was started anew without its memory.
    differs: bool,
}

#[derive(Serialize)]
struct Answer {
    system: Selected,
    boards: Vec<Board>,
    nodes: Vec<Node>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let (out, file) = (context.out(), context.file()?);
    let mut choices = Choices::of(&file).map_err(explain_store)?;
    let setting = args.place.as_ref().map(|name| Ok((name, read_setting(&args.what)?))).transpose();
    let setting = setting.map_err(CliError::Usage)?;
    let system = context.system()?;
    if let Some((name, setting)) = setting {
        let place = find(name, &file, system)?;
        choices.choose(&place, setting);
        // Names that are none are found before anything is changed.
        let plan = choices.plan(system).map_err(explain_plan)?;
        choices.keep().map_err(explain_store)?;
        plan.give(system)?;
    }
    let plan = choices.plan(system).map_err(explain_plan)?;
    out.print(&Answer::of(plan, system)?);
    Ok(Exit::Ok)
}

/// Gives the nodes that are there what was chosen for them, if anything was. For commands that start boards.
pub fn give_chosen(context: &mut Context) -> Result<(), CliError> {
    let (out, file) = (context.out(), context.file()?);
    let choices = Choices::of(&file).map_err(explain_store)?;
    if choices.is_empty() {
        return Ok(());
    }
    let system = context.present()?;
    let plan = choices.plan(system).map_err(explain_plan)?;
    for node in plan.give(system)? {
        out.say("recording", format!("{} records {}", node.name, say(node.recording)));
    }
    Ok(())
}

/// None for what the system file says.
fn read_setting(words: &[String]) -> Result<Option<Setting>, String> {
    let text = words.join(",");
    match text.as_str() {
        "" => Err("say what to record there: full, off, replay, kinds as in send,recv, inherit, or file".into()),
        "file" => Ok(None),
        "inherit" => Ok(Some(Setting::Inherit)),
        _ => Ok(Some(Setting::Record(text.parse::<Choice>().map_err(|error| error.to_string())?))),
    }
}

fn find(name: &str, file: &SystemFile, system: &System) -> Result<Place, CliError> {
    if matches!(name, "all" | "system") {
        return Ok(Place::System);
    }
    if let Some((_, board)) = file.board(name) {
        return Ok(Place::Board(board.name.clone()));
    }
    match system.find(name) {
        Ok(at) => Ok(Place::of(&file.boards[at.board].name, at)),
        Err(error @ stillpoint::UnknownNode::Several { .. }) => Err(error.into()),
        Err(stillpoint::UnknownNode::None { .. }) => {
            let boards = || file.boards.iter().map(|board| board.name.clone());
            let nodes: Vec<String> = system.addresses().into_iter().map(|at| system.node_name(at)).collect();
            let all: Vec<String> = boards().chain(nodes.iter().cloned()).chain(["all".into()]).collect();
            let hint = did_you_mean(name, all.iter().map(String::as_str));
            let (boards, nodes) = (boards().collect::<Vec<_>>().join(", "), nodes.join(", "));
            Err(CliError::Usage(format!("there is no board or node {name}{hint} (boards: {boards}; nodes: {nodes})")))
        }
    }
}

fn explain_store(error: StoreError) -> CliError {
    CliError::Usage(error.to_string())
}

fn explain_plan(error: PlanError) -> CliError {
    CliError::Usage(error.to_string())
}

impl Answer {
    fn of(plan: Plan, system: &mut System) -> Result<Self, CliError> {
        let names: Vec<String> = system.boards().iter().map(|board| board.name().to_owned()).collect();
        let mut nodes = Vec::new();
        for node in plan.nodes {
            let records = system.node(node.at)?.recording;
            nodes.push(Node {
                name: node.name,
                board: names[node.at.board].clone(),
                selected: node.selected,
                from: node.from,
                chosen: say(node.recording),
                records: records.map(say),
                differs: records != Some(node.recording),
            });
        }
        let boards = names.into_iter().zip(plan.boards).map(|(name, selected)| Board { name, selected }).collect();
        Ok(Self { system: plan.system, boards, nodes })
    }
}

/// What is chosen for a place, in a few words.
fn words(selected: &Selected) -> String {
    match selected {
        Selected { set: Some(choice), by: Some(Origin::File) } => format!("{choice} (file)"),
        Selected { set: Some(choice), .. } => choice.to_string(),
        Selected { set: None, by: Some(_) } => "inherit".into(),
        Selected { set: None, by: None } => "-".into(),
    }
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, end) = (paint::NAME, format_args!("{:#}", paint::NAME));
        let width = self.nodes.iter().map(|node| words(&node.selected).len()).max().unwrap_or(0).max(8);
        writeln!(f, "{name}{:<16}{end}{}", "system", words(&self.system))?;
        for board in &self.boards {
            writeln!(f, "{name}{:<16}{end}{}", format!("board {}", board.name), words(&board.selected))?;
            for node in self.nodes.iter().filter(|node| node.board == board.name) {
                let set = words(&node.selected);
                write!(f, "  {name}{:<14}{end}{set:<width$}  records ", node.name)?;
                let from = match node.from {
                    Level::Firmware | Level::Node => String::new(),
                    Level::System => " (as the system)".into(),
                    Level::Board => format!(" (as board {})", board.name),
                };
                if node.differs {
                    let now = node.records.as_deref().unwrap_or("what it does not say yet");
                    let chosen = &node.chosen;
                    writeln!(
                        f,
                        "{}{now}, not {chosen}{from}: `stillpoint run` tells it{:#}",
                        paint::WARN,
                        paint::WARN
                    )?;
                } else {
                    writeln!(f, "{}{from}", node.chosen)?;
                }
            }
        }
        Ok(())
    }
}
