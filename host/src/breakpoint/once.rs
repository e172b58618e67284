//! A breakpoint for one use: armed in a halted system, run into, and removed.
use super::wait::wait_past;
use super::{Armed, BreakError, Waited, arm, remove, remove_fired};
use crate::expr::Compiled;
use crate::trace::Tails;
use crate::{Node, NodeAddress, System};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use stillpoint_core::predicate::{Detector, SlotId};
use stillpoint_core::{Command, Event, EventNumber, HaltId};

/// How long nodes may take to leave a halt that was released.
const DEPARTURE_LIMIT: Duration = Duration::from_secs(5);

/// How a run from one halt to the next ended.
#[derive(Debug)]
pub struct Ran {
    /// Why it ended.
    pub waited: Waited,
    /// What each node did meanwhile, in the order of [`System::addresses`]; nothing where nobody knows, because it runs on.
    pub moved: Vec<Moved>,
    /// Breakpoints of others that fired meanwhile.
    pub fired: Vec<SlotId>,
}

/// What one node did between two halts.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Where it is.
    pub at: NodeAddress,
    /// As it stood before.
    pub before: Node,
    /// As it stands.
    pub after: Node,
    /// What it did, if its log tells.
    pub events: Option<Vec<Event>>,
}

impl Moved {
    /// How many events it executed; `None` if it was reset.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        let number = |node: &Node| EventNumber(node.clock.get(usize::from(node.id.0)).copied().unwrap_or(0));
        let (before, after) = (number(&self.before), number(&self.after));
        // A count that overflows runs into the next epoch; a reset begins one with a jump.
        let count = after.0.wrapping_sub(before.0);
        (count < 1 << 23).then_some(count)
    }
}

/// Lets a halted system run until a predicate is satisfied, or anything else halts it, and removes the predicate again.
///
/// `note` is given the breakpoint before any node has it, so that it can be found again if this host is killed. Breakpoints
/// that have fired are removed, but for those for which `is_kept`: the halt that they caused is over.
///
/// # Errors
/// The system is not halted, there is no free slot, or a board could not be reached; then the breakpoint is removed from
/// all that can be reached.
pub fn run_until(
    system: &mut System,
    compiled: &Compiled,
    text: &str,
    limit: Option<Duration>,
    interrupt: &AtomicBool,
    is_kept: impl Fn(SlotId) -> bool,
    note: impl FnOnce(&Armed),
) -> Result<Ran, BreakError> {
    let halt = halted(system)?;
    let nodes = system.nodes()?;
    remove_fired(system, &nodes, |slot| !is_kept(slot))?;
    let breakpoint = arm(system, compiled, Detector::Causal, text, note)?;
    let done = run_into(system, &breakpoint, halt, limit, interrupt);
    let slot = SlotId::new(breakpoint.slot).ok_or(BreakError::NoSlot)?;
    let removed = remove(system, slot);
    let ran = done?;
    removed?;
    Ok(ran)
}

/// The halt that all nodes are in.
fn halted(system: &mut System) -> Result<HaltId, BreakError> {
    let names: Vec<String> = system.addresses().into_iter().map(|at| system.node_name(at)).collect();
    let nodes = system.nodes()?;
    let newest = crate::system::newest_halt(&nodes);
    let stands = |node: &Node| node.is_parked() && node.last_halt == newest;
    let running: Vec<String> =
        nodes.iter().zip(names).filter(|(node, _)| !stands(node)).map(|(_, name)| name).collect();
    match running.as_slice() {
        [] => Ok(newest),
        [one] => Err(BreakError::NotHalted(format!("{one} is"))),
        several => Err(BreakError::NotHalted(format!("{} are", several.join(", ")))),
    }
}

fn run_into(
    system: &mut System,
    armed: &Armed,
    halt: HaltId,
    limit: Option<Duration>,
    interrupt: &AtomicBool,
) -> Result<Ran, BreakError> {
    let before = system.nodes()?;
    let tails = Tails::of(system, &before)?;
    let first = system.addresses().first().copied();
    if let Some(at) = first {
        system.command(at, &Command::Release(halt))?;
    }
    let waited = wait_past(system, armed, None, Some(halt), limit, interrupt, |_| {})?;
    if !matches!(waited, Waited::Fired(_) | Waited::HaltedOtherwise(..)) {
        await_departure(system, halt)?;
        return Ok(Ran { waited, moved: Vec::new(), fired: Vec::new() });
    }
    let after = system.nodes()?;
    let events = tails.events_since(system)?;
    let fired = SlotId::ALL
        .into_iter()
        .filter(|slot| slot.number() != armed.slot && has_fired(&after, *slot) && !has_fired(&before, *slot));
    let fired = fired.collect();
    let nodes = system.addresses().into_iter().zip(before).zip(after.into_iter().zip(events));
    let moved = nodes.map(|((at, before), (after, events))| {
        let mut moved = Moved { at, before, after, events: None };
        // A log that leaves something out does not tell.
        moved.events = events.filter(|events| Some(events.len() as u32) == moved.count());
        moved
    });
    Ok(Ran { waited, moved: moved.collect(), fired })
}

/// Whoever gives up at once shall not leave before the nodes have left the halt that was released.
fn await_departure(system: &mut System, halt: HaltId) -> Result<(), BreakError> {
    let until = Instant::now() + DEPARTURE_LIMIT;
    while system.nodes()?.iter().any(|node| node.is_parked() && node.last_halt == halt) && Instant::now() < until {
        crate::poll::pause();
    }
    Ok(())
}

fn has_fired(nodes: &[Node], slot: SlotId) -> bool {
    use stillpoint_core::predicate::SlotPhase;
    let states = nodes.iter().filter_map(|node| node.slots.get(usize::from(slot.number()))?.state);
    states.into_iter().any(|state| state.phase == SlotPhase::Fired)
}
