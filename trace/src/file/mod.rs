//! The trace file: the logs of all nodes in one append-only file of frames. The form is in `docs/TRACE.md`.
pub mod envelope;
mod frame;
mod header;
mod reader;
mod stream;
mod sum;
#[cfg(test)]
mod tests;
mod writer;

pub use envelope::FrameError;
pub use frame::{MAGIC, MAX_BODY};
pub use header::{BoardInfo, ChannelInfo, Header, NameInfo, NodeInfo, PortInfo};
pub use reader::TraceReader;
pub use stream::{Entry, Item, Part, Stream, Sync};
pub use sum::{NodeSum, Summary};
pub use writer::{WriteError, Writer};

use std::path::{Path, PathBuf};

/// Why a file is not a trace at all.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It does not begin as one.
    #[error("{path} is no trace: it does not begin with {magic:?}", path = .0.display(), magic = "STILLTR1")]
    NotATrace(PathBuf),
    /// Its first frame, without which nothing can be read, is damaged.
    #[error("{path} is damaged in its header, at byte {offset}: {why}", path = path.display())]
    Header {
        /// Which file.
        path: PathBuf,
        /// Where the frame begins.
        offset: u64,
        /// What is wrong.
        why: FrameError,
    },
    /// Whoever wanted it does not want it any more.
    #[error("{path} was not read to its end: reading was given up", path = .0.display())]
    GivenUp(PathBuf),
}

/// Where a trace ends before its file does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged at byte {offset}: {why}; {lost} bytes from there on are not read")]
pub struct Damage {
    /// Where the first frame that cannot be read begins.
    pub offset: u64,
    /// What is wrong with it.
    pub why: FrameError,
    /// How much of the file lies from there on.
    pub lost: u64,
}

/// A piece of a node's log, as it was read from its ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Whose.
    pub node: u8,
    /// When it was read, in microseconds since the recorder began.
    pub wall: u64,
    /// Where in the node's ring it began.
    pub position: u32,
    /// How many records the ring had dropped so far.
    pub dropped: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A recorded trace, read up to its first damage.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// What was recorded.
    pub header: Header,
    /// The pieces of log, in the order in which they were read.
    pub chunks: Vec<Chunk>,
    /// What keeps the rest of the file from being read.
    pub damage: Option<Damage>,
    /// How long the recording took, in microseconds, if it was ended in order.
    pub ended: Option<u64>,
}

impl TraceFile {
    /// Reads a file whole. For one that may not fit into memory use [`TraceReader`].
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::drain(TraceReader::open(path)?)
    }

    /// Reads the bytes of a file; `path` is for messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, TraceError> {
        Self::drain(TraceReader::over(bytes, bytes.len() as u64, path)?)
    }

    fn drain<R: std::io::Read>(mut reader: TraceReader<R>) -> Result<Self, TraceError> {
        let mut chunks = Vec::new();
        while let Some(chunk) = reader.chunk()? {
            chunks.push(chunk);
        }
        Ok(Self { header: reader.header, chunks, damage: reader.damage, ended: reader.ended })
    }

    /// The numbers of the nodes that the trace is of.
    pub fn nodes(&self) -> impl Iterator<Item = u8> {
        self.header.nodes.iter().map(|node| node.id)
    }

    /// Gives everything a node's log says to `each`, in order.
    pub fn read(&self, node: u8, mut each: impl FnMut(Entry)) {
        let mut stream = Stream::new();
        for chunk in self.chunks.iter().filter(|chunk| chunk.node == node) {
            stream.push(chunk.position, &chunk.bytes, |item| each(Entry { wall: chunk.wall, item }));
        }
    }

    /// Everything a node's log says, in order.
    #[must_use]
    pub fn entries(&self, node: u8) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.read(node, |entry| entries.push(entry));
        entries
    }
}
