//! Channels by the names that their ends have in the firmware's source.
use crate::{CutError, Firmware, Node};
use std::fmt;
use stillpoint_core::PortId;

/// A channel by the names of its ends: ``channel left0.`ring` -> left1.`ring` ``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelName {
    /// Sender and its port.
    pub from: (String, String),
    /// Receiver and its port.
    pub to: (String, String),
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        write!(f, "channel {}.`{}` -> {}.`{}`", from.0, from.1, to.0, to.1)
    }
}

/// Why a halted state has no certificate, and the names of the channel in which that shows.
#[derive(Debug, thiserror::Error)]
#[error("{}", with_names(why, channel.as_ref()))]
pub struct NoCertificate {
    /// In which channel it shows, if in one.
    pub channel: Option<ChannelName>,
    /// What is wrong.
    pub why: CutError,
}

/// The names of one end. What has no name goes by its number.
pub(crate) fn end_name(node: &Node, port: PortId, firmware: &Firmware) -> (String, String) {
    let port_name = node.ports.iter().find(|it| it.id == port).and_then(|it| firmware.name("port", it.name));
    let node_name = firmware.name("node", node.name);
    (
        node_name.map_or_else(|| format!("node {}", node.id.0), str::to_owned),
        port_name.map_or_else(|| format!("port {}", port.0), str::to_owned),
    )
}

/// The sentence of an error with the names of its channel instead of the numbers.
fn with_names(error: &CutError, name: Option<&ChannelName>) -> String {
    let sentence = error.to_string();
    match (error.channel(), name) {
        (Some(channel), Some(name)) => sentence.replace(&channel.to_string(), &name.to_string()),
        _ => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::{Channel, NodeId, Violation};

    #[test]
    fn an_error_names_its_channel_as_the_source_does() {
        let channel = Channel { from: NodeId(0), out: PortId(2), to: NodeId(1), into: PortId(1) };
        let name = |node: &str, port: &str| (node.to_owned(), port.to_owned());
        let names = ChannelName { from: name("left0", "numbers out"), to: name("left1", "numbers in") };
        let error = CutError::Violated(Violation::LostMessage { channel, message: 5 });
        assert_eq!(
            with_names(&error, Some(&names)),
            "the halted state is not consistent: channel left0.`numbers out` -> left1.`numbers in`: \
             message 5 was sent, and is neither received nor in flight"
        );
        assert_eq!(with_names(&error, None), error.to_string());
    }
}
