//! The delayed halt (Paradise): one node stops, the others run until they would interact with it.
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use stillpoint_core::Direction;

#[derive(Serialize)]
struct Answer {
    suspended: String,
    /// Plain ports to and from it: what waits at them is not protected. Calls are.
    unprotected: Vec<Port>,
}

#[derive(Serialize)]
struct Port {
    node: String,
    port: String,
    peer: String,
    direction: &'static str,
}

pub(super) fn run(name: &str, limit: Duration, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system = context.system()?;
    let at = system.find(name)?;
    system.suspend(at, limit)?;
    let stopped = system.node(at)?;
    let suspended = system.node_name(at);
    let mut unprotected = Vec::new();
    for at in system.addresses() {
        let node = system.node(at)?;
        let owner = system.node_name(at);
        for port in node.ports.iter().filter(|port| port.peer == stopped.id && !port.is_rpc) {
            let port_name = system.boards()[at.board].port_name(port);
            let direction = if port.direction == Direction::Out { "out" } else { "in" };
            unprotected.push(Port { node: owner.clone(), port: port_name, peer: suspended.clone(), direction });
        }
    }
    out.print(&Answer { suspended, unprotected });
    Ok(Exit::Ok)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (warn, name) = (paint::WARN, &self.suspended);
        writeln!(f, "{}suspended{:#}: {name}; all others run", paint::GOOD, paint::GOOD)?;
        if self.unprotected.is_empty() {
            return Ok(());
        }
        writeln!(f, "{warn}not protected{warn:#}: timeouts around these plain ports run on while {name} is stopped")?;
        for Port { node, port, direction, .. } in &self.unprotected {
            let way = if *direction == "out" { "to" } else { "from" };
            writeln!(f, "  {node}  {port}, {way} {name}")?;
        }
        Ok(())
    }
}
