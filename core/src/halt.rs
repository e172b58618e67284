//! Consistent halting: Miller & Choi 1988, section 2, with the points it leaves open fixed.
//!
//! A node that halts sends one marker along every channel, drains until each is delivered, and parks. A marker stops its
//! receiver on arrival: what is ahead of it in the channel is channel state. Markers travel both ways along a channel, so
//! that a crash at the end of a pipeline stops its producer. Releasing is a barrier: the release travels in band and
//! counts only for the halt it names.
use crate::{HaltId, NodeId, PortId, PortSet};
use core::fmt;

/// The nodes that had halted when a marker was sent, first the initiator: section 2.2.4, order of halting.
///
/// # Example
/// ```
/// use stillpoint_core::{HaltOrder, NodeId};
/// let order = HaltOrder::<4>::new().then(NodeId(2)).then(NodeId(0));
/// assert_eq!(order.initiator(), Some(NodeId(2)));
/// assert_eq!(order.nodes(), [NodeId(2), NodeId(0)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HaltOrder<const N: usize> {
    length: u8,
    nodes: [NodeId; N],
}

impl<const N: usize> HaltOrder<N> {
    /// Nobody halted yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { length: 0, nodes: [NodeId(0); N] }
    }

    /// The order with `node` appended, unless it is there already or does not fit.
    #[must_use]
    pub fn then(mut self, node: NodeId) -> Self {
        if !self.nodes().contains(&node)
            && let Some(place) = self.nodes.get_mut(usize::from(self.length))
        {
            *place = node;
            self.length += 1;
        }
        self
    }

    /// The order without `node`, whose place is given up.
    fn without(self, node: NodeId) -> Self {
        let others = self.nodes().iter().filter(|other| **other != node);
        others.fold(Self::new(), |order, other| order.then(*other))
    }

    /// The nodes, in the order in which they halted.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        self.nodes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// Who started the halt.
    #[must_use]
    pub fn initiator(&self) -> Option<NodeId> {
        self.nodes().first().copied()
    }
}

impl<const N: usize> Default for HaltOrder<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Miller & Choi's halt marker: the last item of a channel when its sender stops.
///
/// # Example: over the wire and back
/// ```
/// use stillpoint_core::{HaltId, HaltMarker, HaltOrder, NodeId};
/// let marker = HaltMarker::<4> { id: HaltId(3), position: 41, order: HaltOrder::new().then(NodeId(1)) };
/// let mut bytes = [0; HaltMarker::<4>::MAX_LEN];
/// let length = marker.write(&mut bytes).unwrap();
/// assert_eq!(HaltMarker::read(&bytes[..length]), Ok(marker));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HaltMarker<const N: usize> {
    /// Which halt.
    pub id: HaltId,
    /// Where the marker stands: how many messages its sender had sent into the channel, or, on the reverse lane, how
    /// many it had received from it.
    pub position: u32,
    /// Who had halted before it was sent, the sender last.
    pub order: HaltOrder<N>,
}

/// Why bytes are not a halt marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MarkerError {
    /// The bytes end before the marker does.
    Truncated,
    /// There are bytes after the marker.
    TrailingBytes,
    /// It names more nodes than the system has, or one that the system does not have.
    NodeOutOfRange,
    /// It names a node twice.
    NodeTwice(NodeId),
    /// The lent buffer is too small; lend `MAX_LEN` bytes.
    NoRoom,
}

impl fmt::Display for MarkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the halt marker ends too early"),
            Self::TrailingBytes => f.write_str("there are bytes after the halt marker"),
            Self::NodeOutOfRange => f.write_str("the halt marker names a node that this system does not have"),
            Self::NodeTwice(node) => write!(f, "the halt marker names node {} twice", node.0),
            Self::NoRoom => f.write_str("there is no room for the halt marker: lend MAX_LEN bytes"),
        }
    }
}

impl core::error::Error for MarkerError {}

impl<const N: usize> HaltMarker<N> {
    /// The length of the longest marker on the wire.
    pub const MAX_LEN: usize = 7 + N;

    /// Writes the wire form: id (2), position (4), number of names (1), names. Returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, MarkerError> {
        let names = self.order.nodes();
        let length = 7 + names.len();
        let room = out.get_mut(..length).ok_or(MarkerError::NoRoom)?;
        let header = self.id.0.to_le_bytes().into_iter().chain(self.position.to_le_bytes()).chain([self.order.length]);
        for (byte, value) in room.iter_mut().zip(header.chain(names.iter().map(|node| node.0))) {
            *byte = value;
        }
        Ok(length)
    }

    /// Reads the wire form.
    pub fn read(bytes: &[u8]) -> Result<Self, MarkerError> {
        let (&[id0, id1, p0, p1, p2, p3, count], names) = bytes.split_first_chunk().ok_or(MarkerError::Truncated)?;
        if usize::from(count) > N {
            return Err(MarkerError::NodeOutOfRange);
        }
        let (names, rest) = names.split_at_checked(usize::from(count)).ok_or(MarkerError::Truncated)?;
        if !rest.is_empty() {
            return Err(MarkerError::TrailingBytes);
        }
        let mut order = HaltOrder::new();
        for name in names.iter().copied().map(NodeId) {
            if usize::from(name.0) >= N {
                return Err(MarkerError::NodeOutOfRange);
            }
            if order.nodes().contains(&name) {
                return Err(MarkerError::NodeTwice(name));
            }
            order = order.then(name);
        }
        Ok(Self { id: HaltId(u16::from_le_bytes([id0, id1])), position: u32::from_le_bytes([p0, p1, p2, p3]), order })
    }
}

/// What a halted node does when the halt is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ResumeTo {
    /// It had not started yet, and starts.
    Starting,
    /// It runs on.
    Running,
    /// It was stopped alone, and stays so.
    Suspended,
}

/// Where a node stands between starting, running and parked.
///
/// # Example: with no links there is nothing to drain
/// ```
/// use stillpoint_core::*;
/// let mut node = Node::<1>::new(NodeId(0), StampKind::Event).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// assert_eq!(node.phase(), Phase::Running);
/// let _ = node.step(Input::Command(Command::Halt)).unwrap();
/// assert!(matches!(node.phase(), Phase::Parked { .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// Listening for what its peers know of it, before its first event.
    Starting,
    /// The application runs.
    Running,
    /// Stopped alone by a delayed halt; everybody else runs on.
    Suspended,
    /// The application is frozen; markers are on their way.
    Draining {
        /// The ports whose marker is not yet known to be delivered.
        open: PortSet,
        /// The ports that went down before their marker was delivered.
        undelivered: PortSet,
        /// The release came before draining was over.
        released: bool,
        /// What the node does when the halt is over.
        then: ResumeTo,
    },
    /// Stopped at a consistent moment.
    Parked {
        /// The ports whose marker was not delivered when the limit ran out or the link went down.
        undelivered: PortSet,
        /// What the node does when the halt is over.
        then: ResumeTo,
    },
}

/// What a change of phase asks of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Nothing changed that anybody must act on.
    Nothing,
    /// A halt began: send markers, freeze the application.
    Halt,
    /// Draining is over: park.
    Park,
    /// The halt is over: pass the release on and run.
    Leave,
}

/// The halting part of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Halting<const N: usize> {
    pub(crate) phase: Phase,
    /// The last halt the node took part in.
    pub(crate) last: HaltId,
    /// The newest halt known of, by peers or by memory that survived a reset; the node may not have taken part in it.
    heard: HaltId,
    /// Whether the node really took part in `last`: only then can it know that it is over.
    took_part: bool,
    pub(crate) order: HaltOrder<N>,
    /// The ports on which a marker of the present halt arrived.
    pub(crate) seen: PortSet,
}

impl<const N: usize> Halting<N> {
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::Starting,
            last: HaltId(0),
            heard: HaltId(0),
            took_part: false,
            order: HaltOrder::new(),
            seen: PortSet::EMPTY,
        }
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    pub(crate) fn is_halted(&self) -> bool {
        matches!(self.phase, Phase::Draining { .. } | Phase::Parked { .. })
    }

    /// Marker-sending rule. A node that halts already has nothing to initiate.
    pub(crate) fn initiate(&mut self, me: NodeId, links: PortSet, down: PortSet) -> Reaction {
        if self.is_halted() {
            return Reaction::Nothing;
        }
        self.enter(self.heard.next(), HaltOrder::new().then(me), links, down)
    }

    /// Whether the node knows of no halt at all, so that any is news: an id alone cannot tell, since ids go round.
    fn is_blank(&self) -> bool {
        !self.took_part && self.heard == HaltId(0)
    }

    /// Somebody knows of this halt: what this node initiates has to be newer.
    pub(crate) fn hear_of(&mut self, id: HaltId) {
        if id.is_newer_than(self.heard) || (self.is_blank() && id != HaltId(0)) {
            self.heard = id;
            if !self.is_halted() {
                // Whatever it took part in is over; to be joined still, `id` has to be newer, and in reach of the order.
                let before = HaltId(id.0.wrapping_sub(1));
                self.took_part &= self.last == before;
                self.last = before;
            }
        }
    }

    /// Whether the node took part in this halt and left it: it is over, and who is still in it missed the release.
    pub(crate) fn has_left(&self, id: HaltId) -> bool {
        self.took_part && self.last == id && !self.is_halted()
    }

    /// The halt the node is in; otherwise the newest it knows of.
    pub(crate) const fn known(&self) -> HaltId {
        match self.phase {
            Phase::Draining { .. } | Phase::Parked { .. } => self.last,
            Phase::Starting | Phase::Running | Phase::Suspended => self.heard,
        }
    }

    /// Marker-receiving rule: a newer halt is adopted in every phase, the same one noted, an older one ignored.
    pub(crate) fn on_marker(
        &mut self,
        me: NodeId,
        port: PortId,
        marker: &HaltMarker<N>,
        links: PortSet,
        down: PortSet,
    ) -> Reaction {
        let newer = marker.id.is_newer_than(self.last) && !self.heard.is_newer_than(marker.id);
        let reaction = if newer || self.is_blank() {
            // A node that halts again after a reset halts last, though its name is on the marker already.
            self.enter(marker.id, marker.order.without(me).then(me), links, down)
        } else {
            Reaction::Nothing
        };
        if marker.id == self.last && self.is_halted() {
            self.seen = self.seen.with(port);
        }
        reaction
    }

    /// Halts with `id`. Markers go to the ports in `links`; those in `down` cannot be reached.
    fn enter(&mut self, id: HaltId, order: HaltOrder<N>, links: PortSet, down: PortSet) -> Reaction {
        let then = self.resume_to();
        self.last = id;
        self.heard = id;
        self.took_part = true;
        self.order = order;
        self.seen = PortSet::EMPTY;
        self.phase = if links.is_empty() {
            Phase::Parked { undelivered: down, then }
        } else {
            Phase::Draining { open: links, undelivered: down, released: false, then }
        };
        Reaction::Halt
    }

    fn resume_to(&self) -> ResumeTo {
        match self.phase {
            Phase::Starting => ResumeTo::Starting,
            Phase::Running => ResumeTo::Running,
            Phase::Suspended => ResumeTo::Suspended,
            Phase::Draining { then, .. } | Phase::Parked { then, .. } => then,
        }
    }

    /// The markers on `ports` are known to have arrived.
    pub(crate) fn delivered(&mut self, ports: PortSet, id: HaltId) -> Reaction {
        if id != self.last {
            return Reaction::Nothing;
        }
        match &mut self.phase {
            Phase::Draining { open, .. } => *open = open.difference(ports),
            Phase::Parked { undelivered, .. } => *undelivered = undelivered.difference(ports),
            Phase::Starting | Phase::Running | Phase::Suspended => {}
        }
        self.drained()
    }

    /// The links behind `ports` will not deliver: they went down, or the limit ran out.
    pub(crate) fn give_up(&mut self, ports: PortSet) -> Reaction {
        if let Phase::Draining { open, undelivered, .. } = &mut self.phase {
            *undelivered = PortSet(undelivered.0 | open.intersection(ports).0);
            *open = open.difference(ports);
        }
        self.drained()
    }

    fn drained(&mut self) -> Reaction {
        match self.phase {
            Phase::Draining { open, released, undelivered, then } if open.is_empty() => {
                self.phase = Phase::Parked { undelivered, then };
                if released { self.leave() } else { Reaction::Park }
            }
            _ => Reaction::Nothing,
        }
    }

    /// A release counts only for the halt that it names.
    pub(crate) fn release(&mut self, id: HaltId) -> Reaction {
        if id != self.last {
            return Reaction::Nothing;
        }
        match &mut self.phase {
            Phase::Starting | Phase::Running | Phase::Suspended => Reaction::Nothing,
            Phase::Draining { released, .. } => {
                *released = true;
                Reaction::Nothing
            }
            Phase::Parked { .. } => self.leave(),
        }
    }

    fn leave(&mut self) -> Reaction {
        self.phase = match self.resume_to() {
            ResumeTo::Starting => Phase::Starting,
            ResumeTo::Running => Phase::Running,
            ResumeTo::Suspended => Phase::Suspended,
        };
        self.seen = PortSet::EMPTY;
        self.order = HaltOrder::new();
        Reaction::Leave
    }

    /// The link behind `port` came up while halted: the peer may not know of the halt.
    pub(crate) fn reopen(&mut self, port: PortId) {
        match &mut self.phase {
            Phase::Draining { open, undelivered, .. } => {
                *open = open.with(port);
                *undelivered = undelivered.without(port);
            }
            Phase::Parked { undelivered, .. } => *undelivered = undelivered.with(port),
            Phase::Starting | Phase::Running | Phase::Suspended => {}
        }
    }

    /// Delayed halt: stops this node alone, or lets it go on. False for a node that has not started.
    pub(crate) fn suspend(&mut self, suspend: bool) -> bool {
        let target = if suspend { ResumeTo::Suspended } else { ResumeTo::Running };
        match &mut self.phase {
            Phase::Starting => return false,
            phase @ (Phase::Running | Phase::Suspended) => {
                *phase = if suspend { Phase::Suspended } else { Phase::Running };
            }
            Phase::Draining { then: ResumeTo::Starting, .. } | Phase::Parked { then: ResumeTo::Starting, .. } => {
                return false;
            }
            Phase::Draining { then, .. } | Phase::Parked { then, .. } => *then = target,
        }
        true
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    const ME: NodeId = NodeId(1);
    const LINKS: PortSet = PortSet(0b11);
    const P0: PortId = PortId(0);
    const P1: PortId = PortId(1);

    const NONE: PortSet = PortSet::EMPTY;

    fn running() -> Halting<4> {
        Halting { phase: Phase::Running, ..Halting::new() }
    }

    fn marker(id: u16) -> HaltMarker<4> {
        HaltMarker { id: HaltId(id), position: 0, order: HaltOrder::new().then(NodeId(0)) }
    }

    fn parked(id: u16) -> Halting<4> {
        let mut halting = running();
        assert_eq!(halting.on_marker(ME, P0, &marker(id), LINKS, NONE), Reaction::Halt);
        assert_eq!(halting.delivered(LINKS, HaltId(id)), Reaction::Park);
        halting
    }

    /// Miller & Choi 2.2.1: the first marker halts a node, later ones with the same id change nothing but what was seen.
    #[test]
    fn the_first_marker_halts_and_a_second_with_the_same_id_does_not_again() {
        let mut halting = running();
        assert_eq!(halting.on_marker(ME, P0, &marker(1), LINKS, NONE), Reaction::Halt);
        let phase = halting.phase;
        assert_eq!(halting.on_marker(ME, P1, &marker(1), LINKS, NONE), Reaction::Nothing);
        assert_eq!((halting.phase, halting.last, halting.seen), (phase, HaltId(1), LINKS));
    }

    /// Miller & Choi 2.2.1: an old marker is left over from a previous halting and is ignored.
    #[test]
    fn a_stale_marker_is_ignored_while_running_and_while_parked() {
        let mut halting = parked(5);
        let before = halting.clone();
        assert_eq!(halting.on_marker(ME, P1, &marker(4), LINKS, NONE), Reaction::Nothing);
        assert_eq!(halting, before);
        assert_eq!(halting.release(HaltId(5)), Reaction::Leave);
        let before = halting.clone();
        assert_eq!(halting.on_marker(ME, P1, &marker(5), LINKS, NONE), Reaction::Nothing);
        assert_eq!(halting, before);
    }

    #[test]
    fn a_node_parks_only_when_every_marker_is_delivered() {
        let mut halting = running();
        halting.initiate(ME, LINKS, NONE);
        assert_eq!(halting.delivered(PortSet::EMPTY.with(P1), HaltId(1)), Reaction::Nothing);
        assert_eq!(halting.delivered(LINKS, HaltId(9)), Reaction::Nothing, "an acknowledgement of another halt");
        assert_eq!(halting.delivered(PortSet::EMPTY.with(P0), HaltId(1)), Reaction::Park);
    }

    #[test]
    fn a_link_that_never_delivers_is_given_up_and_named() {
        let mut halting = running();
        halting.initiate(ME, LINKS, NONE);
        halting.delivered(PortSet::EMPTY.with(P0), HaltId(1));
        assert_eq!(halting.give_up(LINKS), Reaction::Park);
        assert_eq!(halting.phase, Phase::Parked { undelivered: PortSet::EMPTY.with(P1), then: ResumeTo::Running });
    }

    #[test]
    fn a_release_for_another_halt_is_ignored() {
        let mut halting = parked(5);
        assert_eq!(halting.release(HaltId(4)), Reaction::Nothing);
        assert_eq!(halting.release(HaltId(6)), Reaction::Nothing);
        assert_eq!(halting.release(HaltId(5)), Reaction::Leave);
        assert_eq!(halting.release(HaltId(5)), Reaction::Nothing, "released already");
    }

    #[test]
    fn a_release_that_comes_while_draining_counts_when_draining_is_over() {
        let mut halting = running();
        halting.initiate(ME, LINKS, NONE);
        assert_eq!(halting.release(HaltId(1)), Reaction::Nothing);
        assert_eq!(halting.delivered(LINKS, HaltId(1)), Reaction::Leave);
        assert!(halting.is_running());
    }

    #[test]
    fn a_newer_halt_met_while_parked_is_adopted_without_running_in_between() {
        let mut halting = parked(5);
        assert_eq!(halting.on_marker(ME, P0, &marker(6), LINKS, NONE), Reaction::Halt);
        assert!(halting.is_halted());
        assert_eq!(halting.release(HaltId(5)), Reaction::Nothing, "the old release came too late");
        assert_eq!(halting.delivered(LINKS, HaltId(6)), Reaction::Park);
    }

    #[test]
    fn a_second_halt_straight_after_a_resume_has_a_newer_id() {
        let mut halting = parked(5);
        halting.release(HaltId(5));
        assert_eq!(halting.initiate(ME, LINKS, NONE), Reaction::Halt);
        assert_eq!(halting.last, HaltId(6));
        assert_eq!(halting.initiate(ME, LINKS, NONE), Reaction::Nothing);
    }

    #[test]
    fn a_node_stopped_alone_stays_so_after_a_consistent_halt() {
        let mut halting = running();
        halting.suspend(true);
        assert_eq!(halting.on_marker(ME, P0, &marker(1), LINKS, NONE), Reaction::Halt);
        halting.delivered(LINKS, HaltId(1));
        assert_eq!(halting.release(HaltId(1)), Reaction::Leave);
        assert_eq!(halting.phase, Phase::Suspended);
        halting.suspend(false);
        assert!(halting.is_running());
    }

    #[test]
    fn a_halt_is_newer_than_all_that_the_node_heard_of_and_an_older_one_is_stale() {
        let mut halting = running();
        halting.hear_of(HaltId(4));
        assert_eq!(halting.on_marker(ME, P0, &marker(3), LINKS, NONE), Reaction::Nothing);
        assert_eq!((halting.initiate(ME, LINKS, NONE), halting.last), (Reaction::Halt, HaltId(5)));
    }

    #[test]
    fn a_halt_that_was_only_heard_of_is_joined_when_its_marker_comes() {
        let mut halting = running();
        halting.hear_of(HaltId(4));
        assert_eq!(halting.on_marker(ME, P0, &marker(4), LINKS, NONE), Reaction::Halt);
    }

    #[test]
    fn only_a_halt_that_was_taken_part_in_can_be_known_to_be_over() {
        let mut halting = running();
        halting.hear_of(HaltId(2));
        assert!(!halting.has_left(HaltId(1)) && !halting.has_left(HaltId(2)));
        let mut halting = parked(1);
        assert!(!halting.has_left(HaltId(1)));
        halting.release(HaltId(1));
        halting.hear_of(HaltId(2));
        assert!(halting.has_left(HaltId(1)));
        halting.hear_of(HaltId(3));
        assert!(!halting.has_left(HaltId(2)));
    }

    #[test]
    fn a_halt_is_joined_though_the_last_one_taken_part_in_is_half_a_circle_behind() {
        let mut halting = running();
        halting.hear_of(HaltId(0x7FFF));
        halting.hear_of(HaltId(0xFFFE));
        assert_eq!(halting.on_marker(ME, P0, &marker(0xFFFF), LINKS, NONE), Reaction::Halt);
    }

    #[test]
    fn a_node_that_knows_of_no_halt_joins_any_however_far_the_ids_have_gone() {
        for id in [1, 32_768, 40_000, 65_535, 0] {
            let mut halting = running();
            assert_eq!(halting.on_marker(ME, P0, &marker(id), LINKS, NONE), Reaction::Halt);
            let mut halting = running();
            halting.hear_of(HaltId(id));
            assert_eq!(halting.initiate(ME, LINKS, NONE), Reaction::Halt);
            assert_eq!(halting.last, HaltId(id).next());
        }
    }

    /// Miller & Choi 2.2.4: each process appends its name to the marker.
    #[test]
    fn the_marker_that_halts_a_node_says_who_halted_before_it() {
        let halting = parked(1);
        assert_eq!(halting.order.nodes(), [NodeId(0), ME]);
    }

    #[test]
    fn a_node_that_was_reset_in_its_own_halt_joins_it_as_the_last() {
        let mut halting = running();
        let order = HaltOrder::new().then(ME).then(NodeId(3));
        halting.on_marker(ME, P0, &HaltMarker { order, ..marker(1) }, LINKS, NONE);
        assert_eq!(halting.order.nodes(), [NodeId(3), ME]);
    }

    #[test]
    fn a_malformed_marker_is_refused_with_what_is_wrong() {
        let mut bytes = [0; HaltMarker::<4>::MAX_LEN];
        let length = marker(7).write(&mut bytes).unwrap();
        for cut in 0..length {
            assert_eq!(HaltMarker::<4>::read(&bytes[..cut]), Err(MarkerError::Truncated));
        }
        assert_eq!(HaltMarker::<4>::read(&bytes[..=length]), Err(MarkerError::TrailingBytes));
        assert_eq!(HaltMarker::<4>::read(&[1, 0, 0, 0, 0, 0, 1, 4]), Err(MarkerError::NodeOutOfRange));
        assert_eq!(HaltMarker::<4>::read(&[1, 0, 0, 0, 0, 0, 5, 0, 1, 2, 3, 0]), Err(MarkerError::NodeOutOfRange));
        assert_eq!(HaltMarker::<4>::read(&[1, 0, 0, 0, 0, 0, 2, 3, 3]), Err(MarkerError::NodeTwice(NodeId(3))));
        assert_eq!(marker(7).write(&mut [0; 7]), Err(MarkerError::NoRoom));
    }
}
