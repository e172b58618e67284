//! What a trace says of the system it is recorded from.
use super::{BoardInfo, ChannelInfo, Header, NameInfo, NodeInfo, PortInfo};
use crate::input_file::{MAX_BINARY, read_bytes};
use crate::names::Names;
use crate::{System, SystemError};
use stillpoint_core::{Direction, StampKind};

/// The kinds of names that records are about.
const KINDS: [&str; 7] = ["watch", "trace", "span", "call", "serve", "shared", "place"];

/// What there is to say of a system now.
pub fn header_of(system: &mut System, file: &str) -> Result<Header, SystemError> {
    let cut = system.read_cut()?;
    let names = Names::of(system, &cut.nodes);
    let board = |board: &crate::Board| {
        let firmware = board.firmware();
        let all = |kind: &'static str| {
            firmware.names(kind).map(move |(number, text)| NameInfo {
                kind: kind.into(),
                number,
                text: text.into(),
                place: firmware.place(kind, number).map(str::to_owned),
            })
        };
        BoardInfo {
            name: board.name().to_owned(),
            firmware: firmware.path.display().to_string(),
            identity: identity(&firmware.path),
            tick_hz: firmware.tick_rate,
            counter_hz: None,
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
    Ok(Header {
        tool: format!("stillpoint {}", env!("CARGO_PKG_VERSION")),
        system: file.to_owned(),
        began: since.as_micros() as u64,
        boards,
        nodes: nodes.collect(),
        channels: channels.collect(),
    })
}

/// What tells one build of a firmware from another.
fn identity(path: &std::path::Path) -> String {
    const CRC: crc::Crc<u64> = crc::Crc::<u64>::new(&crc::CRC_64_XZ);
    // A file that is gone has no identity; its names are known already.
    read_bytes(path, MAX_BINARY).map_or_else(|_| "unknown".into(), |bytes| format!("{:016x}", CRC.checksum(&bytes)))
}
