//! The system: nodes, channels and the oracle beside them, and what the applications and the host can do.
use super::{Channel, HaltMode, Lane, Linked, Member, Message, PORTS, Reference, Sabotage, Setup, Violation, Wire};
use stillpoint_core::predicate::SlotSet;
use stillpoint_core::time::Ticks;
use stillpoint_core::{
    Channel as Name, Command, Effects, Event, EventKind, HaltId, Input, Node, NodeId, Phase, StepError, Then,
};

/// A simulated system of `N` nodes with log rings of `S` bytes.
///
/// Every method is one step of a schedule. `Ok(false)` means that the step was not possible and nothing happened.
///
/// # Example: a message in flight at a halt
/// ```
/// use stillpoint_tests::sim::{Setup, System};
/// let mut system = System::<2>::new(Setup::new(&[(0, 1), (1, 0)]));
/// system.start()?;
/// system.send(0, Some(b"ping"))?;
/// system.halt(0)?;
/// system.settle()?;
/// assert_eq!(system.check_halted()?.in_flight, 1);
/// # Ok::<(), stillpoint_tests::sim::Violation>(())
/// ```
#[derive(Debug)]
pub struct System<const N: usize, const S: usize = 8192> {
    /// What is simulated.
    pub setup: Setup,
    /// The nodes with their drivers.
    pub members: Vec<Member<N, S>>,
    /// The channels.
    pub channels: Vec<Channel<N>>,
    /// What is true.
    pub reference: Reference,
    /// Halts that somebody started.
    pub started: Vec<HaltId>,
    /// Halts that the host released.
    pub released: Vec<HaltId>,
    /// Those of them that were released before everybody had stopped in them.
    pub released_early: Vec<HaltId>,
    /// The halt that the debugger's command to each node names, while the command is on its way.
    pub commands: [Option<HaltId>; N],
    /// Predicates that fired, and where.
    pub fired: Vec<(usize, SlotSet)>,
    /// The linked predicate that is armed, if any.
    pub linked: Option<Linked>,
    /// What happened, if it is to be told.
    pub story: Option<Vec<String>>,
    /// Ticks since the start.
    pub now: u32,
}

/// Why a node may halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The host, a predicate or a crash: it starts a halt.
    Own,
    /// A marker.
    Marker,
}

/// Adds a line to the story, if there is one.
macro_rules! tell {
    ($system:expr, $($line:tt)*) => {
        if $system.story.is_some() {
            let line = format!($($line)*);
            $system.story.iter_mut().for_each(|story| story.push(line.clone()));
        }
    };
}
pub(super) use tell;

impl<const N: usize, const S: usize> System<N, S> {
    /// A system that has not started.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let members: Vec<Member<N, S>> = (0..N).map(|me| Member::new(&setup, me)).collect();
        let channels = setup.edges.iter().enumerate().map(|(edge, &(from, to))| {
            let (out, into) = (members[from].port(edge, Lane::Forward), members[to].port(edge, Lane::Reverse));
            let mut channel = Channel::new(Name { from: NodeId(from as u8), out, to: NodeId(to as u8), into });
            channel.wire =
                setup.serial.filter(|(serial, _)| *serial == edge).map(|(_, seed)| Box::new(Wire::new(seed)));
            channel
        });
        let (channels, reference) = (channels.collect(), Reference::new(N, &setup.edges));
        Self {
            setup,
            members,
            channels,
            reference,
            started: Vec::new(),
            released: Vec::new(),
            released_early: Vec::new(),
            commands: [None; N],
            fired: Vec::new(),
            linked: None,
            story: None,
            now: 0,
        }
    }

    /// All nodes start, with nothing retained.
    pub fn start(&mut self) -> Result<(), Violation> {
        for node in 0..N {
            self.start_node(node)?;
        }
        Ok(())
    }

    /// One tracepoint.
    pub fn local(&mut self, node: usize, tag: u16) -> Result<bool, Violation> {
        let event = Event::local(tag);
        let Some(effects) = self.application(node, Input::Event(event))? else { return Ok(false) };
        let lived = tag.to_le_bytes();
        self.members[node].app.live(&lived);
        self.reference.happen(node, event, Some(&lived));
        tell!(self, "{node}: tracepoint {tag}");
        self.apply(node, &effects, None, Cause::Own)?;
        self.check_linked(node, tag, !effects.fired.is_empty())?;
        Ok(true)
    }

    /// A watch changes.
    pub fn watch(&mut self, node: usize, watch: u8, value: i32) -> Result<bool, Violation> {
        let Some(effects) = self.application(node, Input::Watch { watch, value })? else { return Ok(false) };
        let lived = value.to_le_bytes();
        self.members[node].app.live(&lived);
        let event = Event::watch(watch, value);
        self.reference.happen(node, event, Some(&lived));
        tell!(self, "{node}: watch {watch} = {value}");
        self.apply(node, &effects, None, Cause::Own)?;
        Ok(true)
    }

    /// The application crashes.
    pub fn fault(&mut self, node: usize) -> Result<bool, Violation> {
        if !matches!(self.members[node].node.phase(), Phase::Running | Phase::Suspended) {
            return Ok(false);
        }
        let effects = self.step(node, Input::Fault { cause: 3 })?;
        self.reference.happen(node, Event { kind: EventKind::Fault, arg: 0, value: 3 }, None);
        tell!(self, "{node}: crash");
        self.apply(node, &effects, None, Cause::Own)?;
        Ok(true)
    }

    /// The sender of a channel sends: `payload`, or what its application has to say.
    pub fn send(&mut self, edge: usize, payload: Option<&[u8]>) -> Result<bool, Violation> {
        let name = self.channels[edge].name;
        let (from, to) = (usize::from(name.from.0), usize::from(name.to.0));
        if self.channels[edge].messages.len() >= self.setup.capacity {
            tell!(self, "{from}: no room towards {to}");
            return Ok(false);
        }
        let payload = payload.map_or_else(|| self.members[from].app.say(edge), <[u8]>::to_vec);
        let mut bytes = vec![0; Node::<N, PORTS>::STAMP_ROOM];
        let Some(effects) = self.application(from, Input::Send { port: name.out, stamp: &mut bytes })? else {
            self.sabotage_refused_send(edge, &payload);
            return Ok(false);
        };
        bytes.truncate(effects.stamp.into());
        let stamp = bytes.len();
        bytes.extend(&payload);
        let number = self.members[from].node.count(name.out).unwrap_or(0);
        let event = self.members[from].node.number().0;
        // To a peer that was reset and has not been heard of since, a message is lost.
        let arrives = self.channels[edge].knows_session(&self.members[from].sessions, name.out);
        self.members[from].app.live(&payload);
        self.reference.send(edge, Event::send(name.out), &payload, arrives);
        tell!(self, "{from}: send {} -> {to}{}", show(&payload), if arrives { "" } else { ", into the void" });
        self.channels[edge].lost += u32::from(!arrives);
        let session = self.channels[edge].session;
        let message = arrives.then_some((edge, Message { bytes, stamp, event, number, session }));
        self.apply(from, &effects, message, Cause::Own)?;
        Ok(true)
    }

    fn sabotage_refused_send(&mut self, edge: usize, payload: &[u8]) {
        if self.setup.sabotage != Some(Sabotage::SendAfterHalt) {
            return;
        }
        if let Some(last) = self.channels[edge].messages.back() {
            let mut message = Message { number: last.number + 1, ..last.clone() };
            message.bytes.truncate(message.stamp);
            message.bytes.extend(payload);
            self.channels[edge].put_message(message);
            tell!(self, "channel {edge}: a refused message goes out all the same");
        }
    }

    /// The receiver of a channel takes what is next in it: a message, or, in queue order, the marker behind the last.
    pub fn receive(&mut self, edge: usize) -> Result<bool, Violation> {
        let name = self.channels[edge].name;
        let (from, to) = (usize::from(name.from.0), usize::from(name.to.0));
        let count = self.members[to].node.count(name.into);
        if let Some(marker) = self.channels[edge].slot.filter(|marker| count == Some(marker.position)) {
            self.channels[edge].slot = None;
            self.hand_marker(edge, Lane::Forward, marker, true)?;
            return Ok(true);
        }
        let channel = &mut self.channels[edge];
        let second = usize::from(self.setup.sabotage == Some(Sabotage::OvertakeMessage) && channel.messages.len() > 1);
        let Some(message) = channel.messages.get(second).cloned() else { return Ok(false) };
        if !channel.has_message() || self.members[to].sessions[usize::from(name.into.0)] != Some(message.session) {
            return Ok(false);
        }
        let stamp = self.sabotage_stamp(&message);
        let Some(effects) = self.application(to, Input::Receive { port: name.into, stamp: &stamp })? else {
            return Ok(false);
        };
        self.channels[edge].take_message(second);
        let payload = &stamp[effects.stamp.into()..];
        self.members[to].app.live(payload);
        tell!(self, "{to}: got {} from {from}", show(payload));
        if self.reference.receive(edge, Event::receive(name.into)).as_deref() != Some(payload) {
            return Err(Violation::WrongMessage(edge));
        }
        self.apply(to, &effects, None, Cause::Own)?;
        Ok(true)
    }

    fn sabotage_stamp(&self, message: &Message) -> Vec<u8> {
        const CARRY: u8 = 1 << 5;
        let (stamp, payload) = message.bytes.split_at(message.stamp);
        // One slot is armed at most: a count and two bytes, behind the stamp.
        let carry = stamp[0] & CARRY;
        let (stamp, stages) = stamp.split_at(stamp.len() - if carry == 0 { 0 } else { 3 });
        match self.setup.sabotage {
            // An event stamp whose head says that the number follows.
            Some(Sabotage::StripStamp) => [&[0x1F | carry][..], &message.event.to_le_bytes(), stages, payload].concat(),
            Some(Sabotage::StripStages) => [&[stamp[0] & !CARRY][..], &stamp[1..], payload].concat(),
            _ => message.bytes.clone(),
        }
    }

    /// The host asks a node to halt everybody.
    pub fn halt(&mut self, node: usize) -> Result<bool, Violation> {
        tell!(self, "host: halt, at {node}");
        let effects = self.step(node, Input::Halt)?;
        self.apply(node, &effects, None, Cause::Own)?;
        Ok(effects.then == Then::Halt)
    }

    /// The debugger commands every node at once to take part in one halt: a new one, or the one that some are in.
    pub fn halt_everyone(&mut self) {
        let newest = |newest: HaltId, member: &Member<N, S>| {
            let last = member.node.last_halt();
            if last.is_newer_than(newest) { last } else { newest }
        };
        let last = self.members.iter().fold(HaltId(0), newest);
        let is_on = self.members.iter().any(|member| member.is_halted() && member.node.last_halt() == last);
        let halt = if is_on { last } else { last.next() };
        tell!(self, "host: halt {}, to everyone", halt.0);
        self.started.push(halt);
        self.commands = [Some(halt); N];
    }

    /// The debugger's command reaches a node, maybe long after it was given.
    pub fn take_command(&mut self, node: usize) -> Result<bool, Violation> {
        let Some(halt) = self.commands[node].take() else { return Ok(false) };
        self.now += 1;
        let member = &mut self.members[node];
        let effects = match member.node.step(Input::Command(Command::Halt(halt))) {
            Err(StepError::OldHalt(_)) if self.setup.sabotage == Some(Sabotage::ObeyOldCommand) => {
                self.step(node, Input::Halt)?
            }
            Err(StepError::OldHalt(known)) => {
                tell!(self, "{node}: refuses halt {}, knows of {}", halt.0, known.0);
                // Released, or left by a reset: the node remembers a newer one, in which it stopped.
                let is_left = known.is_newer_than(halt) && self.started.contains(&known);
                let is_over = is_left || self.released.iter().any(|over| !halt.is_newer_than(*over));
                return if is_over { Ok(true) } else { Err(Violation::Refused(node, StepError::OldHalt(known))) };
            }
            other => other.map_err(|error| Violation::Refused(node, error))?,
        };
        self.joins(node, halt, &effects)?;
        Ok(true)
    }

    /// The host releases a halt, at one node.
    pub fn release(&mut self, node: usize, halt: HaltId) -> Result<bool, Violation> {
        tell!(self, "host: release halt {}, at {node}", halt.0);
        self.released.push(halt);
        if self.halt_of_all() != Ok(halt) {
            self.released_early.push(halt);
        }
        let effects = self.step(node, Input::Command(Command::Release(halt)))?;
        self.apply(node, &effects, None, Cause::Own)?;
        Ok(effects.then == Then::Resume)
    }

    /// The host stops a node alone, or lets it go on.
    pub fn suspend(&mut self, node: usize, suspend: bool) -> Result<bool, Violation> {
        if !self.members[node].has_started() || self.members[node].has_crashed() {
            return Ok(false);
        }
        let command = if suspend { Command::Suspend } else { Command::Continue };
        tell!(self, "host: {}, at {node}", if suspend { "suspend" } else { "continue" });
        let effects = self.step(node, Input::Command(command))?;
        self.apply(node, &effects, None, Cause::Own)?;
        if suspend {
            self.hand_slots(node)?;
        }
        Ok(true)
    }

    /// The host sends a command that changes what is armed or recorded.
    pub fn command(&mut self, node: usize, command: Command<'_>) -> Result<(), Violation> {
        let effects = self.step(node, Input::Command(command))?;
        if matches!(command, Command::Record(_)) {
            self.members[node].log.writer.resynchronise(Ticks(self.now).widen());
        }
        self.apply(node, &effects, None, Cause::Own)
    }

    /// Draining takes too long for the driver of a node.
    pub fn drain_limit(&mut self, node: usize) -> Result<bool, Violation> {
        let effects = self.step(node, Input::DrainLimit)?;
        if effects.then == Then::Continue {
            return Ok(false);
        }
        tell!(self, "{node}: draining takes too long");
        self.apply(node, &effects, None, Cause::Own)?;
        Ok(true)
    }

    /// A probe reads the log of a node.
    pub fn read_log(&mut self, node: usize) -> Result<(), Violation> {
        self.members[node].log.drain(node).map_err(|what| Violation::Log(node, what))
    }

    /// Something the application does. `None` if the node is stopped, and refuses it as it must.
    fn application(&mut self, node: usize, input: Input<'_, N>) -> Result<Option<Effects>, Violation> {
        self.now += 1;
        let runs = self.members[node].runs();
        match self.members[node].node.step(input) {
            Err(StepError::NotRunning) if !runs => Ok(None),
            Err(error) => Err(Violation::Refused(node, error)),
            Ok(_) if !runs => Err(Violation::EventWhileStopped(node)),
            Ok(effects) => Ok(Some(effects)),
        }
    }

    pub(super) fn step(&mut self, node: usize, input: Input<'_, N>) -> Result<Effects, Violation> {
        self.now += 1;
        self.members[node].node.step(input).map_err(|error| Violation::Refused(node, error))
    }

    /// Whether forward markers wait for the application of `node`.
    pub(super) fn waits_for_application(&self, node: usize) -> bool {
        self.setup.mode == HaltMode::InQueueOrder && self.members[node].runs()
    }
}

/// Text as text, anything else as a short number.
pub(super) fn show(payload: &[u8]) -> String {
    match std::str::from_utf8(payload) {
        Ok(text) if text.chars().all(|c| c.is_ascii_graphic() || c == ' ') => format!("{text:?}"),
        _ => payload.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
