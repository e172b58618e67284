//! What a mutant does wrong: the shipped node is told something else than what happened, or not obeyed.
use super::system::{Control, HEAD, Message, NODES, OUT, Place, TAIL};
use stillpoint_core::{EventNumber, HaltId, HaltMarker, Hello, NodeId};

/// One deliberate mistake around the shipped step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The marker on the first wire never leaves.
    DroppedMarker,
    /// A channel hands out its youngest message first.
    NotFifo,
    /// The driver enqueues a message although the node refused it.
    SendAfterHalt,
    /// A marker of a halt that is over counts as one of a new halt.
    ForgottenStaleMarkerCheck,
    /// A marker says that one message fewer was sent before it.
    MarkerPositionOffByOne,
    /// A release of any halt ends the present one.
    StaleReleaseObeyed,
    /// Halt ids compare as plain integers.
    WrongWrapCompare,
    /// A message says nothing of what its sender heard from others.
    MissingMerge,
    /// A node without a program drops the stages it should pass on.
    StageNotForwarded,
    /// A node that is released in band keeps that to itself.
    ReleaseNotForwarded,
    /// A node parks at once instead of draining.
    DrainSkipped,
    /// A marker is acknowledged and forgotten.
    AcknowledgedNotProcessed,
    /// A message is delivered twice.
    DuplicatedMessage,
    /// Frames lost on the line are not sent again.
    NoRetransmission,
    /// A node that was reset does not listen to what its peers know of it.
    EpochNotRaised,
    /// A predicate marker is not passed on.
    PredicateMarkerNotForwarded,
    /// A command of a halt that is over counts as one of a new halt.
    LateCommandBegins,
    /// A node that a command halts sends no markers.
    CommandWithoutMarkers,
}

impl Sabotage {
    /// What reaches the lane when `control` is sent on a wire by this end.
    pub fn on_send(self, wire: usize, end: usize, control: Control, position_of_messages: bool) -> Option<Control> {
        match (self, control) {
            (Self::DroppedMarker, Control::Marker(_)) if (wire, end) == (0, HEAD) => None,
            (Self::MarkerPositionOffByOne, Control::Marker(marker)) if position_of_messages && marker.position > 0 => {
                Some(Control::Marker(HaltMarker { position: marker.position - 1, ..marker }))
            }
            (_, control) => Some(control),
        }
    }

    /// What the node is told when `control` arrives; `None` if nothing.
    pub fn on_arrival(self, place: &Place, control: Control) -> Option<Control> {
        let last = place.node.last_halt();
        let is_over = |id: HaltId| !id.is_newer_than(last) && place.truth.recorded.is_none();
        match (self, control) {
            (Self::ForgottenStaleMarkerCheck, Control::Marker(marker)) if is_over(marker.id) => {
                Some(Control::Marker(HaltMarker { id: last.next(), ..marker }))
            }
            (Self::WrongWrapCompare, Control::Marker(marker)) if marker.id.0 < last.0 => None,
            (Self::AcknowledgedNotProcessed, Control::Marker(_)) if place.node.id() == NodeId(1) => None,
            (Self::StaleReleaseObeyed, Control::Release(_)) => Some(Control::Release(last)),
            (Self::EpochNotRaised, Control::Hello(hello, started)) => {
                Some(Control::Hello(Hello { of_you: EventNumber(0), ..hello }, started))
            }
            (_, control) => Some(control),
        }
    }

    /// What a node's message really says.
    pub fn on_message(self, place: &Place, message: &mut Message) {
        let stamp = &mut message.stamp;
        match self {
            Self::MissingMerge => {
                let mut entries = [0; NODES];
                entries[usize::from(place.node.id().0)] = place.node.number().0;
                *stamp = full_stamp(&entries);
            }
            Self::StageNotForwarded if place.node.id() == NodeId(1) && stamp[0] & 0x20 != 0 => {
                // The stages follow the stamp: one byte that counts them and two for each.
                stamp[0] &= !0x20;
                let length = stamp.len() - 3;
                stamp.truncate(length);
            }
            _ => {}
        }
    }

    /// Which message of a channel that holds this many is handed out.
    pub fn next_message(self, waiting: usize) -> usize {
        if self == Self::NotFifo { waiting - 1 } else { 0 }
    }

    /// Whether effects that pass something on are ignored: a release, a predicate marker.
    pub fn keeps(self, place: &Place, control: &Control) -> bool {
        match (self, control) {
            (Self::ReleaseNotForwarded, Control::Release(_))
            | (Self::PredicateMarkerNotForwarded, Control::Predicate(..)) => place.node.id() == NodeId(1),
            _ => false,
        }
    }
}

/// A stamp that says all of this.
pub fn full_stamp(entries: &[u32; NODES]) -> Vec<u8> {
    [0xC0].into_iter().chain(entries.iter().flat_map(|entry| entry.to_le_bytes())).collect()
}

/// Whether the position of a marker sent by this end counts messages sent, not received.
pub fn counts_sent(end: usize) -> bool {
    debug_assert!(end == HEAD || end == TAIL);
    super::system::Shape::holder(0, end).1 == OUT
}
