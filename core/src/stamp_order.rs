//! The order of the messages of a channel, as their stamps tell it.
use crate::{Channel, EventNumber, SenderNumber, Violation};

/// What the stamps along a channel say of its sender's events, from the last message received to the last one sent.
///
/// A [`Certificate`](crate::Certificate) counts messages; this finds those that are in the wrong place though their number is right. Stamps
/// are mostly differences, so what it can find is what changes their sum or their direction:
/// - a stamp with the number itself (the first of a session, a large step) that changed its place;
/// - a message lost beside another doubled, unless both are as far from the message before them;
/// - a message that was received twice, or skipped, if nothing else makes up for its difference.
///
/// It cannot find messages that changed places among themselves if all their stamps are differences (the numbers in the
/// slots of a ring show that: [`RingLayout::is_in_place`](crate::control::RingLayout::is_in_place)), nor anything on a
/// channel of which an end or a message in flight is not known.
///
/// # Example: one message was lost, another is there twice
/// ```
/// use stillpoint_core::*;
/// let channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };
/// let (two, three) = (Some(SenderNumber::After(2)), Some(SenderNumber::After(3)));
/// let (received, sent) = (Some(EventNumber(10)), Some(EventNumber(15)));
/// let order = StampOrder { channel, first: 7, received, in_flight: &[two, three], sent };
/// assert_eq!(order.check(), Ok(()));
/// let found = StampOrder { in_flight: &[two, two], ..order }.check();
/// assert_eq!(found, Err(Violation::StampsDiffer { channel, sent: EventNumber(15), found: EventNumber(14) }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampOrder<'a> {
    /// Which channel.
    pub channel: Channel,
    /// The place in the channel of the first message in flight.
    pub first: u32,
    /// The sender's event of the last message received, if it is known.
    pub received: Option<EventNumber>,
    /// What each message in flight says, oldest first; `None` where it cannot be read.
    pub in_flight: &'a [Option<SenderNumber>],
    /// The event at which the sender sent its last message, if it is known.
    pub sent: Option<EventNumber>,
}

impl StampOrder<'_> {
    /// Follows the stamps from the last message received to the last one sent.
    ///
    /// # Errors
    /// [`Violation::OutOfOrder`] or [`Violation::StampsDiffer`].
    pub fn check(&self) -> Result<(), Violation> {
        let channel = self.channel;
        let mut last = self.received;
        for (place, said) in self.in_flight.iter().enumerate() {
            let forward = match (last, *said) {
                (Some(last), Some(SenderNumber::Is(number))) => number.is_newer_than(last),
                (_, Some(SenderNumber::After(difference))) => difference != 0,
                _ => true,
            };
            if !forward {
                return Err(Violation::OutOfOrder { channel, message: self.first.wrapping_add(place as u32) });
            }
            last = match *said {
                Some(SenderNumber::Is(number)) => Some(number),
                Some(SenderNumber::After(by)) => last.map(|last| EventNumber(last.0.wrapping_add(by))),
                None => None,
            };
        }
        match (last, self.sent) {
            (Some(found), Some(sent)) if found != sent => Err(Violation::StampsDiffer { channel, sent, found }),
            _ => Ok(()),
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::{NodeId, PortId};
    use stillpoint_test::test;

    const CHANNEL: Channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };

    /// What a random run of two nodes left in the channel from the first to the second, by the nodes' own stamps.
    struct Run {
        received: Option<EventNumber>,
        sent: Option<EventNumber>,
        said: [SenderNumber; Run::LENGTH],
        /// How far the event of each message is after that of the message before it, as it was counted.
        steps: [u32; Run::LENGTH],
    }

    impl Run {
        const LENGTH: usize = 12;

        fn new(stamps: crate::StampKind, draw: &mut impl FnMut(u32) -> u32) -> Self {
            use crate::{Direction, Event, Input, Node};
            let port = PortId(0);
            let node = |id, direction| {
                let mut node = Node::<2, 1>::new(NodeId(id), stamps).unwrap();
                node.connect(port, direction, NodeId(1 - id)).unwrap();
                let _ = node.step(Input::start()).unwrap();
                node
            };
            let (mut from, mut to) = (node(0, Direction::Out), node(1, Direction::In));
            let (mut last, taken) = (0, 1 + draw(9) as usize);
            let (mut said, mut steps) = ([SenderNumber::After(0); Self::LENGTH], [0; Self::LENGTH]);
            for message in 0..taken + Self::LENGTH {
                for _ in 0..draw(4) {
                    let _ = from.step(Input::Event(Event::local(1))).unwrap();
                }
                let mut stamp = [0; Node::<2, 1>::STAMP_ROOM];
                let length = from.step(Input::Send { port, stamp: &mut stamp }).unwrap().stamp;
                let number = from.number().0;
                if let Some(place) = message.checked_sub(taken) {
                    said[place] = SenderNumber::read::<2>(&stamp[..length.into()], NodeId(0)).unwrap();
                    steps[place] = number - last;
                } else {
                    let _ = to.step(Input::Receive { port, stamp: &stamp[..length.into()] }).unwrap();
                }
                last = number;
            }
            Self { received: to.last_number(port), sent: from.last_number(port), said, steps }
        }

        fn check(&self, said: &[SenderNumber; Self::LENGTH]) -> Result<(), Violation> {
            let Self { received, sent, .. } = *self;
            StampOrder { channel: CHANNEL, first: 1, received, in_flight: &said.map(Some), sent }.check()
        }
    }

    #[test]
    fn stamps_find_a_message_lost_beside_another_doubled_unless_both_are_as_far_from_the_one_before() {
        let mut random = 1u32;
        let mut draw = |below: u32| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random % below
        };
        let (mut found, mut hidden, mut swapped) = (0, 0, 0);
        for round in 0..4_000 {
            let stamps = if round % 2 == 0 { crate::StampKind::Vector } else { crate::StampKind::Event };
            let run = Run::new(stamps, &mut draw);
            assert_eq!(run.check(&run.said), Ok(()), "as it was sent");
            let (lost, doubled) = (draw(Run::LENGTH as u32) as usize, draw(Run::LENGTH as u32) as usize);
            // Those between the two move up or down by one place.
            let mut mutated = run.said;
            if lost < doubled {
                mutated.copy_within(lost + 1..=doubled, lost);
            } else {
                mutated.copy_within(doubled..lost, doubled + 1);
            }
            let is_seen = run.steps[lost] != run.steps[doubled];
            assert_eq!(run.check(&mutated).is_err(), is_seen, "{lost} lost, {doubled} twice: {:?}", run.said);
            *(if is_seen { &mut found } else { &mut hidden }) += 1;
            // Differences may change places: their sum says nothing of their order.
            let mut mutated = run.said;
            mutated.swap(lost, doubled);
            assert_eq!(run.check(&mutated), Ok(()));
            swapped += u32::from(lost != doubled);
        }
        assert!(found > 2_000 && hidden > 500 && swapped > 3_000, "{found} found, {hidden} hidden, {swapped} swapped");
    }

    #[test]
    fn a_stamp_with_its_number_that_changed_its_place_is_found() {
        let number = |number| Some(SenderNumber::Is(EventNumber(number)));
        let after = |by| Some(SenderNumber::After(by));
        let order = |in_flight: &[Option<SenderNumber>]| {
            let (received, sent) = (Some(EventNumber(10)), Some(EventNumber(400)));
            StampOrder { channel: CHANNEL, first: 4, received, in_flight, sent }.check()
        };
        assert_eq!(order(&[after(1), number(398), after(2)]), Ok(()));
        let differ = |found| {
            Err(Violation::StampsDiffer { channel: CHANNEL, sent: EventNumber(400), found: EventNumber(found) })
        };
        assert_eq!(order(&[number(398), after(1), after(2)]), differ(401));
        assert_eq!(order(&[after(1), after(2), number(398)]), differ(398));
        let out_of_order = |message| Err(Violation::OutOfOrder { channel: CHANNEL, message });
        assert_eq!(order(&[number(398), number(398), after(2)]), out_of_order(5));
        assert_eq!(order(&[number(9)]), out_of_order(4));
        assert_eq!(order(&[after(0), number(400)]), out_of_order(4));
        // Nothing is claimed beyond what is known.
        assert_eq!(order(&[after(1), None, after(2)]), Ok(()));
        assert_eq!(order(&[None, number(399), after(2)]), differ(401));
    }
}
