//! One node with what its driver owns: application, log, and the ends of its channels.
use super::{App, Lane, Setup};
use stillpoint_core::log::{LogItem, LogReader, LogRing, LogWriter, Record};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Command, Direction, Event, Input, Node, NodeId, Phase, PortId, PortSet};

/// How many ports a node has: a channel each way to four others.
pub const PORTS: usize = 8;

/// What a probe has read of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A record, and the clock that the log gives it, if the log gives it one.
    Record(Record, Option<Vec<u32>>),
    /// This many records are missing.
    Gap(u32),
}

/// A node's log, from the event to what the probe makes of it.
#[derive(Debug)]
pub struct Log<const N: usize, const S: usize> {
    /// Writes.
    pub writer: LogWriter<N>,
    /// Holds what is written and not read.
    pub ring: LogRing<S>,
    reader: LogReader,
    clock: Option<Vec<u32>>,
    /// What was read.
    pub read: Vec<Entry>,
    /// The same as bytes, with the place in the ring where each piece began.
    pub pieces: Vec<(u32, Vec<u8>)>,
    /// Records that were read or told as missing in lives before this one.
    accounted_before: u32,
}

impl<const N: usize, const S: usize> Log<N, S> {
    fn new() -> Self {
        let (writer, ring, reader) = (LogWriter::new(), LogRing::new(), LogReader::new());
        // A recorder that comes before anything happens sees where the ring begins.
        let pieces = vec![(0, Vec::new())];
        Self { writer, ring, reader, clock: None, read: Vec::new(), pieces, accounted_before: 0 }
    }

    /// Reads all there is, as a probe does.
    pub fn drain(&mut self, me: usize) -> Result<(), String> {
        let mut bytes = vec![0; S];
        let piece = self.ring.peek(&mut bytes);
        self.pieces.push((piece.position, bytes[..piece.length].to_vec()));
        let mut rest = &bytes[..piece.length];
        while let Some((item, used)) = self.reader.next(rest).map_err(|error| error.to_string())? {
            match item {
                LogItem::Sync(sync) => {
                    // This probe was there when the log began.
                    let missing = if self.clock.is_some() { sync.missing } else { sync.records };
                    if missing != 0 {
                        self.read.push(Entry::Gap(missing));
                    }
                    self.clock = Some(sync.clock().collect());
                }
                LogItem::Causes(causes) => {
                    let mut grown = causes.differences();
                    for (place, entry) in self.clock.iter_mut().flatten().enumerate() {
                        if causes.changed >> place & 1 != 0 {
                            *entry = entry.wrapping_add(grown.next().unwrap_or(0));
                        }
                    }
                }
                LogItem::Record(record) => {
                    if let Some(clock) = &mut self.clock {
                        clock[me] = record.number.0;
                    }
                    self.read.push(Entry::Record(record, self.clock.clone()));
                }
            }
            rest = &rest[used..];
        }
        self.ring.consume(piece);
        if rest.is_empty() { Ok(()) } else { Err("it ends in the middle of a record".into()) }
    }
}

impl<const N: usize, const S: usize> Log<N, S> {
    /// The node is reset: its ring is made anew, without what was not read. Says how many records are accounted for.
    pub fn restart(&mut self) -> u32 {
        self.ring.init();
        (self.writer, self.reader, self.clock) = (LogWriter::new(), LogReader::new(), None);
        self.accounted_before = self.accounted();
        self.accounted_before
    }

    /// Records that were read or that the log says are missing.
    fn accounted(&self) -> u32 {
        let each = self.read.iter().map(|entry| if let Entry::Gap(missing) = entry { *missing } else { 1 });
        each.sum()
    }

    /// Records that are not in the ring any more and of which the log does not say so yet.
    #[must_use]
    pub fn untold(&self) -> u32 {
        self.writer.records() - (self.accounted() - self.accounted_before)
    }

    /// Records of all lives that were not read.
    #[must_use]
    pub fn lost(&self) -> u32 {
        let gaps = self.read.iter().map(|entry| if let Entry::Gap(missing) = entry { *missing } else { 0 });
        gaps.sum::<u32>() + self.untold()
    }
}

/// A node and its driver.
#[derive(Debug)]
pub struct Member<const N: usize, const S: usize> {
    /// The shipped node.
    pub node: Node<N, PORTS>,
    /// What runs on it.
    pub app: App,
    /// Its log.
    pub log: Log<N, S>,
    /// Per port: the channel and the lane on which this node sends.
    pub ends: Vec<(usize, Lane)>,
    /// Which life this is; 0 is the first.
    pub life: u32,
    /// For each port, the session in which it is; none if it was reset and has not heard from its peer.
    pub sessions: Vec<Option<u32>>,
    /// Ports on which a node that starts anew has not heard a hello.
    pub awaits: PortSet,
    /// What memory that survives a reset knows: the last event, the last halt.
    pub retained: (stillpoint_core::EventNumber, stillpoint_core::HaltId),
    /// How many records of the present life and of what was read before the application's events should have made.
    pub recorded: u32,
    /// How many they should have made in all lives.
    pub written: u32,
}

impl<const N: usize, const S: usize> Member<N, S> {
    /// The node `me` of a system, connected and not yet started.
    #[must_use]
    pub fn new(setup: &Setup, me: usize) -> Self {
        let mut ends = Vec::new();
        for (edge, (from, to)) in setup.edges.iter().enumerate() {
            if *from == me {
                ends.push((edge, Lane::Forward));
            }
            if *to == me {
                ends.push((edge, Lane::Reverse));
            }
        }
        let sessions = vec![Some(0); ends.len()];
        let node = Self::fresh_node(setup, me, &ends);
        let (awaits, retained) = (PortSet::EMPTY, Default::default());
        let (app, log) = (App::default(), Log::new());
        Self { node, app, log, ends, life: 0, sessions, awaits, retained, recorded: 0, written: 0 }
    }

    /// A node that knows nothing.
    #[must_use]
    pub fn fresh_node(setup: &Setup, me: usize, ends: &[(usize, Lane)]) -> Node<N, PORTS> {
        let mut node = Node::new(NodeId(me as u8), setup.stamps).expect("the node is in the system");
        for (port, (edge, lane)) in ends.iter().enumerate() {
            let (from, to) = setup.edges[*edge];
            let (direction, peer) = if *lane == Lane::Forward { (Direction::Out, to) } else { (Direction::In, from) };
            node.connect(PortId(port as u8), direction, NodeId(peer as u8)).expect("the port is free");
        }
        let _ = node.step(Input::Command(Command::Record(setup.recording(me)))).expect("recording can be set");
        node
    }

    /// The port that is this node's end of a channel.
    #[must_use]
    pub fn port(&self, edge: usize, lane: Lane) -> PortId {
        let at = self.ends.iter().position(|end| *end == (edge, lane)).expect("the channel ends here");
        PortId(at as u8)
    }

    /// Whether the application runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.node.phase() == Phase::Running
    }

    /// Whether the node takes part in a halt.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        matches!(self.node.phase(), Phase::Draining { .. } | Phase::Parked { .. })
    }

    /// Whether the node has started in this life.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.node.phase().has_started()
    }

    /// Whether the application crashed in this life.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        use stillpoint_core::ResumeTo::Faulted;
        matches!(
            self.node.phase(),
            Phase::Faulted | Phase::Draining { then: Faulted, .. } | Phase::Parked { then: Faulted, .. }
        )
    }

    /// How many records were written and not read, whatever the reason.
    #[must_use]
    pub fn missing(&self) -> u32 {
        let read = self.log.read.iter().filter(|entry| matches!(entry, Entry::Record(..)));
        self.written - read.count() as u32
    }

    /// Writes an event to the log, if the node records it.
    pub fn write(&mut self, event: &Event, now: u32) {
        if self.node.recording().records(event) {
            self.recorded += 1;
            self.written += 1;
            self.log.writer.push(&self.log.ring, event, Ticks(now), &self.node.standing());
        }
    }
}
