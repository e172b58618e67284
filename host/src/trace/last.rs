//! The last events of every node, from the log rings of a system that stands: a flight recorder.
use super::ring::Ring;
use super::{Builder, Chunk, History, header_of};
use crate::{BoardError, System, SystemError};
use stillpoint_core::EventKind;

impl System {
    /// Returns what the log rings hold, in causal order, whether or not a recorder has read it. A recording that comes later finds
    /// the rings as they were.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn last_events(&mut self, file: &str) -> Result<History, SystemError> {
        let header = header_of(self, file)?;
        let nodes = self.nodes()?;
        let mut builder = Builder::new(&header);
        for (at, node) in self.addresses().into_iter().zip(&nodes) {
            let ring = Ring::new(node.log.0);
            let look = self.on(at.board, |board| {
                let head = ring.head(board.memory())?;
                ring.look_from(board.memory(), &head, head.oldest).map_err(BoardError::from)
            })?;
            let chunk =
                Chunk { node: node.id.0, wall: 0, position: look.position, dropped: look.dropped, bytes: look.bytes };
            builder.chunk(&chunk);
        }
        Ok(builder.finish(None).in_time_order())
    }
}

/// The event with which a system stopped: the last fault, or the last halt of the node that triggered it.
#[must_use]
pub fn stop_of(history: &History, trigger: Option<&str>) -> Option<usize> {
    let last = |kind: EventKind, node: Option<&str>| {
        let of_node = |place: &usize| node.is_none_or(|node| history.node_name(history.events[*place].id.node) == node);
        let mut places = (0..history.events.len()).rev().filter(of_node);
        places.find(|place| history.events[*place].kind() == kind)
    };
    last(EventKind::Fault, None).or_else(|| last(EventKind::Halt, trigger)).or_else(|| last(EventKind::Halt, None))
}
