//! One node's text log: what comes out of its ring, line by line.
use super::decode::Texts;
use super::entry::Said;
use super::merge::Pending;
use super::ring::{Head, Ring};
use crate::{Memory, MemoryError, NodeAddress};
use std::collections::VecDeque;
use stillpoint_core::NodeId;
use stillpoint_core::log::TextReader;

/// The ring of a node, how far it was read and given out, and what turns its bytes into lines.
pub(super) struct Tap {
    at: NodeAddress,
    id: NodeId,
    name: String,
    ring: Ring,
    reader: TextReader,
    /// Which ring it is, once there was one.
    life: Option<u32>,
    /// What was read.
    read: Bound,
    /// What was given out.
    released: Bound,
    pending_drops: u32,
    raw: VecDeque<Raw>,
}

/// A place in the ring up to which something was done, and the last item before it at which a reader can begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bound {
    end: u32,
    beginning: u32,
}

/// What was read and not decoded yet.
#[derive(Debug, PartialEq, Eq)]
enum Raw {
    Item { dropped: u32, clock: Option<Vec<u32>>, line: Vec<u8>, bound: Bound },
    Restarted,
    Damaged(String, Bound),
}

impl Tap {
    pub fn new(at: NodeAddress, id: NodeId, name: String, ring: Ring) -> Self {
        let (reader, raw, nothing) = (TextReader::new(), VecDeque::new(), Bound::default());
        Self { at, id, name, ring, reader, life: None, read: nothing, released: nothing, pending_drops: 0, raw }
    }

    pub fn board(&self) -> usize {
        self.at.board
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lines that were dropped after the last one that was read.
    pub fn pending_drops(&self) -> u32 {
        self.pending_drops
    }

    /// Reads what is new. Returns how many lines that is.
    pub fn read(&mut self, memory: &mut dyn Memory) -> Result<usize, MemoryError> {
        let Some(head) = self.ring.head(memory)? else { return Ok(0) };
        let is_new = self.life != Some(head.life);
        let from = if is_new { head.read } else { self.read.end };
        if head.written.wrapping_sub(from) > head.size {
            // It is being made anew, or somebody else reads it: the next look will tell.
            return Ok(0);
        }
        let bytes = self.ring.bytes(memory, &head, from)?;
        let after = self.ring.head(memory)?;
        if after.is_none_or(|after| after.life != head.life || after.read != head.read) {
            // A reset while we read: the bytes may be of both lives.
            return Ok(0);
        }
        if is_new {
            if self.life.replace(head.life).is_some() {
                self.raw.push_back(Raw::Restarted);
            }
            self.reader = TextReader::new();
            self.read = Bound { end: from, beginning: from };
            self.released = self.read;
        }
        self.pending_drops = head.pending;
        Ok(self.split(&head, &bytes))
    }

    /// Cuts the bytes into items, which are kept as they are.
    fn split(&mut self, head: &Head, bytes: &[u8]) -> usize {
        let (mut rest, mut lines) = (bytes, 0);
        while !rest.is_empty() {
            let begin = self.read.end;
            match self.reader.next(rest) {
                Ok(Some((item, length))) => {
                    let end = begin.wrapping_add(length as u32);
                    let beginning = if item.is_beginning { begin } else { self.read.beginning };
                    self.read = Bound { end, beginning };
                    // What somebody has shown before is read for its clock only.
                    let is_fresh = (end.wrapping_sub(head.shown) as i32) > 0;
                    if is_fresh {
                        let clock = item.clock.map(|clock| clock.to_vec());
                        let (dropped, line) = (item.dropped, item.line.to_vec());
                        self.raw.push_back(Raw::Item { dropped, clock, line, bound: self.read });
                        lines += 1;
                    }
                    rest = &rest[length..];
                }
                other => {
                    let why = other.err().map_or("the text log ends in the middle of a line".into(), |e| e.to_string());
                    // A line ends with a zero; behind the next one there may be another.
                    let skip = rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |zero| zero + 1);
                    let end = begin.wrapping_add(skip as u32);
                    self.read = Bound { end, beginning: end };
                    self.reader = TextReader::new();
                    self.raw.push_back(Raw::Damaged(why, self.read));
                    rest = &rest[skip..];
                }
            }
        }
        lines
    }

    /// Turns what was read into entries.
    pub fn decode(&mut self, texts: &Texts, mut each: impl FnMut(Pending)) {
        let own = usize::from(self.id.0);
        while let Some(raw) = self.raw.pop_front() {
            let (dropped, clock, line, bound) = match raw {
                Raw::Item { dropped, clock, line, bound } => (dropped, clock, line, bound),
                Raw::Restarted => {
                    each(Pending::note(Said::Restarted, self.read));
                    continue;
                }
                Raw::Damaged(why, bound) => {
                    each(Pending::note(Said::Damaged(why), bound));
                    continue;
                }
            };
            // A node that has not started has no clock: all zeros would put it before what it did before a reset.
            let clock = clock.filter(|clock| clock.get(own).is_some_and(|number| *number != 0));
            let number = clock.as_ref().map(|clock| clock[own]);
            let (said, time) = match texts.line(&line) {
                Ok(line) => {
                    let time = line.time;
                    let shown = clock.as_ref().map(|clock| shorten(clock));
                    (Said::Line(super::Line { clock: shown, event: number.map(|own| own & 0xFF_FFFF), ..line }), time)
                }
                Err(why) => (Said::Damaged(why.into()), None),
            };
            if dropped > 0 {
                let said = Said::Dropped(dropped);
                each(Pending { number, clock: clock.clone(), time, said, bound: None });
            }
            each(Pending { number, clock, time, said, bound: Some(bound) });
        }
    }

    /// This was given out.
    pub fn released(&mut self, pending: &Pending) {
        if let Some(bound) = pending.bound {
            self.released = bound;
        }
    }

    /// Lets all that was read be written over.
    pub fn free_read(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        self.free(memory, self.read)
    }

    /// Lets all that was given out be written over.
    pub fn free_released(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        self.free(memory, self.released)
    }

    fn free(&mut self, memory: &mut dyn Memory, bound: Bound) -> Result<(), MemoryError> {
        let Some(head) = self.ring.head(memory)? else { return Ok(()) };
        // A ring that was made anew meanwhile has other positions, and what was freed stays so.
        let is_ours = self.life == Some(head.life);
        let is_ahead = bound.beginning.wrapping_sub(head.read) <= head.written.wrapping_sub(head.read);
        if is_ours && is_ahead && (head.read, head.shown) != (bound.beginning, bound.end) {
            self.ring.free(memory, bound.beginning, bound.end)?;
        }
        Ok(())
    }
}

/// Without the nodes behind the last that is known.
fn shorten(clock: &[u32]) -> Vec<u32> {
    let known = clock.iter().rposition(|entry| *entry != 0).map_or(0, |last| last + 1);
    clock[..known].to_vec()
}

#[cfg(test)]
#[path = "tap_tests.rs"]
mod tests;
