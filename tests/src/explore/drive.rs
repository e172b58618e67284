//! The driver of the models: tells the shipped nodes what happens and does what they answer.
use super::config::{Sight, What};
use super::prepare::{SLOT, TAG};
use super::properties::*;
use super::sabotage::{self, Sabotage};
use super::search::Broken;
use super::serial;
use super::system::{Control, Core, HEAD, IN, Message, NODES, OUT, Place, Recorded, Session, Shape, System, TAIL};
use super::world::{Action, World};
use std::rc::Rc;
use stillpoint_core::link;
use stillpoint_core::{Command, Effects, Event, Input, NodeId, Phase, PortSet, StepError, Then};

impl World {
    /// Does one step.
    pub(super) fn drive(&self, system: &mut System, action: Action) -> Result<(), Broken> {
        match action {
            Action::Send(node) => self.send(system, node),
            Action::Receive(node) => self.receive(system, node),
            Action::Local(node) => {
                system.plan().locals[node] -= 1;
                let effects = self.step(system, node, Input::Event(Event::local(TAG)))?;
                self.after_event(system, node, What::Local, effects)
            }
            Action::Halt(node) => {
                system.plan().halts[node] -= 1;
                let effects = self.step(system, node, Input::Halt)?;
                let halt = system.places[node].truth.next_halt();
                self.obey(system, node, effects, Some(halt))
            }
            Action::Command => {
                let last = system.places.iter().map(|place| self.ordinal(place.node.last_halt())).max().unwrap_or(0);
                let plan = system.plan();
                plan.commands -= 1;
                plan.commanded = (last + 1, [true; NODES]);
                Ok(())
            }
            Action::Obey(node) => self.command(system, node),
            Action::Release(node) => {
                let id = system.places[node].node.last_halt();
                let released = self.ordinal(id);
                system.plan().releases -= u8::from(released > system.plan.released);
                system.plan().released = released;
                let effects = self.step(system, node, Input::Command(Command::Release(id)))?;
                self.obey(system, node, effects, None)
            }
            Action::Control(node, port) => self.control(system, node, port),
            Action::Acknowledge(node, port) => {
                let Some((wire, end)) = self.config.shape.wire(node, port) else { return Ok(()) };
                let Some(id) = system.wire(wire).lanes[1 - end].acknowledged.take() else { return Ok(()) };
                let ports = PortSet::EMPTY.with(port);
                let effects = self.step(system, node, Input::Delivered { ports, id })?;
                self.obey(system, node, effects, None)
            }
            Action::Transmit(wire, end) => self.on_line(system, wire, |line| line.transmit(end)),
            Action::Carry(wire, end) => {
                self.on_line(system, wire, |line| line.carry(end))?;
                self.after_frame(system, wire, 1 - end)
            }
            Action::CarryTwice(wire, end) => {
                self.see(Sight::Fault);
                system.plan().faults -= 1;
                self.on_line(system, wire, |line| line.carry_twice(end))?;
                self.after_frame(system, wire, 1 - end)
            }
            Action::DropFrame(wire, end) => {
                self.see(Sight::Fault);
                system.plan().faults -= 1;
                self.on_line(system, wire, |line| line.drop_frame(end))
            }
            Action::TimeOut(wire, end) => {
                self.see(Sight::TimeOut);
                self.on_line(system, wire, |line| line.time_out(end))
            }
            Action::Reset(node) => self.reset(system, node),
            Action::Notice(wire, end) => {
                let (node, port) = Shape::holder(wire, end);
                system.wire(wire).session = Session::Greeting;
                let effects = self.step(system, node, Input::LinkDown { port })?;
                self.obey(system, node, effects, None)?;
                self.say_hello(system, node, port);
                Ok(())
            }
            Action::Start(node) => {
                self.see(Sight::Restarted);
                let effects = self.step(system, node, Input::start())?;
                // Its epoch is known only now.
                system.places[node].node.linked().iter().for_each(|port| self.say_hello(system, node, port));
                self.obey(system, node, effects, None)
            }
        }
    }

    /// The debugger's command arrives: a newer halt is joined as by a marker, and one that is over is refused.
    fn command(&self, system: &mut System, node: usize) -> Result<(), Broken> {
        let (halt, pending) = &mut system.plan().commanded;
        pending[node] = false;
        let (halt, before) = (*halt, system.places[node].clone());
        let is_newer = halt > before.truth.last;
        let is_in_it = !is_newer && before.truth.recorded.is_some();
        if !is_newer && !is_in_it && !self.is_sabotaged(Sabotage::LateCommandBegins) {
            self.see(Sight::StaleCommand);
            let refused = system.place(node).node.step(Input::Command(Command::Halt(self.halt_id(halt))));
            if refused != Err(StepError::OldHalt(before.node.last_halt())) || system.places[node].node != before.node {
                let seen = format!("node {node} answers {refused:?} to a command of halt {halt}");
                return Err(Broken::new(STALE_IGNORED, seen));
            }
            return Ok(());
        }
        self.see(if is_newer { Sight::Commanded } else { Sight::CommandedAgain });
        let id = if is_newer || is_in_it { self.halt_id(halt) } else { before.node.last_halt().next() };
        let mut effects = self.step(system, node, Input::Command(Command::Halt(id)))?;
        if self.is_sabotaged(Sabotage::CommandWithoutMarkers) {
            effects.markers = PortSet::EMPTY;
        }
        self.obey(system, node, effects, is_newer.then_some(halt))
    }

    /// Tells a node something, and sees whether it may have had an event.
    pub(super) fn step(&self, system: &mut System, node: usize, input: Input<'_, NODES>) -> Result<Effects, Broken> {
        let is_start = matches!(input, Input::Start { .. });
        let before = (system.places[node].node.number(), system.places[node].node.phase());
        let place = system.place(node);
        let effects =
            place.node.step(input).map_err(|error| Broken::new(ACCEPTED, format!("node {node} refuses: {error}")))?;
        let number = place.node.number();
        if number != before.0 && (before.1 == Phase::Running || is_start) {
            place.truth.history[node] |= 1 << place.truth.events(node);
            let known = |place: &Rc<Place>| place.node.clock().get(NodeId(node as u8));
            let mut others = (0..NODES).filter(|&other| other != node).map(|other| known(&system.places[other]));
            if others.any(|known| !number.is_newer_than(known)) {
                return Err(Broken::new(NEW_EPOCH, format!("node {node} has event {:#x} again", number.0)));
            }
        } else if number != before.0 && self.config.reset.is_none() {
            return Err(Broken::new(NO_EVENT, format!("node {node} had an event as {:?}", before.1)));
        }
        self.check_clock(system, node)?;
        Ok(effects)
    }

    fn send(&self, system: &mut System, node: usize) -> Result<(), Broken> {
        let Some((wire, _)) = self.config.shape.wire(node, OUT) else { return Ok(()) };
        system.plan().messages[wire] -= 1;
        let mut stamp = [0; Core::STAMP_ROOM];
        let effects = if system.places[node].node.phase() == Phase::Running {
            self.step(system, node, Input::Send { port: OUT, stamp: &mut stamp })?
        } else {
            // Only a sabotaged driver comes here: it takes the refusal for a consent.
            let full = sabotage::full_stamp(&[0; NODES]);
            stamp[..full.len()].copy_from_slice(&full);
            Effects { stamp: full.len() as u8, ..Effects::NONE }
        };
        let truth = &mut system.place(node).truth;
        truth.sent += 1;
        let stamp = stamp[..effects.stamp.into()].to_vec();
        let mut message = Message { number: truth.sent, stamp, history: truth.history };
        if let Some(sabotage) = self.config.sabotage {
            sabotage.on_message(&system.places[node], &mut message);
        }
        if let Some(line) = &mut system.wire(wire).serial {
            let bytes: Vec<u8> = [message.number].into_iter().chain(message.stamp.iter().copied()).collect();
            let sent = line.ends[HEAD].send(link::Lane::Data, &bytes);
            sent.map_err(|error| Broken::new(ACCEPTED, error.to_string()))?;
        }
        if self.is_sabotaged(Sabotage::DuplicatedMessage) {
            system.wire(wire).data.push(message.clone());
        }
        system.wire(wire).data.push(message);
        self.after_event(system, node, What::Send, effects)
    }

    fn receive(&self, system: &mut System, node: usize) -> Result<(), Broken> {
        let Some((wire, _)) = self.config.shape.wire(node, IN) else { return Ok(()) };
        let waiting = system.wires[wire].data.len();
        let next = self.config.sabotage.map_or(0, |sabotage| sabotage.next_message(waiting));
        let message = system.wire(wire).data.remove(next);
        let mut found = (message.number, message.stamp.clone());
        if let Some(line) = &mut system.wire(wire).serial {
            let bytes = line.ends[TAIL].front(link::Lane::Data).map(|item| item.bytes.to_vec()).unwrap_or_default();
            line.ends[TAIL].take(link::Lane::Data);
            found = (bytes[0], bytes[1..].to_vec());
        }
        let truth = &mut system.place(node).truth;
        truth.received += 1;
        if found.0 != truth.received || message.number != truth.received {
            let seen = format!("node {node} receives message {}, and message {} is next", found.0, truth.received);
            return Err(Broken::new(ONCE_IN_ORDER, seen));
        }
        for (mine, theirs) in truth.history.iter_mut().zip(message.history) {
            *mine |= theirs;
        }
        let effects = self.step(system, node, Input::Receive { port: IN, stamp: &found.1 })?;
        self.after_event(system, node, What::Receive, effects)
    }

    /// What follows an event of the application: predicates, and the halt that one of them starts.
    fn after_event(&self, system: &mut System, node: usize, what: What, effects: Effects) -> Result<(), Broken> {
        let fires = self.judge(system, node, what, &effects)?;
        let halt = system.places[node].truth.next_halt();
        self.obey(system, node, effects, fires.then_some(halt))
    }

    /// Does what a node answered, in the order of the fields. `joins` is the halt it should now be in, if it is a new one.
    pub(super) fn obey(
        &self,
        system: &mut System,
        node: usize,
        effects: Effects,
        joins: Option<u8>,
    ) -> Result<(), Broken> {
        let released = system.plan.released;
        let truth = &mut system.place(node).truth;
        if let Some(halt) = joins {
            let (history, sent, received) = (truth.history, truth.sent, truth.received);
            if halt > 1 {
                self.see(Sight::SecondHalt);
            }
            truth.last = halt;
            truth.recorded = Some(Recorded { history, sent, received });
        }
        let halts = effects.then == Then::Halt;
        if halts != joins.is_some() || halts && self.ordinal(effects.halt) != truth.last {
            let seen = format!("node {node} answers {:?} of halt {}", effects.then, self.ordinal(effects.halt));
            return Err(Broken::new(HALT_HAS_CAUSE, seen));
        }
        let mut stopped = halts.then_some(true);
        if effects.then == Then::Resume {
            if truth.recorded.is_none() || truth.last > released {
                return Err(Broken::new(RELEASE_HAS_CAUSE, format!("node {node} leaves halt {}", truth.last)));
            }
            truth.recorded = None;
            stopped = Some(false);
        }
        for port in system.places[node].node.linked().iter() {
            if let (Some(stopped), Some((wire, end))) = (stopped, self.config.shape.wire(node, port))
                && system.wires[wire].serial.is_some()
            {
                self.on_line(system, wire, |line| line.ends[end].set_stopped(stopped))?;
            }
        }
        let reached = system.places[node].node.predicate_marker(SLOT).filter(|_| effects.announce.contains(SLOT));
        let stage = self.known_stage(system, node);
        for (port, reached) in effects.announce_to.iter().zip(std::iter::repeat(reached)) {
            if let Some(reached) = reached {
                self.hand_over(system, node, port, Control::Predicate(reached, stage))?;
            }
        }
        for port in effects.markers.iter() {
            let marker = system.places[node].node.halt_marker(port);
            let marker = marker.ok_or_else(|| Broken::new(HALT_HAS_CAUSE, "markers asked of a node that runs"))?;
            self.hand_over(system, node, port, Control::Marker(marker))?;
        }
        for port in effects.releases.iter() {
            self.hand_over(system, node, port, Control::Release(effects.halt))?;
        }
        if halts && self.is_sabotaged(Sabotage::DrainSkipped) {
            let effects = self.step(system, node, Input::DrainLimit)?;
            return self.obey(system, node, effects, None);
        }
        Ok(())
    }

    fn on_line(
        &self,
        system: &mut System,
        wire: usize,
        change: impl FnOnce(&mut serial::Serial),
    ) -> Result<(), Broken> {
        if let Some(line) = &mut system.wire(wire).serial {
            change(line);
        }
        Ok(())
    }

    /// The link of an end heard a frame: when everything on its control lane is acknowledged, so is the marker.
    fn after_frame(&self, system: &mut System, wire: usize, end: usize) -> Result<(), Broken> {
        let (node, port) = Shape::holder(wire, end);
        let drained = system.wires[wire]
            .serial
            .as_ref()
            .is_some_and(|line| line.ends[end].unacknowledged(link::Lane::Control) == 0);
        let waits = matches!(system.places[node].node.phase(), Phase::Draining { open, .. } if open.contains(port));
        if !(drained && waits) {
            return Ok(());
        }
        let (ports, id) = (PortSet::EMPTY.with(port), system.places[node].node.last_halt());
        let effects = self.step(system, node, Input::Delivered { ports, id })?;
        self.obey(system, node, effects, None)
    }
}
