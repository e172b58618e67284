//! `stillpoint status` - how every node stands.
//!
//!     $ stillpoint status
//!     left0    running
//!     left1    parked    in halt 3
//!     right0   missing   it is not up (QEMU has ended and left no message, as after `kill -9`); run `stillpoint down`, then `stillpoint up`
use super::break_::listing;
use super::break_report::Listing;
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::{NodeState, System};

/// Show how every node stands (running, draining, parked, suspended, stopped, faulted, silent, in use or missing) and every breakpoint.
#[derive(clap::Args)]
#[command(
    after_help = "suspended: stopped alone by `halt --delayed`; stopped: its core is held by the probe; silent: it runs, but \
                        does not answer; in use: another process, which is named, has the board for itself.\nExit code 1 if a node is faulted, silent, in use or missing.\n\n\
                        Example:\n  stillpoint status\n  stillpoint status --json | jq '.nodes[] | select(.state != \"running\")'"
)]
pub struct Args {
    #[command(flatten)]
    pub(super) look: super::Look,
}

#[derive(Serialize)]
struct Answer {
    nodes: Vec<Node>,
    /// What is armed. Only nodes that all answer can say.
    #[serde(flatten)]
    breakpoints: Option<Listing>,
}

#[derive(Serialize)]
struct Node {
    name: String,
    board: String,
    state: &'static str,
    halt: Option<u16>,
    why: Option<String>,
    #[serde(skip)]
    known: NodeState,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let found = match context.is_dump() {
        true => context.present()?.stands(),
        false => context.on_boards(System::status_of)?,
    };
    let nodes: Vec<Node> = found
        .into_iter()
        .map(|node| Node {
            name: node.name,
            board: node.board,
            state: node.state.word(),
            halt: node.halt.map(|halt| halt.0),
            why: node.why,
            known: node.state,
        })
        .collect();
    let bad = nodes.iter().any(|node| node.known.is_bad());
    let answers = |node: &Node| matches!(node.known, NodeState::Running | NodeState::Parked | NodeState::Suspended);
    let breakpoints = if nodes.iter().all(answers) { Some(listing(context)?) } else { None };
    context.out().print(&Answer { nodes, breakpoints });
    Ok(if bad { Exit::Bad } else { Exit::Ok })
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
        for Node { name, state, halt, why, known, .. } in &self.nodes {
            let style = match known {
                NodeState::Running => paint::GOOD,
                bad if bad.is_bad() => paint::BAD,
                _ => paint::WARN,
            };
            write!(f, "{}{name:width$}{:#}  ", paint::NAME, paint::NAME)?;
            if halt.is_none() && why.is_none() {
                writeln!(f, "{style}{state}{style:#}")?;
                continue;
            }
            write!(f, "{style}{state:9}{style:#}")?;
            if let Some(halt) = halt {
                write!(f, " in halt {halt}")?;
            }
            if let Some(why) = why {
                // A blamed line of the system file takes several lines; its first says it.
                write!(f, " {}", why.lines().next().unwrap_or_default())?;
            }
            writeln!(f)?;
        }
        match &self.breakpoints {
            Some(listing) if !listing.breakpoints.is_empty() => {
                writeln!(f, "{}breakpoints{:#}", paint::NAME, paint::NAME)?;
                listing.text(f)
            }
            _ => Ok(()),
        }
    }
}
