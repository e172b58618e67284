//! The skew ledger of a halt: who triggered it, by which path each node was reached, and what happened meanwhile.
//!
//! A halt that the host commands to all nodes is measured against the node whose bell it rang first.
//!
//! The marker that stops a node names everybody who had halted on its way, so the path of each node is in its control
//! block. The trigger stopped at its trigger, so its clock is what it knew then; what a node did beyond that is at most
//! what it executed after the trigger. Times are readings of the raw counter that the cores of a board share, taken when each
//! node stopped. Boards have no common counter, and logical times of two cores differ by the delays each has gathered, so
//! neither are compared.
use crate::names::Names;
use crate::{Node, NodeAddress, System, SystemError};
use serde::Serialize;
use stillpoint_core::time::CounterRate;
use stillpoint_core::{EventNumber, NodeId, StampKind};

/// What the host is called among the triggers and in paths.
const HOST: &str = "host";

/// What a halt cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkewLedger {
    /// Who triggered the halt: `host`, or nodes. Several may, at the same time.
    pub triggers: Vec<String>,
    /// One line for each node.
    pub lines: Vec<SkewLine>,
}

/// How one node came to stand still.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkewLine {
    /// Who.
    pub node: String,
    /// By whom it was reached, the trigger first and itself last; `host` first if its command began it.
    pub path: Vec<String>,
    /// How many of its events the trigger did not know of: at most so many came after the trigger. `None` where stamps
    /// do not tell, and where the node was reset since.
    pub events: Option<u32>,
    /// How long after another node of its board it stopped; `None` if the counter wrapped in between.
    pub after: Option<StopTime>,
}

/// The time between two stops on one board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StopTime {
    /// In microseconds, or in counts where the firmware does not say what they are worth.
    pub time: f64,
    /// What it is measured in.
    pub unit: &'static str,
    /// After whom: the trigger, or the first of the board to be reached where the trigger is on another one.
    pub than: String,
}

impl System {
    /// The skew ledger of the halt that all nodes are in.
    pub fn skew(&mut self) -> Result<SkewLedger, SystemError> {
        let nodes = self.nodes()?;
        let names = Names::of(self, &nodes);
        let rates: Vec<_> = self.boards().iter().map(|board| board.firmware().counter_rate).collect();
        let pairs: Vec<_> = self.addresses().into_iter().zip(&nodes).collect();
        Ok(ledger(&pairs, &names, |board| rates[board]))
    }
}

/// Puts the ledger together. `rate` returns the rate of a board's counter.
pub(crate) fn ledger(
    nodes: &[(NodeAddress, &Node)],
    names: &Names,
    rate: impl Fn(usize) -> Option<CounterRate>,
) -> SkewLedger {
    let find = |id: &NodeId| nodes.iter().find(|(_, node)| node.id == *id);
    let is_commanded = |id: &NodeId| find(id).is_some_and(|(_, node)| node.is_halted_by_host);
    let commanded = || nodes.iter().find(|(_, node)| node.is_halted_by_host);
    let mut triggers: Vec<String> = Vec::new();
    for trigger in nodes.iter().filter_map(|(_, node)| node.order.first()).filter(|trigger| !is_commanded(trigger)) {
        let name = names.node(*trigger);
        if !triggers.contains(&name) {
            triggers.push(name);
        }
    }
    // An event of a node that began the halt comes before the command with which the host helps it along.
    let own = nodes.iter().find(|(_, node)| node.is_initiator());
    if triggers.is_empty() && commanded().is_some() {
        triggers.push(HOST.into());
    }
    let line = |(at, node): &(NodeAddress, &Node)| {
        let first = node.order.first();
        let begun_by_host = first.is_some_and(is_commanded);
        // The node that was rung first stands for the host, which has no clock.
        let trigger = if begun_by_host { own.or_else(commanded) } else { first.and_then(find) };
        let path = node.order.iter().map(|node| names.node(*node));
        SkewLine {
            node: names.node(node.id),
            path: begun_by_host.then(|| HOST.to_owned()).into_iter().chain(path).collect(),
            events: trigger.and_then(|(_, trigger)| unknown_events(node, trigger)),
            after: stop_time(nodes, names, *at, node, trigger, rate(at.board)),
        }
    };
    SkewLedger { triggers, lines: nodes.iter().map(line).collect() }
}

/// What a node did that the trigger did not know of: its own entry, less the trigger's entry for it.
fn unknown_events(node: &Node, trigger: &Node) -> Option<u32> {
    if node.id == trigger.id {
        return Some(0);
    }
    let own = EventNumber(*node.clock.get(usize::from(node.id.0))?);
    let known = EventNumber(*trigger.clock.get(usize::from(node.id.0))?);
    let comparable = trigger.stamps == StampKind::Vector && (known.0 == 0 || own.epoch() == known.epoch());
    // Of a node it never heard of the trigger knows the beginning of its epoch.
    let known = if known.0 == 0 { own.0 - own.count() } else { known.0 };
    comparable.then(|| own.0.wrapping_sub(known))
}

/// A long counter has at least 40 bits: two stops of one halt that are further apart are on both sides of its wrap.
const WRAPPED: u64 = 1 << 38;

/// How long after the trigger a node stopped, or after the first of its board that was reached where the trigger has another clock.
fn stop_time(
    nodes: &[(NodeAddress, &Node)],
    names: &Names,
    at: NodeAddress,
    node: &Node,
    trigger: Option<&(NodeAddress, &Node)>,
    rate: Option<CounterRate>,
) -> Option<StopTime> {
    let neighbours = || nodes.iter().filter(|(other, _)| other.board == at.board);
    let here = trigger.filter(|(of, _)| of.board == at.board);
    let (_, reference) = here.or_else(|| neighbours().min_by_key(|(_, node)| node.order.len()))?;
    // A neighbour of a trigger may stop, by another trigger, before it.
    let (from, to) = (reference.stopped, node.stopped);
    let counts = to.wrapping_since(from).0 as i64;
    if counts.unsigned_abs() > WRAPPED {
        return None;
    }
    let (time, unit) = match rate.and_then(|rate| rate.micros_between(from, to)) {
        Some(micros) => (micros, "us"),
        None => (counts as f64, "counts"),
    };
    Some(StopTime { time, unit, than: names.node(reference.id) })
}

#[cfg(test)]
mod tests;
