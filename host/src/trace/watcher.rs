//! The logs of a running system read as they are written, without a file.
use super::ring::Ring;
use super::{Chunk, Header, header_of};
use crate::{BoardError, NodeAddress, System, SystemError};
use std::time::{Duration, Instant};
use stillpoint_core::Command;

/// Reads the log rings of all nodes and leaves them to recorders: nothing is noted as read.
///
/// To keep what is read, use [`Recorder`](super::Recorder).
pub struct Watcher {
    header: Header,
    taps: Vec<Tap>,
    began: Instant,
}

struct Tap {
    at: NodeAddress,
    node: u8,
    ring: Ring,
    /// The position after what was read; `None` before the first look.
    next: Option<u32>,
}

impl Watcher {
    /// Begins with the oldest record of each ring. Every node is asked for a sync record, so that what follows can be placed.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn start(system: &mut System, file: &str) -> Result<Self, SystemError> {
        let header = header_of(system, file)?;
        let nodes = system.nodes()?;
        let tap = |(at, node): (NodeAddress, &crate::Node)| Tap {
            at,
            node: node.id.0,
            ring: Ring::new(node.log.0),
            next: None,
        };
        let taps = system.addresses().into_iter().zip(&nodes).map(tap).collect();
        for at in system.addresses() {
            system.command(at, &Command::Report)?;
        }
        Ok(Self { header, taps, began: Instant::now() })
    }

    /// The system as a recording describes it.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How long this watcher has been reading.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Gives `each` what was written since the last time. Returns how many bytes that was.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn poll_each(&mut self, system: &mut System, each: &mut dyn FnMut(&Chunk)) -> Result<u64, SystemError> {
        let mut moved = 0;
        for tap in &mut self.taps {
            let look = system.on(tap.at.board, |board| {
                let memory = board.memory();
                let head = tap.ring.head(memory).map_err(BoardError::Memory)?;
                tap.ring.look_from(memory, &head, tap.next.unwrap_or(head.oldest)).map_err(BoardError::Memory)
            })?;
            if look.bytes.is_empty() {
                continue;
            }
            tap.next = Some(look.position.wrapping_add(look.bytes.len() as u32));
            let wall = self.began.elapsed().as_micros() as u64;
            moved += look.bytes.len() as u64;
            each(&Chunk { node: tap.node, wall, position: look.position, dropped: look.dropped, bytes: look.bytes });
        }
        Ok(moved)
    }
}
