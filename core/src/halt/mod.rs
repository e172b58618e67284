//! Consistent halting: Miller & Choi 1988, section 2, with the points it leaves open fixed.
//!
//! A node that halts sends one marker along every channel, drains until each is delivered, and parks. A marker stops its
//! receiver on arrival: what is ahead of it in the channel is channel state. Markers travel both ways along a channel, so
//! that a crash at the end of a pipeline stops its producer. Releasing is a barrier: the release travels in band and
//! counts only for the halt it names.
mod marker;
#[cfg(any(test, on_target))]
mod tests;

pub use marker::{HaltMarker, HaltOrder, MarkerError};

use crate::{HaltId, NodeId, PortId, PortSet};

/// What a halted node does when the halt is over.
///
/// # Example: a running node runs on
/// ```
/// use stillpoint_core::*;
/// let mut node = Node::<1>::new(NodeId(0), StampKind::Event).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// let _ = node.step(Input::Halt).unwrap();
/// assert!(matches!(node.phase(), Phase::Parked { then: ResumeTo::Running, .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ResumeTo {
    /// It had not started yet, and starts.
    Starting,
    /// It runs on.
    Running,
    /// It was stopped alone, and stays so.
    Suspended,
    /// Its application crashed, and does not run again before a reset.
    Faulted,
}

/// Where a node stands between starting, running and parked.
///
/// # Example: with no links there is nothing to drain
/// ```
/// use stillpoint_core::*;
/// let mut node = Node::<1>::new(NodeId(0), StampKind::Event).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// assert_eq!(node.phase(), Phase::Running);
/// let _ = node.step(Input::Halt).unwrap();
/// assert!(matches!(node.phase(), Phase::Parked { .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    // The first, so that its tag is 0: whether a node runs is asked at every event.
    /// The application runs.
    Running,
    /// Listening for what its peers know of it, before its first event.
    Starting,
    /// Stopped alone by a delayed halt; everybody else runs on.
    Suspended,
    /// Its application crashed and does not run again before a reset; the node still takes part in halts.
    Faulted,
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

impl Phase {
    /// Whether the application has begun, be it stopped or crashed since.
    ///
    /// # Example: a node that is halted before it starts
    /// ```
    /// use stillpoint_core::*;
    /// let mut node = Node::<1>::new(NodeId(0), StampKind::Event).unwrap();
    /// let _ = node.step(Input::Halt).unwrap();
    /// assert!(!node.phase().has_started());
    /// ```
    #[must_use]
    pub const fn has_started(self) -> bool {
        !matches!(
            self,
            Self::Starting
                | Self::Draining { then: ResumeTo::Starting, .. }
                | Self::Parked { then: ResumeTo::Starting, .. }
        )
    }
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

/// How far apart the ids of two halts may be that a node compares, well within half of the circle that ids go round.
const IN_REACH: u16 = 0x4000;

/// How a node came to take part in its last halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// It only heard of it.
    None,
    /// By a marker, or an event of its own.
    Reached,
    /// By the debugger's command.
    Commanded,
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
    part: Part,
    /// No halt up to this one can still be on, as far as this node knows.
    over: HaltId,
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
            part: Part::None,
            over: HaltId(0),
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

    /// Whether the debugger's command stopped the node in its last halt, before a marker or an event of its own did.
    pub(crate) const fn is_by_debugger(&self) -> bool {
        matches!(self.part, Part::Commanded)
    }

    /// Whether the node knows of no halt at all, so that any is news: an id alone cannot tell, since ids go round.
    fn is_blank(&self) -> bool {
        self.part == Part::None && self.heard == HaltId(0)
    }

    /// Somebody knows of this halt: what this node initiates has to be newer.
    pub(crate) fn hear_of(&mut self, id: HaltId) {
        if id.is_newer_than(self.heard) || (self.is_blank() && id != HaltId(0)) {
            self.heard = id;
            if !self.is_halted() {
                // Whatever it took part in is over; to be joined still, `id` has to be newer, and in reach of the order.
                let before = HaltId(id.0.wrapping_sub(1));
                if self.last != before {
                    self.part = Part::None;
                }
                self.last = before;
                if id.0.wrapping_sub(self.over.0) > IN_REACH {
                    self.over = before;
                }
            }
        }
    }

    /// Memory that survived a reset knows of this halt, and so of all that were before it. If it is not over yet, the
    /// node joins it again.
    pub(crate) fn remember(&mut self, id: HaltId) {
        self.hear_of(id);
        if id.is_newer_than(self.over) {
            self.over = id;
        }
    }

    /// Whether the node took part in this halt and left it: it is over, and who is still in it missed the release.
    pub(crate) fn has_left(&self, id: HaltId) -> bool {
        self.part != Part::None && self.last == id && !self.is_halted()
    }

    /// The halt the node is in; otherwise the newest it knows of.
    pub(crate) const fn known(&self) -> HaltId {
        match self.phase {
            Phase::Draining { .. } | Phase::Parked { .. } => self.last,
            Phase::Starting | Phase::Running | Phase::Suspended | Phase::Faulted => self.heard,
        }
    }

    /// Marker-receiving rule: a newer halt is adopted in every phase, the same one noted, one that is over ignored.
    ///
    /// Who starts a halt may not have heard of a newer one that never got far, because its initiator was reset. Such a
    /// halt is older than what others heard of, and yet not over: whoever knows that goes on with it under a newer id,
    /// which also reaches those it came from.
    pub(crate) fn on_marker(
        &mut self,
        me: NodeId,
        port: PortId,
        marker: &HaltMarker<N>,
        links: PortSet,
        down: PortSet,
    ) -> Reaction {
        // A node that halts again after a reset halts last, though its name is on the marker already.
        let reaction = self.join(me, marker.id, marker.order.without(me), links, down);
        if marker.id == self.last && self.is_halted() {
            self.seen = self.seen.with(port);
        }
        reaction
    }

    /// The debugger's command to take part in a halt: joined as by a marker, whatever the order in which the two come.
    ///
    /// # Errors
    /// The newest halt that the node knows of, if it runs and this one is over.
    pub(crate) fn on_command(
        &mut self,
        me: NodeId,
        id: HaltId,
        links: PortSet,
        down: PortSet,
    ) -> Result<Reaction, HaltId> {
        let reaction = self.join(me, id, HaltOrder::new(), links, down);
        if reaction == Reaction::Nothing && !self.is_halted() {
            return Err(self.known());
        }
        if reaction == Reaction::Halt {
            self.part = Part::Commanded;
        }
        Ok(reaction)
    }

    /// Takes part in a halt that a marker or the debugger told of, unless it is over or the node is in it already.
    fn join(&mut self, me: NodeId, id: HaltId, before: HaltOrder<N>, links: PortSet, down: PortSet) -> Reaction {
        let newer = id.is_newer_than(self.last) && !self.heard.is_newer_than(id);
        if newer || self.is_blank() {
            self.enter(id, before.then(me), links, down)
        } else if self.is_outnumbered(id) {
            self.enter(self.heard.next(), HaltOrder::new().then(me), links, down)
        } else {
            Reaction::Nothing
        }
    }

    /// Whether a running node meets a halt that it only heard newer ones of, and so cannot have left.
    fn is_outnumbered(&self, id: HaltId) -> bool {
        !self.is_halted() && id.is_newer_than(self.over) && self.heard.is_newer_than(id)
    }

    /// Halts with `id`. Markers go to the ports in `links`; those in `down` cannot be reached.
    fn enter(&mut self, id: HaltId, order: HaltOrder<N>, links: PortSet, down: PortSet) -> Reaction {
        let then = self.resume_to();
        self.last = id;
        self.heard = id;
        self.part = Part::Reached;
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
            Phase::Faulted => ResumeTo::Faulted,
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
            Phase::Starting | Phase::Running | Phase::Suspended | Phase::Faulted => {}
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
            Phase::Starting | Phase::Running | Phase::Suspended | Phase::Faulted => Reaction::Nothing,
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
            ResumeTo::Faulted => Phase::Faulted,
        };
        self.over = self.last;
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
            Phase::Starting | Phase::Running | Phase::Suspended | Phase::Faulted => {}
        }
    }

    /// The application of a halted node crashed: it does not run when the halt is over.
    pub(crate) fn fault(&mut self) {
        if let Phase::Draining { then, .. } | Phase::Parked { then, .. } = &mut self.phase {
            *then = ResumeTo::Faulted;
        }
    }

    /// Delayed halt: stops this node alone, or lets it go on. False for a node that has not started, or crashed.
    pub(crate) fn suspend(&mut self, suspend: bool) -> bool {
        let target = if suspend { ResumeTo::Suspended } else { ResumeTo::Running };
        match &mut self.phase {
            Phase::Starting | Phase::Faulted => return false,
            phase @ (Phase::Running | Phase::Suspended) => {
                *phase = if suspend { Phase::Suspended } else { Phase::Running };
            }
            Phase::Draining { then: ResumeTo::Starting | ResumeTo::Faulted, .. }
            | Phase::Parked { then: ResumeTo::Starting | ResumeTo::Faulted, .. } => return false,
            Phase::Draining { then, .. } | Phase::Parked { then, .. } => *then = target,
        }
        true
    }
}
