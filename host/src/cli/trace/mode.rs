//! `stillpoint trace mode` - choose what nodes record.
use crate::cli::{CliError, Context, Exit, Report};
use serde::Serialize;
use std::fmt;
use stillpoint::System;
use stillpoint_core::log::Recording;
use stillpoint_core::{Command, EventKind, KindSet};

/// Choose what nodes record.
#[derive(clap::Args)]
#[command(
    after_help = "A node that does not record everything still forwards what happened before what; the others then must say \
                        in their logs what they learned from it: give them their mode with --causes.\n\n\
                        Example:\n  stillpoint trace mode all full\n  stillpoint trace mode left0 restricted --kinds send,receive\n  \
                        stillpoint trace mode all full --causes && stillpoint trace mode left1 off"
)]
pub struct Args {
    /// The node, or `all`.
    node: String,
    /// How much it records.
    mode: Mode,
    /// For `restricted`: the kinds of events to record. Halts, resumes, faults and resets always are.
    #[arg(long, value_delimiter = ',', default_value = "send,receive")]
    kinds: Vec<Kind>,
    /// Also record which clock entries changed: needed as soon as another node does not record everything.
    #[arg(long)]
    causes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Every event.
    Full,
    /// Chosen kinds of events.
    Restricted,
    /// Nothing.
    Off,
    /// Every event and whatever else is not determined.
    Replay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Local,
    Send,
    Receive,
    Call,
    Return,
    Timer,
    Access,
    Watch,
    Enter,
    LinkUp,
    LinkDown,
}

impl Kind {
    fn event(self) -> EventKind {
        match self {
            Self::Local => EventKind::Local,
            Self::Send => EventKind::Send,
            Self::Receive => EventKind::Receive,
            Self::Call => EventKind::Call,
            Self::Return => EventKind::Return,
            Self::Timer => EventKind::Timer,
            Self::Access => EventKind::Access,
            Self::Watch => EventKind::Watch,
            Self::Enter => EventKind::Enter,
            Self::LinkUp => EventKind::LinkUp,
            Self::LinkDown => EventKind::LinkDown,
        }
    }
}

#[derive(Serialize)]
struct Result_ {
    nodes: Vec<String>,
    mode: Mode,
    causes: bool,
    /// Whether the nodes that were not named should be told to record causes.
    others_need_causes: bool,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let kinds = args.kinds.iter().fold(KindSet::EMPTY, |set, kind| set.with(kind.event()));
    let recording = match args.mode {
        Mode::Full => Recording::FULL,
        Mode::Restricted => Recording::restricted(kinds, u32::MAX),
        Mode::Off => Recording::OFF,
        Mode::Replay => Recording::REPLAY,
    };
    let recording = if args.causes { recording.with_causes() } else { recording };
    let system = context.system()?;
    let chosen = if args.node == "all" { system.addresses() } else { vec![system.find(&args.node)?] };
    let all = chosen.len() == system.addresses().len();
    for at in &chosen {
        system.command(*at, &Command::Record(recording))?;
    }
    let names = |system: &System| chosen.iter().map(|at| system.node_name(*at)).collect();
    let records_less = matches!(args.mode, Mode::Restricted | Mode::Off);
    let causes = args.causes || args.mode == Mode::Restricted;
    let result = Result_ { nodes: names(system), mode: args.mode, causes, others_need_causes: records_less && !all };
    out.print(&result);
    Ok(Exit::Ok)
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Full => "everything",
            Mode::Restricted => "chosen kinds of events",
            Mode::Off => "nothing",
            Mode::Replay => "everything, and what else is not determined",
        };
        let verb = if self.nodes.len() == 1 { "records" } else { "record" };
        let causes = if self.causes { ", with causes" } else { "" };
        writeln!(f, "{} {verb} {mode}{causes}", self.nodes.join(", "))?;
        if self.others_need_causes {
            writeln!(f, "order stays exact if the others record causes: `stillpoint trace mode NODE full --causes`")?;
        }
        Ok(())
    }
}
