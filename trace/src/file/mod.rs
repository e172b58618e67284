//! The trace file: the logs of all nodes in one append-only file of frames. The form is in `docs/TRACE.md`.
mod frame;
mod header;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

pub use frame::{FrameError, MAGIC, MAX_BODY};
pub use header::{BoardInfo, ChannelInfo, Header, NameInfo, NodeInfo, PortInfo};
pub use stream::{Entry, Item, Stream, Sync};
pub use writer::{WriteError, Writer};

use frame::Body;
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
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let bytes = std::fs::read(path).map_err(|source| TraceError::Read { path: path.to_owned(), source })?;
        Self::parse(&bytes, path)
    }

    /// Reads the bytes of a file; `path` is for messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, TraceError> {
        let frames = bytes.strip_prefix(&MAGIC).ok_or_else(|| TraceError::NotATrace(path.to_owned()))?;
        let offset_of = |rest: &[u8]| (bytes.len() - rest.len()) as u64;
        let in_header = |why| TraceError::Header { path: path.to_owned(), offset: MAGIC.len() as u64, why };
        let (header, mut rest) = match Body::decode(frames).map_err(in_header)? {
            Some((Body::Header(header), length)) => (*header, &frames[length..]),
            Some(_) => return Err(in_header(FrameError::Body("it is not the header".into()))),
            None => return Err(in_header(FrameError::Truncated)),
        };
        let mut trace = Self { header, chunks: Vec::new(), damage: None, ended: None };
        loop {
            match Body::decode(rest) {
                Ok(None) => return Ok(trace),
                Ok(Some((body, length))) => {
                    trace.take(body);
                    rest = &rest[length..];
                }
                Err(why) => {
                    trace.damage = Some(Damage { offset: offset_of(rest), why, lost: rest.len() as u64 });
                    return Ok(trace);
                }
            }
        }
    }

    fn take(&mut self, body: Body) {
        match body {
            Body::Log(chunk) => self.chunks.push(chunk),
            Body::End(wall) => self.ended = Some(wall),
            // There is one, and it was read first.
            Body::Header(_) => {}
        }
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
