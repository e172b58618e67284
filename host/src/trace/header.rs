//! What a trace says of the system it was recorded from.
use crate::names::Names;
use crate::{System, SystemError};
use serde::{Deserialize, Serialize};
use stillpoint_core::{Direction, StampKind};

/// Everything that is needed to make sense of the logs, without the firmware at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Who wrote it: name and version of the tool.
    pub tool: String,
    /// The system file.
    pub system: String,
    /// When the recorder began, in microseconds since 1970.
    pub began: u64,
    /// The boards.
    pub boards: Vec<BoardInfo>,
    /// The nodes.
    pub nodes: Vec<NodeInfo>,
    /// The channels between them.
    pub channels: Vec<ChannelInfo>,
}

/// A board and its firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardInfo {
    /// Its name.
    pub name: String,
    /// The ELF file.
    pub firmware: String,
    /// CRC-64/XZ of the ELF file, so that a trace is never read with the names of another build.
    pub identity: String,
    /// Counts per second of its counter, if the firmware says so.
    pub counter_hz: Option<u32>,
    /// The names in its firmware: of watches, tracepoints, functions.
    pub names: Vec<NameInfo>,
}

/// A name in a firmware, known to logs as a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameInfo {
    /// What it names.
    pub kind: String,
    /// Its number.
    pub number: u16,
    /// The name.
    pub text: String,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its number.
    pub id: u8,
    /// What it is called.
    pub name: String,
    /// Which board.
    pub board: usize,
    /// Which of its cores.
    pub core: usize,
    /// Whether its messages carry vector stamps.
    pub vector_stamps: bool,
    /// Its ports.
    pub ports: Vec<PortInfo>,
    /// The numbers of the names of its watches, by the number of the watch.
    pub watches: Vec<u16>,
}

/// A port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortInfo {
    /// Its number.
    pub id: u8,
    /// What it is called.
    pub name: String,
    /// Whether messages leave here.
    pub out: bool,
    /// The node at the other end.
    pub peer: u8,
}

/// A channel: a sender's port and a receiver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelInfo {
    /// Who sends.
    pub from: u8,
    /// The sender's port.
    pub out: u8,
    /// Who receives.
    pub to: u8,
    /// The receiver's port.
    pub into: u8,
}

/// The kinds of names that records are about.
const KINDS: [&str; 4] = ["watch", "trace", "function", "procedure"];

impl Header {
    /// What there is to say of a system now.
    pub fn of(system: &mut System, file: &str) -> Result<Self, SystemError> {
        let cut = system.read_cut()?;
        let names = Names::of(system, &cut.nodes);
        let board = |board: &crate::Board| {
            let firmware = board.firmware();
            let all = |kind: &'static str| {
                firmware.names(kind).map(move |(number, text)| NameInfo {
                    kind: kind.into(),
                    number,
                    text: text.into(),
                })
            };
            BoardInfo {
                name: board.name().to_owned(),
                firmware: firmware.path.display().to_string(),
                identity: identity(&firmware.path),
                counter_hz: firmware.counter_hz,
                names: KINDS.into_iter().flat_map(all).collect(),
            }
        };
        let boards = system.boards().iter().map(board).collect();
        let nodes = system.addresses().into_iter().zip(&cut.nodes).map(|(at, node)| NodeInfo {
            id: node.id.0,
            name: names.node(node.id),
            board: at.board,
            core: at.core,
            vector_stamps: node.stamps == StampKind::Vector,
            ports: node
                .ports
                .iter()
                .map(|port| PortInfo {
                    id: port.id.0,
                    name: names.port(node.id, port.id.0),
                    out: port.direction == Direction::Out,
                    peer: port.peer.0,
                })
                .collect(),
            watches: node.watches.iter().map(|(name, _)| *name).collect(),
        });
        let channels = cut.pairs().map(|channel| ChannelInfo {
            from: channel.from.0,
            out: channel.out.0,
            to: channel.to.0,
            into: channel.into.0,
        });
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            tool: format!("stillpoint {}", env!("CARGO_PKG_VERSION")),
            system: file.to_owned(),
            began: since.as_micros() as u64,
            boards,
            nodes: nodes.collect(),
            channels: channels.collect(),
        })
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, id: u8) -> String {
        let found = self.nodes.iter().find(|node| node.id == id);
        found.map_or_else(|| format!("node {id}"), |node| node.name.clone())
    }
}

/// What tells one build of a firmware from another.
fn identity(path: &std::path::Path) -> String {
    const CRC: crc::Crc<u64> = crc::Crc::<u64>::new(&crc::CRC_64_XZ);
    // A file that is gone has no identity; its names are known already.
    std::fs::read(path).map_or_else(|_| "unknown".into(), |bytes| format!("{:016x}", CRC.checksum(&bytes)))
}
