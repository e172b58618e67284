//! The names of a system, from its firmware and its control blocks.
use crate::expr::{Directory, NodeNames, PortNames};
use crate::{System, SystemError};
use stillpoint_core::StampKind;

/// The kinds of names that events can be about.
const TAGS: [&str; 4] = ["trace", "span", "call", "serve"];

/// Every name that an expression may use in this system, as it is now: firmware opens ports and watches as it starts.
pub fn directory(system: &mut System) -> Result<Directory, SystemError> {
    let nodes = system.nodes()?;
    let mut directory = Directory::default();
    for (at, node) in system.addresses().into_iter().zip(nodes) {
        let given = system.node_name(at);
        let board = &system.boards()[at.board];
        let place = format!("{}.{}", board.name(), at.core);
        let firmware = board.firmware();
        let own = firmware.name("node", node.name).map(String::from);
        // A name that the system file gives comes first: the user chose it.
        let name = if given == place { own.clone() } else { Some(given) };
        let text = |kind: &str, number| firmware.name(kind, number).map(String::from);
        let port = |port: &crate::Port| PortNames {
            id: port.id,
            name: text("port", port.name),
            direction: port.direction,
            peer: port.peer,
        };
        let tags = TAGS
            .iter()
            .flat_map(|kind| firmware.names(kind).map(|(number, text)| ((*kind).to_owned(), number, text.to_owned())));
        directory.nodes.push(NodeNames {
            id: node.id,
            name,
            aliases: own.into_iter().chain([place]).collect(),
            watches: node.watches.iter().map(|(name, _)| text("watch", *name)).collect(),
            ports: node.ports.iter().map(port).collect(),
            tags: tags.collect(),
            knows_all_clocks: node.stamps == StampKind::Vector,
        });
    }
    Ok(directory)
}
