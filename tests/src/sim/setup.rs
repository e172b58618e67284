//! What is simulated: who is connected to whom, and how the drivers behave.
use stillpoint_core::StampKind;
use stillpoint_core::log::Recording;

/// When a driver tells its node of a marker that arrived on the forward lane of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaltMode {
    /// At once: the messages ahead of it are channel state.
    OnArrival,
    /// When the application has taken all messages ahead of it, as in the paper.
    InQueueOrder,
}

/// A deliberate mistake in a driver; the node under it is the shipped one. Each must be noticed by a named check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Markers into the first channel vanish, and are acknowledged all the same.
    DropMarker,
    /// The application gets the second message before the first.
    OvertakeMessage,
    /// A refused send goes out all the same.
    SendAfterHalt,
    /// Markers claim to stand behind one message more than was sent.
    MarkerTooFar,
    /// A marker of a past halt is taken for one of the next.
    RelabelStaleMarker,
    /// A release of another halt is taken for one of this.
    ObeyStaleRelease,
    /// A command to take part in a halt that is over begins a new one.
    ObeyOldCommand,
    /// A message brings its sender's number only, not what its sender knew.
    StripStamp,
    /// A message does not bring the stages of linked predicates.
    StripStages,
    /// The last message of a channel is forgotten when its receiver resumes.
    LoseOnResume,
    /// A node that was reset starts in its first epoch, whatever is known of it.
    ForgetEpoch,
    /// The application goes on for one event after its node halted, outside the node's sight.
    KeepRunning,
}

/// A system: `edges[k]` is the k-th channel, from one node to another.
///
/// # Example: producer and consumer
/// ```
/// use stillpoint_tests::sim::Setup;
/// let setup = Setup::new(&[(0, 1)]);
/// assert_eq!((setup.capacity, setup.reverse_lanes), (4, true));
/// ```
#[derive(Clone, Debug)]
pub struct Setup {
    /// Sender and receiver of each channel.
    pub edges: Vec<(usize, usize)>,
    /// How many messages a channel holds.
    pub capacity: usize,
    /// When markers count.
    pub mode: HaltMode,
    /// What messages carry.
    pub stamps: StampKind,
    /// What each node records; a node that is not named records everything.
    pub recordings: Vec<Recording>,
    /// Whether channels have a control lane against their direction.
    pub reverse_lanes: bool,
    /// A channel that runs over a serial line with faults, and the seed of the faults.
    pub serial: Option<(usize, u64)>,
    /// What is broken.
    pub sabotage: Option<Sabotage>,
}

impl Setup {
    /// These channels, everything else as it ships.
    #[must_use]
    pub fn new(edges: &[(usize, usize)]) -> Self {
        Self {
            edges: edges.to_vec(),
            capacity: 4,
            mode: HaltMode::OnArrival,
            stamps: StampKind::Vector,
            recordings: Vec::new(),
            reverse_lanes: true,
            serial: None,
            sabotage: None,
        }
    }

    /// What `node` records.
    #[must_use]
    pub fn recording(&self, node: usize) -> Recording {
        self.recordings.get(node).copied().unwrap_or(Recording::FULL)
    }
}
