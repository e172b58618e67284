//! The proof that a halted state is one consistent moment.
//!
//! That a really reached state is a consistent cut says little. What a broken halt cannot fake is that every node
//! stopped in the same halt, that each channel holds exactly the messages sent and not received, and that exactly one
//! marker closes it with nothing after. The checker takes what each node and channel reports and returns the certificate
//! or the first violation, named to the message.
use crate::{Channel, Cut, EventNumber, HaltId, HaltOrder, InFlight, NodeId, PortSet, VectorClock};
use core::fmt;

/// What a node says of itself after a halt.
///
/// # Example: a parked node
/// ```
/// use stillpoint_core::*;
/// let report = NodeReport::<1> {
///     node: NodeId(0),
///     parked: Some(HaltId(1)),
///     clock: VectorClock::new(),
///     order: HaltOrder::new().then(NodeId(0)),
///     undelivered: PortSet::EMPTY,
/// };
/// assert_eq!(Certificate::check(&[report], &[]).map(|certificate| certificate.halt), Ok(HaltId(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeReport<const N: usize> {
    /// Who.
    pub node: NodeId,
    /// The halt in which it is parked; `None` if it is not.
    pub parked: Option<HaltId>,
    /// Its clock.
    pub clock: VectorClock<N>,
    /// The order carried by the marker that stopped it, itself last.
    pub order: HaltOrder<N>,
    /// The ports whose marker it could not deliver.
    pub undelivered: PortSet,
}

/// What the two ends of a channel say of it after a halt.
///
/// # Example: an empty channel, closed by its marker
/// ```
/// use stillpoint_core::*;
/// let channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };
/// let report = ChannelReport { channel, sent: 4, received: 4, lost_by_reset: 0, in_flight: &[], markers: &[4] };
/// assert_eq!(report.sent - report.received, report.in_flight.len() as u32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelReport<'a> {
    /// Which channel.
    pub channel: Channel,
    /// Messages sent in the present pair of epochs, by the sender's count.
    pub sent: u32,
    /// Messages received in the present pair of epochs, by the receiver's count.
    pub received: u32,
    /// Messages that a reset of one end took with it; they are neither received nor in flight.
    pub lost_by_reset: u32,
    /// The messages found in the channel, oldest first.
    pub in_flight: &'a [InFlight],
    /// The positions of all markers of this halt that the receiver found in the channel.
    pub markers: &'a [u32],
}

/// A halted state that proved itself.
///
/// # Example: nobody reported
/// ```
/// use stillpoint_core::{Certificate, NodeId, Violation};
/// assert_eq!(Certificate::<2>::check(&[], &[]), Err(Violation::Missing(NodeId(0))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate<const N: usize> {
    /// Which halt.
    pub halt: HaltId,
    /// Where every node stands.
    pub cut: Cut<N>,
    /// How many channels were balanced.
    pub channels: usize,
    /// How many messages are in flight on all channels together.
    pub in_flight: u32,
    /// How many messages resets took with them.
    pub lost_by_reset: u32,
}

/// Why a halted state is not one consistent moment.
///
/// # Example: it is a sentence
/// ```
/// use stillpoint_core::{NodeId, Violation};
/// assert_eq!(Violation::NotHalted(NodeId(3)).to_string(), "node 3 is not parked");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Violation {
    /// No report came from this node.
    Missing(NodeId),
    /// Two reports came from this node, or it is not in the system.
    UnexpectedReport(NodeId),
    /// The node is not parked.
    NotHalted(NodeId),
    /// The node is parked in another halt than node 0.
    OtherHalt {
        /// Who.
        node: NodeId,
        /// Its halt.
        found: HaltId,
        /// The halt of node 0.
        expected: HaltId,
    },
    /// The node's halting order does not end with itself, or names a node that is not in the system.
    BrokenOrder(NodeId),
    /// The channel names a node that is not in the system.
    UnknownChannel(Channel),
    /// The channel was reported twice.
    ChannelTwice(Channel),
    /// A message was received that was never sent.
    ReceivedUnsent {
        /// Where.
        channel: Channel,
        /// The first such message.
        message: u32,
    },
    /// A reset is said to have taken a message that was never sent.
    LostUnsent {
        /// Where.
        channel: Channel,
        /// The first such message.
        message: u32,
    },
    /// A message was sent, and is neither received nor in flight.
    LostMessage {
        /// Where.
        channel: Channel,
        /// The first such message.
        message: u32,
    },
    /// A message is in the channel twice, or still there although it was received.
    DuplicateMessage {
        /// Where.
        channel: Channel,
        /// Which message.
        message: u32,
    },
    /// The channel holds a message that its sender did not count.
    UncountedMessage {
        /// Where.
        channel: Channel,
        /// Which message.
        message: u32,
    },
    /// No marker closes the channel.
    MissingMarker(Channel),
    /// More than one marker is in the channel.
    ExtraMarker(Channel),
    /// A message was sent after the marker.
    AfterMarker {
        /// Where.
        channel: Channel,
        /// The first such message.
        message: u32,
    },
    /// The marker claims more messages before it than were sent.
    MarkerAhead {
        /// Where.
        channel: Channel,
        /// Its position.
        position: u32,
    },
    /// The stamp of a message is not after that of the message before it.
    OutOfOrder {
        /// Where.
        channel: Channel,
        /// Which message.
        message: u32,
    },
    /// The stamps of a channel do not lead from the last message received to the last one sent.
    StampsDiffer {
        /// Where.
        channel: Channel,
        /// The sender's event that sent its last message.
        sent: EventNumber,
        /// The event to which the stamps lead.
        found: EventNumber,
    },
    /// A node knows of an event that, by the cut, has not happened.
    EffectWithoutCause {
        /// Who knows.
        knower: NodeId,
        /// Of whom.
        of: NodeId,
        /// Which event.
        event: EventNumber,
    },
}

impl Violation {
    /// The channel in which it shows, if it is one of a channel.
    #[must_use]
    pub const fn channel(&self) -> Option<Channel> {
        match *self {
            Self::UnknownChannel(channel)
            | Self::ChannelTwice(channel)
            | Self::MissingMarker(channel)
            | Self::ExtraMarker(channel)
            | Self::ReceivedUnsent { channel, .. }
            | Self::LostUnsent { channel, .. }
            | Self::LostMessage { channel, .. }
            | Self::DuplicateMessage { channel, .. }
            | Self::UncountedMessage { channel, .. }
            | Self::AfterMarker { channel, .. }
            | Self::OutOfOrder { channel, .. }
            | Self::StampsDiffer { channel, .. }
            | Self::MarkerAhead { channel, .. } => Some(channel),
            Self::Missing(_)
            | Self::UnexpectedReport(_)
            | Self::NotHalted(_)
            | Self::OtherHalt { .. }
            | Self::BrokenOrder(_)
            | Self::EffectWithoutCause { .. } => None,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(node) => write!(f, "node {} did not report", node.0),
            Self::UnexpectedReport(node) => write!(f, "node {} reported twice, or is not in the system", node.0),
            Self::NotHalted(node) => write!(f, "node {} is not parked", node.0),
            Self::OtherHalt { node, found, expected } => {
                write!(f, "node {} is parked in halt {}, the others in halt {}", node.0, found.0, expected.0)
            }
            Self::BrokenOrder(node) => write!(f, "the halting order of node {} is impossible", node.0),
            Self::UnknownChannel(channel) => write!(f, "{channel} is not a channel of this system"),
            Self::ChannelTwice(channel) => write!(f, "{channel} was reported twice"),
            Self::ReceivedUnsent { channel, message } => {
                write!(f, "{channel}: message {message} was received and never sent")
            }
            Self::LostUnsent { channel, message } => {
                write!(f, "{channel}: message {message} was lost by a reset and never sent")
            }
            Self::LostMessage { channel, message } => {
                write!(f, "{channel}: message {message} was sent, and is neither received nor in flight")
            }
            Self::DuplicateMessage { channel, message } => {
                write!(f, "{channel}: message {message} is there twice, or still there after it was received")
            }
            Self::UncountedMessage { channel, message } => {
                write!(f, "{channel}: message {message} is in flight and its sender did not count it")
            }
            Self::MissingMarker(channel) => write!(f, "{channel}: no halt marker closes the channel"),
            Self::ExtraMarker(channel) => write!(f, "{channel}: more than one halt marker"),
            Self::AfterMarker { channel, message } => {
                write!(f, "{channel}: message {message} was sent after the halt marker")
            }
            Self::MarkerAhead { channel, position } => {
                write!(f, "{channel}: the halt marker stands behind message {position}, which was never sent")
            }
            Self::OutOfOrder { channel, message } => {
                write!(f, "{channel}: by its slot or stamp, message {message} was not sent after the message before it")
            }
            Self::StampsDiffer { channel, sent, found } => write!(
                f,
                "{channel}: the sender sent its last message at event {}, and the stamps of the messages lead to event {}: \
                 a message was lost and another doubled, or their order changed",
                sent.count(),
                found.count()
            ),
            Self::EffectWithoutCause { knower, of, event } => write!(
                f,
                "node {} knows of event {} of epoch {} of node {}, which by this cut has not happened",
                knower.0,
                event.count(),
                event.epoch(),
                of.0
            ),
        }
    }
}

impl core::error::Error for Violation {}

impl<const N: usize> Certificate<N> {
    /// Checks a halted state.
    ///
    /// # Example: a lost message is named
    /// ```
    /// use stillpoint_core::*;
    /// let report = |node, entries| NodeReport::<2> {
    ///     node: NodeId(node),
    ///     parked: Some(HaltId(1)),
    ///     clock: VectorClock::from_entries(entries),
    ///     order: HaltOrder::new().then(NodeId(node)),
    ///     undelivered: PortSet::EMPTY,
    /// };
    /// let nodes = [report(0, [3, 0]), report(1, [1, 1])];
    /// let channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };
    /// let mut state = ChannelReport {
    ///     channel, sent: 3, received: 1, lost_by_reset: 0,
    ///     in_flight: &[InFlight { number: 2 }, InFlight { number: 3 }], markers: &[3],
    /// };
    /// assert_eq!(Certificate::check(&nodes, &[state]).unwrap().in_flight, 2);
    /// state.in_flight = &[InFlight { number: 3 }];
    /// assert_eq!(Certificate::check(&nodes, &[state]), Err(Violation::LostMessage { channel, message: 2 }));
    /// ```
    pub fn check(nodes: &[NodeReport<N>], channels: &[ChannelReport<'_>]) -> Result<Self, Violation> {
        let (halt, clocks) = check_nodes(nodes)?;
        let (mut in_flight, mut lost_by_reset) = (0u32, 0u32);
        for (place, report) in channels.iter().enumerate() {
            let same = |other: &ChannelReport<'_>| other.channel == report.channel;
            if channels.iter().take(place).any(same) {
                return Err(Violation::ChannelTwice(report.channel));
            }
            check_channel::<N>(report)?;
            in_flight = in_flight.saturating_add(report.in_flight.len() as u32);
            lost_by_reset = lost_by_reset.saturating_add(report.lost_by_reset);
        }
        let cut = Cut::of(&clocks);
        if let Some((knower, of, event)) = cut.first_inconsistency(&clocks) {
            return Err(Violation::EffectWithoutCause { knower, of, event });
        }
        Ok(Self { halt, cut, channels: channels.len(), in_flight, lost_by_reset })
    }
}

fn check_nodes<const N: usize>(nodes: &[NodeReport<N>]) -> Result<(HaltId, [VectorClock<N>; N]), Violation> {
    let mut clocks = [None; N];
    let mut halt = None;
    for report in nodes {
        match clocks.get_mut(usize::from(report.node.0)) {
            Some(place @ None) => *place = Some(report.clock),
            _ => return Err(Violation::UnexpectedReport(report.node)),
        }
        let found = report.parked.ok_or(Violation::NotHalted(report.node))?;
        let expected = *halt.get_or_insert(found);
        if found != expected {
            return Err(Violation::OtherHalt { node: report.node, found, expected });
        }
        let order = report.order.nodes();
        if order.last() != Some(&report.node) || order.iter().any(|node| usize::from(node.0) >= N) {
            return Err(Violation::BrokenOrder(report.node));
        }
    }
    let mut complete = [VectorClock::new(); N];
    for (index, (place, clock)) in complete.iter_mut().zip(clocks).enumerate() {
        *place = clock.ok_or(Violation::Missing(NodeId(index as u8)))?;
    }
    Ok((halt.unwrap_or_default(), complete))
}

fn check_channel<const N: usize>(report: &ChannelReport<'_>) -> Result<(), Violation> {
    let channel = report.channel;
    if usize::from(channel.from.0) >= N || usize::from(channel.to.0) >= N {
        return Err(Violation::UnknownChannel(channel));
    }
    if newer(report.received, report.sent) {
        return Err(Violation::ReceivedUnsent { channel, message: report.sent.wrapping_add(1) });
    }
    let mut expected = report.received.wrapping_add(report.lost_by_reset);
    if newer(expected, report.sent) {
        return Err(Violation::LostUnsent { channel, message: report.sent.wrapping_add(1) });
    }
    for message in report.in_flight.iter().map(|message| message.number) {
        if newer(message, report.sent) {
            return Err(Violation::UncountedMessage { channel, message });
        }
        expected = expected.wrapping_add(1);
        if newer(message, expected) {
            return Err(Violation::LostMessage { channel, message: expected });
        }
        if newer(expected, message) {
            return Err(Violation::DuplicateMessage { channel, message });
        }
    }
    if newer(report.sent, expected) {
        return Err(Violation::LostMessage { channel, message: expected.wrapping_add(1) });
    }
    match report.markers {
        [] => Err(Violation::MissingMarker(channel)),
        [position] if newer(report.sent, *position) => {
            Err(Violation::AfterMarker { channel, message: position.wrapping_add(1) })
        }
        [position] if newer(*position, report.sent) => Err(Violation::MarkerAhead { channel, position: *position }),
        [_] => Ok(()),
        _ => Err(Violation::ExtraMarker(channel)),
    }
}

/// Serial-number compare: message counts wrap, too.
fn newer(a: u32, b: u32) -> bool {
    EventNumber(a).is_ahead_of(EventNumber(b))
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::PortId;
    use stillpoint_test::test;

    const CHANNEL: Channel = Channel { from: NodeId(0), out: PortId(0), to: NodeId(1), into: PortId(0) };
    const FOUR_AND_FIVE: &[InFlight] = &[InFlight { number: 4 }, InFlight { number: 5 }];
    const GOOD: ChannelReport<'_> = ChannelReport {
        channel: CHANNEL,
        sent: 5,
        received: 3,
        lost_by_reset: 0,
        in_flight: FOUR_AND_FIVE,
        markers: &[5],
    };

    fn nodes() -> [NodeReport<2>; 2] {
        let report = |node, entries| NodeReport {
            node: NodeId(node),
            parked: Some(HaltId(1)),
            clock: VectorClock::from_entries(entries),
            order: HaltOrder::new().then(NodeId(0)).then(NodeId(node)),
            undelivered: PortSet::EMPTY,
        };
        [report(0, [5, 0]), report(1, [3, 3])]
    }

    fn violation(channel: ChannelReport<'_>) -> Option<Violation> {
        Certificate::check(&nodes(), &[channel]).err()
    }

    #[test]
    fn a_balanced_state_gets_its_certificate() {
        let certificate = Certificate::check(&nodes(), &[GOOD]).unwrap();
        assert_eq!((certificate.halt, certificate.in_flight, certificate.channels), (HaltId(1), 2, 1));
        assert_eq!(certificate.cut.frontier(), &[EventNumber(5), EventNumber(3)]);
    }

    #[test]
    fn each_broken_channel_is_refused_and_the_message_named() {
        let lost = |message| Some(Violation::LostMessage { channel: CHANNEL, message });
        assert_eq!(violation(ChannelReport { in_flight: &FOUR_AND_FIVE[1..], ..GOOD }), lost(4));
        assert_eq!(violation(ChannelReport { in_flight: &FOUR_AND_FIVE[..1], ..GOOD }), lost(5));
        let twice = &[FOUR_AND_FIVE[0], FOUR_AND_FIVE[0], FOUR_AND_FIVE[1]];
        let duplicate = Violation::DuplicateMessage { channel: CHANNEL, message: 4 };
        assert_eq!(violation(ChannelReport { in_flight: twice, ..GOOD }), Some(duplicate));
        let swapped = &[FOUR_AND_FIVE[1], FOUR_AND_FIVE[0]];
        assert_eq!(violation(ChannelReport { in_flight: swapped, ..GOOD }), lost(4));
        let uncounted = Violation::UncountedMessage { channel: CHANNEL, message: 5 };
        assert_eq!(violation(ChannelReport { sent: 4, markers: &[4], ..GOOD }), Some(uncounted));
        let unsent = Violation::ReceivedUnsent { channel: CHANNEL, message: 6 };
        assert_eq!(violation(ChannelReport { received: 6, in_flight: &[], ..GOOD }), Some(unsent));
    }

    #[test]
    fn exactly_one_marker_closes_a_channel_and_nothing_comes_after_it() {
        assert_eq!(violation(ChannelReport { markers: &[], ..GOOD }), Some(Violation::MissingMarker(CHANNEL)));
        assert_eq!(violation(ChannelReport { markers: &[5, 5], ..GOOD }), Some(Violation::ExtraMarker(CHANNEL)));
        let after = Violation::AfterMarker { channel: CHANNEL, message: 5 };
        assert_eq!(violation(ChannelReport { markers: &[4], ..GOOD }), Some(after));
        let ahead = Violation::MarkerAhead { channel: CHANNEL, position: 6 };
        assert_eq!(violation(ChannelReport { markers: &[6], ..GOOD }), Some(ahead));
    }

    #[test]
    fn what_a_reset_took_is_a_visible_term_of_the_balance() {
        let report = ChannelReport { lost_by_reset: 1, in_flight: &FOUR_AND_FIVE[1..], ..GOOD };
        assert_eq!(Certificate::check(&nodes(), &[report]).unwrap().lost_by_reset, 1);
    }

    #[test]
    fn a_reset_cannot_have_taken_more_than_was_sent() {
        let report = ChannelReport { received: 5, lost_by_reset: 3, in_flight: &[], ..GOOD };
        assert_eq!(violation(report), Some(Violation::LostUnsent { channel: CHANNEL, message: 6 }));
    }

    #[test]
    fn every_node_must_be_parked_in_the_same_halt() {
        let check = |nodes: &[NodeReport<2>]| Certificate::check(nodes, &[GOOD]).err();
        assert_eq!(check(&nodes()[..1]), Some(Violation::Missing(NodeId(1))));
        let [a, b] = nodes();
        assert_eq!(check(&[a, b, b]), Some(Violation::UnexpectedReport(NodeId(1))));
        assert_eq!(check(&[a, NodeReport { parked: None, ..b }]), Some(Violation::NotHalted(NodeId(1))));
        let other = Violation::OtherHalt { node: NodeId(1), found: HaltId(2), expected: HaltId(1) };
        assert_eq!(check(&[a, NodeReport { parked: Some(HaltId(2)), ..b }]), Some(other));
        assert_eq!(check(&[a, NodeReport { order: HaltOrder::new(), ..b }]), Some(Violation::BrokenOrder(NodeId(1))));
    }

    #[test]
    fn an_effect_without_its_cause_is_refused() {
        let [a, mut b] = nodes();
        b.clock = VectorClock::from_entries([6, 3]);
        let violation = Violation::EffectWithoutCause { knower: NodeId(1), of: NodeId(0), event: EventNumber(6) };
        assert_eq!(Certificate::check(&[a, b], &[GOOD]), Err(violation));
    }

    #[test]
    fn a_channel_of_another_system_or_reported_twice_is_refused() {
        let channel = Channel { to: NodeId(2), ..CHANNEL };
        assert_eq!(violation(ChannelReport { channel, ..GOOD }), Some(Violation::UnknownChannel(channel)));
        assert_eq!(Certificate::check(&nodes(), &[GOOD, GOOD]), Err(Violation::ChannelTwice(CHANNEL)));
    }

    #[test]
    fn message_counts_balance_across_their_wrap() {
        let in_flight = &[InFlight { number: u32::MAX }, InFlight { number: 0 }];
        let report = ChannelReport { sent: 0, received: u32::MAX - 1, in_flight, markers: &[0], ..GOOD };
        assert!(Certificate::check(&nodes(), &[report]).is_ok());
    }
}
