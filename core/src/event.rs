//! What can happen at a node.

/// The kind of an [`Event`].
///
/// The numbers are part of the log's wire form; see `docs/WIRE.md`.
///
/// # Example: a number is a kind, or none
/// ```
/// use stillpoint_core::EventKind;
/// assert_eq!(EventKind::from_number(1), Some(EventKind::Send));
/// assert_eq!(EventKind::from_number(200), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum EventKind {
    /// A tracepoint; the argument is its tag.
    Local = 0,
    /// A message left on a port.
    Send = 1,
    /// A message was taken from a port.
    Receive = 2,
    /// A remote procedure was called; the argument is the procedure.
    Call = 3,
    /// A remote procedure returned; the argument is the procedure.
    Return = 4,
    /// A timer fired.
    Timer = 5,
    /// A shared object was read or written; the argument is the object, the value a
    /// [`shared::AccessValue`](crate::shared::AccessValue).
    Access = 6,
    /// A watch changed; the argument is the watch, the value what it became.
    Watch = 7,
    /// A span began; the argument is its tag.
    Enter = 8,
    /// The node halted; the argument is the halt id.
    Halt = 9,
    /// The node resumed; the argument is the halt id.
    Resume = 10,
    /// The node crashed; the value is the fault's cause.
    Fault = 11,
    /// The node started in a new epoch.
    Reset = 12,
    /// The link behind a port came up.
    LinkUp = 13,
    /// The link behind a port went down.
    LinkDown = 14,
    /// A task was polled; the argument is the task. Recorded only in class `Replay`, as are the next four.
    Poll = 15,
    /// A receive found nothing on a port.
    RecvNone = 16,
    /// A send found a port full.
    SendFull = 17,
    /// The clock was read; the value is what it said.
    Now = 18,
    /// An input from outside the system; the value is what was read.
    Input = 19,
    /// A span ended; the argument is its tag.
    Leave = 20,
}

impl EventKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Self; 21] = [
        Self::Local,
        Self::Send,
        Self::Receive,
        Self::Call,
        Self::Return,
        Self::Timer,
        Self::Access,
        Self::Watch,
        Self::Enter,
        Self::Halt,
        Self::Resume,
        Self::Fault,
        Self::Reset,
        Self::LinkUp,
        Self::LinkDown,
        Self::Poll,
        Self::RecvNone,
        Self::SendFull,
        Self::Now,
        Self::Input,
        Self::Leave,
    ];

    /// The kind with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// One atomic step of a node: its kind, what it is about, and a value for the kinds that have one.
///
/// # Example
/// ```
/// use stillpoint_core::{Event, EventKind, PortId};
/// let event = Event::send(PortId(2));
/// assert_eq!((event.kind, event.arg), (EventKind::Send, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// What kind of step.
    pub kind: EventKind,
    /// What it is about: a tag, port, procedure, object, watch, task or halt id, by kind.
    pub arg: u16,
    /// The value that belongs to it; 0 for kinds without one.
    pub value: u32,
}

impl Event {
    /// An event without a value.
    #[must_use]
    pub const fn new(kind: EventKind, arg: u16) -> Self {
        Self { kind, arg, value: 0 }
    }

    /// A watch that has a new value.
    #[must_use]
    #[inline]
    pub const fn watch(watch: u8, value: i32) -> Self {
        Self { kind: EventKind::Watch, arg: watch as u16, value: value as u32 }
    }

    /// A tracepoint.
    #[must_use]
    pub const fn local(tag: u16) -> Self {
        Self::new(EventKind::Local, tag)
    }

    /// A message left on `port`.
    #[must_use]
    pub const fn send(port: crate::PortId) -> Self {
        Self::new(EventKind::Send, port.0 as u16)
    }

    /// A message was taken from `port`.
    #[must_use]
    pub const fn receive(port: crate::PortId) -> Self {
        Self::new(EventKind::Receive, port.0 as u16)
    }
}

/// A set of event kinds.
///
/// # Example: everything but what only replay needs
/// ```
/// use stillpoint_core::{EventKind, KindSet};
/// assert!(KindSet::ORDINARY.contains(EventKind::Send));
/// assert!(!KindSet::ORDINARY.contains(EventKind::Poll));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KindSet(pub u32);

impl KindSet {
    /// No kind.
    pub const EMPTY: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self((1 << EventKind::ALL.len()) - 1);
    /// Every kind that class `Full` records: all but what only replay needs.
    pub const ORDINARY: Self = Self(((1 << EventKind::Poll as u32) - 1) | (1 << EventKind::Leave as u32));

    /// Whether `kind` is in the set.
    #[must_use]
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 >> (kind as u32) & 1 != 0
    }

    /// The set with `kind` added.
    #[must_use]
    pub const fn with(self, kind: EventKind) -> Self {
        Self(self.0 | 1 << (kind as u32))
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn the_number_of_a_kind_is_its_place_in_the_list_of_all() {
        for (number, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(EventKind::from_number(number as u8), Some(kind));
        }
        assert_eq!(EventKind::from_number(EventKind::ALL.len() as u8), None);
    }

    #[test]
    fn a_set_of_kinds_holds_what_was_put_in() {
        let set = KindSet::EMPTY.with(EventKind::Send).with(EventKind::Input);
        assert!(
            EventKind::ALL
                .into_iter()
                .all(|kind| set.contains(kind) == matches!(kind, EventKind::Send | EventKind::Input))
        );
        assert!(EventKind::ALL.into_iter().all(|kind| KindSet::ALL.contains(kind)));
    }
}
