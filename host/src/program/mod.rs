//! What the sources of a firmware say: which lines send and receive, and which simultaneous events can be stopped at.
mod explain;
mod lines;
mod picture;
mod sources;

pub use explain::{Held, Obstacle, Promised, Verdict, verdict};
pub use lines::LineIndex;
pub use picture::{dot, svg};

use crate::trace::Header;
use std::path::{Path, PathBuf};
use stillpoint_analysis::{
    ChannelId, ExtractError, Extracted, Node, Place, Port, Recognition, carriers_of_stages, extract,
};
use stillpoint_core::predicate::Plan;
use stillpoint_core::{NodeId, PortId, PortSet};

/// Why nothing can be said from the sources.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The firmware does not say where its sources are.
    #[error("the sources are found by the firmware's debug information: {0}")]
    NoDebugInfo(String),
    /// The debug information names no crate but libraries.
    #[error("{} names no source file of its own: build it with `debug = 2`", .0.display())]
    NoSources(PathBuf),
    /// A source file is not where it was.
    #[error("the source file {} is not there", .0.display())]
    Missing(PathBuf),
    /// A source file is not in the chosen folder.
    #[error("{} has no file {}, nor one that its path ends with", folder.display(), file.display())]
    MissingIn {
        /// The file.
        file: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// A source file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A source file is shorter than the firmware's.
    #[error(
        "{} is not the source of {}: it has {lines} lines, and the firmware has code of line {last}; build it again",
        file.display(),
        firmware.display()
    )]
    Shorter {
        /// The file.
        file: PathBuf,
        /// Its lines.
        lines: u64,
        /// The last line with code.
        last: u64,
        /// The firmware.
        firmware: PathBuf,
    },
    /// A name is not where the firmware has it.
    #[error(
        "{} is not the source of {}: the firmware has `{name}` on line {line}, the file does not; build it again",
        file.display(),
        firmware.display()
    )]
    Other {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
        /// The name.
        name: String,
        /// The firmware.
        firmware: PathBuf,
    },
    /// The firmware file is not the one that was recorded.
    #[error("{} is another build than the one that was recorded, so its sources may differ", .0.display())]
    OtherBuild(PathBuf),
    /// The sources cannot be followed.
    #[error(transparent)]
    Extract(#[from] ExtractError),
}

impl ProgramError {
    /// Whether there are sources, and they are wrong: they do not parse, or are not those of the firmware.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(self, Self::Shorter { .. } | Self::Other { .. } | Self::OtherBuild(_) | Self::Extract(_))
    }

    /// Whether naming the folder of the sources would help.
    #[must_use]
    pub fn wants_a_folder(&self) -> bool {
        matches!(self, Self::NoDebugInfo(_) | Self::NoSources(_) | Self::Missing(_))
    }
}

/// What carries the stages of a linked breakpoint.
#[derive(Clone, Debug, Default)]
pub struct StageCarriers {
    /// The channels whose messages carry them.
    pub carried: Vec<String>,
    /// How many channels carry nothing.
    pub quiet: usize,
    /// The ports of each node whose messages carry nothing.
    pub silent: Vec<(NodeId, PortSet)>,
}

/// The program of a system, extracted from its sources.
pub struct SystemProgram {
    /// The program, with the places of its statements.
    pub extracted: Extracted,
    header: Header,
}

impl SystemProgram {
    /// Extracts the program of a system. `chosen` is the folder of the sources, or the first file of the one firmware that
    /// there is; without it they are where the debug information says.
    pub fn load(header: &Header, chosen: Option<&Path>) -> Result<Self, ProgramError> {
        let (mut firmwares, mut known): (Vec<_>, Vec<&str>) = (Vec::new(), Vec::new());
        for board in &header.boards {
            if !known.contains(&board.firmware.as_str()) {
                known.push(&board.firmware);
                firmwares.push(sources::sources_of(board, chosen)?);
            }
        }
        let firmware = |board: usize| {
            let path = header.boards.get(board).map(|board| board.firmware.as_str());
            path.and_then(|path| known.iter().position(|known| *known == path)).unwrap_or_default()
        };
        let nodes = header.nodes.iter().map(|node| Node {
            id: NodeId(node.id),
            name: node.name.clone(),
            firmware: firmware(node.board),
            ports: node.ports.iter().map(|port| port.name.clone()).collect(),
        });
        let nodes: Vec<_> = nodes.collect();
        let extracted = extract(&firmwares, &nodes, &channels(header))?;
        Ok(Self { extracted, header: header.clone() })
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &str {
        self.header.nodes.iter().find(|one| one.id == node.0).map_or("?", |one| one.name.as_str())
    }

    /// A channel by its sender and port: `left0.out`.
    #[must_use]
    pub fn channel_name(&self, id: ChannelId) -> String {
        let channel = &self.extracted.program.channels()[id.index()];
        let port = channel.name.split_once('.').map_or("", |(_, port)| port);
        format!("{}.{port}", self.node_name(channel.from))
    }

    /// Where the messages of a channel leave, and where they come in.
    #[must_use]
    pub fn ports(&self, id: ChannelId) -> Option<(PortId, PortId)> {
        let channel =
            self.header.channels.iter().filter(|one| channel_of(&self.header, one).is_some()).nth(id.index())?;
        Some((PortId(channel.out), PortId(channel.into)))
    }

    /// The part of each node in recognising an event.
    ///
    /// # Errors
    /// Why nodes cannot do that.
    pub fn plans(&self, recognition: &Recognition) -> Result<Vec<(NodeId, Plan)>, String> {
        let program = &self.extracted.program;
        let known = (0..program.channels().len() as u32).all(|id| self.ports(ChannelId(id)).is_some());
        if !known {
            return Err("the ports of a channel are not known".into());
        }
        let ports = |id| self.ports(id).unwrap_or((PortId(0), PortId(0)));
        let plans = stillpoint_analysis::plans(program, recognition, ports).map_err(|error| error.to_string())?;
        Ok(plans.into_iter().collect())
    }

    /// Which channels have to carry the stages of a linked breakpoint, by the nodes that look for each stage; `None` if that is
    /// not known of every channel.
    #[must_use]
    pub fn stages(&self, stages: &[Vec<NodeId>]) -> Option<StageCarriers> {
        let program = &self.extracted.program;
        let carriers = carriers_of_stages(program, stages, &self.sharing());
        let mut found = StageCarriers::default();
        for id in (0..program.channels().len() as u32).map(ChannelId) {
            if carriers.contains(&id) {
                found.carried.push(self.channel_name(id));
                continue;
            }
            let (node, port) = (program.channels()[id.index()].from, self.ports(id)?.0);
            match found.silent.iter_mut().find(|(known, _)| *known == node) {
                Some((_, ports)) => *ports = ports.with(port),
                None => found.silent.push((node, PortSet::EMPTY.with(port))),
            }
            found.quiet += 1;
        }
        Some(found)
    }

    /// The nodes of each board whose firmware has shared objects: stages travel through them, too.
    fn sharing(&self) -> Vec<Vec<NodeId>> {
        let shares = |board: usize| {
            let board = self.header.boards.get(board);
            board.is_none_or(|board| board.names.iter().any(|name| name.kind == "shared"))
        };
        let of = |board: usize| {
            let nodes = self.header.nodes.iter().filter(|node| node.board == board);
            nodes.map(|node| NodeId(node.id)).collect()
        };
        (0..self.header.boards.len()).filter(|board| shares(*board)).map(of).collect()
    }

    /// The receiver's port of a channel.
    #[must_use]
    pub fn receiving_port(&self, id: ChannelId) -> String {
        channels(&self.header).get(id.index()).map_or_else(String::new, |port| port.to.1.clone())
    }
}

/// The channels by the names of their ports.
fn channels(header: &Header) -> Vec<Port> {
    header.channels.iter().filter_map(|channel| channel_of(header, channel)).collect()
}

fn channel_of(header: &Header, channel: &crate::trace::ChannelInfo) -> Option<Port> {
    let port = |node: u8, port: u8| {
        let of = header.nodes.iter().find(|one| one.id == node)?;
        Some(of.ports.iter().find(|one| one.id == port)?.name.clone())
    };
    let from = (NodeId(channel.from), port(channel.from, channel.out)?);
    Some(Port { from, to: (NodeId(channel.to), port(channel.to, channel.into)?) })
}

/// Places as text: `token_ring.rs:87, :97`.
#[must_use]
pub fn places_text<'p>(places: impl IntoIterator<Item = &'p Place>) -> String {
    let (mut text, mut last): (String, Option<&str>) = (String::new(), None);
    for Place { file, line } in places {
        let file_text = if last == Some(file) { "" } else { file.as_str() };
        if last.is_some() {
            text += ", ";
        }
        text += &format!("{file_text}:{line}");
        last = Some(file);
    }
    text
}
