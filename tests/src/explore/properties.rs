//! What must hold. The names are those that a report prints.
//!
//! The snapshot is that of Chandy and Lamport 1985 on the same schedule: a node records itself when it initiates or when
//! the first marker reaches it, and a channel's state is what its sender had sent by then and its receiver had not received
//! by then. A stop on arrival counts as initiation: what is ahead of the marker in the channel is channel state. The
//! recording follows the schedule, not the nodes, so a node that does something else after its record is found out.
use super::config::Sight;
use super::search::Broken;
use super::system::{HEAD, IN, NODES, OUT, Session, Shape, System, TAIL};
use super::world::World;
use stillpoint_core::link::Lane;
use stillpoint_core::predicate::Detector;
use stillpoint_core::{Certificate, Channel, ChannelReport, InFlight, NodeId, NodeReport, Phase, PortSet, VectorClock};

/// The state in which all are parked is the Chandy-Lamport snapshot of the same schedule.
pub const SNAPSHOT: &str = "the halted state is the Chandy-Lamport snapshot";
/// One marker per lane and halt.
pub const ONE_MARKER: &str = "exactly one marker per channel and nothing after it";
/// A stopped node has no events.
pub const NO_EVENT: &str = "no event after the stop";
/// The same halt everywhere.
pub const SAME_HALT: &str = "all nodes end with the same last_halt_id";
/// Liveness of halting.
pub const EVERY_NODE_STOPS: &str = "every node stops";
/// Liveness of releasing.
pub const EVERY_NODE_RUNS: &str = "every node runs again after a release";
/// The certificate.
pub const CERTIFICATE: &str = "the cut certificate is valid";
/// Reliable channels, whatever is halted in between.
pub const ONCE_IN_ORDER: &str = "every message arrives once and in order";
/// Old news change nothing.
pub const STALE_IGNORED: &str = "a stale marker or release changes nothing";
/// No spontaneous halts.
pub const HALT_HAS_CAUSE: &str = "a node halts when it initiates or a newer marker arrives, and then only";
/// No spontaneous resumes.
pub const RELEASE_HAS_CAUSE: &str = "a node leaves a halt only when that halt was released";
/// Clocks.
pub const CLOCK: &str = "a clock is the exact causal history";
/// Linked predicates.
pub const FIRES: &str = "a linked predicate fires exactly when its last stage follows the others";
/// Everything that happens is possible.
pub const ACCEPTED: &str = "a node accepts whatever can happen";
/// A control lane has room.
pub const CONTROL_ROOM: &str = "control never waits for room";
/// Epochs.
pub const NEW_EPOCH: &str = "a node that was reset starts above all that is known of it";
/// The ledger of a link.
pub const LEDGER: &str = "the link's ledger counts each message in flight once";

impl World {
    /// Whether every node says that it is parked, in one halt that nobody has released.
    pub fn is_complete(&self, system: &System) -> bool {
        let last = system.places[0].node.last_halt();
        let parked = system
            .places
            .iter()
            .all(|place| matches!(place.node.phase(), Phase::Parked { .. }) && place.node.last_halt() == last);
        // After a reset a node may park with markers that are still to be delivered, and says so; and a marker may be sent
        // twice, so that the first one's acknowledgement counts while the second is still on its way.
        let delivered = self.config.reset.is_none()
            || system.wires.iter().flat_map(|wire| &wire.lanes).all(|lane| lane.items.is_empty())
                && system
                    .places
                    .iter()
                    .all(|place| matches!(place.node.phase(), Phase::Parked { undelivered: PortSet::EMPTY, .. }));
        // What a link accepted and the node has not been told is not there yet as far as the host can see.
        let told = system
            .wires
            .iter()
            .all(|wire| wire.serial.iter().flat_map(|line| &line.ends).all(|end| end.front(Lane::Control).is_none()));
        parked && delivered && told && self.ordinal(last) > system.plan.released
    }

    /// What must hold in every state.
    pub(super) fn check_state(&self, system: &System) -> Result<(), Broken> {
        if !self.is_complete(system) {
            return Ok(());
        }
        self.check_snapshot(system)?;
        self.check_markers(system)?;
        let certificate = self.certify(system)?;
        self.see(Sight::Certified);
        if certificate.in_flight > 0 {
            self.see(Sight::CertifiedInFlight);
        }
        Ok(())
    }

    fn check_snapshot(&self, system: &System) -> Result<(), Broken> {
        for (node, place) in system.places.iter().enumerate() {
            let truth = &place.truth;
            let recorded = truth.recorded.ok_or_else(|| {
                Broken::new(SNAPSHOT, format!("node {node} is parked, and the snapshot never reached it"))
            })?;
            if (truth.history, truth.sent, truth.received) != (recorded.history, recorded.sent, recorded.received) {
                return Err(Broken::new(
                    SNAPSHOT,
                    format!(
                        "node {node} has {} events, sent {} and received {}; the snapshot recorded {}, {} and {}",
                        truth.events(node),
                        truth.sent,
                        truth.received,
                        recorded.history[node].count_ones(),
                        recorded.sent,
                        recorded.received
                    ),
                ));
            }
        }
        for wire in 0..self.config.shape.wires() {
            let ((from, _), (to, _)) = (Shape::holder(wire, HEAD), Shape::holder(wire, TAIL));
            let recorded = |node: usize| system.places[node].truth.recorded;
            let received = recorded(to).map_or(0, |recorded| recorded.received);
            let sent = recorded(from).map_or(0, |recorded| recorded.sent);
            let found: Vec<u8> = system.wires[wire].data.iter().map(|message| message.number).collect();
            if !found.iter().copied().eq(received + 1..=sent) {
                let seen = format!("wire {wire} holds {found:?}; the snapshot recorded {}..={sent}", received + 1);
                return Err(Broken::new(SNAPSHOT, seen));
            }
        }
        Ok(())
    }

    fn check_markers(&self, system: &System) -> Result<(), Broken> {
        for wire in 0..self.config.shape.wires() {
            let halt = self.ordinal(system.places[0].node.last_halt());
            for (end, lane) in system.wires[wire].lanes.iter().enumerate() {
                // A link that came up anew may carry the marker again; the node takes it as the same.
                let expected = if self.config.reset.is_some() { 1..=u8::MAX } else { 1..=1 };
                if lane.markers.0 != halt || !expected.contains(&lane.markers.1) {
                    let (last, count) = lane.markers;
                    let seen = format!("lane {end} of wire {wire} carried {count} of halt {last} in halt {halt}");
                    return Err(Broken::new(ONE_MARKER, seen));
                }
            }
            let ((from, _), (to, _)) = (Shape::holder(wire, HEAD), Shape::holder(wire, TAIL));
            let (back, received) = (system.places[from].node.marker_position(OUT), system.places[to].node.count(IN));
            if back != received {
                let seen = format!("the marker on the reverse lane of wire {wire} says {back:?}, not {received:?}");
                return Err(Broken::new(ONE_MARKER, seen));
            }
        }
        Ok(())
    }

    /// The certificate, from what nodes and channels report of themselves.
    fn certify(&self, system: &System) -> Result<Certificate<NODES>, Broken> {
        let reports: [NodeReport<NODES>; NODES] = std::array::from_fn(|index| {
            let node = &system.places[index].node;
            let (parked, undelivered) = match node.phase() {
                Phase::Parked { undelivered, .. } => (Some(node.last_halt()), undelivered),
                _ => (None, PortSet::EMPTY),
            };
            NodeReport { node: node.id(), parked, clock: *node.clock(), order: *node.order(), undelivered }
        });
        let wires = 0..self.config.shape.wires();
        let in_flight: Vec<Vec<InFlight>> =
            wires.clone().map(|wire| self.in_flight(system, wire)).collect::<Result<_, _>>()?;
        let markers: Vec<Vec<u32>> = wires
            .clone()
            .map(|wire| {
                let (to, _) = Shape::holder(wire, TAIL);
                system.places[to].node.marker_position(IN).into_iter().collect()
            })
            .collect();
        let channels: Vec<ChannelReport<'_>> = wires
            .map(|wire| {
                let ((from, out), (to, into)) = (Shape::holder(wire, HEAD), Shape::holder(wire, TAIL));
                let sent = system.places[from].node.count(out).unwrap_or(0);
                let received = system.places[to].node.count(into).unwrap_or(0);
                // Who has not heard from the other since its reset still counts what was before.
                let is_new = system.wires[wire].session == Session::Up;
                ChannelReport {
                    channel: Channel { from: NodeId(from as u8), out, to: NodeId(to as u8), into },
                    sent,
                    received: if is_new { received } else { 0 },
                    lost_by_reset: if is_new { 0 } else { sent },
                    in_flight: &in_flight[wire],
                    markers: &markers[wire],
                }
            })
            .collect();
        Certificate::check(&reports, &channels).map_err(|violation| Broken::new(CERTIFICATE, violation.to_string()))
    }

    fn in_flight(&self, system: &System, wire: usize) -> Result<Vec<InFlight>, Broken> {
        let Some(line) = &system.wires[wire].serial else { return Ok(self.numbers(system, wire)) };
        let (sender, receiver) = (line.ends[HEAD].ledger(Lane::Data), line.ends[TAIL].ledger(Lane::Data));
        let (counted, found) = (sender.in_flight_to(&receiver), system.wires[wire].data.len());
        if counted.map(usize::from) != Some(found) {
            return Err(Broken::new(LEDGER, format!("it says {counted:?}, and {found} are in flight")));
        }
        Ok(self.numbers(system, wire))
    }

    fn numbers(&self, system: &System, wire: usize) -> Vec<InFlight> {
        let base = if system.plan.resets < u8::from(self.config.reset.is_some()) { 0 } else { self.base[wire] };
        let number = |number: u8| InFlight { number: base.wrapping_add(number.into()) };
        system.wires[wire].data.iter().map(|message| number(message.number)).collect()
    }

    /// What must hold when nothing can happen any more.
    pub(super) fn check_end_state(&self, system: &System) -> Result<(), Broken> {
        let phases = system.places.each_ref().map(|place| place.node.phase());
        let last = system.places.each_ref().map(|place| self.ordinal(place.node.last_halt()));
        let halted = |node: usize| matches!(phases[node], Phase::Parked { .. } | Phase::Draining { .. });
        let runs = phases.iter().filter(|phase| **phase == Phase::Running).count();
        if let Some(node) = (0..NODES).find(|&node| halted(node) && last[node] <= system.plan.released) {
            return Err(Broken::new(EVERY_NODE_RUNS, format!("node {node} is still halted in halt {}", last[node])));
        }
        if runs < NODES && !phases.iter().all(|phase| matches!(phase, Phase::Parked { .. })) {
            return Err(Broken::new(EVERY_NODE_STOPS, format!("the nodes end as {phases:?}")));
        }
        if last.iter().any(|&halt| halt != last[0]) {
            return Err(Broken::new(SAME_HALT, format!("{last:?}")));
        }
        self.check_all_told(system)?;
        if runs == NODES {
            let left = (0..self.config.shape.wires())
                .find(|&wire| system.plan.messages[wire] > 0 || !system.wires[wire].data.is_empty());
            if let Some(wire) = left {
                return Err(Broken::new(ONCE_IN_ORDER, format!("wire {wire} still holds messages, and all run")));
            }
        }
        Ok(())
    }

    /// Predicate markers reach everybody, also through nodes that know nothing of the predicate.
    fn check_all_told(&self, system: &System) -> Result<(), Broken> {
        if self.config.predicate.is_none_or(|predicate| predicate.detector != Detector::Marker) {
            return Ok(());
        }
        let known: [u8; NODES] = std::array::from_fn(|node| self.known_stage(system, node));
        if known.iter().any(|&stage| stage != known[0]) {
            return Err(Broken::new(FIRES, format!("at the end the nodes know of stages {known:?}")));
        }
        Ok(())
    }

    /// Whether a node's clock says what happened before now here, and nothing else.
    pub(super) fn check_clock(&self, system: &System, node: usize) -> Result<(), Broken> {
        if self.config.reset.is_some() {
            return Ok(());
        }
        let place = &system.places[node];
        let heard = |from: usize| from == node || place.truth.history[from] != 0;
        let expected: [u32; NODES] = std::array::from_fn(|of| match place.truth.history[of].count_ones() {
            // Nothing has wrapped before the beginning, so the greatest is the newest.
            0 => (0..NODES).filter(|&from| heard(from)).map(|from| self.known[from][of]).max().unwrap_or(0),
            // No event has the number 0.
            events => (0..events).fold(self.known[of][of], |number, _| number.checked_add(1).unwrap_or(1)),
        });
        let expected = VectorClock::from_entries(expected);
        let of_others_by_stamp = self.config.stamps == stillpoint_core::StampKind::Vector;
        let found = place.node.clock();
        if of_others_by_stamp && *found != expected || found.entries()[node] != expected.entries()[node] {
            let (found, expected) = (found.entries(), expected.entries());
            return Err(Broken::new(CLOCK, format!("node {node} has {found:x?} and should have {expected:x?}")));
        }
        Ok(())
    }
}
