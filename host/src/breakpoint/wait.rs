//! Waiting until a breakpoint stops the system.
use super::fired::{Fired, Order, Satisfied, satisfied};
use super::{Agreement, Armed, BreakError, agreement, arm};
use crate::expr::Resolved;
use crate::{HaltProof, NoCertificate, Node, System};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use stillpoint_core::control::StateCode;
use stillpoint_core::{Command, EventNumber, HaltId, NodeId};

/// How waiting ended.
#[derive(Debug)]
pub enum Waited {
    /// The breakpoint fired, and every node is parked.
    Fired(Fired),
    /// The system halted for another reason: another breakpoint, a crash, somebody's command.
    HaltedOtherwise(HaltId, Result<HaltProof, NoCertificate>),
    /// The caller was interrupted; the breakpoint stays armed.
    Interrupted,
    /// The time is over; the breakpoint stays armed.
    TimedOut,
    /// No node has the breakpoint any more.
    Gone,
}

/// A node that was reset while a breakpoint was armed: from its reset until this event it saw nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blind {
    /// Which node.
    pub node: NodeId,
    /// The last event of its own that it knew of when it was armed again.
    pub until: EventNumber,
}

/// How long all nodes may take to park once one of them has halted.
const PARK_LIMIT: Duration = Duration::from_secs(20);
/// How long a node may take to leave a halt that was released.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the boards are looked at: each look costs an emulated board some of its time.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until a breakpoint stops the system, until `interrupt` is set, or for at most `limit`.
///
/// A node that forgets the breakpoint in a reset is armed again, and `blind` is told. If the expression asks for that very
/// reset, the system is halted then.
///
/// # Errors
/// A board could not be reached.
pub fn wait(
    system: &mut System,
    armed: &Armed,
    resolved: Option<&Resolved>,
    limit: Option<Duration>,
    interrupt: &AtomicBool,
    blind: impl FnMut(Blind),
) -> Result<Waited, BreakError> {
    wait_past(system, armed, resolved, None, limit, interrupt, blind)
}

/// The same after a halt was released: nodes that are still in that one do not count as halted. One that stays in it is
/// released once more by itself, as it may have missed it.
///
/// # Errors
/// A board could not be reached.
pub fn wait_past(
    system: &mut System,
    armed: &Armed,
    resolved: Option<&Resolved>,
    past: Option<HaltId>,
    limit: Option<Duration>,
    interrupt: &AtomicBool,
    mut blind: impl FnMut(Blind),
) -> Result<Waited, BreakError> {
    let mut again_at = Instant::now() + PATIENCE;
    let until = limit.map(|limit| Instant::now() + limit);
    loop {
        if let Some(waited) = attend(system, armed, resolved, past, &mut again_at, &mut blind)? {
            return Ok(waited);
        }
        if interrupt.load(Ordering::Relaxed) {
            return Ok(Waited::Interrupted);
        }
        if until.is_some_and(|until| Instant::now() > until) {
            return Ok(Waited::TimedOut);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Looks at the nodes, and does what they need of the host. This takes control for a moment; while another process has it,
/// that one may be halting or resuming, and there is nothing to do.
fn attend(
    system: &mut System,
    armed: &Armed,
    resolved: Option<&Resolved>,
    past: Option<HaltId>,
    again_at: &mut Instant,
    blind: &mut impl FnMut(Blind),
) -> Result<Option<Waited>, BreakError> {
    let is_calm = |nodes: &[Node]| {
        !nodes.iter().any(is_halted) && agreement(armed, nodes) == Agreement::Armed && !armed.is_over(nodes)
    };
    if is_calm(&system.nodes()?) {
        return Ok(None);
    }
    let Some(_control) = system.control_briefly()? else { return Ok(None) };
    // Whoever had control before may have changed everything.
    let nodes = system.nodes()?;
    if let Some(waited) = halted(system, armed, &nodes, past)? {
        return Ok(Some(waited));
    }
    if let Some(past) = past.filter(|_| Instant::now() > *again_at) {
        release_again(system, &nodes, past)?;
        *again_at = Instant::now() + PATIENCE;
    }
    let awaits_reset_of =
        |id| resolved.is_some_and(|resolved| resolved.terms().any(|(_, term)| term.node == id && term.is_reset()));
    match agreement(armed, &nodes) {
        // The others have heard of it, and nothing they were told before counts any more.
        Agreement::Partly(_) if !armed.plans.is_empty() => return Ok(Some(Waited::Gone)),
        _ if armed.is_over(&nodes) => return Ok(Some(Waited::Gone)),
        // What was armed for one run is not armed again: the run is over when a node begins anew.
        Agreement::Partly(_) if past.is_some() && resolved.is_none() => return Ok(Some(Waited::Gone)),
        Agreement::Partly(missing) => {
            for node in missing {
                let Some(interval) = rearm(system, armed, &nodes, node)? else { continue };
                blind(interval);
                if awaits_reset_of(node) {
                    return halt_after_reset(system, interval).map(Some);
                }
            }
        }
        Agreement::Gone => return Ok(Some(Waited::Gone)),
        Agreement::Armed | Agreement::Fired => {}
    }
    Ok(None)
}

fn is_halted(node: &Node) -> bool {
    matches!(node.state, Some(StateCode::Draining | StateCode::Parked))
}

/// What became of a breakpoint while nobody was looking; `None` if the system runs.
///
/// # Errors
/// A board could not be reached.
pub fn look(system: &mut System, armed: &Armed) -> Result<Option<Waited>, BreakError> {
    let nodes = system.nodes()?;
    halted(system, armed, &nodes, None)
}

fn release_again(system: &mut System, nodes: &[Node], past: HaltId) -> Result<(), BreakError> {
    let stays = |node: &Node| node.is_parked() && node.last_halt == past;
    for (at, _) in system.addresses().into_iter().zip(nodes).filter(|(_, node)| stays(node)) {
        system.command(at, &Command::Release(past))?;
    }
    Ok(())
}

fn halted(
    system: &mut System,
    armed: &Armed,
    nodes: &[Node],
    past: Option<HaltId>,
) -> Result<Option<Waited>, BreakError> {
    let is_new = |node: &Node| past.is_none_or(|past| node.last_halt.is_newer_than(past));
    let stops = |node: &Node| is_halted(node) && is_new(node);
    if !nodes.iter().any(stops) {
        return Ok(None);
    }
    let (halt, proof) = system.complete_halt(PARK_LIMIT)?;
    let nodes = system.nodes()?;
    let fired = agreement(armed, &nodes) == Agreement::Fired;
    Ok(Some(if fired {
        Waited::Fired(Fired { satisfied: satisfied(armed, &nodes), halt, proof })
    } else {
        Waited::HaltedOtherwise(halt, proof)
    }))
}

/// Arms a node again that was reset; `None` while it has not started yet.
fn rearm(system: &mut System, armed: &Armed, nodes: &[Node], id: NodeId) -> Result<Option<Blind>, BreakError> {
    let place = nodes.iter().position(|node| node.id == id).map(|place| (system.addresses()[place], &nodes[place]));
    let Some((at, node)) = place.filter(|(_, node)| node.state == Some(StateCode::Running)) else { return Ok(None) };
    arm::rearm(system, at, armed, id)?;
    let until = node.clock.get(usize::from(id.0)).copied().map_or(EventNumber(0), EventNumber);
    Ok(Some(Blind { node: id, until }))
}

/// The reset was what the expression asked for: the host halts the system in place of the node, which could not.
fn halt_after_reset(system: &mut System, reset: Blind) -> Result<Waited, BreakError> {
    let (halt, proof) = system.halt_all(None, PARK_LIMIT)?.outcome(PARK_LIMIT)?;
    let event = Satisfied { stage: 1, node: reset.node, number: reset.until, order: Order::Last };
    Ok(Waited::Fired(Fired { satisfied: vec![event], halt, proof }))
}
