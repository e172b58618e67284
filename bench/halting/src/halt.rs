//! One halt by each of the methods, and what it came to.
use crate::boards::{Boards, LIMIT};
use crate::cut::Wiring;
use crate::tap::Tap;
use anyhow::Context as _;
use std::path::Path;
use std::time::{Duration, Instant};
use stillpoint::trace::{CausalOrder, header_of};
use stillpoint::{Node, NodeAddress};
use stillpoint_core::NodeId;
use stillpoint_core::time::TickRate;

/// How the boards are halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the kit: the host commands all nodes at once, markers prove it. What `stillpoint halt` does.
    Commanded,
    /// Markers, from one node through mailboxes and link to all others.
    InBand,
    /// A probe halts one core after the other.
    Sequential,
    /// A probe halts all cores of a board as one, board after board.
    Group,
}

impl Method {
    /// All of them, in the order in which they take turns.
    pub const ALL: [Self; 4] = [Self::Commanded, Self::InBand, Self::Sequential, Self::Group];
}

/// How one node came to stand still after the first.
pub struct Reached {
    /// Which node.
    pub node: usize,
    /// Hops from the trigger through mailboxes and through serial links; none by a probe.
    pub hops: Option<(usize, usize)>,
    /// Events that the clock of the first to stand did not know of: no more than these can have come after its stop.
    pub unknown: Option<u32>,
    /// Events that it did execute after the first stood. Commanded, after the first of its own board; in band, after the
    /// one stood from which a mailbox brought the marker. `None` where two boards with no time in common would be compared.
    pub after: Option<u32>,
    /// From that stop to its own, in microseconds: by a probe by the host's clock, otherwise by the board's counter.
    pub time: Option<f64>,
}

/// What one halt came to.
pub struct Halt {
    pub method: Method,
    /// From the first command to the last node known to stand.
    pub took: Duration,
    /// What is wrong with the state, if anything is.
    pub violation: Option<String>,
    pub reached: Vec<Reached>,
}

/// Boards that are halted again and again, and their logs.
pub struct Bench {
    boards: Boards,
    wiring: Wiring,
    taps: Vec<Tap>,
    /// Sorts what the logs say, for the clocks.
    order: CausalOrder,
    /// The clock of each node at its last event.
    clocks: Vec<Vec<u32>>,
    places: Vec<NodeAddress>,
    /// The rate of the times in logs.
    rate: TickRate,
    /// Halts of which a log was full, so that events are missing.
    pub incomplete: usize,
}

/// Events that every node makes between two halts, at least.
const EVENTS_BETWEEN: u32 = 4;

impl Bench {
    /// Starts the boards.
    pub fn start(elf: &Path) -> anyhow::Result<Self> {
        let mut boards = Boards::start(elf)?;
        let wiring = Wiring::read(&mut boards)?;
        let taps: Vec<Tap> = boards.system.nodes()?.iter().map(|node| Tap::new(node.log.0)).collect();
        let order = CausalOrder::new(&header_of(&mut boards.system, "")?);
        let clocks = vec![vec![0; taps.len()]; taps.len()];
        let rate =
            boards.system.boards()[0].firmware().tick_rate.context("the firmware does not say how long a tick is")?;
        let places = boards.system.addresses();
        Ok(Self { boards, wiring, taps, order, clocks, places, rate, incomplete: 0 })
    }

    /// The names of the nodes.
    pub fn names(&mut self) -> Vec<String> {
        self.boards.system.look().into_iter().map(|sight| sight.name).collect()
    }

    /// The number of the last event of each node, as far as the logs were read.
    pub fn events(&self) -> Vec<u32> {
        self.taps.iter().map(|tap| tap.last & 0xFF_FFFF).collect()
    }

    /// Lets the boards run until every node has done something, and `more` after that.
    pub fn run_on(&mut self, more: Duration) -> anyhow::Result<()> {
        let began = Instant::now();
        let before: Vec<u32> = self.taps.iter().map(|tap| tap.last).collect();
        let mut ready_at = None;
        loop {
            let dropped = self.dropped();
            self.read_logs(&[])?;
            // Behind a full ring the next record says how many are missing: wait for it.
            let complete = self.dropped() == dropped;
            let busy = |(tap, before): (&Tap, &u32)| tap.last.wrapping_sub(*before) >= EVENTS_BETWEEN;
            if ready_at.is_none() && self.taps.iter().zip(&before).all(busy) {
                ready_at = Some(Instant::now());
            }
            if complete && ready_at.is_some_and(|ready| ready.elapsed() >= more) {
                self.taps.iter_mut().for_each(Tap::forget);
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < LIMIT, "a node does nothing for {LIMIT:?}: {:?}", self.events());
        }
    }

    /// Halts, looks, and lets everything run on as it did. `None` where a log was full, so that events are missing.
    pub fn halt(&mut self, method: Method, first: usize) -> anyhow::Result<Option<Halt>> {
        let dropped = self.dropped();
        let halt = match method {
            Method::Commanded => self.commanded()?,
            Method::InBand => self.in_band(first)?,
            Method::Sequential | Method::Group => self.by_probe(method, first)?,
        };
        let complete = self.dropped() == dropped;
        self.incomplete += usize::from(!complete);
        Ok(complete.then_some(halt))
    }

    fn dropped(&self) -> Vec<u32> {
        self.taps.iter().map(|tap| tap.dropped).collect()
    }

    /// What `stillpoint halt` does once it is attached, with the certificate. The node that is rung first is the first.
    fn commanded(&mut self) -> anyhow::Result<Halt> {
        let system = &mut self.boards.system;
        let began = Instant::now();
        let halted = system.halt_all(None, LIMIT)?;
        let took = began.elapsed();
        anyhow::ensure!(halted.waiting.is_empty() && halted.lost.is_empty(), "not every node halts: {halted:?}");
        let violation = halted.proof.and_then(Result::err).map(|error| error.to_string());
        let (nodes, skew) = (system.nodes()?, system.skew()?);
        self.read_logs(&[])?;
        let stopped = |node: usize| {
            self.taps[node].halt.filter(|(halt, _)| *halt == nodes[node].last_halt.0).map(|(_, time)| time)
        };
        let (places, count) = (&self.places, nodes.len());
        let of_board = |node: usize| (0..count).filter(move |other| places[*other].board == places[node].board);
        let mut reached = Vec::new();
        for (node, line) in skew.lines.iter().enumerate() {
            let from = of_board(node).filter_map(&stopped).min();
            let is_first = from.is_some() && from == stopped(node);
            let after = |from| self.taps[node].times.iter().filter(|time| **time > from).count() as u32;
            let time = from.zip(stopped(node)).filter(|_| !is_first);
            reached.push(Reached {
                node,
                hops: None,
                unknown: line.events,
                after: from.filter(|_| !is_first).map(after),
                time: time.and_then(|(from, to)| Some(self.rate.micros(to)? - self.rate.micros(from)?)),
            });
        }
        self.boards.system.resume_all(LIMIT)?;
        Ok(Halt { method: Method::Commanded, took, violation, reached })
    }

    fn in_band(&mut self, first: usize) -> anyhow::Result<Halt> {
        let (system, at) = (&mut self.boards.system, self.places[first]);
        let began = Instant::now();
        system.begin_halt(&[at])?;
        let halt = system.wait_parked(LIMIT)?;
        let took = began.elapsed();
        let violation = system.proof()?.err().map(|error| error.to_string());
        let (nodes, skew) = (system.nodes()?, system.skew()?);
        self.read_logs(&[])?;
        let reached = nodes.iter().zip(skew.lines).filter(|(node, _)| node.id != NodeId(first as u8));
        let reached = reached.map(|(node, line)| self.reached(node, line.events)).collect();
        self.boards.system.release(at, halt, LIMIT)?;
        Ok(Halt { method: Method::InBand, took, violation, reached })
    }

    /// How the marker came to a node, and what the node did meanwhile.
    fn reached(&self, node: &Node, unknown: Option<u32>) -> Reached {
        let board = |id: &NodeId| self.places[usize::from(id.0)].board;
        let is_mailbox = |pair: &[NodeId]| board(&pair[0]) == board(&pair[1]);
        let mailboxes = node.order.windows(2).filter(|pair| is_mailbox(pair)).count();
        let serials = node.order.len().saturating_sub(1 + mailboxes);
        let before = node.order.windows(2).last().filter(|pair| is_mailbox(pair)).map(|pair| pair[0]);
        let tap = &self.taps[usize::from(node.id.0)];
        let stopped = |tap: &Tap| tap.halt.filter(|(halt, _)| *halt == node.last_halt.0).map(|(_, time)| time);
        // Both cores of a board count by the same counter.
        let from = before.and_then(|before| stopped(&self.taps[usize::from(before.0)]));
        Reached {
            node: usize::from(node.id.0),
            hops: Some((mailboxes, serials)),
            unknown,
            after: from.map(|from| tap.times.iter().filter(|time| **time > from).count() as u32),
            time: from.zip(stopped(tap)).and_then(|(from, to)| Some(self.rate.micros(to)? - self.rate.micros(from)?)),
        }
    }

    fn by_probe(&mut self, method: Method, first: usize) -> anyhow::Result<Halt> {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.rotate_left(first);
        let began = Instant::now();
        let mut stops: Vec<Option<Instant>> = vec![None; order.len()];
        let mut marks = Vec::new();
        for node in order {
            if stops[node].is_some() {
                continue;
            }
            let at = self.places[node];
            match method {
                Method::Group => self.boards.halt_group(at.board)?,
                _ => self.boards.halt_core(at)?,
            }
            let now = Instant::now();
            let stopped = |place: &NodeAddress| *place == at || method == Method::Group && place.board == at.board;
            for (stop, _) in stops.iter_mut().zip(&self.places).filter(|(_, place)| stopped(place)) {
                *stop = Some(now);
            }
            if marks.is_empty() {
                marks = self.marks()?;
            }
        }
        let took = began.elapsed();
        let events = self.read_logs(&marks)?;
        let violation = self.wiring.check(&mut self.boards, &self.taps)?.err().map(|violation| violation.to_string());
        self.boards.run()?;
        let after_first = |node: usize| Some((stops[node]? - stops[first]?).as_secs_f64() * 1e6);
        let reached = (0..).zip(events).filter(|(node, _)| *node != first).map(|(node, after)| Reached {
            node,
            hops: None,
            unknown: Some(self.taps[node].last.wrapping_sub(self.clocks[first][node])),
            after: Some(after),
            time: after_first(node),
        });
        let reached = reached.collect();
        Ok(Halt { method, took, violation, reached })
    }

    /// How far each log is written now: a word each, read without stopping anything.
    fn marks(&mut self) -> anyhow::Result<Vec<u32>> {
        let mut marks = Vec::new();
        for (tap, at) in self.taps.iter().zip(&self.places) {
            marks.push(tap.written(self.boards.system.boards()[at.board].memory())?);
        }
        Ok(marks)
    }

    fn read_logs(&mut self, marks: &[u32]) -> anyhow::Result<Vec<u32>> {
        let mut events = Vec::new();
        let Self { boards, taps, order, clocks, places, .. } = self;
        for (node, (tap, at)) in taps.iter_mut().zip(places).enumerate() {
            let mut sort = |item| {
                order
                    .push(node as u8, 0, item, &mut |event, clock| clocks[usize::from(event.id.node)] = clock.to_vec());
            };
            let mark = marks.get(node).copied();
            events.push(tap.read(boards.system.boards()[at.board].memory(), mark, &mut sort)?);
        }
        Ok(events)
    }
}
