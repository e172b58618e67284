//! The quick way: what a node that runs does at nearly every event.
//!
//! Each of these either does exactly what [`step`](Node::step) would do, or refuses by `None` and changes nothing; `step` is
//! then the way. They exist because their answer is a few bytes in a register where `Effects` would be many in memory: a
//! driver that is built for size keeps one copy of `step` for the rest.
use super::step::LOCAL_KINDS;
use super::{Effects, Node};
use crate::predicate::SlotSet;
use crate::{Event, EventNumber, MessageStamp, PortId, StampKind};

/// What the quick way leaves to do.
///
/// # Example: the first message of a channel carries a full stamp, the second what changed
/// ```
/// use stillpoint_core::{Direction, Input, Node, NodeId, PortId, StampKind};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Vector).unwrap();
/// node.connect(PortId(0), Direction::Out, NodeId(1)).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// let mut stamp = [0; Node::<2>::STAMP_ROOM];
/// let quick = node.quick_send(PortId(0), &mut stamp).unwrap();
/// assert_eq!(stamp[quick.begin.into()..].len(), 9);
/// let quick = node.quick_send(PortId(0), &mut stamp).unwrap();
/// assert!(quick.is_recorded && quick.satisfied.is_empty());
/// assert_eq!(stamp[quick.begin.into()..].len(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Quick {
    /// Where in the lent bytes the stamp of a sent message begins; it goes on to their end.
    pub begin: u8,
    /// Whether the event is to be recorded.
    pub is_recorded: bool,
    /// Whether it takes the first message of a channel, whose record says more.
    pub is_first: bool,
    /// Predicates that the event moves on. If there are any, the event was counted and that is all:
    /// [`go_on`](Node::go_on) or [`go_on_sending`](Node::go_on_sending) does the rest, which is rare.
    pub satisfied: SlotSet,
}

impl<const N: usize, const P: usize> Node<N, P> {
    /// A local event. `None` if it takes a step.
    #[inline(always)]
    pub fn quick_event(&mut self, event: &Event) -> Option<Quick> {
        let quick = self.is_plain() && LOCAL_KINDS.contains(event.kind) && self.recording.observes(event.kind);
        quick.then(|| self.tick(event))
    }

    /// A watch has a new value. `None` if it takes a step.
    #[inline(always)]
    pub fn quick_watch(&mut self, watch: u8, value: i32) -> Option<Quick> {
        if !self.is_plain() {
            return None;
        }
        self.predicates.set_watch(watch, value).ok()?;
        Some(self.tick(&Event::watch(watch, value)))
    }

    /// A message is about to leave. Its stamp goes to the end of the lent bytes, exactly
    /// [`STAMP_ROOM`](Self::STAMP_ROOM) of them. `None` if it takes a step.
    #[inline(always)]
    pub fn quick_send(&mut self, port: PortId, stamp: &mut [u8]) -> Option<Quick> {
        let index = usize::from(port.0);
        let quick = self.is_plain() && self.stamps == StampKind::Vector && index < P && stamp.len() == Self::STAMP_ROOM;
        if !quick {
            return None;
        }
        if self.quick_out.0 >> (index & 31) & 1 == 0 {
            return self.quick_send_telling(port, stamp);
        }
        let count = self.counts.get_mut(index)?;
        *count = count.wrapping_add(1);
        let quick = self.tick(&Event::send(port));
        if !quick.satisfied.is_empty() {
            return Some(quick);
        }
        let end = self.ports.get_mut(index)?;
        let begin = if end.said.is_synced() {
            end.said.write_changes_last(self.id, &self.clock, stamp)
        } else {
            end.said.write_full_last(&self.clock, stamp)
        };
        Some(Quick { begin: begin as u8, ..quick })
    }

    /// The application takes a message. `None` if it takes a step, also where that would refuse it.
    #[inline(always)]
    pub fn quick_receive(&mut self, port: PortId, stamp: &MessageStamp<'_>) -> Option<Quick> {
        let index = usize::from(port.0);
        if !self.is_plain() || index >= P || self.incoming.0 >> (index & 31) & 1 == 0 {
            return None;
        }
        let (end, count) = (self.ports.get_mut(index)?, self.counts.get_mut(index)?);
        let raised = match stamp.short::<N>() {
            Some(short) if end.said.is_synced() => end.said.read_short(self.id, &mut self.clock, &short).ok()?,
            None if !stamp.carries() => end.said.read_any(self.id, &mut self.clock, stamp.message()).ok()?.1,
            _ => return self.quick_receive_telling(port, stamp),
        };
        *count = count.wrapping_add(1);
        let is_first = *count == 1;
        self.note_raised(raised);
        Some(Quick { is_first, ..self.tick(&Event::receive(port)) })
    }

    /// What else follows from an event without a message, or from a receive, that moved predicates on.
    #[cold]
    #[inline(never)]
    pub fn go_on(&mut self, event: Event, quick: Quick) -> Effects {
        self.advance(quick.satisfied, quick.is_recorded.then_some(event))
    }

    /// The same for a send. The stamp goes to the front of the lent bytes, as a step's.
    #[cold]
    #[inline(never)]
    pub fn go_on_sending(&mut self, port: PortId, stamp: &mut [u8], quick: Quick) -> Effects {
        let effects = self.go_on(Event::send(port), quick);
        self.write_stamp(port, stamp, effects).unwrap_or(effects)
    }

    /// Whether nothing calls for a step, whatever the event.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.halting.is_running()
    }

    /// Counts an event and evaluates what is armed.
    #[inline(always)]
    pub(super) fn tick(&mut self, event: &Event) -> Quick {
        let own = self.own_index();
        self.clock.entries[own] = EventNumber(self.clock.entries[own]).next().0;
        let is_recorded = self.recording.records(event);
        let idle = self.predicates.is_idle();
        let satisfied = if idle { SlotSet::EMPTY } else { self.satisfied_by(event.kind, event.arg) };
        Quick { begin: 0, is_recorded, is_first: false, satisfied }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::log::Recording;
    use crate::predicate::{Detector, Generation, ProgramBuilder, SlotId};
    use crate::{Command, Direction, Effects, EventKind, HaltId, Input, NodeId, PortSet};
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

    /// Asks the quick way of one copy and `step` of another; where the quick way answers, they must agree, also on how
    /// long the stamp is.
    fn agree(
        node: &mut Small,
        quick: impl Fn(&mut Small) -> Option<(Effects, usize)>,
        step: impl Fn(&mut Small) -> Effects,
    ) -> bool {
        let mut copy = node.clone();
        let answer = quick(&mut copy);
        if answer.is_none() {
            assert_eq!(copy, *node, "a refusal changes nothing");
        }
        let effects = step(node);
        if let Some((answer, length)) = answer {
            assert_eq!((answer, length), (Effects { stamp: answer.stamp, ..effects }, effects.stamp.into()));
            assert_eq!(copy, *node);
        }
        answer.is_some()
    }

    /// What a driver makes of the quick way of an event without a message.
    fn event_quickly(node: &mut Small, event: Event) -> Option<(Effects, usize)> {
        let quick = node.quick_event(&event)?;
        Some((all_of(node, event, quick), 0))
    }

    fn watch_quickly(node: &mut Small, watch: u8, value: i32) -> Option<(Effects, usize)> {
        let quick = node.quick_watch(watch, value)?;
        Some((all_of(node, Event::watch(watch, value), quick), 0))
    }

    fn all_of(node: &mut Small, event: Event, quick: Quick) -> Effects {
        let log = quick.is_recorded.then_some(event);
        if quick.satisfied.is_empty() { Effects { log, ..Effects::NONE } } else { node.go_on(event, quick) }
    }

    /// The same for a send; the stamp ends up in front.
    fn send_quickly(node: &mut Small, stamp: &mut [u8]) -> Option<(Effects, usize)> {
        let quick = node.quick_send(OUT, stamp)?;
        if !quick.satisfied.is_empty() {
            let effects = node.go_on_sending(OUT, stamp, quick);
            return Some((effects, effects.stamp.into()));
        }
        let length = stamp.len() - usize::from(quick.begin);
        stamp.copy_within(usize::from(quick.begin).., 0);
        stamp[length..].fill(0);
        Some((all_of(node, Event::send(OUT), quick), length))
    }

    fn receive_quickly(node: &mut Small, message: &[u8]) -> Option<(Effects, usize)> {
        let stamp = MessageStamp::read::<2>(message)?;
        let quick = node.quick_receive(IN, &stamp)?;
        Some((all_of(node, Event::receive(IN), quick), stamp.len()))
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
                agree(node, |node| event_quickly(node, event), |node| node.step(Input::Event(event)).unwrap())
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
                    |node| write(&quickly, |stamp| send_quickly(node, stamp)),
                    |node| write(&stepped, |stamp| node.step(Input::Send { port: OUT, stamp }).unwrap()),
                );
                assert!(!sent || quickly == stepped, "the stamps are the same");
                let stamp = &stepped.get()[..];
                let received = agree(
                    to,
                    |node| receive_quickly(node, stamp),
                    |node| node.step(Input::Receive { port: IN, stamp }).unwrap(),
                );
                quick += u32::from(sent) + u32::from(received);
            }
            let most = if stamps == StampKind::Vector { 110 } else { 70 };
            assert!(quick >= most, "only {quick} of 120 events were quick");
        }
    }

    /// A node of `N` hears of others in jumps of about half of the range of numbers, between its own sends. Entries come
    /// round to what they were, though they were raised.
    fn sends_alike<const N: usize>(seed: u32) {
        let mut random = seed;
        let mut draw = |below: u32| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random % below
        };
        let started = |id| {
            let mut node = Node::<N, 2>::new(NodeId(id), StampKind::Vector).unwrap();
            node.connect(OUT, Direction::Out, NodeId(1 - id)).unwrap();
            node.connect(IN, Direction::In, NodeId(1 - id)).unwrap();
            let _ = node.step(Input::start()).unwrap();
            node
        };
        let room = Node::<N, 2>::STAMP_ROOM;
        let (mut stepped, mut peer) = (started(0), started(1));
        // A full stamp, of which the entries are replaced; the peer's own only grows.
        let mut full = [0; 160];
        let length = peer.step(Input::Send { port: OUT, stamp: &mut full[..room] }).unwrap().stamp;
        assert_eq!(usize::from(length), 1 + 4 * N, "the first stamp is a full one");
        let mut heard = [0u32; N];
        for round in 0..200 {
            for _ in 0..draw(4) {
                for (entry, word) in heard.iter_mut().zip(full[1..].as_chunks_mut().0).skip(2) {
                    *entry = entry.wrapping_add([0, 1, 0x7FFF_FFFF, 2][draw(4) as usize]);
                    *word = entry.to_le_bytes();
                }
                let _ = stepped.step(Input::Receive { port: IN, stamp: &full[..length.into()] }).unwrap();
            }
            let mut quickly = stepped.clone();
            let (mut one, mut other) = ([0; 160], [0; 160]);
            let quick = quickly.quick_send(OUT, &mut one[..room]).unwrap();
            let effects = stepped.step(Input::Send { port: OUT, stamp: &mut other[..room] }).unwrap();
            assert_eq!(
                one[quick.begin.into()..room],
                other[..effects.stamp.into()],
                "{N} nodes, seed {seed}, round {round}"
            );
            assert_eq!(quickly, stepped, "{N} nodes, seed {seed}, round {round}");
        }
    }

    #[test]
    fn a_quick_send_writes_the_stamp_that_a_step_writes_for_any_number_of_nodes() {
        for seed in 1..20 {
            sends_alike::<2>(seed);
            sends_alike::<4>(seed);
            sends_alike::<8>(seed);
            sends_alike::<9>(seed);
            sends_alike::<13>(seed);
            sends_alike::<32>(seed);
        }
    }

    #[test]
    fn what_has_consequences_is_not_quick() {
        let [mut node, _] = pair(StampKind::Vector);
        assert_eq!(node.quick_event(&Event::local(1)), None, "not started");
        let _ = node.step(Input::start()).unwrap();
        assert_eq!(node.quick_watch(200, 1), None, "no such watch");
        assert_eq!(node.quick_event(&Event::new(EventKind::Halt, 1)), None, "not an application's event");
        assert_eq!(node.quick_event(&Event::new(EventKind::Poll, 1)), None, "no event in this mode");
        let stamp = MessageStamp::read::<2>(&[0x42, 1]).unwrap();
        assert_eq!(node.quick_receive(IN, &stamp), None, "a difference from what was never said");
        assert_eq!(node.quick_receive(OUT, &stamp), None, "messages leave there");
        let _ = node.step(Input::Halt).unwrap();
        assert_eq!(node.quick_event(&Event::local(1)), None, "halted");
        let _ = node.step(Input::Command(Command::Release(HaltId(1)))).unwrap();
    }

    #[test]
    fn what_an_event_satisfies_is_the_same_the_quick_way() {
        let terms = [
            (EventKind::Local, None),
            (EventKind::Watch, Some(2)),
            (EventKind::Send, Some(0)),
            (EventKind::Receive, Some(1)),
        ];
        for (last, (kind, argument)) in [1, 2].into_iter().flat_map(|last| terms.map(|term| (last, term))) {
            let program = ProgramBuilder::new(last).push_event_term(1, 3, kind, argument).finish().unwrap();
            let mut nodes = pair(StampKind::Vector);
            for node in &mut nodes {
                let _ = node.step(Input::start()).unwrap();
            }
            arm(&mut nodes[0], &program);
            let (mut quick, mut halted) = (0, false);
            for _ in 0..6 {
                let [armed, other] = &mut nodes;
                let before = [0; 2].map(|_: i32| Cell::new([0; ROOM]));
                let event = Event::local(3);
                quick += u32::from(agree(
                    armed,
                    |node| event_quickly(node, event),
                    |node| node.step(Input::Event(event)).unwrap_or(Effects::NONE),
                ));
                quick += u32::from(agree(
                    armed,
                    |node| watch_quickly(node, 2, -7),
                    |node| node.step(Input::Watch { watch: 2, value: -7 }).unwrap_or(Effects::NONE),
                ));
                let sent = agree(
                    armed,
                    |node| write(&before[0], |stamp| send_quickly(node, stamp)),
                    |node| {
                        write(&before[1], |stamp| node.step(Input::Send { port: OUT, stamp }).unwrap_or(Effects::NONE))
                    },
                );
                assert!(!sent || before[0] == before[1], "the stamps are the same");
                let mut stamp = [0; ROOM];
                let length = other.step(Input::Send { port: OUT, stamp: &mut stamp }).unwrap().stamp;
                let stamp = &stamp[..length.into()];
                quick += u32::from(sent);
                quick += u32::from(agree(
                    armed,
                    |node| receive_quickly(node, stamp),
                    |node| node.step(Input::Receive { port: IN, stamp }).unwrap_or(Effects::NONE),
                ));
                halted |= armed.order().nodes() == [NodeId(0)];
            }
            assert!(quick >= 4, "only {quick} events were quick");
            assert_eq!(halted, last == 1, "a last stage halts");
        }
    }

    fn arm(node: &mut Small, program: &crate::predicate::Program) {
        arm_in(node, SlotId::ALL[0], program, PortSet::EMPTY);
    }

    fn arm_in(node: &mut Small, slot: SlotId, program: &crate::predicate::Program, silent: PortSet) {
        let (generation, detector) = (Generation(1), Detector::Causal);
        let install = Command::Install { slot, generation, detector, program: program.as_bytes() };
        for command in [install, Command::Enable { slot, generation, silent }] {
            let _ = node.step(Input::Command(command)).unwrap();
        }
    }

    /// A stage that was reached costs no event its quick way, except sends whose message carries it.
    #[test]
    fn only_sends_that_carry_a_stage_take_a_step() {
        let program = ProgramBuilder::new(2).push_event_term(1, 1, EventKind::Local, None).finish().unwrap();
        for silent in [PortSet::EMPTY, PortSet::EMPTY.with(OUT)] {
            let [mut node, mut peer] = pair(StampKind::Vector);
            let _ = (node.step(Input::start()).unwrap(), peer.step(Input::start()).unwrap());
            arm_in(&mut node, SlotId::ALL[0], &program, silent);
            let mut sends_quickly = |node: &mut Small| {
                let mut stamp = [0; ROOM];
                let is_quick = node.clone().quick_send(OUT, &mut stamp).is_some();
                let length = usize::from(node.step(Input::Send { port: OUT, stamp: &mut stamp }).unwrap().stamp);
                assert_eq!(stamp[0] & crate::stamp::CARRY == 0, is_quick, "a quick send carries nothing");
                let _ = peer.step(Input::Receive { port: IN, stamp: &stamp[..length] }).unwrap();
                (is_quick, peer.predicates().reached(SlotId::ALL[0]).is_some())
            };
            assert_eq!(sends_quickly(&mut node), (true, false), "no stage was reached");
            let quick = node.quick_event(&Event::local(1)).unwrap();
            let _ = node.go_on(Event::local(1), quick);
            assert!(node.predicates().has_carry());
            assert!(node.quick_event(&Event::local(1)).is_some() && node.quick_watch(0, 1).is_some());
            assert_eq!(sends_quickly(&mut node), (!silent.is_empty(), silent.is_empty()));
            // Another predicate that is not silent there carries its stage all the same.
            arm_in(&mut node, SlotId::ALL[3], &program, PortSet::EMPTY);
            let _ = node.step(Input::Event(Event::local(1))).unwrap();
            assert!(!sends_quickly(&mut node).0);
            for slot in [SlotId::ALL[0], SlotId::ALL[3]] {
                let _ = node.step(Input::Command(Command::Remove { slot })).unwrap();
            }
            assert!(sends_quickly(&mut node).0, "nothing is armed any more");
        }
    }
}
