//! What made a breakpoint fire: which events satisfied which stage, and in what order.
use super::Armed;
use crate::{HaltProof, NoCertificate, Node};
use stillpoint_core::predicate::SlotPhase;
use stillpoint_core::{EventNumber, HaltId, NodeId, StampKind};

/// A breakpoint that fired, and the halt that it caused.
#[derive(Debug)]
pub struct Fired {
    /// The events that satisfied stages, in the order of stages.
    pub satisfied: Vec<Satisfied>,
    /// Which halt.
    pub halt: HaltId,
    /// Its certificate, or what is wrong with it.
    pub proof: Result<HaltProof, NoCertificate>,
}

/// An event that satisfied a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Satisfied {
    /// Which stage, from 1.
    pub stage: u8,
    /// Whose event.
    pub node: NodeId,
    /// Its number.
    pub number: EventNumber,
    /// How it stands to the event that completed the breakpoint.
    pub order: Order,
}

/// How an event stands to the one that completed the breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It is that event.
    Last,
    /// It happened before it: the clock of the node that completed it knows of it.
    Before,
    /// It did not happen before it as far as the program can tell.
    Concurrent,
    /// The messages carry no clocks, so that nobody can tell from the control blocks.
    Unknown,
}

/// The events that satisfied stages of a breakpoint so far, as the nodes say; those of the last stage come last.
#[must_use]
pub fn satisfied(armed: &Armed, nodes: &[Node]) -> Vec<Satisfied> {
    let slots: Vec<_> = nodes.iter().filter_map(|node| Some((node, armed.slot_of(node)?))).collect();
    let last: Vec<&Node> =
        slots.iter().filter(|(_, (state, _))| state.phase == SlotPhase::Fired).map(|(node, _)| *node).collect();
    let mut events = Vec::new();
    for (node, (_, slot)) in &slots {
        for (stage, number) in (1..=armed.stages).zip(slot.satisfied).filter(|(_, number)| number.0 != 0) {
            let is_last = stage == armed.stages && last.iter().any(|last| last.id == node.id);
            let order = if is_last { Order::Last } else { order(node.id, number, &last) };
            events.push(Satisfied { stage, node: node.id, number, order });
        }
    }
    events.sort_by_key(|event| (event.stage, event.node.0));
    events
}

/// A node that completed the breakpoint stopped at that very event, so its clock is the clock of the event.
fn order(node: NodeId, number: EventNumber, last: &[&Node]) -> Order {
    let knows = |last: &&Node| {
        let known = last.clock.get(usize::from(node.0)).copied().map_or(EventNumber(0), EventNumber);
        known == number || known.is_newer_than(number)
    };
    if last.iter().any(knows) {
        Order::Before
    } else if last.is_empty() || last.iter().any(|last| last.stamps == StampKind::Event) {
        Order::Unknown
    } else {
        Order::Concurrent
    }
}
