//! The quick way: what a node that runs does at nearly every event, while nothing is armed and nothing is carried.
//!
//! Each of these either does exactly what [`step`](Node::step) would do, or refuses by `None` and changes nothing; `step` is
//! then the way. They exist because their answer is two values in registers where `Effects` would be many in memory: a
//! driver that is built for size keeps one copy of `step` for the rest.
use super::Node;
use super::step::LOCAL_KINDS;
use crate::stamp::CARRY;
use crate::{Event, PortId, StampKind};

/// What the quick way of a message leaves to do.
///
/// # Example: the first message of a channel carries a full stamp, which is not quick
/// ```
/// use stillpoint_core::{Direction, Input, Node, NodeId, PortId, StampKind};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Vector).unwrap();
/// node.connect(PortId(0), Direction::Out, NodeId(1)).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// let mut stamp = [0; Node::<2>::STAMP_ROOM];
/// assert_eq!(node.quick_send(PortId(0), &mut stamp), None);
/// let _ = node.step(Input::Send { port: PortId(0), stamp: &mut stamp }).unwrap();
/// let quick = node.quick_send(PortId(0), &mut stamp).unwrap();
/// assert_eq!((quick.stamp, quick.is_recorded), (2, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quick {
    /// Length of the stamp.
    pub stamp: u8,
    /// Whether the event is to be recorded.
    pub is_recorded: bool,
}

impl<const N: usize, const P: usize> Node<N, P> {
    /// A local event. Whether it is to be recorded; `None` if it takes a step.
    #[inline(always)]
    pub fn quick_event(&mut self, event: &Event) -> Option<bool> {
        let quick = self.is_plain() && LOCAL_KINDS.contains(event.kind) && self.recording.observes(event.kind);
        quick.then(|| self.tick(event))
    }

    /// A message is about to leave. `None` if it takes a step.
    #[inline(always)]
    pub fn quick_send(&mut self, port: PortId, stamp: &mut [u8]) -> Option<Quick> {
        let index = usize::from(port.0);
        let quick = self.is_plain()
            && self.stamps == StampKind::Vector
            && self.outgoing.contains(port)
            && stamp.len() >= Self::STAMP_ROOM;
        let end = self.ports.get_mut(index).filter(|end| quick && end.said.is_synced())?;
        let count = self.counts.get_mut(index)?;
        *count = count.wrapping_add(1);
        let own = self.id.0 as usize % N;
        self.clock.entries[own] = self.clock.entries[own].wrapping_add(1);
        // There is room, and the node is in its own system: writing cannot fail.
        let length = end.said.write_changes(self.id, &self.clock, stamp).unwrap_or(0);
        Some(Quick { stamp: length as u8, is_recorded: self.recording.records(&Event::send(port)) })
    }

    /// The application takes a message. `None` if it takes a step, also where that would refuse it.
    #[inline(always)]
    pub fn quick_receive(&mut self, port: PortId, message: &[u8]) -> Option<Quick> {
        let carries = message.first().is_none_or(|first| first & CARRY != 0);
        if carries || !self.is_plain() || !self.incoming.contains(port) {
            return None;
        }
        let length = self.take_stamp(port, message).ok()?;
        Some(Quick { stamp: length as u8, is_recorded: self.tick(&Event::receive(port)) })
    }

    /// Whether an event can have no other consequence than its record.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.halting.is_running() && self.predicates.is_idle() && !self.predicates.has_carry()
    }

    /// Counts an event. Whether it is to be recorded.
    #[inline(always)]
    fn tick(&mut self, event: &Event) -> bool {
        let own = self.own_index();
        self.clock.entries[own] = self.clock.entries[own].wrapping_add(1);
        self.recording.records(event)
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::log::Recording;
    use crate::predicate::{Detector, Generation, Op, ProgramBuilder, Relation, SlotId};
    use crate::{Command, Direction, Effects, EventKind, HaltId, Input, NodeId};
    use core::cell::Cell;
    use stillpoint_test::test;

    type Small = Node<2, 2>;
    const ROOM: usize = Small::STAMP_ROOM;
    const OUT: PortId = PortId(0);
    const IN: PortId = PortId(1);

    fn pair(stamps: StampKind) -> [Small; 2] {
        [0, 1].map(|id| {
            let mut node = Small::new(NodeId(id), stamps).unwrap();
            node.connect(OUT, Direction::Out, NodeId(1 - id)).unwrap();
            node.connect(IN, Direction::In, NodeId(1 - id)).unwrap();
            node
        })
    }

    /// Asks the quick way of one copy and `step` of another; where the quick way answers, they must agree.
    fn agree(
        node: &mut Small,
        quick: impl Fn(&mut Small) -> Option<Quick>,
        step: impl Fn(&mut Small) -> Effects,
    ) -> bool {
        let mut copy = node.clone();
        let answer = quick(&mut copy);
        if answer.is_none() {
            assert_eq!(copy, *node, "a refusal changes nothing");
        }
        let effects = step(node);
        if let Some(answer) = answer {
            assert_eq!(answer, Quick { stamp: effects.stamp, is_recorded: effects.log.is_some() });
            assert_eq!(effects, Effects { log: effects.log, stamp: effects.stamp, ..Effects::NONE });
            assert_eq!(copy, *node);
        }
        answer.is_some()
    }

    fn write<R>(bytes: &Cell<[u8; ROOM]>, with: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut stamp = [0; ROOM];
        let result = with(&mut stamp);
        bytes.set(stamp);
        result
    }

    #[test]
    fn the_quick_way_does_what_a_step_does_or_nothing() {
        for stamps in [StampKind::Event, StampKind::Vector] {
            let mut nodes = pair(stamps);
            let event = Event::local(3);
            let local = |node: &mut Small| {
                agree(
                    node,
                    |node| node.quick_event(&event).map(|is_recorded| Quick { stamp: 0, is_recorded }),
                    |node| node.step(Input::Event(event)).unwrap(),
                )
            };
            for node in &mut nodes {
                let _ = node.step(Input::start()).unwrap();
            }
            let mut quick = 0;
            for round in 0..40u32 {
                let [from, to] = &mut nodes;
                let (from, to) = if round % 3 == 0 { (to, from) } else { (from, to) };
                match round {
                    20 => drop(from.step(Input::Command(Command::Record(Recording::OFF))).unwrap()),
                    30 => drop(from.step(Input::Command(Command::Record(Recording::REPLAY))).unwrap()),
                    _ => {}
                }
                quick += u32::from(local(from));
                let (quickly, stepped) = (Cell::new([0; ROOM]), Cell::new([0; ROOM]));
                let sent = agree(
                    from,
                    |node| write(&quickly, |stamp| node.quick_send(OUT, stamp)),
                    |node| write(&stepped, |stamp| node.step(Input::Send { port: OUT, stamp }).unwrap()),
                );
                assert!(!sent || quickly == stepped, "the stamps are the same");
                let stamp = &stepped.get()[..];
                let received = agree(
                    to,
                    |node| node.quick_receive(IN, stamp),
                    |node| node.step(Input::Receive { port: IN, stamp }).unwrap(),
                );
                quick += u32::from(sent) + u32::from(received);
            }
            let most = if stamps == StampKind::Vector { 110 } else { 70 };
            assert!(quick >= most, "only {quick} of 120 events were quick");
        }
    }

    #[test]
    fn what_has_consequences_is_not_quick() {
        let [mut node, _] = pair(StampKind::Vector);
        assert_eq!(node.quick_event(&Event::local(1)), None, "not started");
        let _ = node.step(Input::start()).unwrap();
        assert_eq!(node.quick_event(&Event::new(EventKind::Halt, 1)), None, "not an application's event");
        assert_eq!(node.quick_event(&Event::new(EventKind::Poll, 1)), None, "no event in this mode");
        assert_eq!(node.quick_receive(IN, &[]), None);
        assert_eq!(node.quick_receive(OUT, &[1]), None);
        let condition = [Op::WatchCompare { watch: 1, relation: Relation::Equal, constant: 7 }];
        let program = ProgramBuilder::new(1).push_condition_term(1, 1, &condition).finish().unwrap();
        let (slot, generation, detector) = (SlotId::ALL[0], Generation(1), Detector::Causal);
        let install = Command::Install { slot, generation, detector, program: program.as_bytes() };
        for command in [install, Command::Enable { slot, generation }] {
            let _ = node.step(Input::Command(command)).unwrap();
        }
        assert_eq!(node.quick_event(&Event::local(1)), None, "something is armed");
        let _ = node.step(Input::Command(Command::Remove { slot })).unwrap();
        assert_eq!(node.quick_event(&Event::local(1)), Some(true));
        let _ = node.step(Input::Command(Command::Halt)).unwrap();
        assert_eq!(node.quick_event(&Event::local(1)), None, "halted");
        let _ = node.step(Input::Command(Command::Release(HaltId(1)))).unwrap();
    }
}
