//! `stillpoint next` - run a halted system until the successors of a node are about to act on what it sends.
//!
//!     $ stillpoint next left0
//!     left1  event 212  recv(ring)
//!       left0 reached left1 with message 106 on ring
//!       meanwhile left0 3 events: recv(ring), trace("token taken"), send(ring)
//!     halt 6, begun by left1, is one consistent moment of 4 nodes; resume with `stillpoint resume`
use super::step_report::Steps;
use super::{CliError, Context, Exit, step};
use std::time::Duration;
use stillpoint::Node;
use stillpoint::breakpoint::{self, Moved, Waited};
use stillpoint_core::{Direction, NodeId};

/// Run a halted system until a successor of a node receives what the node sends from now on, before it acts on it.
#[derive(clap::Args)]
#[command(
    after_help = "The stop rides on the messages that the node sends, so nothing that it has no part in stops the system. A \
                  node that never sends is waited for until Ctrl-C or --limit.\n\n\
                  Example:\n  stillpoint halt && stillpoint next left0\n  stillpoint next left0 --limit 10"
)]
pub struct Args {
    /// Whose successors.
    #[arg(value_name = "NODE")]
    node: String,
    /// Wait for at most so many seconds.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system = context.system()?;
    let at = system.find(&args.node)?;
    let of = system.node(at)?.id;
    let nodes = system.nodes()?;
    let directory = breakpoint::directory(system)?;
    let chain = text(&nodes, of, &directory).ok_or_else(|| {
        CliError::Usage(format!("{} has no port to send through, so it has no successors", args.node))
    })?;
    let compiled = breakpoint::successors_about_to_act(&nodes, of)
        .map_err(|error| CliError::Usage(format!("the successors of {} do not fit: {error}", args.node)))?;
    let ran = step::run_until(context, &compiled, &chain, args.limit.map(Duration::from_secs), "next")?;
    let system = context.system()?;
    let reached = |moved: &Moved| match &ran.waited {
        Waited::Fired(fired) => fired.satisfied.iter().any(|event| event.stage == 2 && event.node == moved.after.id),
        _ => false,
    };
    let mut report = step::report(system, &ran, "reached", None, reached)?;
    let mut notes = Vec::new();
    for (moved, did) in ran.moved.iter().filter(|moved| reached(moved)).zip(&mut report.stepped) {
        for (port, message) in received(moved, of) {
            let names = directory.nodes.iter().find(|node| node.id == moved.after.id);
            let port = names.map_or_else(|| port.0.to_string(), |names| names.port_name(port));
            notes.push(format!("{} reached {} with message {message} on {port}", args.node, did.node));
            did.ended_with = Some(format!("recv({port})"));
        }
    }
    report.notes.splice(0..0, notes);
    let good = report.good;
    out.print(&Steps { steps: vec![report] });
    Ok(if good { Exit::Ok } else { Exit::Bad })
}

/// The ports at which a node received messages of another meanwhile, and the number of the last one.
fn received(moved: &Moved, of: NodeId) -> Vec<(stillpoint_core::PortId, u32)> {
    let ports = moved.before.ports.iter().zip(&moved.after.ports);
    let from = ports.filter(|(_, port)| port.direction == Direction::In && port.peer == of);
    from.filter(|(before, after)| before.count != after.count).map(|(_, port)| (port.id, port.count)).collect()
}

/// The same as an expression, for those who list what is armed.
fn text(nodes: &[Node], of: NodeId, directory: &stillpoint::expr::Directory) -> Option<String> {
    let port = |node: NodeId, port: &stillpoint::Port| {
        let names = directory.nodes.iter().find(|names| names.id == node);
        names.map_or_else(|| port.id.0.to_string(), |names| names.port_name(port.id))
    };
    let node = nodes.iter().find(|node| node.id == of)?;
    let mut sends: Vec<String> = Vec::new();
    for out in node.ports.iter().filter(|port| port.direction == Direction::Out) {
        sends.push(format!("{}:send({})", directory.name_of(of), port(of, out)));
    }
    let mut receives: Vec<String> = Vec::new();
    for peer in nodes {
        for into in peer.ports.iter().filter(|port| port.direction == Direction::In && port.peer == of) {
            receives.push(format!("{}:recv({})", directory.name_of(peer.id), port(peer.id, into)));
        }
    }
    (!sends.is_empty()).then(|| format!("{} -> {}", sends.join(" | "), receives.join(" | ")))
}
