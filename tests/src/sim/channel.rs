//! A channel: messages in flight, a control lane each way, one slot for a marker.
use std::collections::VecDeque;
use stillpoint_core::predicate::Reached;
use stillpoint_core::{Channel as Name, HaltId, HaltMarker, Hello};

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
    /// The life of the sender.
    pub life: u32,
    /// Which event of the sender it is.
    pub event: u32,
    /// Its place in the channel, counted by the sender in the present pair of lives.
    pub number: u32,
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
    /// The other end introduces itself; `life` is missing if it has not started yet.
    Hello {
        /// What it says.
        hello: Hello,
        /// Which of its lives this is.
        life: Option<u32>,
    },
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
    /// Whether the link is up.
    pub up: bool,
    /// Messages that resets took with them.
    pub lost: u32,
}

impl<const N: usize> Channel<N> {
    /// An empty channel whose link is up.
    #[must_use]
    pub fn new(name: Name) -> Self {
        let (messages, control) = (VecDeque::new(), [VecDeque::new(), VecDeque::new()]);
        Self { name, messages, control, slot: None, arrived: Vec::new(), up: true, lost: 0 }
    }

    /// What is on its way on a lane.
    pub fn lane(&mut self, lane: Lane) -> &mut VecDeque<Control<N>> {
        &mut self.control[lane as usize]
    }

    /// One end was reset: all that was on its way is gone.
    pub fn forget(&mut self) {
        self.lost += self.messages.len() as u32;
        self.messages.clear();
        self.control.iter_mut().for_each(VecDeque::clear);
        self.arrived.clear();
        self.slot = None;
        self.up = true;
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
