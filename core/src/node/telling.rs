//! The quick way of messages that tell of one component of a simultaneous event.
//!
//! Out of line: what nothing is armed for pays nothing for it. Like the rest of the quick way, each of these does exactly what
//! [`step`](Node::step) would do, or refuses by `None` and changes nothing.
use super::{Node, Quick};
use crate::predicate::Values;
use crate::stamp::CARRY;
use crate::{Event, MessageStamp, PortId};

impl<const N: usize, const P: usize> Node<N, P> {
    /// A message is about to leave that carries something. `None` unless that is one component.
    #[inline(never)]
    pub(super) fn quick_send_telling(&mut self, port: PortId, stamp: &mut [u8]) -> Option<Quick> {
        if !self.tells_quickly(port) {
            return None;
        }
        let index = usize::from(port.0);
        let count = self.counts.get_mut(index)?;
        *count = count.wrapping_add(1);
        let quick = self.tick(&Event::send(port));
        if !quick.satisfied.is_empty() {
            return Some(quick);
        }
        let bytes = self.told().to_bytes();
        let (stamp, told) = stamp.split_last_chunk_mut()?;
        *told = bytes;
        let end = self.ports.get_mut(index)?;
        let begin = if end.said.is_synced() {
            end.said.write_changes_last(self.id, &self.clock, stamp)
        } else {
            end.said.write_full_last(&self.clock, stamp)
        };
        *stamp.get_mut(begin)? |= CARRY;
        Some(Quick { begin: begin as u8, ..quick })
    }

    /// The application takes a message that carries something. `None` unless that is one component of the event that this node
    /// has a part in.
    #[inline(never)]
    pub(super) fn quick_receive_telling(&mut self, port: PortId, stamp: &MessageStamp<'_>) -> Option<Quick> {
        let index = usize::from(port.0);
        let (short, load) = stamp.short_with_load::<N>()?;
        let (component, holds, taken) = Values::one_from_bytes(load.try_into().ok()?, self.event_in_slot()?)?;
        let (end, count) = (self.ports.get_mut(index)?, self.counts.get_mut(index)?);
        if !end.said.is_synced() {
            return None;
        }
        let raised = end.said.read_short(self.id, &mut self.clock, &short).ok()?;
        *count = count.wrapping_add(1);
        let is_first = *count == 1;
        self.note_raised(raised);
        let brought = self.hear_value(component, holds, taken);
        let quick = self.tick(&Event::receive(port));
        Some(Quick { is_first, satisfied: quick.satisfied.union(brought), ..quick })
    }
}
