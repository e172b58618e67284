//! What nodes logged since a moment, left in their rings for whoever empties them.
use super::ring::Ring;
use super::{Item, Stream};
use crate::{BoardError, Node, NodeAddress, System, SystemError};
use stillpoint_core::{Event, EventKind};

/// Where the logs of all nodes ended at one moment.
#[derive(Clone, Debug)]
pub struct Tails(Vec<Tail>);

#[derive(Clone, Debug)]
struct Tail {
    at: NodeAddress,
    ring: Ring,
    /// How many bytes the node had written.
    written: u32,
}

impl Tails {
    /// The ends as they are now.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn of(system: &mut System, nodes: &[Node]) -> Result<Self, SystemError> {
        let mut tails = Vec::new();
        for (at, node) in system.addresses().into_iter().zip(nodes) {
            let ring = Ring::new(node.log.0);
            let head = system.on(at.board, |board| ring.head(board.memory()).map_err(BoardError::from))?;
            tails.push(Tail { at, ring, written: head.written });
        }
        Ok(Self(tails))
    }

    /// The events that each node logged since, halts and resumes left out; `None` for one whose log does not tell, because
    /// a part is overwritten or the log was made anew.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn events_since(&self, system: &mut System) -> Result<Vec<Option<Vec<Event>>>, SystemError> {
        self.0.iter().map(|tail| system.on(tail.at.board, |board| Ok(tail.events(board.memory())?))).collect()
    }
}

impl Tail {
    fn events(&self, memory: &mut dyn crate::Memory) -> Result<Option<Vec<Event>>, crate::MemoryError> {
        let head = self.ring.head(memory)?;
        let look = self.ring.look_from(memory, &head, self.written)?;
        Ok(if look.position == self.written { events_in(look.position, &look.bytes) } else { None })
    }
}

/// The events in a piece of a log that begins with a whole record.
fn events_in(position: u32, bytes: &[u8]) -> Option<Vec<Event>> {
    let (mut events, mut whole) = (Vec::new(), true);
    Stream::new().push(position, bytes, |item| match item {
        Item::Record(record) | Item::Unplaced(record) => {
            if !matches!(record.event.kind, EventKind::Halt | EventKind::Resume) {
                events.push(record.event);
            }
        }
        Item::Causes { skipped, .. } => whole &= skipped == 0,
        Item::Sync(_) => {}
        Item::Gap(_) | Item::Restart | Item::Broken(_) => whole = false,
    });
    whole.then_some(events)
}
