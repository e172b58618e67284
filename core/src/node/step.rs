//! The one verb.
use super::{Command, Effects, Hello, Input, Node, StepError, Then};
use crate::halt::Reaction;
use crate::log::NOT_STARTED;
use crate::predicate::{
    self, Carry, EvalContext, EventKey, InstallError, Load, Outcome, Program, Reached, SlotSet, Values,
};
use crate::stamp::{self, CARRY};
use crate::{Event, EventKind, EventNumber, HaltId, HaltMarker, Phase, PortId, PortSet};

impl<const N: usize, const P: usize> Node<N, P> {
    /// Tells the node what happened. On an error nothing has changed.
    // Inlined always: a caller names one kind of input, and only that arm is left of the match. What the arms call is one copy
    // each: whoever is in a hurry tries the quick ways first.
    #[inline(always)]
    pub fn step(&mut self, input: Input<'_, N>) -> Result<Effects, StepError> {
        match input {
            Input::Event(event) => self.local_event(event),
            Input::Send { port, stamp } => self.send(port, stamp),
            Input::Receive { port, stamp } => self.receive(port, stamp),
            Input::Watch { watch, value } => self.watch(watch, value),
            rare => self.serve(rare),
        }
    }

    /// [`step`](Self::step) for everything that is not the application's own doing, in one copy however many callers there
    /// are: where code is scarce, call this for what is rare. The application's own steps it refuses.
    #[inline(never)]
    pub fn serve(&mut self, input: Input<'_, N>) -> Result<Effects, StepError> {
        match input {
            Input::Event(_) | Input::Send { .. } | Input::Receive { .. } | Input::Watch { .. } => {
                Err(StepError::NotServed)
            }
            Input::Start { known } => self.start(known),
            Input::Fault { cause } => self.fault(cause),
            Input::Halt => {
                let reaction = self.initiate();
                Ok(self.react(reaction, None))
            }
            Input::Marker { port, marker } => self.marker(port, marker),
            Input::Delivered { ports, id } => Ok(self.delivered(ports, id)),
            Input::DrainLimit => Ok(self.drain_limit()),
            Input::Release { port, id } => self.release(port, id),
            Input::PredicateMarker { port, reached } => self.predicate_marker_arrived(port, reached),
            Input::Hello { port, hello, resumed } => self.greet(port, hello, resumed),
            Input::LinkDown { port } => self.link_down(port),
            Input::Command(command) => self.command(command),
        }
    }

    #[inline(always)]
    fn local_event(&mut self, event: Event) -> Result<Effects, StepError> {
        if !self.halting.is_running() {
            return Err(StepError::NotRunning);
        }
        if !LOCAL_KINDS.contains(event.kind) {
            return Err(StepError::NotALocalEvent(event.kind));
        }
        if !self.recording.observes(event.kind) {
            return Ok(Effects::NONE);
        }
        Ok(self.happen(event))
    }

    /// Counts an event, decides whether it is recorded, and evaluates what is armed.
    #[inline(never)]
    pub(super) fn happen(&mut self, event: Event) -> Effects {
        self.happen_with(event, SlotSet::EMPTY)
    }

    /// The same for an event that brought what satisfies these slots.
    #[inline(always)]
    fn happen_with(&mut self, event: Event, brought: SlotSet) -> Effects {
        let own = self.own_index();
        self.clock.entries[own] = EventNumber(self.clock.entries[own]).next().0;
        let log = self.recording.records(&event).then_some(event);
        let satisfied =
            if self.predicates.is_idle() { SlotSet::EMPTY } else { self.satisfied_by(event.kind, event.arg) };
        let satisfied = satisfied.union(brought);
        if satisfied.is_empty() { Effects { log, ..Effects::NONE } } else { self.advance(satisfied, log) }
    }

    /// The predicates that the event just counted moves on. Out of line, so that an event that nothing is armed for stays in
    /// registers.
    #[inline(never)]
    pub(super) fn satisfied_by(&mut self, kind: EventKind, arg: u16) -> SlotSet {
        let (me, clock) = (self.id, &self.clock);
        let context = move || {
            let number = clock.get(me);
            EvalContext { count: number.count(), epoch: number.epoch(), clock: clock.entries() }
        };
        self.predicates.satisfied_by(EventKey { kind, arg }, context)
    }

    /// What follows when an event moves predicates on.
    #[cold]
    #[inline(never)]
    pub(super) fn advance(&mut self, satisfied: SlotSet, log: Option<Event>) -> Effects {
        let satisfied = self.hold_back(satisfied);
        let outcome = self.predicates.advance(satisfied);
        self.note_carriers();
        let Outcome { advanced, announce, fired } = outcome;
        let mut effects = Effects { log, advanced, announce, fired, ..Effects::NONE };
        if !outcome.announce.is_empty() {
            effects.announce_to = self.up;
        }
        if !outcome.fired.is_empty() {
            let reaction = self.initiate();
            self.add_reaction(reaction, None, &mut effects);
        }
        effects
    }

    #[inline(never)]
    fn send(&mut self, port: PortId, stamp: &mut [u8]) -> Result<Effects, StepError> {
        if !self.halting.is_running() {
            return Err(StepError::NotRunning);
        }
        if !self.outgoing.contains(port) {
            return Err(self.wrong_end(port, StepError::NotOutgoing(port)));
        }
        if stamp.len() < Self::STAMP_ROOM {
            return Err(StepError::Stamp(crate::StampError::NoRoom));
        }
        let index = usize::from(port.0);
        if let Some(count) = self.counts.get_mut(index) {
            *count = count.wrapping_add(1);
        }
        let effects = self.happen(Event::send(port));
        self.write_stamp(port, stamp, effects)
    }

    /// Stamps a message whose event was counted and evaluated.
    #[inline(never)]
    pub(super) fn write_stamp(
        &mut self,
        port: PortId,
        stamp: &mut [u8],
        effects: Effects,
    ) -> Result<Effects, StepError> {
        let Some(end) = self.ports.get_mut(usize::from(port.0)) else { return Err(StepError::NoSuchPort(port)) };
        // There is room, and the node is in its own system: writing cannot fail.
        let mut length = end.said.write(self.stamps, self.id, &self.clock, stamp).unwrap_or(0);
        // After the event was evaluated: a stage that the send satisfied travels with the message.
        let values = self.values_for(port);
        let carry = if self.predicates.has_carry() { self.predicates.carry_on(port) } else { Carry::EMPTY };
        if !carry.is_empty() || values.is_some() {
            length += add_load(values.as_ref(), &carry, stamp, length);
        }
        Ok(Effects { stamp: length as u8, ..effects })
    }

    #[inline(never)]
    fn receive(&mut self, port: PortId, bytes: &[u8]) -> Result<Effects, StepError> {
        if !self.halting.is_running() {
            return Err(StepError::NotRunning);
        }
        if !self.incoming.contains(port) {
            return Err(self.wrong_end(port, StepError::NotIncoming(port)));
        }
        let carries = bytes.first().is_some_and(|first| first & CARRY != 0);
        let load = if carries { Some(read_load::<N>(bytes)?) } else { None };
        let mut length = self.take_stamp(port, bytes)?;
        let mut brought = SlotSet::EMPTY;
        if let Some(load) = load {
            // Before the event is evaluated: the receive itself can satisfy the next stage.
            if !self.predicates.merge(&load.carry).is_empty() {
                self.note_carriers();
            }
            if let Some(values) = load.values {
                brought = self.hear_values(&values);
            }
            length += load.length;
        }
        Ok(Effects { stamp: length as u8, ..self.happen_with(Event::receive(port), brought) })
    }

    /// Merges the stamp of a message and counts the message. Returns the stamp's length.
    #[inline(always)]
    pub(super) fn take_stamp(&mut self, port: PortId, bytes: &[u8]) -> Result<usize, StepError> {
        let index = usize::from(port.0);
        let (Some(count), Some(end)) = (self.counts.get_mut(index), self.ports.get_mut(index)) else {
            return Err(StepError::NoSuchPort(port));
        };
        let (length, raised) = end.said.read(self.id, &mut self.clock, bytes).map_err(StepError::Stamp)?;
        *count = count.wrapping_add(1);
        self.note_raised(raised);
        Ok(length)
    }

    /// Has the next message of every channel say which entries a received one raised.
    #[inline(always)]
    pub(super) fn note_raised(&mut self, raised: u32) {
        if stamp::compares(N) || raised == 0 {
            return;
        }
        for port in self.outgoing.iter() {
            if let Some(port) = self.ports.get_mut(usize::from(port.0)) {
                port.said.changed |= raised;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wrong_end(&self, port: PortId, error: StepError) -> StepError {
        if self.linked().contains(port) { error } else { StepError::NoSuchPort(port) }
    }

    fn watch(&mut self, watch: u8, value: i32) -> Result<Effects, StepError> {
        if !self.halting.is_running() {
            return Err(StepError::NotRunning);
        }
        self.predicates.set_watch(watch, value).map_err(StepError::Watch)?;
        Ok(self.happen(Event::watch(watch, value)))
    }

    #[cold]
    #[inline(never)]
    fn delivered(&mut self, ports: PortSet, id: HaltId) -> Effects {
        let reaction = self.halting.delivered(ports, id);
        self.react(reaction, None)
    }

    #[cold]
    #[inline(never)]
    fn drain_limit(&mut self) -> Effects {
        let reaction = self.halting.give_up(self.linked());
        self.react(reaction, None)
    }

    #[cold]
    #[inline(never)]
    fn release(&mut self, port: PortId, id: HaltId) -> Result<Effects, StepError> {
        self.check_port(port)?;
        let reaction = self.halting.release(id);
        Ok(self.react(reaction, Some(port)))
    }

    #[cold]
    #[inline(never)]
    fn predicate_marker_arrived(&mut self, port: PortId, reached: Reached) -> Result<Effects, StepError> {
        self.check_port(port)?;
        let mut effects = Effects::NONE;
        if self.predicates.on_marker(reached) {
            self.forget_values(reached.slot());
            effects.announce = effects.announce.with(reached.slot());
            effects.announce_to = self.up.without(port);
        }
        Ok(effects)
    }

    #[cold]
    #[inline(never)]
    fn start(&mut self, known: EventNumber) -> Result<Effects, StepError> {
        if self.halting.phase != Phase::Starting {
            return Err(StepError::AlreadyStarted);
        }
        let heard = self.number();
        let known = if known.is_newer_than(heard) { known } else { heard };
        if known != EventNumber(0) {
            self.clock.start_epoch_after(self.id, known);
        }
        self.halting.phase = Phase::Running;
        let number = self.number().0;
        self.ports.iter_mut().for_each(|port| port.opened = number);
        Ok(self.happen(Event::new(EventKind::Reset, self.number().epoch().into())))
    }

    #[cold]
    #[inline(never)]
    fn fault(&mut self, cause: u32) -> Result<Effects, StepError> {
        match self.halting.phase {
            Phase::Running | Phase::Suspended => {}
            Phase::Draining { .. } | Phase::Parked { .. } => {
                // Nothing happens on a halted node; but it will not run when the halt is over.
                self.halting.fault();
                return Ok(Effects::NONE);
            }
            Phase::Starting | Phase::Faulted => return Err(StepError::NotRunning),
        }
        let mut effects = self.happen(Event { kind: EventKind::Fault, arg: 0, value: cause });
        if effects.then != Then::Halt {
            let reaction = self.initiate();
            self.add_reaction(reaction, None, &mut effects);
        }
        self.halting.fault();
        Ok(effects)
    }

    /// The application crashed in the middle of a step, so the node may be half changed: it halts, and everybody with it.
    ///
    /// Against [`Input::Fault`] it evaluates nothing and trusts as little as it can: `messages` says how many messages of
    /// a port the driver's own ring saw in the present session, which is what is counted from now on.
    #[cold]
    pub fn crash(&mut self, cause: u32, messages: impl Fn(PortId) -> Option<u32>) -> Effects {
        for (index, count) in self.counts.iter_mut().enumerate() {
            *count = messages(PortId(index as u8)).unwrap_or(*count);
        }
        // The step may have told or heard a number of a message that is not counted, or counted one without its number.
        self.ports.iter_mut().for_each(|port| port.said.forget());
        let mut effects = Effects::NONE;
        if self.halting.is_halted() {
            // The markers may not all have left; a second one of the same halt is nothing new.
            (effects.markers, effects.halt) = (self.up, self.halting.last);
        } else {
            let own = self.own_index();
            self.clock.entries[own] = EventNumber(self.clock.entries[own]).next().0;
            effects.log = Some(Event { kind: EventKind::Fault, arg: 0, value: cause });
            self.halting.phase = Phase::Running;
            let reaction = self.initiate();
            self.add_reaction(reaction, None, &mut effects);
        }
        self.halting.fault();
        effects
    }

    #[inline(never)]
    fn marker(&mut self, port: PortId, marker: &HaltMarker<N>) -> Result<Effects, StepError> {
        self.check_port(port)?;
        let down = self.linked().difference(self.up);
        let reaction = self.halting.on_marker(self.id, port, marker, self.up, down);
        if let Some(end) = self.ports.get_mut(usize::from(port.0)).filter(|_| marker.id == self.halting.last) {
            end.marker = marker.position;
        }
        Ok(self.react(reaction, None))
    }

    #[cold]
    #[inline(never)]
    fn greet(&mut self, port: PortId, hello: Hello, resumed: bool) -> Result<Effects, StepError> {
        self.check_port(port)?;
        self.up = self.up.with(port);
        let mut over = SlotSet::EMPTY;
        let opened = if self.halting.phase.has_started() { self.number().0 } else { NOT_STARTED };
        if let (Some(end), Some(count)) =
            (self.ports.get_mut(usize::from(port.0)), self.counts.get_mut(usize::from(port.0)))
        {
            // A receiver keeps what it heard in a session that goes on: what was on its way when the link went down still
            // arrives, as differences from it.
            if !resumed || self.outgoing.contains(port) {
                end.said.forget();
            }
            if !resumed {
                (*count, end.opened) = (0, opened);
            }
        }
        self.hear_number(port, hello.number);
        if !resumed {
            // Its slot is announced to all ports, below to this one again if need be.
            over = self.end_plan(port);
        }
        let restarted = self.learn_own_number(hello.of_you);
        self.halting.hear_of(hello.last_halt);
        let mut effects = match restarted {
            Some(effects) => effects,
            None if self.halting.is_running() => self.happen(Event::new(EventKind::LinkUp, port.0.into())),
            None => Effects::NONE,
        };
        // What was announced while the link was down did not arrive.
        if !over.is_empty() && effects.announce.is_empty() {
            (effects.announce, effects.announce_to) = (over, self.up);
        }
        let missed = self.predicates.announced();
        if !missed.is_empty() && effects.announce.is_empty() {
            (effects.announce, effects.announce_to) = (missed, PortSet::EMPTY.with(port));
        }
        effects.halt = self.halting.last;
        if self.halting.is_halted() {
            // Even a peer that is in this halt may have restarted since, and joined it again by another's marker: it has
            // none of this channel then. To one that has, a second is nothing new.
            self.halting.reopen(port);
            effects.markers = effects.markers.with(port);
        } else if hello.halted && self.halting.has_left(hello.last_halt) {
            // The peer missed the release.
            effects.releases = effects.releases.with(port);
        }
        Ok(effects)
    }

    /// A peer says where it stands. Lives of it in which it sent nothing must not leave the window in which numbers compare.
    fn hear_number(&mut self, port: PortId, number: EventNumber) {
        let Some(peer) = self.ports.get(usize::from(port.0)).map(|port| port.said.peer) else { return };
        if self.clock.bring_forward(peer, number) {
            self.note_raised(1 << (peer.0 & 31));
        }
    }

    /// A peer knows more of this node than it does itself: it restarted, and moves above what is known.
    fn learn_own_number(&mut self, known: EventNumber) -> Option<Effects> {
        if !known.is_newer_than(self.number()) {
            return None;
        }
        if self.halting.is_running() {
            self.clock.start_epoch_after(self.id, known);
            return Some(self.happen(Event::new(EventKind::Reset, self.number().epoch().into())));
        }
        // Not running: only the number is taken, and the epoch begins above it when the node starts.
        if let Some(entry) = self.clock.entries.get_mut(usize::from(self.id.0)) {
            *entry = known.0;
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn link_down(&mut self, port: PortId) -> Result<Effects, StepError> {
        self.check_port(port)?;
        self.up = self.up.without(port);
        let reaction = self.halting.give_up(PortSet::EMPTY.with(port));
        let mut effects = Effects::NONE;
        if self.halting.is_running() && reaction == Reaction::Nothing {
            effects = self.happen(Event::new(EventKind::LinkDown, port.0.into()));
        }
        self.add_reaction(reaction, None, &mut effects);
        Ok(effects)
    }

    #[cold]
    #[inline(never)]
    fn command(&mut self, command: Command<'_>) -> Result<Effects, StepError> {
        let mut effects = Effects::NONE;
        match command {
            Command::Halt(id) => {
                let down = self.linked().difference(self.up);
                let reaction = self.halting.on_command(self.id, id, self.up, down).map_err(StepError::OldHalt)?;
                self.add_reaction(reaction, None, &mut effects);
            }
            Command::Release(id) => {
                let reaction = self.halting.release(id);
                self.add_reaction(reaction, None, &mut effects);
            }
            Command::Suspend | Command::Continue => {
                let before = self.halting.is_running();
                if !self.halting.suspend(command == Command::Suspend) {
                    return Err(StepError::NotRunning);
                }
                effects.then = match (before, self.halting.phase) {
                    (true, Phase::Suspended) => Then::Park,
                    (false, Phase::Running) => Then::Run,
                    _ => Then::Continue,
                };
                effects.halt = self.halting.last;
            }
            Command::Record(recording) => self.recording = recording,
            Command::Install { .. } if !predicate::BUILT_IN => {
                return Err(StepError::Install(InstallError::NotBuiltIn));
            }
            Command::Install { slot, generation, detector, program } => {
                let program = Program::verify(program).map_err(StepError::Program)?;
                self.predicates.install(slot, generation, detector, &program).map_err(StepError::Install)?;
                self.drop_other_plan(slot, generation);
                self.note_carriers();
            }
            Command::Enable { slot, generation, silent } => {
                self.predicates.enable(slot, generation).map_err(StepError::Enable)?;
                self.predicates.silence(slot, silent);
                self.note_carriers();
            }
            Command::Remove { slot } => {
                self.predicates.remove(slot);
                self.drop_plan(slot);
                self.note_carriers();
            }
            Command::Report => {}
            Command::Plan { slot, generation, plan } => self.take_plan(slot, generation, plan)?,
        }
        Ok(effects)
    }

    fn initiate(&mut self) -> Reaction {
        self.halting.initiate(self.id, self.up, self.linked().difference(self.up))
    }

    #[inline(never)]
    fn react(&self, reaction: Reaction, from: Option<PortId>) -> Effects {
        let mut effects = Effects::NONE;
        self.add_reaction(reaction, from, &mut effects);
        effects
    }

    fn add_reaction(&self, reaction: Reaction, from: Option<PortId>, effects: &mut Effects) {
        match reaction {
            Reaction::Nothing => return,
            Reaction::Halt => {
                effects.markers = self.up;
                effects.then = Then::Halt;
            }
            Reaction::Park => effects.then = Then::Park,
            Reaction::Leave => {
                effects.releases = from.map_or(self.up, |port| self.up.without(port));
                effects.then = Then::Resume;
            }
        }
        effects.halt = self.halting.last;
    }

    fn check_port(&self, port: PortId) -> Result<(), StepError> {
        if self.linked().contains(port) { Ok(()) } else { Err(StepError::NoSuchPort(port)) }
    }
}

/// The kinds that an application raises by itself.
pub(super) const LOCAL_KINDS: crate::KindSet = crate::KindSet(
    1 << EventKind::Local as u32
        | 1 << EventKind::Call as u32
        | 1 << EventKind::Return as u32
        | 1 << EventKind::Timer as u32
        | 1 << EventKind::Access as u32
        | 1 << EventKind::Enter as u32
        | 1 << EventKind::Leave as u32
        | crate::KindSet::ALL.0 & !crate::KindSet::ORDINARY.0,
);

#[cold]
fn add_load(values: Option<&Values>, carry: &Carry, stamp: &mut [u8], at: usize) -> usize {
    let added = stamp.get_mut(at..).map_or(0, |rest| Load::encode(values, carry, rest));
    if let Some(first) = stamp.first_mut().filter(|_| added > 0) {
        *first |= CARRY;
    }
    added
}

#[cold]
fn read_load<const N: usize>(bytes: &[u8]) -> Result<Load, StepError> {
    let length = stamp::stamp_len::<N>(bytes).map_err(StepError::Stamp)?;
    Load::decode(bytes.get(length..).unwrap_or_default()).map_err(StepError::Carry)
}
