//! What a driver does: the effects of a step in the order of their fields, and what arrives on the control lanes.
use super::system::{Cause, tell};
use super::{Control, Lane, Message, Sabotage, System, Violation};
use stillpoint_core::{Effects, Event, EventKind, HaltId, HaltMarker, Input, Phase, PortId, PortSet, StampKind, Then};

impl<const N: usize, const S: usize> System<N, S> {
    /// Does what the effects say.
    pub(super) fn apply(
        &mut self,
        node: usize,
        effects: &Effects,
        message: Option<(usize, Message)>,
        cause: Cause,
    ) -> Result<(), Violation> {
        let now = self.now;
        if let Some(event) = &effects.log {
            self.members[node].write(event, now);
        }
        if let Some((edge, message)) = message {
            self.channels[edge].put_message(message);
        }
        self.check_clock(node)?;
        if !effects.fired.is_empty() {
            tell!(self, "{node}: predicate fired");
            self.fired.push((node, effects.fired));
        }
        for slot in effects.announce.iter() {
            let reached = self.members[node].node.predicate_marker(slot);
            for port in effects.announce_to.iter() {
                reached.inspect(|reached| self.put(node, port, Control::Predicate(*reached)));
            }
        }
        for port in effects.markers.iter() {
            if let Some(marker) = self.members[node].node.halt_marker(port) {
                self.put_marker(node, port, marker, effects.then != Then::Halt);
            }
        }
        for port in effects.releases.iter() {
            self.put(node, port, Control::Release(effects.halt));
        }
        if let Some(event) = effects.halt_record() {
            self.members[node].write(&event, now);
        }
        let halt = effects.halt;
        match effects.then {
            Then::Continue => {
                if !effects.markers.is_empty() {
                    tell!(self, "{node}: says again marker #{}{}", halt.0, self.lanes(node, effects.markers));
                }
            }
            Then::Halt => {
                tell!(self, "{node}: stop, marker #{}{}", halt.0, self.lanes(node, effects.markers));
                self.has_halted(node, halt, cause)?;
            }
            Then::Park => tell!(self, "{node}: parked"),
            Then::Run => tell!(self, "{node}: runs on"),
            Then::Resume => {
                let release = if effects.releases.is_empty() { "" } else { ", release" };
                tell!(self, "{node}: resume from #{}{release}{}", halt.0, self.lanes(node, effects.releases));
                if !self.released.contains(&halt) {
                    return Err(Violation::NobodyReleased(node, halt));
                }
                self.sabotage_resumed(node);
            }
        }
        Ok(())
    }

    /// On which channels, and lanes, ports send.
    fn lanes(&self, node: usize, ports: PortSet) -> String {
        let names = ports.iter().map(|port| {
            let (edge, lane) = self.members[node].ends[usize::from(port.0)];
            self.channels[edge].label(lane)
        });
        let names: Vec<_> = names.collect();
        if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) }
    }

    fn has_halted(&mut self, node: usize, halt: HaltId, cause: Cause) -> Result<(), Violation> {
        if cause == Cause::Own {
            self.started.push(halt);
        } else if !self.started.contains(&halt) {
            return Err(Violation::NobodyStarted(node, halt));
        }
        self.reference.record(node, halt.0);
        if self.setup.sabotage == Some(Sabotage::KeepRunning) {
            self.members[node].app.live(b"one more");
        }
        self.hand_slots(node)
    }

    /// A driver whose application is stopped polls its links: what waited for the application waits no longer.
    pub(super) fn hand_slots(&mut self, node: usize) -> Result<(), Violation> {
        for edge in 0..self.channels.len() {
            if usize::from(self.channels[edge].name.to.0) == node {
                self.hand_slot(edge)?;
            }
        }
        Ok(())
    }

    fn sabotage_resumed(&mut self, node: usize) {
        if self.setup.sabotage == Some(Sabotage::LoseOnResume) {
            for channel in self.channels.iter_mut().filter(|channel| usize::from(channel.name.to.0) == node) {
                channel.messages.pop_back();
            }
        }
    }

    fn put(&mut self, node: usize, port: PortId, control: Control<N>) {
        let (edge, lane) = self.members[node].ends[usize::from(port.0)];
        if lane == Lane::Reverse && !self.setup.reverse_lanes {
            return;
        }
        self.channels[edge].put_control(lane, control);
    }

    fn put_marker(&mut self, node: usize, port: PortId, mut marker: HaltMarker<N>, again: bool) {
        let (edge, lane) = self.members[node].ends[usize::from(port.0)];
        let sabotage = self.setup.sabotage;
        let dropped = sabotage == Some(Sabotage::DropMarker) && edge == 0;
        if dropped || lane == Lane::Reverse && !self.setup.reverse_lanes {
            // Nobody is there to acknowledge it, and nobody waits.
            self.channels[edge].put_control(lane.back(), Control::Arrived(marker.id));
            return;
        }
        if sabotage == Some(Sabotage::MarkerTooFar) {
            marker.position += 1;
        }
        self.put(node, port, Control::Marker { marker, again });
    }

    /// Who receives what is sent on a lane, and where.
    fn receiving_end(&self, edge: usize, lane: Lane) -> (usize, PortId) {
        let name = self.channels[edge].name;
        let (node, port) = if lane == Lane::Forward { (name.to, name.into) } else { (name.from, name.out) };
        (node.0.into(), port)
    }

    /// Delivers what is next on a control lane.
    pub fn deliver(&mut self, edge: usize, lane: Lane) -> Result<bool, Violation> {
        let Some(control) = self.channels[edge].take_control(lane) else { return Ok(false) };
        let (node, port) = self.receiving_end(edge, lane);
        match control {
            Control::Marker { marker, again } => self.marker_arrives(edge, lane, marker, again)?,
            Control::Arrived(id) => {
                let effects = self.step(node, Input::Delivered { ports: PortSet::EMPTY.with(port), id })?;
                self.apply(node, &effects, None, Cause::Own)?;
            }
            Control::Release(id) => {
                self.hand_slot_of(edge, lane)?;
                let obeyed = if self.setup.sabotage == Some(Sabotage::ObeyStaleRelease) {
                    self.members[node].node.last_halt()
                } else {
                    id
                };
                let effects = self.step(node, Input::Release { port, id: obeyed })?;
                if effects.then != Then::Resume {
                    let label = self.channels[edge].label(lane);
                    let waits = matches!(self.members[node].node.phase(), Phase::Draining { released: true, .. });
                    let what = if waits { "waits for the draining" } else { "changes nothing" };
                    tell!(self, "{node}: release #{} from {label} {what}", id.0);
                }
                self.apply(node, &effects, None, Cause::Own)?;
            }
            Control::Predicate(reached) => {
                let effects = self.step(node, Input::PredicateMarker { port, reached })?;
                tell!(self, "{node}: hears of stage {}", reached.stage());
                self.hear_stage(node, reached.stage());
                self.apply(node, &effects, None, Cause::Own)?;
            }
            Control::Hello(hello) => {
                self.hand_slot_of(edge, lane)?;
                self.greet(node, port, hello)?;
            }
        }
        Ok(true)
    }

    fn marker_arrives(
        &mut self,
        edge: usize,
        lane: Lane,
        mut marker: HaltMarker<N>,
        again: bool,
    ) -> Result<(), Violation> {
        let (node, port) = self.receiving_end(edge, lane);
        self.channels[edge].put_control(lane.back(), Control::Arrived(marker.id));
        let last = self.members[node].node.last_halt();
        if self.setup.sabotage == Some(Sabotage::RelabelStaleMarker) && !marker.id.is_newer_than(last) {
            marker.id = last.next();
        }
        if lane == Lane::Forward {
            self.channels[edge].note_marker(&marker, again);
        }
        // A sender that was reset has nothing ahead of its marker that its peer counted before.
        let ahead = self.channels[edge].knows_session(&self.members[node].sessions, port)
            && self.members[node].node.count(port) != Some(marker.position);
        if lane == Lane::Forward && ahead && self.waits_for_application(node) {
            tell!(self, "{node}: marker #{} waits behind message {}", marker.id.0, marker.position);
            self.channels[edge].slot = Some(marker);
            return Ok(());
        }
        self.hand_marker(edge, lane, marker, !ahead)
    }

    /// Hands in a marker that waits, before something that came after it on the same lane.
    fn hand_slot_of(&mut self, edge: usize, lane: Lane) -> Result<(), Violation> {
        if lane == Lane::Forward { self.hand_slot(edge) } else { Ok(()) }
    }

    fn hand_slot(&mut self, edge: usize) -> Result<(), Violation> {
        match self.channels[edge].slot.take() {
            Some(marker) => self.hand_marker(edge, Lane::Forward, marker, false),
            None => Ok(()),
        }
    }

    /// Tells the node of a marker. `reached`: the application has taken all messages ahead of it.
    pub(super) fn hand_marker(
        &mut self,
        edge: usize,
        lane: Lane,
        marker: HaltMarker<N>,
        reached: bool,
    ) -> Result<(), Violation> {
        let (node, port) = self.receiving_end(edge, lane);
        let in_order = lane == Lane::Forward && reached && self.waits_for_application(node);
        let effects = self.step(node, Input::Marker { port, marker: &marker })?;
        let is_first = effects.then == Then::Halt;
        if in_order && is_first && !self.reference.take_marker(edge, marker.id.0) {
            return Err(Violation::MarkerOutOfPlace(edge));
        }
        if !is_first {
            let label = self.channels[edge].label(lane);
            tell!(self, "{node}: marker #{} from {label} changes nothing", marker.id.0);
        }
        self.joins(node, marker.id, &effects)
    }

    /// A marker, or the debugger, told a node of a halt.
    pub(super) fn joins(&mut self, node: usize, halt: HaltId, effects: &Effects) -> Result<(), Violation> {
        if effects.then == Then::Halt && effects.halt != halt {
            // Older than a halt that the node heard of: it goes on under a newer id, unless everybody has left it.
            let is_over = self.released.contains(&halt) && !self.released_early.contains(&halt);
            if is_over || !self.started.contains(&halt) {
                return Err(Violation::NobodyStarted(node, effects.halt));
            }
            return self.apply(node, effects, None, Cause::Own);
        }
        self.apply(node, effects, None, Cause::Marker)
    }

    /// The node's clock must be the true one. Event stamps do not bring what the sender knew of others.
    fn check_clock(&self, node: usize) -> Result<(), Violation> {
        if self.setup.stamps != StampKind::Vector || !self.members[node].has_started() {
            return Ok(());
        }
        let (says, truth) = (self.members[node].node.clock().entries(), &self.reference.state(node).clock);
        if says[..] == truth[..] {
            return Ok(());
        }
        Err(Violation::WrongClock { node, says: says.to_vec(), truth: truth.clone() })
    }

    /// An event that the node counted by itself: a link that came up or went down.
    pub(super) fn count_link_event(&mut self, node: usize, kind: EventKind, port: PortId) {
        self.reference.happen(node, Event::new(kind, port.0.into()), None);
    }
}
