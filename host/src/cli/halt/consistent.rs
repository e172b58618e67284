//! The consistent halt and its certificate, in short.
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};
use stillpoint::Halted;
use stillpoint_core::NodeId;

#[derive(Serialize)]
struct Answer {
    certified: bool,
    halt: u16,
    /// It was halted before.
    already: bool,
    nodes: Vec<Node>,
    channels: usize,
    in_flight: usize,
    missing: Vec<Missing>,
    /// Nodes that are there, but did not come to the halt.
    late: Vec<Late>,
    /// Why there is no certificate, though every node is there.
    violation: Option<String>,
    /// From the start of the command until its answer.
    milliseconds: f64,
    parts: Parts,
    #[serde(skip)]
    verbose: bool,
}

/// When each part of a halt was over, in milliseconds from the start of the command.
#[derive(Serialize)]
struct Parts {
    attached: f64,
    reached: f64,
    drained: f64,
    proven: f64,
}

#[derive(Serialize)]
struct Node {
    name: String,
    epoch: u32,
    event: u32,
    /// By whom it was reached: the host's command or a node's marker; nobody, if an event of its own began the halt.
    reached_by: Option<String>,
}

#[derive(Serialize)]
struct Late {
    node: String,
    /// What it does instead, or which marker it lacks.
    why: String,
}

#[derive(Serialize)]
struct Missing {
    board: String,
    nodes: Vec<String>,
    why: String,
}

pub(super) fn run(at: Option<&str>, limit: Duration, verbose: bool, context: &mut Context) -> Result<Exit, CliError> {
    let began = Instant::now();
    let out = context.out();
    let system = context.present()?;
    let at = at.map(|name| system.find(name)).transpose()?;
    let stopped = system.stopped().unwrap_or_default();
    if !stopped.is_empty() {
        let names = stopped.join(", ");
        return Err(CliError::Bad(format!(
            "{names}: stopped by the probe, so no marker passes; `stillpoint resume` first"
        )));
    }
    let attached = began.elapsed();
    let halted = system.halt_all(at, limit)?;
    let exit = if halted.is_certified() { Exit::Ok } else { Exit::Bad };
    out.print(&Answer { verbose, ..summary(&halted, attached, began.elapsed()) });
    Ok(exit)
}

fn summary(halted: &Halted, attached: Duration, took: Duration) -> Answer {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let since = |part: Duration| milliseconds(attached + part);
    let name_of = |id: NodeId| {
        let named = halted.nodes.iter().find(|(_, _, node)| node.id == id);
        named.map_or_else(|| format!("node {}", id.0), |(_, name, _)| name.clone())
    };
    let node = |(_, name, node): &(_, String, stillpoint::Node)| Node {
        name: name.clone(),
        epoch: node.epoch(),
        event: node.event(),
        reached_by: match node.is_halted_by_host {
            true => Some("host".into()),
            false => node.order.iter().rev().nth(1).map(|id| name_of(*id)),
        },
    };
    let proof = halted.proof.as_ref().and_then(|proof| proof.as_ref().ok());
    let missing = halted.lost.iter().map(|lost| Missing {
        board: lost.board.clone(),
        nodes: lost.nodes.clone(),
        why: lost.why.clone(),
    });
    Answer {
        certified: halted.is_certified(),
        halt: halted.halt.0,
        already: halted.already,
        nodes: halted.nodes.iter().map(node).collect(),
        channels: proof.map_or(0, |proof| proof.channels.len()),
        in_flight: proof.map_or(0, |proof| proof.channels.iter().map(|channel| channel.in_flight.len()).sum()),
        missing: missing.collect(),
        late: halted.waiting.iter().map(|late| Late { node: late.node.clone(), why: late.why.clone() }).collect(),
        violation: halted.proof.as_ref().and_then(|proof| proof.as_ref().err().map(ToString::to_string)),
        milliseconds: milliseconds(took),
        parts: Parts {
            attached: milliseconds(attached),
            reached: since(halted.took.reached),
            drained: since(halted.took.drained),
            proven: since(halted.took.proven),
        },
        verbose: false,
    }
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
        for Node { name, event, reached_by, .. } in &self.nodes {
            write!(f, "{}{name:width$}{:#}  event {event:<8}", paint::NAME, paint::NAME)?;
            match (self.late.iter().find(|late| late.node == *name), reached_by) {
                (Some(late), _) => writeln!(f, " {}not in the halt: {}{:#}", paint::BAD, late.why, paint::BAD)?,
                (None, Some(by)) => writeln!(f, " reached by {by}")?,
                (None, None) => writeln!(f, " initiated")?,
            }
        }
        for Missing { board, nodes, why } in &self.missing {
            let (bad, names) = (paint::BAD, nodes.join(", "));
            let why = why.lines().next().unwrap_or_default();
            writeln!(f, "{bad}{names:width$}{bad:#}  missing: board {board}: {why}")?;
        }
        let (bad, good) = (paint::BAD, paint::GOOD);
        if self.certified {
            let plural = if self.in_flight == 1 { "" } else { "s" };
            writeln!(f, "{} channels, {} message{plural} in flight", self.channels, self.in_flight)?;
            let reached =
                if self.already { "reached before".into() } else { format!("reached in {:.1} ms", self.milliseconds) };
            let (halt, count) = (self.halt, self.nodes.len());
            writeln!(f, "{good}certificate{good:#}: halt {halt} is one consistent moment of {count} nodes, {reached}")?;
            let Parts { attached, reached, drained, proven } = self.parts;
            return match self.verbose {
                true => writeln!(
                    f,
                    "attached after {attached:.1} ms, reached {reached:.1}, drained {drained:.1}, proven {proven:.1}"
                ),
                false => Ok(()),
            };
        }
        let why = match &self.violation {
            Some(violation) => violation.clone(),
            None => {
                let missing = self.missing.iter().flat_map(|missing| &missing.nodes);
                let absent: Vec<&str> =
                    missing.chain(self.late.iter().map(|late| &late.node)).map(String::as_str).collect();
                format!("without {}", absent.join(", "))
            }
        };
        writeln!(f, "{bad}no certificate{bad:#}: halt {}: {why}", self.halt)
    }
}
