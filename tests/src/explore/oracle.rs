//! Linked predicates by the definition: from exact causal histories, without stages that travel.
use super::config::{Predicate, Sight, What};
use super::prepare::SLOT;
use super::properties::FIRES;
use super::search::Broken;
use super::system::System;
use super::world::World;
use stillpoint_core::Effects;
use stillpoint_core::predicate::Detector;

impl World {
    /// The last stage satisfied as far as this node can know.
    pub(super) fn known_stage(&self, system: &System, node: usize) -> u8 {
        let Some(predicate) = self.config.predicate else { return 0 };
        let truth = &system.places[node].truth;
        let satisfied = |stage: usize| match predicate.detector {
            // Some event that satisfied it happened before now here.
            Detector::Causal => {
                system.places.iter().zip(truth.history).any(|(place, known)| place.truth.achieved[stage] & known != 0)
            }
            // A marker says so, or it happened here.
            Detector::Simultaneous => false,
            Detector::Marker => usize::from(truth.told) > stage || truth.achieved[stage] != 0,
        };
        (0..predicate.stages.len()).rev().find(|&stage| satisfied(stage)).map_or(0, |stage| stage as u8 + 1)
    }

    /// Whether the event that a node just had fires the predicate, and whether the node says so.
    pub(super) fn judge(
        &self,
        system: &mut System,
        node: usize,
        what: What,
        effects: &Effects,
    ) -> Result<bool, Broken> {
        let Some(predicate) = self.config.predicate else { return Ok(false) };
        let satisfies = self.satisfies(system, node, what, &predicate);
        let fires = satisfies && self.known_stage(system, node) as usize == predicate.stages.len();
        if fires {
            self.see(Sight::Fired);
            system.plan().fired = true;
        } else if predicate.stages.last().is_some_and(|last| (last.node, last.what) == (node, what)) {
            self.see(Sight::DidNotFire);
        }
        if fires != effects.fired.contains(SLOT) {
            let seen = format!("node {node} {} at this event", if fires { "should fire" } else { "fires" });
            return Err(Broken::new(FIRES, seen));
        }
        let announces = satisfies && predicate.detector == Detector::Marker;
        if announces != effects.announce.contains(SLOT) {
            return Err(Broken::new(FIRES, format!("node {node} announces: {}", !announces)));
        }
        Ok(fires)
    }

    fn satisfies(&self, system: &mut System, node: usize, what: What, predicate: &Predicate) -> bool {
        let known = usize::from(self.known_stage(system, node));
        let Some(stage) = predicate.stages.get(known).filter(|stage| (stage.node, stage.what) == (node, what)) else {
            return false;
        };
        let truth = &mut system.place(node).truth;
        truth.occurred[known] += 1;
        let satisfies = truth.occurred[known] == stage.times;
        if satisfies {
            truth.achieved[known] |= 1 << (truth.events(node) - 1);
        }
        satisfies
    }
}
