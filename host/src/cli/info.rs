//! `stillpoint info` - what the system consists of.
//!
//!     $ stillpoint info
//!     board A  mps2-an521, qemu, token_ring, wire version 3
//!       left0  node 0, epoch 1, event 4711, vector stamps
//!         ring  -> left1   1204 sent
//!         out   -> right0  1203 sent, link up
//!         watches: holding 0
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use stillpoint::config::{BoardConfig, ProbeConfig};
use stillpoint::{Lost, NodeAddress, System};
use stillpoint_core::control::VERSION;
use stillpoint_core::{Direction, NodeId, StampKind};

/// Show boards, nodes, ports with their peers, versions, epochs and links.
#[derive(clap::Args)]
#[command(after_help = "Exit code 1 if a board is missing.\n\n\
                        Example:\n  stillpoint info\n  stillpoint info --json | jq '.boards[].nodes[].name'")]
pub struct Args {
    #[command(flatten)]
    pub(super) look: super::Look,
}

#[derive(Serialize)]
struct Answer {
    wire_version: u32,
    boards: Vec<Board>,
}

#[derive(Serialize)]
struct Board {
    name: String,
    chip: String,
    probe: String,
    firmware: String,
    missing: Option<String>,
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Node {
    name: String,
    id: u8,
    epoch: u32,
    event: u32,
    stamps: &'static str,
    refused: u32,
    ports: Vec<Port>,
    watches: Vec<Watch>,
}

#[derive(Serialize)]
struct Port {
    name: String,
    direction: &'static str,
    peer: String,
    messages: u32,
    lost: u32,
    serial: bool,
    up: bool,
}

#[derive(Serialize)]
struct Watch {
    name: String,
    value: i32,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let (out, file) = (context.out(), context.file()?);
    let system = context.present()?;
    let missing = system.missing().to_vec();
    let names = node_names(system)?;
    let mut boards = Vec::new();
    for config in &file.boards {
        boards.push(board(system, config, &missing, &names)?);
    }
    out.print(&Answer { wire_version: VERSION, boards });
    Ok(if missing.is_empty() { Exit::Ok } else { Exit::Bad })
}

fn node_names(system: &mut System) -> Result<HashMap<NodeId, String>, CliError> {
    let mut names = HashMap::new();
    for at in system.addresses() {
        names.insert(system.node(at)?.id, system.node_name(at));
    }
    Ok(names)
}

fn board(
    system: &mut System,
    config: &BoardConfig,
    missing: &[Lost],
    names: &HashMap<NodeId, String>,
) -> Result<Board, CliError> {
    let mut nodes = Vec::new();
    for at in system.addresses() {
        if system.boards()[at.board].name() == config.name {
            nodes.push(node(system, at, names)?);
        }
    }
    let probe = match &config.probe {
        ProbeConfig::Qemu => "qemu".to_owned(),
        ProbeConfig::Probe { selector, .. } => selector.clone(),
    };
    let missing = missing.iter().find(|lost| lost.board == config.name).map(|lost| lost.why.clone());
    let firmware = config.firmware.file_name().unwrap_or(config.firmware.as_os_str()).to_string_lossy().into_owned();
    Ok(Board { name: config.name.clone(), chip: config.chip.clone(), probe, firmware, missing, nodes })
}

fn node(system: &mut System, at: NodeAddress, names: &HashMap<NodeId, String>) -> Result<Node, CliError> {
    let node = system.fresh(at)?;
    let name = system.node_name(at);
    let board = &system.boards()[at.board];
    let port = |port: &stillpoint::Port| Port {
        name: board.port_name(port),
        direction: if port.direction == Direction::Out { "out" } else { "in" },
        peer: names.get(&port.peer).cloned().unwrap_or_else(|| format!("node {}", port.peer.0)),
        messages: port.count,
        lost: port.lost,
        serial: port.is_serial(),
        up: port.up,
    };
    let watch = |(number, value): &(u16, i32)| Watch {
        name: board.firmware().name("watch", *number).map_or_else(|| format!("watch {number}"), str::to_owned),
        value: *value,
    };
    Ok(Node {
        name,
        id: node.id.0,
        epoch: node.epoch(),
        event: node.event(),
        stamps: if node.stamps == StampKind::Vector { "vector" } else { "event" },
        refused: node.refused,
        ports: node.ports.iter().map(port).collect(),
        watches: node.watches.iter().map(watch).collect(),
    })
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name_on, bad, warn) = (paint::NAME, paint::BAD, paint::WARN);
        for Board { name, chip, probe, firmware, missing, nodes } in &self.boards {
            writeln!(
                f,
                "{name_on}board {name}{name_on:#}  {chip}, {probe}, {firmware}, wire version {}",
                self.wire_version
            )?;
            if let Some(why) = missing {
                writeln!(f, "  {bad}missing{bad:#}: {why}")?;
            }
            for node in nodes {
                let Node { name, id, epoch, event, stamps, refused, .. } = node;
                write!(f, "  {name_on}{name}{name_on:#}  node {id}, epoch {epoch}, event {event}, {stamps} stamps")?;
                if *refused > 0 {
                    write!(f, ", {bad}{refused} steps refused{bad:#}")?;
                }
                writeln!(f)?;
                let width = |text: fn(&Port) -> &str| node.ports.iter().map(|port| text(port).len()).max().unwrap_or(0);
                let (names, peers) = (width(|port| &port.name), width(|port| &port.peer));
                for Port { name, direction, peer, messages, lost, serial, up } in &node.ports {
                    let (arrow, done) = if *direction == "out" { ("->", "sent") } else { ("<-", "received") };
                    write!(f, "    {name:names$}  {arrow} {peer:peers$}  {messages} {done}")?;
                    match (serial, up) {
                        (true, true) => write!(f, ", link up")?,
                        (true, false) => write!(f, ", {warn}link down{warn:#}")?,
                        (false, _) => {}
                    }
                    if *lost > 0 {
                        write!(f, ", {warn}{lost} lost by resets{warn:#}")?;
                    }
                    writeln!(f)?;
                }
                if !node.watches.is_empty() {
                    let values: Vec<String> =
                        node.watches.iter().map(|watch| format!("{} {}", watch.name, watch.value)).collect();
                    writeln!(f, "    watches: {}", values.join(", "))?;
                }
            }
        }
        Ok(())
    }
}
