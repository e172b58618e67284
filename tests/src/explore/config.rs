//! What a model consists of, and what may go on in it.
use super::sabotage::Sabotage;
use super::system::{NODES, Shape};
use stillpoint_core::StampKind;
use stillpoint_core::predicate::Detector;

/// One small system and all that may happen in it.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// What `--model` calls it.
    pub name: &'static str,
    /// What it covers.
    pub about: &'static str,
    /// How the nodes are wired.
    pub shape: Shape,
    /// How many messages a channel holds.
    pub capacity: usize,
    /// How many messages are sent on each wire.
    pub messages: [u8; NODES],
    /// How often each node may initiate a halt by itself.
    pub halts: [u8; NODES],
    /// How often the debugger commands a halt to all nodes. Each command arrives at its node at any time after that.
    pub commands: u8,
    /// How often the host releases a halt.
    pub releases: u8,
    /// When it does so.
    pub host: Host,
    /// How control travels.
    pub control: ControlLanes,
    /// What messages carry.
    pub stamps: StampKind,
    /// Where clocks and halt ids begin.
    pub start: Start,
    /// How many local events each node has.
    pub locals: [u8; NODES],
    /// What is looked for.
    pub predicate: Option<Predicate>,
    /// Which node may be reset, once.
    pub reset: Option<usize>,
    /// Which wire is a serial line, and how many frames it loses or repeats.
    pub serial: Option<(usize, u8)>,
    /// What must have been met on the way, or the model proves less than it says.
    pub meets: &'static [Sight],
    /// What is broken on purpose.
    pub sabotage: Option<Sabotage>,
}

/// When the host releases a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// When every node says that it is parked.
    WaitsForAll,
    /// As soon as one node is parked.
    IsEager,
}

/// How markers and releases of one lane keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlLanes {
    /// One after another.
    Fifo,
    /// A slot each; the last one written counts, and a marker is handed in before a release.
    Slots,
}

/// Where clocks and halt ids begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At nothing.
    Fresh,
    /// Two events and one halt before their numbers wrap.
    NearTheWrap,
}

/// A linked predicate.
#[derive(Clone, Copy, Debug)]
pub struct Predicate {
    /// How its stages travel.
    pub detector: Detector,
    /// Its stages. A node that has none of them gets no program at all.
    pub stages: &'static [Stage],
}

/// One stage: the `times`-th event of a kind on a node.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Where.
    pub node: usize,
    /// What.
    pub what: What,
    /// How often, from when the stage before it is known.
    pub times: u8,
}

/// The kinds of events that the application of a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A tracepoint.
    Local,
    /// A message leaves.
    Send,
    /// A message is taken.
    Receive,
}

/// Something rare that a model is there to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// All nodes parked, with a valid certificate.
    Certified,
    /// The same with messages in flight.
    CertifiedInFlight,
    /// A node that had initiated got the marker of another that had.
    TwoInitiators,
    /// A parked node adopted a newer halt.
    NewerWhileParked,
    /// A marker of a halt that was over arrived.
    StaleMarker,
    /// A release of another halt arrived, or of one already over.
    StaleRelease,
    /// A node was halted, released and halted again.
    SecondHalt,
    /// The predicate fired.
    Fired,
    /// An event of the last stage's kind happened and did not fire, the stage before it not being known.
    DidNotFire,
    /// A frame was lost or repeated on the line.
    Fault,
    /// A frame was sent again.
    TimeOut,
    /// A node that was reset joined a halt before it had started.
    JoinedBeforeStart,
    /// A node that was reset started.
    Restarted,
    /// The debugger's command halted a node.
    Commanded,
    /// The debugger's command reached a node that was in that halt already.
    CommandedAgain,
    /// The debugger's command arrived when its halt was over.
    StaleCommand,
}

impl Sight {
    /// How many there are.
    pub const COUNT: usize = Self::StaleCommand as usize + 1;
}
