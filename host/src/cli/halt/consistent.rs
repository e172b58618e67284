//! The consistent halt and its certificate, in short.
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use std::time::Duration;
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
    milliseconds: f64,
}

#[derive(Serialize)]
struct Node {
    name: String,
    epoch: u32,
    event: u32,
    /// By whom it was reached; nobody, if it began.
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

pub(super) fn run(at: Option<&str>, limit: Duration, context: &mut Context) -> Result<Exit, CliError> {
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
    let halted = system.halt_all(at, limit)?;
    let exit = if halted.is_certified() { Exit::Ok } else { Exit::Bad };
    out.print(&summary(&halted));
    Ok(exit)
}

fn summary(halted: &Halted) -> Answer {
    let name_of = |id: NodeId| {
        let named = halted.nodes.iter().find(|(_, _, node)| node.id == id);
        named.map_or_else(|| format!("node {}", id.0), |(_, name, _)| name.clone())
    };
    let node = |(_, name, node): &(_, String, stillpoint::Node)| Node {
        name: name.clone(),
        epoch: node.epoch(),
        event: node.event(),
        reached_by: node.order.iter().rev().nth(1).map(|id| name_of(*id)),
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
        milliseconds: halted.took.as_secs_f64() * 1e3,
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
            return writeln!(
                f,
                "{good}certificate{good:#}: halt {halt} is one consistent moment of {count} nodes, {reached}"
            );
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
