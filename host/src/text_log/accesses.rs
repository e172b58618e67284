//! What lines know through shared objects, from the log rings.
//!
//! The clock that a line carries counts messages and calls. An access of a shared object orders more, and its record says so; the
//! records are in the log rings, which are read beside the text.
use super::merge::Pending;
use crate::trace::Watcher;
use crate::{System, SystemError};
use stillpoint_core::{EventKind, EventNumber};
use stillpoint_trace::{CausalityStream, Event, EventId, Follower, Header, History};

/// The events in the log rings, ordered by causality.
pub(super) struct Accesses(History);

impl Accesses {
    /// Reads the log rings; nothing where no firmware shares an object.
    pub fn read(system: &mut System) -> Result<Option<Self>, SystemError> {
        if !shares(system) {
            return Ok(None);
        }
        Ok(Some(Self::of(system.last_events("")?)))
    }

    pub fn of(history: History) -> Self {
        Self(history.causality())
    }

    /// Adds to the clock of a line of a node what the node knew through shared objects.
    pub fn add_to(&self, pending: &mut Pending, node: u8) {
        let (Some(number), Some(clock)) = (pending.number, &mut pending.clock) else { return };
        let Some(place) = self.last_up_to(node, number) else { return };
        raise(clock, self.0.clock(place));
    }

    /// Whether the rings have no event of the node from before a line.
    pub fn is_older(&self, node: u8, number: u32) -> bool {
        self.last_up_to(node, number).is_none()
    }

    fn last_up_to(&self, node: u8, number: u32) -> Option<usize> {
        let exact = self.0.index_of(EventId { node, number }).filter(|place| self.0.events[*place].counts());
        exact.or_else(|| {
            let is_up_to = |place: &&u32| {
                let event = &self.0.events[**place as usize];
                event.counts() && !EventNumber(event.id.number).is_newer_than(EventNumber(number))
            };
            self.0.of_node(node).iter().rev().find(is_up_to).map(|place| *place as usize)
        })
    }
}

/// The events of the log rings while they are written.
pub(super) struct LiveAccesses {
    watcher: Watcher,
    known: LiveKnowledge,
    /// When the log rings were last read through, in microseconds since reading began.
    read_through: u64,
}

impl LiveAccesses {
    /// Begins with the oldest event of each ring; nothing where no firmware shares an object.
    pub fn start(system: &mut System) -> Result<Option<Self>, SystemError> {
        if !shares(system) {
            return Ok(None);
        }
        let watcher = Watcher::start(system, "")?;
        let known = LiveKnowledge::new(watcher.header());
        Ok(Some(Self { watcher, known, read_through: 0 }))
    }

    /// Reads what was written since. After two of these all is known that happened before what was read before the first.
    pub fn poll(&mut self, system: &mut System) -> Result<(), SystemError> {
        let LiveKnowledge { follower, stream } = &mut self.known;
        let mut push = |event: &Event, clock: &[u32]| stream.push(event, clock, &mut |_, _| ());
        self.watcher.poll_each(system, &mut |chunk| follower.chunk(chunk, &mut push))?;
        let elapsed = self.watcher.elapsed().as_micros() as u64;
        follower.wait_no_longer(elapsed, &mut push);
        self.known.stream.settle(std::mem::replace(&mut self.read_through, elapsed), &mut |_, _| ());
        Ok(())
    }

    /// Adds to the clock of a line of a node what the node knew through shared objects.
    pub fn add_to(&self, pending: &mut Pending, node: u8) {
        self.known.add_to(pending, node);
    }
}

/// What nodes know through shared objects, by the events that came so far.
struct LiveKnowledge {
    follower: Follower,
    stream: CausalityStream,
}

impl LiveKnowledge {
    fn new(header: &Header) -> Self {
        Self { follower: Follower::new(header), stream: CausalityStream::new(header).remembering() }
    }

    fn add_to(&self, pending: &mut Pending, node: u8) {
        let (Some(number), Some(clock)) = (pending.number, &mut pending.clock) else { return };
        if let Some(known) = self.stream.known(node, number) {
            raise(clock, known);
        }
    }
}

fn raise(clock: &mut Vec<u32>, known: &[u32]) {
    clock.resize(clock.len().max(known.len()), 0);
    for (entry, known) in clock.iter_mut().zip(known) {
        if EventNumber(*known).is_newer_than(EventNumber(*entry)) {
            *entry = *known;
        }
    }
}

/// Whether a firmware of the system has shared objects.
pub(super) fn shares(system: &mut System) -> bool {
    system.boards().iter().any(|board| board.firmware().names("shared").next().is_some())
}

/// Whether every node records the accesses that it makes.
pub(super) fn are_recorded(system: &mut System) -> Result<bool, SystemError> {
    let records = |node: &crate::Node| node.recording.is_none_or(|of| of.kinds().contains(EventKind::Access));
    Ok(system.nodes()?.iter().all(records))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Said;
    use super::super::merge::Merge;
    use super::*;
    use stillpoint_core::shared::{AccessKind, AccessValue};
    use stillpoint_core::{Event, NodeId};
    use stillpoint_trace::Sketch;

    fn access(kind: AccessKind, version: u8) -> Event {
        let value = AccessValue { kind, race: false, version, reads: 0, place: 0 }.to_bits();
        Event { kind: EventKind::Access, arg: 5, value }
    }

    fn line(number: u32, clock: [u32; 2], time: u64) -> Pending {
        let clock = Some(clock.to_vec());
        Pending { number: Some(number), clock, time: Some(time), said: Said::Restarted, bound: None }
    }

    /// a says that it will write and writes, b reads what a wrote and says so; b's clock is far behind a's.
    #[test]
    fn a_line_comes_after_what_its_node_read_of_a_shared_object_though_time_says_otherwise() {
        let mut sketch = Sketch::new(&["a", "b"]);
        sketch.local(0, 7);
        sketch.event(0, access(AccessKind::Write, 1));
        sketch.local(1, 7);
        sketch.event(1, access(AccessKind::Read, 1));
        let history = sketch.history();
        let accesses = Accesses::of(history.clone());
        let order = |accesses: Option<&Accesses>| {
            let mut merge = Merge::new([0, 1].into_iter().map(NodeId));
            // Before the write; before the read and after it.
            for (node, mut pending) in [(0, line(1, [1, 0], 900)), (1, line(1, [0, 1], 1)), (1, line(2, [0, 2], 2))] {
                if let Some(accesses) = accesses {
                    assert!(!accesses.is_older(node, pending.number.unwrap()));
                    accesses.add_to(&mut pending, node);
                }
                merge.push(node.into(), pending);
            }
            let mut out = Vec::new();
            merge.release(|_, _| ());
            merge.release(|place, pending| out.push((place, pending.number.unwrap())));
            out
        };
        assert_eq!(order(None), [(1, 1), (1, 2), (0, 1)], "by messages nothing orders them");
        assert_eq!(order(Some(&accesses)), [(1, 1), (0, 1), (1, 2)]);
        let mut live = LiveKnowledge::new(&history.header);
        for (place, event) in history.events.iter().enumerate() {
            live.stream.push(event, history.clock(place), &mut |_, _| ());
        }
        let mut read = line(2, [0, 2], 2);
        live.add_to(&mut read, 1);
        assert_eq!(read.clock, Some(vec![0, 2]), "a log that was read before may have a write still");
        live.stream.settle(u64::MAX, &mut |_, _| ());
        live.add_to(&mut read, 1);
        assert_eq!(read.clock, Some(vec![2, 2]), "while it runs the same is known once all logs were read again");
        let late = Accesses::of(Sketch::new(&["a", "b"]).history());
        assert!(late.is_older(0, 1), "the rings have nothing of it");
    }
}
