//! A node's part in recognising a simultaneous event: what it tells others of components, and when it fires.
//!
//! The rule is described in [`predicate::Plan`](crate::predicate::Plan).
use super::{Node, StepError};
use crate::predicate::{BUILT_IN, Detector, EnableError, Generation, MAX_COMPONENTS, Plan, SlotId, SlotSet, Values};
use crate::{PortId, PortSet};

/// The plan of the simultaneous event that is armed, and what is known of its components.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Simultaneous {
    plan: Plan,
    /// The last count that each component's node told.
    counts: [u32; MAX_COMPONENTS],
    /// The components that hold, as far as the node was told; one bit each.
    hold: u8,
    slot: Option<SlotId>,
    generation: Generation,
    /// The ports that carry `told` and nothing else just now.
    quick: PortSet,
    /// The component that most messages of this node tell of: its own, or the first that it passes on.
    told: u8,
}

impl Simultaneous {
    pub const NONE: Self = Self {
        plan: Plan::NOTHING,
        counts: [0; MAX_COMPONENTS],
        hold: 0,
        slot: None,
        generation: Generation(0),
        quick: PortSet::EMPTY,
        told: 0,
    };
}

impl<const N: usize, const P: usize> Node<N, P> {
    /// Takes the node's part in the simultaneous event whose program is in this slot.
    pub(super) fn take_plan(&mut self, slot: SlotId, generation: Generation, plan: Plan) -> Result<(), StepError> {
        let installed = self.predicates.installed(slot).ok_or(StepError::Enable(EnableError::NotInstalled))?;
        if installed.0 != generation {
            return Err(StepError::Enable(EnableError::OtherGeneration { installed: installed.0 }));
        }
        if installed.1 != Detector::Simultaneous {
            return Err(StepError::Enable(EnableError::NotInstalled));
        }
        if let Some(other) = self.simultaneous.slot.filter(|other| *other != slot) {
            return Err(StepError::OtherEvent(other));
        }
        let out = plan.sent.iter().flatten().fold(plan.carrying(), |ports, port| ports.with(*port));
        let into = plan.release.map_or(PortSet::EMPTY, |port| PortSet::EMPTY.with(port));
        for (ports, end, wrong) in [
            (out, self.outgoing, StepError::NotOutgoing as fn(PortId) -> StepError),
            (into, self.incoming, StepError::NotIncoming),
            (plan.guarded, self.linked(), StepError::NoSuchPort),
            (plan.wires, self.linked(), StepError::NoSuchPort),
        ] {
            if let Some(port) = ports.difference(end).iter().next() {
                return Err(wrong(port));
            }
        }
        let opened = |port: PortId| self.ports.get(usize::from(port.0)).map(|end| end.opened);
        let mut wires = plan.wires.iter();
        let first = wires.next().and_then(opened);
        if let Some(port) = wires.find(|port| opened(*port) != first) {
            return Err(StepError::SessionsDiffer(port));
        }
        let first = || plan.carriers.iter().position(|ports| !ports.is_empty()).unwrap_or(0) as u8;
        let told = plan.own.unwrap_or_else(first);
        self.simultaneous = Simultaneous { plan, slot: Some(slot), generation, told, ..Simultaneous::NONE };
        self.note_carriers();
        Ok(())
    }

    /// Brings up to date which outgoing ports have messages that carry nothing, after a change of what is armed or known.
    pub(super) fn note_carriers(&mut self) {
        let plan = &self.simultaneous.plan;
        let mut alone = PortSet::EMPTY;
        for (component, ports) in (0u8..).zip(plan.carriers) {
            alone = if component == self.simultaneous.told { PortSet(alone.0 | ports.0) } else { alone };
        }
        for (component, ports) in (0u8..).zip(plan.carriers) {
            alone = if component == self.simultaneous.told { alone } else { alone.difference(ports) };
        }
        let silent = self.outgoing.difference(plan.carrying());
        self.quick_out = self.predicates.without_carry(silent);
        self.simultaneous.quick = self.predicates.without_carry(alone);
    }

    /// Forgets the plan of another generation of a slot.
    pub(super) fn drop_other_plan(&mut self, slot: SlotId, generation: Generation) {
        if self.simultaneous.generation != generation {
            self.drop_plan(slot);
        }
    }

    /// Forgets the plan of a slot that is used for something else, or not at all.
    pub(super) fn drop_plan(&mut self, slot: SlotId) {
        if self.simultaneous.slot == Some(slot) {
            self.simultaneous = Simultaneous::NONE;
        }
    }

    /// Whether messages on this port carry one component and nothing else.
    pub(super) fn tells_quickly(&self, port: PortId) -> bool {
        BUILT_IN && self.simultaneous.quick.contains(port)
    }

    /// What such a message says.
    pub(super) fn told(&self) -> Values {
        let Simultaneous { told, slot, generation, .. } = self.simultaneous;
        let mut values = Values::new(slot.unwrap_or(SlotId::ALL[0]), generation);
        let (holds, count) = self.component(told, values.slot);
        values.tell(told, holds, count);
        values
    }

    /// The slot and generation of the event that this node has a part in.
    pub(super) fn event_in_slot(&self) -> Option<(SlotId, Generation)> {
        if BUILT_IN { Some((self.simultaneous.slot?, self.simultaneous.generation)) } else { None }
    }

    /// Takes in what a message says of one component. Returns the slot if the node has to look now.
    pub(super) fn hear_value(&mut self, component: u8, holds: bool, count: u32) -> SlotSet {
        let heard = &mut self.simultaneous;
        if let Some(known) = heard.counts.get_mut(usize::from(component)) {
            *known = count;
        }
        heard.hold = heard.hold & !(1 << component) | u8::from(holds) << component;
        match heard.slot.filter(|_| self.all_hold()) {
            Some(slot) => SlotSet::EMPTY.with(slot),
            None => SlotSet::EMPTY,
        }
    }

    /// Whether a component holds, as far as this node knows, and how many messages its node has taken from its release.
    fn component(&self, component: u8, slot: SlotId) -> (bool, u32) {
        let Simultaneous { plan, counts, hold, .. } = &self.simultaneous;
        if plan.own == Some(component) {
            let taken = plan.release.and_then(|release| self.counts.get(usize::from(release.0)));
            return (self.component_holds(slot), taken.copied().unwrap_or(0));
        }
        (hold >> component & 1 != 0, counts.get(usize::from(component)).copied().unwrap_or(0))
    }

    /// What a message on this port says of the components, if it is a carrier.
    pub(super) fn values_for(&self, port: PortId) -> Option<Values> {
        let Simultaneous { plan, slot, generation, .. } = &self.simultaneous;
        let slot = slot.filter(|_| BUILT_IN && plan.carrying().contains(port))?;
        let mut values = Values::new(slot, *generation);
        for (component, ports) in (0u8..).zip(&plan.carriers) {
            if ports.contains(port) {
                let (holds, count) = self.component(component, slot);
                values.tell(component, holds, count);
            }
        }
        Some(values)
    }

    /// Takes in what a message says of the components. Returns the slot if the node has to look now.
    pub(super) fn hear_values(&mut self, values: &Values) -> SlotSet {
        let heard = &self.simultaneous;
        if !BUILT_IN || heard.slot != Some(values.slot) || heard.generation != values.generation {
            return SlotSet::EMPTY;
        }
        values.iter().fold(SlotSet::EMPTY, |_, (component, holds, count)| self.hear_value(component, holds, count))
    }

    /// Takes a simultaneous event out of the slots that an event of this node satisfied, unless every component holds.
    pub(super) fn hold_back(&mut self, satisfied: SlotSet) -> SlotSet {
        match self.simultaneous.slot.filter(|slot| BUILT_IN && satisfied.contains(*slot)) {
            Some(slot) if !self.all_hold() => {
                self.predicates.look_again(slot);
                satisfied.without(slot)
            }
            _ => satisfied,
        }
    }

    /// A new session of a link began, or the node itself did: the counts of a plan's ends do not belong together any more.
    /// Returns the slot that others have to be told of.
    pub(super) fn end_plan(&mut self, port: PortId) -> SlotSet {
        match self.simultaneous.slot.filter(|_| BUILT_IN && self.simultaneous.plan.guarded.contains(port)) {
            Some(slot) if self.predicates.end(slot) => {
                self.simultaneous.hold = 0;
                SlotSet::EMPTY.with(slot)
            }
            _ => SlotSet::EMPTY,
        }
    }

    /// A predicate marker says that a simultaneous event is over.
    pub(super) fn forget_values(&mut self, slot: SlotId) {
        if self.simultaneous.slot == Some(slot) {
            self.simultaneous.hold = 0;
        }
    }

    /// Whether the node recognises the event: its own condition holds, every component said that it holds, and nothing that
    /// lets one change is under way.
    fn all_hold(&self) -> bool {
        let Simultaneous { plan, counts, hold, slot, .. } = &self.simultaneous;
        let Some(slot) = *slot else { return false };
        let is_recognising = plan.needs != 0 && plan.needs & !hold == 0 && self.predicates.is_enabled(slot);
        let sent = |port: &PortId| self.counts.get(usize::from(port.0)).copied();
        let taken = |(component, (port, count)): (usize, (&Option<PortId>, &u32))| {
            plan.needs >> component & 1 == 0 || port.is_none_or(|port| sent(&port) == Some(*count))
        };
        is_recognising && plan.sent.iter().zip(counts).enumerate().all(taken) && self.component_holds(slot)
    }

    fn component_holds(&self, slot: SlotId) -> bool {
        self.predicates.component(slot)
    }
}

#[cfg(any(test, on_target))]
#[path = "simultaneous_tests.rs"]
mod tests;
