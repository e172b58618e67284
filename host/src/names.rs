//! What nodes and ports are called when they are shown.
use crate::{Node, Port, System};
use stillpoint_core::{Channel, NodeId};

/// The names of a system's nodes and ports, as its files and firmwares have them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    nodes: Vec<(NodeId, String, PortNames)>,
}

/// The names of a node's ports, by number.
type PortNames = Vec<(u8, String)>;

impl Names {
    /// The names of these nodes, which are those of the system in the order of its addresses.
    pub(crate) fn of(system: &mut System, nodes: &[Node]) -> Self {
        let named = system.addresses().into_iter().zip(nodes).map(|(at, node)| {
            let name = system.node_name(at);
            let firmware = system.boards()[at.board].firmware();
            let port = |port: &Port| {
                let name = firmware.name("port", port.name).map_or_else(|| port.id.0.to_string(), str::to_owned);
                (port.id.0, name)
            };
            (node.id, name, node.ports.iter().map(port).collect())
        });
        Self { nodes: named.collect() }
    }

    /// The name of a node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> String {
        let found = self.nodes.iter().find(|(of, ..)| *of == id);
        found.map_or_else(|| format!("node {}", id.0), |(_, name, _)| name.clone())
    }

    /// The name of a channel: its two ends, as in `left0:ring -> left1:ring`.
    #[must_use]
    pub fn channel(&self, channel: &Channel) -> String {
        let end = |node: NodeId, port: u8| format!("{}:{}", self.node(node), self.port(node, port));
        format!("{} -> {}", end(channel.from, channel.out.0), end(channel.to, channel.into.0))
    }

    /// The name of a port.
    #[must_use]
    pub fn port(&self, node: NodeId, port: u8) -> String {
        let ports = self.nodes.iter().find(|(of, ..)| *of == node).map(|(.., ports)| ports);
        let found = ports.and_then(|ports| ports.iter().find(|(of, _)| *of == port));
        found.map_or_else(|| port.to_string(), |(_, name)| name.clone())
    }
}
