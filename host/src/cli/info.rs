//! `stillpoint info` - what the system consists of.
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;

/// Show boards, nodes, ports, versions, epochs and links.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  stillpoint info\n  stillpoint info --json | jq '.nodes[].name'")]
pub struct Args {}

#[derive(Serialize)]
struct Result_ {
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Node {
    name: String,
    id: u8,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system = context.system()?;
    let names: Vec<String> = system.addresses().into_iter().map(|at| system.node_name(at)).collect();
    let nodes = system.nodes()?.into_iter().zip(names).map(|(node, name)| Node { name, id: node.id.0 });
    out.print(&Result_ { nodes: nodes.collect() });
    Ok(Exit::Ok)
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Node { name, id } in &self.nodes {
            writeln!(f, "{}node {id}{:#}  {name}", paint::NAME, paint::NAME)?;
        }
        Ok(())
    }
}
