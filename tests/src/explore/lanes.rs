//! The control lanes: what the driver puts on them and what a node makes of what arrives.
use super::config::{ControlLanes, Sight};
use super::properties::*;
use super::sabotage::counts_sent;
use super::search::Broken;
use super::serial;
use super::system::{Control, Core, Lane, Session, System};
use super::world::World;
use stillpoint_core::link;
use stillpoint_core::{Effects, Input, Phase, PortId, PortSet};

impl World {
    /// Puts something on the control lane that leaves a node by a port.
    pub(super) fn hand_over(
        &self,
        system: &mut System,
        node: usize,
        port: PortId,
        control: Control,
    ) -> Result<(), Broken> {
        let Some((wire, end)) = self.config.shape.wire(node, port) else { return Ok(()) };
        let sabotage = self.config.sabotage;
        if sabotage.is_some_and(|sabotage| sabotage.keeps(&system.places[node], &control)) {
            return Ok(());
        }
        let control = match sabotage {
            Some(sabotage) => sabotage.on_send(wire, end, control, counts_sent(end)),
            None => Some(control),
        };
        let Some(control) = control else { return Ok(()) };
        if system.wires[wire].session == Session::Unnoticed(end) {
            // Its receiver is gone, and with it the session that would deliver it.
            return Ok(());
        }
        let wire = system.wire(wire);
        let Lane { items, markers, .. } = &mut wire.lanes[end];
        if let Control::Marker(marker) = &control {
            let halt = self.ordinal(marker.id);
            *markers = if markers.0 == halt { (halt, markers.1 + 1) } else { (halt, 1) };
        }
        if let Some(line) = &mut wire.serial {
            let bytes = serial::control_bytes(&control).unwrap_or_default();
            let sent = line.ends[end].send(link::Lane::Control, &bytes);
            return sent.map(|_| ()).map_err(|error| Broken::new(CONTROL_ROOM, error.to_string()));
        }
        let place = match (self.config.control, &control) {
            (ControlLanes::Slots, Control::Marker(_)) => {
                items.retain(|item| !matches!(item, Control::Marker(_)));
                0
            }
            (ControlLanes::Slots, Control::Release(_)) => {
                items.retain(|item| !matches!(item, Control::Release(_)));
                items.len()
            }
            _ => items.len(),
        };
        items.insert(place, control);
        Ok(())
    }

    /// A node takes the next item from the control lane behind a port.
    pub(super) fn control(&self, system: &mut System, node: usize, port: PortId) -> Result<(), Broken> {
        let Some((wire, end)) = self.config.shape.wire(node, port) else { return Ok(()) };
        let Some(control) = take_control(system, wire, end) else { return Ok(()) };
        if let (Control::Marker(marker), None) = (&control, &system.wires[wire].serial) {
            system.wire(wire).lanes[end].acknowledged = Some(marker.id);
        }
        // What the node is told; the truth is judged by what really arrived.
        let told = match self.config.sabotage {
            Some(sabotage) => sabotage.on_arrival(&system.places[node], control.clone()),
            None => Some(control.clone()),
        };
        let before = system.places[node].clone();
        let truth = &before.truth;
        let Some(told) = told else { return Ok(()) };
        match (control, told) {
            (Control::Marker(marker), Control::Marker(told)) => {
                let halt = self.ordinal(marker.id);
                // A halt that is older than one it heard of is over, though the node took no part in it.
                let is_newer = halt > truth.last && halt >= truth.heard;
                let effects = self.step(system, node, Input::Marker { port, marker: &told })?;
                let is_stale = !is_newer && (halt != truth.last || truth.recorded.is_none());
                self.see_marker(&before.node, is_newer, is_stale);
                if is_stale {
                    self.must_be_unchanged(&before.node, &system.places[node].node, effects)?;
                }
                self.obey(system, node, effects, is_newer.then_some(halt))
            }
            (Control::Release(id), Control::Release(told)) => {
                let effects = self.step(system, node, Input::Release { port, id: told })?;
                if self.ordinal(id) != truth.last || truth.recorded.is_none() {
                    self.see(Sight::StaleRelease);
                    self.must_be_unchanged(&before.node, &system.places[node].node, effects)?;
                }
                self.obey(system, node, effects, None)
            }
            (Control::Predicate(_, stage), Control::Predicate(reached, _)) => {
                let is_news = stage > self.known_stage(system, node);
                let effects = self.step(system, node, Input::PredicateMarker { port, reached })?;
                system.place(node).truth.told = truth.told.max(stage);
                let (announced, expected) = (effects.announce_to, before.node.up().without(port));
                if announced != if is_news { expected } else { PortSet::EMPTY } {
                    return Err(Broken::new(FIRES, format!("node {node} passes stage {stage} on to {announced:?}")));
                }
                self.obey(system, node, effects, None)
            }
            (Control::Hello(..), Control::Hello(hello, started)) => self.greet(system, node, port, hello, started),
            (control, told) => unreachable!("{told:?} in place of {control:?}"),
        }
    }

    fn see_marker(&self, before: &Core, is_newer: bool, is_stale: bool) {
        match before.phase() {
            Phase::Parked { .. } if is_newer => self.see(Sight::NewerWhileParked),
            Phase::Starting if is_newer => self.see(Sight::JoinedBeforeStart),
            Phase::Running if is_stale => self.see(Sight::StaleMarker),
            Phase::Draining { .. } if !is_newer && !is_stale && before.order().nodes().len() == 1 => {
                self.see(Sight::TwoInitiators);
            }
            _ => {}
        }
    }

    fn must_be_unchanged(&self, before: &Core, after: &Core, effects: Effects) -> Result<(), Broken> {
        // Where the last marker stood is remembered; it means something only together with that one was seen.
        if before.phase() == after.phase() && before.last_halt() == after.last_halt() && effects == Effects::NONE {
            return Ok(());
        }
        let seen = format!("node {} goes from {:?} to {:?}", before.id().0, before.phase(), after.phase());
        Err(Broken::new(STALE_IGNORED, seen))
    }
}

fn take_control(system: &mut System, wire: usize, end: usize) -> Option<Control> {
    let wire = system.wire(wire);
    match &mut wire.serial {
        Some(line) => {
            let control = serial::next_control(&line.ends[end]);
            line.ends[end].take(link::Lane::Control);
            control
        }
        None => (!wire.lanes[1 - end].items.is_empty()).then(|| wire.lanes[1 - end].items.remove(0)),
    }
}
