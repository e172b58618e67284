//! A channel: messages in flight, a control lane each way, one slot for a marker.
use super::Wire;
use std::collections::VecDeque;
use stillpoint_core::predicate::Reached;
use stillpoint_core::{Channel as Name, HaltId, HaltMarker, Hello, PortId};

/// Which control lane of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The way the messages go.
    Forward,
    /// Against the messages.
    Reverse,
}

impl Lane {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// The other one.
    #[must_use]
    pub fn back(self) -> Self {
        if self == Self::Forward { Self::Reverse } else { Self::Forward }
    }
}

/// A message in flight: its stamp, its payload, and between which lives of its two ends it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What is on the wire: the stamp, then the payload.
    pub bytes: Vec<u8>,
    /// How much of it is stamp.
    pub stamp: usize,
    /// Which event of the sender it is.
    pub event: u32,
    /// Its place in the channel, counted by the sender in the present pair of lives.
    pub number: u32,
    /// The session of the channel in which it was sent.
    pub session: u32,
}

/// What travels on a control lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control<const N: usize> {
    /// A halt marker.
    Marker {
        /// What it says.
        marker: HaltMarker<N>,
        /// It is said again because the link came up: it stands for the one before.
        again: bool,
    },
    /// The marker of this halt has arrived.
    Arrived(HaltId),
    /// This halt is over.
    Release(HaltId),
    /// A stage of a linked predicate was reached.
    Predicate(Reached),
    /// The other end introduces itself.
    Hello(Hello),
}

/// A directed edge of the system, as its two drivers share it.
#[derive(Clone, Debug)]
pub struct Channel<const N: usize> {
    /// Its two ends.
    pub name: Name,
    /// What was sent and not received, oldest first.
    pub messages: VecDeque<Message>,
    /// What is on its way on the two control lanes.
    pub control: [VecDeque<Control<N>>; 2],
    /// A marker that arrived before the application took all messages ahead of it.
    pub slot: Option<HaltMarker<N>>,
    /// The markers that arrived on the forward lane: halt, position.
    pub arrived: Vec<(HaltId, u32)>,
    /// Grows with every reset of an end.
    pub session: u32,
    /// Whether the link is up.
    pub up: bool,
    /// Messages that resets took with them.
    pub lost: u32,
    /// The serial line it runs over, if its ends are on two boards.
    pub wire: Option<Box<Wire>>,
}

impl<const N: usize> Channel<N> {
    /// An empty channel whose link is up.
    #[must_use]
    pub fn new(name: Name) -> Self {
        let (messages, control) = (VecDeque::new(), [VecDeque::new(), VecDeque::new()]);
        Self { name, messages, control, slot: None, arrived: Vec::new(), session: 0, up: true, lost: 0, wire: None }
    }

    /// A message leaves.
    pub fn put_message(&mut self, message: Message) {
        self.wire.iter_mut().for_each(|wire| wire.send_message(&message.bytes));
        self.messages.push_back(message);
    }

    /// Whether the next message can be taken.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.up && self.wire.as_ref().is_none_or(|wire| wire.has_message()) && !self.messages.is_empty()
    }

    /// The message at `place` is taken; 0 is the next.
    pub fn take_message(&mut self, place: usize) {
        let taken = self.messages.remove(place);
        if let (Some(wire), Some(message)) = (&mut self.wire, taken) {
            wire.take_message(&message.bytes);
        }
    }

    /// A control message leaves.
    pub fn put_control(&mut self, lane: Lane, control: Control<N>) {
        self.wire.iter_mut().for_each(|wire| wire.send_control(lane, &control));
        self.control[lane as usize].push_back(control);
    }

    /// The next control message of a lane, if it has arrived.
    pub fn take_control(&mut self, lane: Lane) -> Option<Control<N>> {
        if !self.up || self.wire.as_ref().is_some_and(|wire| !wire.has_control(lane)) {
            return None;
        }
        let control = self.control[lane as usize].pop_front()?;
        self.wire.iter_mut().for_each(|wire| wire.take_control(lane, &control));
        Some(control)
    }

    /// One end was reset: the control lanes begin anew. What was on its way is gone with its receiver; if the sender was
    /// reset it lies in the receiver's inbox, until that hears of the reset.
    pub fn forget(&mut self, receiver_was_reset: bool) {
        if receiver_was_reset {
            self.lost += self.messages.len() as u32;
            self.messages.clear();
        }
        self.control.iter_mut().for_each(VecDeque::clear);
        self.arrived.clear();
        self.slot = None;
        self.session += 1;
        self.up = true;
    }

    /// The receiver hears of a new session: what is left of the one before is gone. Says how many messages that is.
    pub fn empty_inbox(&mut self) -> usize {
        let before = self.messages.len();
        self.messages.retain(|message| message.session == self.session);
        let gone = before - self.messages.len();
        self.lost += gone as u32;
        gone
    }

    /// Whether the end that is at `port` of a member with these sessions has heard from the other since the last reset.
    #[must_use]
    pub fn knows_session(&self, sessions: &[Option<u32>], port: PortId) -> bool {
        sessions[usize::from(port.0)] == Some(self.session)
    }

    /// Notes a marker that arrived on the forward lane.
    pub fn note_marker(&mut self, marker: &HaltMarker<N>, again: bool) {
        if again {
            self.arrived.retain(|(halt, _)| *halt != marker.id);
        }
        self.arrived.push((marker.id, marker.position));
    }

    /// The positions of the markers of `halt` that closed the channel.
    #[must_use]
    pub fn markers(&self, halt: HaltId) -> Vec<u32> {
        self.arrived.iter().filter(|(id, _)| *id == halt).map(|(_, position)| *position).collect()
    }

    /// How people call it.
    #[must_use]
    pub fn label(&self, lane: Lane) -> String {
        let way = if lane == Lane::Forward { "" } else { "~" };
        format!("{way}{}->{}", self.name.from.0, self.name.to.0)
    }
}
