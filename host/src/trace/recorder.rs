//! Draining the log rings of a running system into a file.
use super::ring::Ring;
use super::{Chunk, Header, NodeSum, Summary, WriteError, Writer, header_of};
use crate::{BoardError, NodeAddress, System, SystemError};
use std::path::Path;
use std::time::{Duration, Instant};
use stillpoint_core::Command;

/// Why recording ended.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file takes no more.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A board does not answer.
    #[error("{source}; {saved} bytes are saved in the file")]
    System {
        /// Why.
        source: Box<SystemError>,
        /// How much is saved.
        saved: u64,
    },
}

/// One node's ring, and what came out of it.
struct Tap {
    at: NodeAddress,
    ring: Ring,
    summary: Summary,
}

/// Records the logs of all nodes of a system.
///
/// Call [`Recorder::poll`] often: a full ring overwrites its oldest records. The recording says how many are missing.
pub struct Recorder {
    header: Header,
    writer: Writer,
    taps: Vec<Tap>,
    began: Instant,
}

impl Recorder {
    /// Begins to record into a new file. Every node is asked for a sync record, so that what follows can be placed.
    pub fn start(system: &mut System, file: &str, path: &Path) -> Result<Self, RecordError> {
        let fail = |source| RecordError::System { source: Box::new(source), saved: 0 };
        let header = header_of(system, file).map_err(fail)?;
        let nodes = system.nodes().map_err(fail)?;
        let taps = system.addresses().into_iter().zip(&nodes).map(|(at, node)| Tap {
            at,
            ring: Ring::new(node.log.0),
            summary: Summary::new(node.id.0, header.node_name(node.id.0)),
        });
        let taps = taps.collect();
        let writer = Writer::create(path, &header)?;
        for at in system.addresses() {
            system.command(at, &Command::Report).map_err(fail)?;
        }
        Ok(Self { header, writer, taps, began: Instant::now() })
    }

    /// Moves what the rings hold into the file. Returns how many bytes that was.
    ///
    /// What was read is noted on the board only once it is saved, so another recorder can go on from there.
    pub fn poll(&mut self, system: &mut System) -> Result<u64, RecordError> {
        self.poll_each(system, &mut |_| {})
    }

    /// The same, and gives `each` the pieces of logs that were saved.
    pub fn poll_each(&mut self, system: &mut System, each: &mut dyn FnMut(&Chunk)) -> Result<u64, RecordError> {
        let mut moved = 0;
        for index in 0..self.taps.len() {
            moved += self.drain(index, system, each)?;
        }
        Ok(moved)
    }

    fn drain(&mut self, index: usize, system: &mut System, each: &mut dyn FnMut(&Chunk)) -> Result<u64, RecordError> {
        let tap = &mut self.taps[index];
        let board = tap.at.board;
        let saved = self.writer.saved();
        let name = system.boards()[board].name().to_owned();
        let fail = |source| {
            let source = SystemError::Board { board: name.clone(), source: BoardError::Memory(source) };
            RecordError::System { source: Box::new(source), saved }
        };
        let memory = system.boards()[board].memory();
        let look = tap.ring.look(memory).map_err(fail)?;
        if look.bytes.is_empty() {
            return Ok(0);
        }
        let wall = self.began.elapsed().as_micros() as u64;
        let (node, position, dropped) = (tap.summary.sum().id, look.position, look.dropped);
        let chunk = Chunk { node, wall, position, dropped, bytes: look.bytes };
        self.writer.log(&chunk)?;
        let look = super::ring::Look { bytes: chunk.bytes, ..look };
        tap.ring.note_read(memory, &look).map_err(fail)?;
        let chunk = Chunk { bytes: look.bytes, ..chunk };
        tap.summary.add(&chunk);
        each(&chunk);
        Ok(chunk.bytes.len() as u64)
    }

    /// What the file says of the system.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What was recorded so far, node by node: the figures that a reader of the file gets.
    pub fn sums(&self) -> impl Iterator<Item = &NodeSum> {
        self.taps.iter().map(|tap| tap.summary.sum())
    }

    /// How many bytes are in the file.
    #[must_use]
    pub fn saved(&self) -> u64 {
        self.writer.saved()
    }

    /// How long this recorder has been going.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// How fast the rings of the slowest board can be read, in MiB a second: measured now, by reading them whole.
    pub fn drain_rate(&self, system: &mut System) -> Result<f64, RecordError> {
        let mut slowest = f64::INFINITY;
        for (index, board) in system.boards().iter_mut().enumerate() {
            let name = board.name().to_owned();
            let fail = |source| {
                let source = SystemError::Board { board: name.clone(), source: BoardError::Memory(source) };
                RecordError::System { source: Box::new(source), saved: self.writer.saved() }
            };
            let (began, mut bytes) = (Instant::now(), 0);
            for tap in self.taps.iter().filter(|tap| tap.at.board == index) {
                bytes += tap.ring.read_whole(board.memory()).map_err(fail)?;
            }
            slowest = slowest.min(bytes as f64 / (1 << 20) as f64 / began.elapsed().as_secs_f64().max(1e-9));
        }
        Ok(slowest)
    }

    /// Ends the recording in order: what the rings still hold is saved, and everything is on the disk.
    pub fn finish(&mut self, system: &mut System) -> Result<(), RecordError> {
        self.finish_each(system, &mut |_| {})
    }

    /// The same, and gives `each` what was still saved.
    pub fn finish_each(&mut self, system: &mut System, each: &mut dyn FnMut(&Chunk)) -> Result<(), RecordError> {
        self.poll_each(system, each)?;
        Ok(self.writer.end(self.began.elapsed().as_micros() as u64)?)
    }
}
