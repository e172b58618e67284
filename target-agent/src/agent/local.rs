//! What the agent of one core knows, reached by that core alone.
use super::Gated;
use super::record::LogClock;
use super::shared::Races;
use crate::channel::Head;
use crate::lane::{Lane, Taken};
use crate::platform::{Bell, CoreId, Platform};
use crate::retained::Memory;
use crate::sabotage::{self, Sabotage};
use crate::serial::Wired;
use crate::sync::{Mutant, mutated};
use stillpoint_core::control::SlotBlock;
use stillpoint_core::log::{LogRing, LogWriter, TextPlacer};
use stillpoint_core::predicate::{SLOTS, SlotId, SlotSet};
use stillpoint_core::time::Counts;
use stillpoint_core::{Command, Effects, Event, EventKind, HaltId, Input, Node, Phase, PortId, PortSet, Then};

pub(super) struct Local<const N: usize, const PORTS: usize> {
    pub node: Node<N, PORTS>,
    pub writer: LogWriter<N>,
    pub clock: LogClock,
    /// What the text log was told of the node's clock.
    pub placer: TextPlacer<N>,
    pub wires: [Wire; PORTS],
    pub owed: [Owed; PORTS],
    /// The ring at this node's end of each port.
    pub heads: [Option<&'static Head>; PORTS],
    /// What that ring had counted when the present session of the port's link began.
    pub base: [u32; PORTS],
    /// Messages of each port that a reset of a peer took with it.
    pub lost: [u32; PORTS],
    /// What the memory that survives a reset holds.
    pub memory: Memory,
    /// Whether the control block says what the node records. Only a command changes that.
    pub is_recording_told: bool,
    pub ports: u8,
    pub watches: u8,
    /// Steps that the node refused.
    pub refused: u32,
    /// The last command of the host that was answered.
    pub answered: u32,
    /// The gate of this core's calls, if the firmware makes any.
    pub gate: Option<&'static dyn Gated>,
    /// Where the host reads which event satisfied which stage.
    pub slots: &'static [SlotBlock; SLOTS],
    /// The races it found.
    pub races: Races,
    /// When it stopped in its last halt.
    pub stopped: Counts,
    /// The urgent bell rang while a link was pumped.
    pub deferred: bool,
    /// Events raised while the node was halted, by handlers that had interrupted a pump. They happen when it runs again.
    pub late: heapless::Deque<Event, LATE>,
}

/// How many events a core keeps that are raised while its node is halted.
const LATE: usize = 4;

/// How control messages leave a port and come in.
#[derive(Clone, Copy)]
pub(super) enum Wire {
    /// The port is not in use.
    None,
    /// Two lanes in memory, and the core at the other end.
    Lanes { to: &'static Lane, from: &'static Lane, core: CoreId, taken: Taken },
    /// A serial link.
    Link(&'static dyn Wired),
}

/// What a port's serial link has not taken over yet: one place for each kind, as in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    pub marker: bool,
    pub release: Option<HaltId>,
    pub predicates: SlotSet,
    /// A marker was taken over and is not known to have arrived.
    pub on_its_way: bool,
}

impl Owed {
    const NOTHING: Self = Self { marker: false, release: None, predicates: SlotSet::EMPTY, on_its_way: false };
}

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    #[inline]
    pub fn new(node: Node<N, PORTS>, slots: &'static [SlotBlock; SLOTS]) -> Self {
        Self {
            node,
            writer: LogWriter::new(),
            clock: LogClock::NEW,
            placer: TextPlacer::new(),
            wires: [Wire::None; PORTS],
            owed: [Owed::NOTHING; PORTS],
            heads: [None; PORTS],
            base: [0; PORTS],
            lost: [0; PORTS],
            memory: Memory::NOTHING,
            is_recording_told: false,
            ports: 0,
            watches: 0,
            refused: 0,
            answered: 0,
            gate: None,
            slots,
            races: Races::NONE,
            stopped: Counts(0),
            deferred: false,
            late: heapless::Deque::new(),
        }
    }

    pub fn begin<P: Platform>(&mut self) {
        self.memory = P::retained().read().unwrap_or(Memory::NOTHING).after_boot();
        self.node.remember_halt(self.memory.last_halt);
        // What the host chose counts until it chooses anew: a reset may come when nobody looks.
        let _taken = self.node.serve(Input::Command(Command::Record(self.memory.recording)));
        P::retained().write(self.memory);
    }

    /// Starts the node, above all that is remembered of it.
    pub fn start<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>) -> Option<Then> {
        self.resynchronise::<P>();
        let then = self.step::<P, LOG>(ring, Input::Start { known: self.memory.known() });
        self.retain::<P>();
        then
    }

    /// Keeps the memory that survives a reset true. Not at every event: epoch and halt seldom change.
    pub fn retain<P: Platform>(&mut self) {
        // Before it starts, a node is in no epoch; but it may halt.
        let epoch = if self.node.phase().has_started() { self.node.number().epoch() } else { self.memory.epoch };
        let last_halt = self.node.last_halt();
        if epoch != self.memory.epoch || last_halt != self.memory.last_halt || !self.is_recording_told {
            let recording = self.node.recording();
            self.memory = Memory { epoch, last_halt, recording, ..self.memory };
            P::retained().write(self.memory);
        }
    }

    /// How many messages of a port the ring at this end saw in the present session.
    pub fn count_in_ring(&self, port: usize) -> Option<u32> {
        let (head, base) = (self.heads.get(port).copied().flatten()?, self.base.get(port)?);
        Some(head.count(self.node.is_outgoing(PortId(port as u8))).wrapping_sub(*base))
    }

    /// One step of the node and what it asks for. Returns what the core does then; `None` if the step was refused.
    ///
    /// One copy for everything rare; what the application does at every step has a function of its own.
    #[inline(never)]
    pub fn step<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, input: Input<'_, N>) -> Option<Then> {
        let Ok(effects) = self.node.serve(input) else { return self.refuse() };
        self.settle_all::<P, LOG>(ring, effects)
    }

    /// What is rare: predicate markers, halt markers, releases, the record of a halt.
    #[cold]
    pub fn settle<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, effects: &Effects) {
        self.note_advanced(effects.advanced);
        let record = effects.halt_record().filter(|event| self.node.recording().records(event));
        // The time before its markers leave: no halt in the log is older than the one that caused it.
        let (stop, rest) = if effects.then == Then::Halt { (record, None) } else { (None, record) };
        if effects.then == Then::Halt {
            self.stopped = P::long_counter();
        }
        let stop = stop.map(|event| (event, self.clock.ticks(self.stopped.low())));
        for slot in effects.announce.iter() {
            self.announce::<P>(slot, effects.announce_to);
        }
        // As soon as can be: until its bell rings, the other core runs on.
        self.send_markers::<P>(effects.markers);
        if let Some((event, ticks)) = stop {
            self.push(ring, event, ticks);
        }
        self.retain::<P>();
        for port in effects.releases.iter() {
            let index = usize::from(port.0);
            match (self.wires.get(index), self.owed.get_mut(index)) {
                (Some(Wire::Lanes { to, core, .. }), _) => {
                    to.post_release(effects.halt);
                    P::ring(*core, Bell::Urgent);
                }
                (Some(Wire::Link(link)), Some(owed)) => {
                    owed.release = Some(effects.halt);
                    link.wake();
                }
                _ => {}
            }
        }
        if effects.then == Then::Resume {
            // The counter may have wrapped while the core was parked.
            self.resynchronise::<P>();
        }
        if let Some(event) = rest {
            self.record::<P, LOG>(ring, event);
        }
    }

    fn announce<P: Platform>(&mut self, slot: SlotId, to: PortSet) {
        let Some(reached) = self.node.predicate_marker(slot) else { return };
        for port in to.iter() {
            let index = usize::from(port.0);
            match (self.wires.get(index), self.owed.get_mut(index)) {
                (Some(Wire::Lanes { to, core, .. }), _) => {
                    to.post_predicate(reached);
                    P::ring(*core, Bell::Urgent);
                }
                (Some(Wire::Link(link)), Some(owed)) => {
                    owed.predicates = owed.predicates.with(slot);
                    link.wake();
                }
                _ => {}
            }
        }
    }

    fn send_markers<P: Platform>(&mut self, ports: PortSet) {
        let mut delivered = PortSet::EMPTY;
        for port in ports.iter() {
            let index = usize::from(port.0);
            let Some(marker) = self.node.halt_marker(port) else { continue };
            if sabotage::always(Sabotage::MissingMarker, P::core(), port) {
                delivered = delivered.with(port);
                continue;
            }
            match (self.wires.get(index), self.owed.get_mut(index)) {
                (Some(Wire::Lanes { to, core, .. }), _) => {
                    to.post_marker(&marker);
                    P::ring(*core, Bell::Urgent);
                    // It lies in the peer's own memory: nothing can keep it any more.
                    delivered = delivered.with(port);
                }
                (Some(Wire::Link(link)), Some(owed)) => {
                    *owed = Owed { marker: true, release: None, ..*owed };
                    link.wake();
                }
                _ => {}
            }
            sabotage::send_after_stop(P::core(), port);
        }
        if !delivered.is_empty() {
            let id = self.node.last_halt();
            let _parked = self.node.step(Input::Delivered { ports: delivered, id });
        }
    }

    /// Whether no halt keeps the node from running.
    pub fn runs(&self) -> bool {
        matches!(self.node.phase(), Phase::Running | Phase::Starting | Phase::Faulted)
    }

    /// Keeps an event that the node refused because it is halted. Counts it as refused if it cannot.
    #[cold]
    pub fn keep_late(&mut self, event: Event) -> Option<Then> {
        let is_halted = matches!(self.node.phase(), Phase::Draining { .. } | Phase::Parked { .. } | Phase::Suspended);
        if is_halted && !mutated(Mutant::HaltInsidePump) && self.late.push_back(event).is_ok() {
            return Some(Then::Continue);
        }
        self.refuse()
    }

    /// Lets the events happen that were raised while the node was halted, until one of them halts it.
    #[cold]
    pub fn replay_late<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>) -> Then {
        while let Some(event) = self.late.pop_front() {
            let then = match event.kind {
                EventKind::Watch => self.watch::<P, LOG>(ring, event.arg as u8, event.value as i32),
                // Not the quick way, which has one caller and is part of it.
                _ => self.event_slowly::<P, LOG>(ring, event),
            };
            if let Some(then) = then.filter(|then| *then != Then::Continue) {
                return then;
            }
        }
        Then::Continue
    }

    /// The next port that nothing uses.
    pub fn next_port(&self) -> Option<PortId> {
        (usize::from(self.ports) < PORTS).then_some(PortId(self.ports))
    }
}
