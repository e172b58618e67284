//! What a node is told, what it answers, and what it refuses.
use crate::log::Recording;
use crate::predicate::{
    CarryDecodeError, Detector, EnableError, Generation, InstallError, Plan, Reached, SlotId, SlotSet, VerifyError,
    WatchError,
};
use crate::{Event, EventKind, EventNumber, HaltId, HaltMarker, PortId, PortSet, StampError};
use core::fmt;

/// Something that happened to a node; see [`Node::step`](crate::Node::step).
///
/// # Example: a tracepoint
/// ```
/// use stillpoint_core::{Event, Input, Node, NodeId, StampKind};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// let effects = node.step(Input::Event(Event::local(3))).unwrap();
/// assert_eq!(effects.log, Some(Event::local(3)));
/// ```
#[derive(Debug)]
pub enum Input<'a, const N: usize> {
    /// The node starts: before this it only listens, after this it runs.
    Start {
        /// The last event number that retained memory knows of; zero if it knows nothing.
        known: EventNumber,
    },
    /// A local step: a tracepoint, timer, call, return, access, or what only replay records.
    Event(Event),
    /// A message is about to leave. Its stamp is written to the front of the lent bytes.
    Send {
        /// Where it leaves.
        port: PortId,
        /// Room for the stamp, at least [`Node::STAMP_ROOM`](crate::Node::STAMP_ROOM) bytes.
        stamp: &'a mut [u8],
    },
    /// The application takes a message.
    Receive {
        /// Where it came in.
        port: PortId,
        /// The message's bytes, beginning with its stamp.
        stamp: &'a [u8],
    },
    /// A watch has a new value.
    Watch {
        /// Which.
        watch: u8,
        /// What it became.
        value: i32,
    },
    /// The node crashed: it halts, and everybody with it.
    Fault {
        /// Why, as the platform encodes it.
        cause: u32,
    },
    /// The application asks for a halt of the whole system. A halted node ignores it.
    Halt,
    /// A halt marker arrived.
    Marker {
        /// Where, on either lane.
        port: PortId,
        /// The marker.
        marker: &'a HaltMarker<N>,
    },
    /// Halt markers are known to have arrived at the peers.
    Delivered {
        /// The ports behind which they arrived.
        ports: PortSet,
        /// Of which halt.
        id: HaltId,
    },
    /// Draining took too long: what was not delivered by now will not be waited for.
    DrainLimit,
    /// A release arrived in band.
    Release {
        /// Where.
        port: PortId,
        /// Of which halt.
        id: HaltId,
    },
    /// A predicate marker arrived.
    PredicateMarker {
        /// Where.
        port: PortId,
        /// What it says.
        reached: Reached,
    },
    /// A link came up and its peer introduced itself.
    Hello {
        /// Which link.
        port: PortId,
        /// What the peer said.
        hello: Hello,
        /// The channel goes on as it was: this is its first session, or neither end was reset since the last, so nothing
        /// was lost and messages are counted on. Otherwise both ends count from the beginning.
        resumed: bool,
    },
    /// A link went down.
    LinkDown {
        /// Which.
        port: PortId,
    },
    /// The debugger, a node with a control channel to every other (Miller & Choi 2.2.3), wants something.
    Command(Command<'a>),
}

impl<const N: usize> Input<'_, N> {
    /// A start with nothing retained.
    #[must_use]
    pub const fn start() -> Self {
        Self::Start { known: EventNumber(0) }
    }
}

/// What the debugger asks of a node.
///
/// # Example: record nothing from now on
/// ```
/// use stillpoint_core::{Command, Event, Input, Node, NodeId, StampKind, log::Recording};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// let _ = node.step(Input::Command(Command::Record(Recording::OFF))).unwrap();
/// assert_eq!(node.step(Input::Event(Event::local(3))).unwrap().log, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Take part in this consistent halt, which the debugger asks of every node at once. It is joined as by a marker, and
    /// refused if it is over, so that a late command does not begin a halt after the release.
    Halt(HaltId),
    /// End this halt.
    Release(HaltId),
    /// Stop this node alone (delayed halt).
    Suspend,
    /// Let a node that was stopped alone go on.
    Continue,
    /// Record this from now on.
    Record(Recording),
    /// Install this node's part of a predicate.
    Install {
        /// Where.
        slot: SlotId,
        /// Which use of the slot.
        generation: Generation,
        /// How its stages travel.
        detector: Detector,
        /// The program's bytes, not yet verified.
        program: &'a [u8],
    },
    /// Let the predicate's first stage be satisfied.
    Enable {
        /// Where.
        slot: SlotId,
        /// Which use of the slot.
        generation: Generation,
        /// The ports whose messages need not carry its stages.
        silent: PortSet,
    },
    /// Remove a predicate.
    Remove {
        /// Where.
        slot: SlotId,
    },
    /// Say where the node stands; changes nothing.
    Report,
    /// Take part in recognising the simultaneous event whose program is installed.
    Plan {
        /// Where.
        slot: SlotId,
        /// Which use of the slot.
        generation: Generation,
        /// The node's part.
        plan: Plan,
    },
}

/// How a node introduces itself when a link comes up.
///
/// # Example: over the wire and back
/// ```
/// use stillpoint_core::{EventNumber, HaltId, Hello};
/// let hello = Hello { number: EventNumber(0x0200_0000), of_you: EventNumber(7), last_halt: HaltId(3), halted: true };
/// assert_eq!(Hello::from_bytes(hello.to_bytes()), Some(hello));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Hello {
    /// Where the sender stands.
    pub number: EventNumber,
    /// What the sender knows of the receiver.
    pub of_you: EventNumber,
    /// The last halt the sender took part in.
    pub last_halt: HaltId,
    /// Whether the sender is halted in it.
    pub halted: bool,
}

impl Hello {
    /// The length on the wire.
    pub const LEN: usize = 11;

    /// The wire form: number (4), of you (4), last halt (2), halted (1).
    #[must_use]
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let ([a, b, c, d], [e, f, g, h]) = (self.number.0.to_le_bytes(), self.of_you.0.to_le_bytes());
        let [i, j] = self.last_halt.0.to_le_bytes();
        [a, b, c, d, e, f, g, h, i, j, self.halted as u8]
    }

    /// Reads the wire form. `None` when the flag is neither 0 nor 1.
    #[must_use]
    pub const fn from_bytes([a, b, c, d, e, f, g, h, i, j, halted]: [u8; Self::LEN]) -> Option<Self> {
        if halted > 1 {
            return None;
        }
        Some(Self {
            number: EventNumber(u32::from_le_bytes([a, b, c, d])),
            of_you: EventNumber(u32::from_le_bytes([e, f, g, h])),
            last_halt: HaltId(u16::from_le_bytes([i, j])),
            halted: halted == 1,
        })
    }
}

/// What an end of a serial link says of itself: its node's hello, and which of the node's ports the link has.
///
/// # Example: over the wire and back
/// ```
/// use stillpoint_core::{EventNumber, HaltId, Hello, LinkHello, PortId};
/// let hello = Hello { number: EventNumber(0x0200_0000), of_you: EventNumber(7), last_halt: HaltId(3), halted: true };
/// let said = LinkHello { hello, ports: Some([PortId(4), PortId(5)]) };
/// assert_eq!(LinkHello::read(&said.to_bytes()), Some(said));
/// assert_eq!(LinkHello::read(&hello.to_bytes()), Some(LinkHello { hello, ports: None }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LinkHello {
    /// The node's hello.
    pub hello: Hello,
    /// The ports of the sender: the one from which messages leave, the one where they come in. `None` if it does not say.
    pub ports: Option<[PortId; 2]>,
}

impl LinkHello {
    /// The length on the wire.
    pub const LEN: usize = Hello::LEN + 2;
    /// Stands for a port that is not named.
    const NO_PORT: u8 = 0xFF;

    /// The wire form: hello (11), outgoing port (1), incoming port (1).
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [Self::NO_PORT; Self::LEN];
        let ports = self.ports.into_iter().flatten().map(|port| port.0);
        for (byte, value) in bytes.iter_mut().zip(self.hello.to_bytes().into_iter().chain(ports)) {
            *byte = value;
        }
        bytes
    }

    /// Reads the wire form, or a hello alone. `None` when it is too short or its flag is neither 0 nor 1.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (hello, rest) = bytes.split_first_chunk()?;
        let is_port = |port: u8| usize::from(port) < crate::MAX_PORTS;
        let ports = match *rest {
            [out, into, ..] if is_port(out) && is_port(into) => Some([PortId(out), PortId(into)]),
            _ => None,
        };
        Some(Self { hello: Hello::from_bytes(*hello)?, ports })
    }
}

/// What the driver does after one step, in the order of the fields.
///
/// # Example: a halt asks for markers, a record and a stop
/// ```
/// use stillpoint_core::*;
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// node.connect(PortId(0), Direction::Out, NodeId(1)).unwrap();
/// let _ = node.step(Input::start()).unwrap();
/// let effects = node.step(Input::Halt).unwrap();
/// assert_eq!((effects.markers, effects.then), (PortSet::first(1), Then::Halt));
/// assert_eq!(effects.halt_record(), Some(Event::new(EventKind::Halt, 1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Effects {
    /// Write this event to the log.
    pub log: Option<Event>,
    /// This many of the lent bytes are the message's stamp; commit the message.
    pub stamp: u8,
    /// Predicates that this event advanced: [`Node::predicate_marker`](crate::Node::predicate_marker) says to which stage.
    pub advanced: SlotSet,
    /// Predicates whose last stage this event satisfied: the cause of the halt that follows.
    pub fired: SlotSet,
    /// Send a predicate marker of each of these slots, [`Node::predicate_marker`](crate::Node::predicate_marker)...
    pub announce: SlotSet,
    /// ... to each of these ports.
    pub announce_to: PortSet,
    /// Send [`Node::halt_marker`](crate::Node::halt_marker) of each of these ports to it.
    pub markers: PortSet,
    /// Send a release of `halt` to each of these ports.
    pub releases: PortSet,
    /// The halt that `markers`, `releases` and `then` speak of.
    pub halt: HaltId,
    /// What the core does then.
    pub then: Then,
}

/// What a core does after the rest of a step's effects.
///
/// # Example: most events change nothing
/// ```
/// use stillpoint_core::{Effects, Then};
/// assert_eq!(Effects::NONE.then, Then::Continue);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It goes on as it was.
    Continue,
    /// It logs the halt, freezes the application, and polls its links until the node is parked.
    Halt,
    /// Draining is over, or a delayed halt begins: it parks.
    Park,
    /// It logs that the halt is over, and lets the application run unless the node is stopped alone.
    Resume,
    /// It lets the application run: a delayed halt is over.
    Run,
}

impl Effects {
    /// Nothing to do.
    pub const NONE: Self = Self {
        log: None,
        stamp: 0,
        advanced: SlotSet::EMPTY,
        fired: SlotSet::EMPTY,
        announce: SlotSet::EMPTY,
        announce_to: PortSet::EMPTY,
        markers: PortSet::EMPTY,
        releases: PortSet::EMPTY,
        halt: HaltId(0),
        then: Then::Continue,
    };

    /// The event that a halt or its end adds to the log.
    #[must_use]
    pub fn halt_record(&self) -> Option<Event> {
        match self.then {
            Then::Halt => Some(Event::new(EventKind::Halt, self.halt.0)),
            Then::Resume => Some(Event::new(EventKind::Resume, self.halt.0)),
            Then::Continue | Then::Park | Then::Run => None,
        }
    }
}

/// Why a step was refused; the node is unchanged.
///
/// # Example: before the start nothing can happen
/// ```
/// use stillpoint_core::{Event, Input, Node, NodeId, StampKind, StepError};
/// let mut node = Node::<2>::new(NodeId(0), StampKind::Event).unwrap();
/// assert_eq!(node.step(Input::Event(Event::local(3))), Err(StepError::NotRunning));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepError {
    /// The node has not started, or is stopped: nothing can happen on it.
    NotRunning,
    /// The node has started already.
    AlreadyStarted,
    /// This is the application's own step, which [`Node::serve`](crate::Node::serve) does not take.
    NotServed,
    /// The node has no such port.
    NoSuchPort(PortId),
    /// Messages do not leave here; the port is an incoming one.
    NotOutgoing(PortId),
    /// Messages do not come in here; the port is an outgoing one.
    NotIncoming(PortId),
    /// Events of this kind have an input of their own.
    NotALocalEvent(EventKind),
    /// The message's stamp is wrong.
    Stamp(StampError),
    /// The predicate stages that the message carries are wrong.
    Carry(CarryDecodeError),
    /// The watch does not exist.
    Watch(WatchError),
    /// The program is not one that a node may run.
    Program(VerifyError),
    /// The program cannot be installed in this slot.
    Install(InstallError),
    /// The predicate cannot be enabled.
    Enable(EnableError),
    /// The halt is not newer than the last that is over; this is the newest that the node knows of.
    OldHalt(HaltId),
    /// More nodes read a shared object than it has room to remember.
    TooManyReaders,
    /// The node has a part in another simultaneous event, the one in this slot; there is room for one.
    OtherEvent(SlotId),
    /// The session of this port began after that of another on the way of the same messages, so their counts differ.
    SessionsDiffer(PortId),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("the node has not started, or is stopped"),
            Self::AlreadyStarted => f.write_str("the node has started already"),
            Self::NotServed => f.write_str("this is a step of the application: give it to `step`"),
            Self::NoSuchPort(port) => write!(f, "the node has no port {}", port.0),
            Self::NotOutgoing(port) => write!(f, "messages do not leave through port {}", port.0),
            Self::NotIncoming(port) => write!(f, "messages do not come in through port {}", port.0),
            Self::NotALocalEvent(kind) => write!(f, "an event of kind {kind:?} has an input of its own"),
            Self::Stamp(error) => error.fmt(f),
            Self::Carry(error) => error.fmt(f),
            Self::Watch(error) => error.fmt(f),
            Self::Program(error) => error.fmt(f),
            Self::Install(error) => error.fmt(f),
            Self::Enable(error) => error.fmt(f),
            Self::OldHalt(known) => write!(f, "the halt is over: the node knows of halt {}", known.0),
            Self::SessionsDiffer(port) => write!(f, "a link of port {} began a new session after others", port.0),
            Self::OtherEvent(slot) => {
                write!(f, "slot {} has a simultaneous event already: remove it first", slot.number())
            }
            Self::TooManyReaders => crate::shared::TooManyReaders.fmt(f),
        }
    }
}

impl core::error::Error for StepError {}
