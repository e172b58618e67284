//! Installing a breakpoint on every node, and only then letting its first stage count.
use super::{BreakError, of, survey};
use crate::expr::Compiled;
use crate::{Node, NodeAddress, Slot, System, SystemError};
use serde::{Deserialize, Serialize};
use stillpoint_core::control::{SlotState, StateCode};
use stillpoint_core::predicate::{Detector, Generation, MAX_STAGES, Plan, Program, SlotId, SlotPhase};
use stillpoint_core::{Command, NodeId, PortSet};

/// A breakpoint as it was armed: what is needed to find it again on the boards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Armed {
    /// Its slot, which is also its number for the user.
    pub slot: u8,
    /// Which use of the slot.
    pub generation: u8,
    /// Whether its stages travel by marker instead of on messages.
    pub markers: bool,
    /// What the user wrote.
    pub text: String,
    /// How many stages it has.
    pub stages: u8,
    /// The bytes of each node's program, by the number of the node.
    pub programs: Vec<(u8, Vec<u8>)>,
    /// For a simultaneous event that is promised: the part of each node that has one, by the number of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<(u8, Vec<u8>)>,
    /// The ports of each node whose messages need not carry its stages, one bit each, by the number of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<(u8, u32)>,
}

/// What messages carry of a breakpoint, if not its stages on every port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carriers<'a> {
    /// For a simultaneous event that is promised: the part of each node that has one.
    pub plans: &'a [(NodeId, Plan)],
    /// The ports of each node whose messages need not carry its stages.
    pub silent: &'a [(NodeId, PortSet)],
}

impl Armed {
    fn generation(&self) -> Generation {
        Generation(self.generation)
    }

    fn detector(&self) -> Detector {
        match self.markers {
            true => Detector::Marker,
            false if self.plans.is_empty() => Detector::Causal,
            false => Detector::Simultaneous,
        }
    }

    /// The part of a node in a simultaneous event.
    fn plan(&self, node: NodeId) -> Plan {
        let bytes = self.plans.iter().find(|(id, _)| *id == node.0).and_then(|(_, bytes)| bytes.first_chunk());
        bytes.and_then(Plan::from_bytes).unwrap_or(Plan::NOTHING)
    }

    fn silent(&self, node: NodeId) -> PortSet {
        PortSet(self.silent.iter().find(|(id, _)| *id == node.0).map_or(0, |(_, ports)| *ports))
    }

    /// Whether a node says that the simultaneous event can be recognised no more: a link of its plan began a new session.
    pub(super) fn is_over(&self, nodes: &[Node]) -> bool {
        let ended = |node: &Node| self.slot_of(node).is_some_and(|(state, _)| state.stage == MAX_STAGES);
        !self.plans.is_empty() && nodes.iter().any(ended)
    }

    /// The program of a node, if it was given one.
    fn program(&self, node: NodeId) -> Option<Program> {
        let (_, bytes) = self.programs.iter().find(|(id, _)| *id == node.0)?;
        Program::verify(bytes).ok()
    }

    /// What a node's slot says, if it is of this breakpoint.
    pub(super) fn slot_of(&self, node: &Node) -> Option<(SlotState, Slot)> {
        let slot = *node.slots.get(usize::from(self.slot))?;
        let program = self.program(node.id)?;
        let state = slot.state?;
        let has_it = matches!(state.phase, SlotPhase::Installed | SlotPhase::Fired);
        let is_it = state.generation == self.generation() && slot.program == program.checksum();
        (has_it && is_it).then_some((state, slot))
    }
}

/// Whether a node has the breakpoint and was not told yet that its first stage counts: arming it was not finished.
#[must_use]
pub fn is_half_armed(armed: &Armed, nodes: &[Node]) -> bool {
    nodes.iter().filter_map(|node| armed.slot_of(node)).any(|(state, _)| !state.enabled)
}

/// What the boards say of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Every node has it.
    Armed,
    /// Its last stage was satisfied.
    Fired,
    /// These nodes do not have it any more: they were reset since.
    Partly(Vec<NodeId>),
    /// No node has it: it was removed, or every board was reset.
    Gone,
}

/// Compares a breakpoint with what every node says it has.
#[must_use]
pub fn agreement(armed: &Armed, nodes: &[Node]) -> Agreement {
    let states: Vec<_> = nodes.iter().map(|node| (node.id, armed.slot_of(node))).collect();
    let missing: Vec<_> = states.iter().filter(|(_, state)| state.is_none()).map(|(id, _)| *id).collect();
    if states.iter().filter_map(|(_, slot)| slot.as_ref()).any(|(state, _)| state.phase == SlotPhase::Fired) {
        Agreement::Fired
    } else if missing.is_empty() {
        Agreement::Armed
    } else if missing.len() == nodes.len() {
        Agreement::Gone
    } else {
        Agreement::Partly(missing)
    }
}

/// A slot that no node uses, and the generation with which to use it next.
#[must_use]
pub fn free_slot(nodes: &[Node]) -> Option<(SlotId, Generation)> {
    SlotId::ALL.into_iter().find_map(|slot| {
        let states = || nodes.iter().filter_map(|node| node.slots.get(usize::from(slot.number()))?.state);
        let known = states().filter(|state| state.phase != SlotPhase::Unknown).map(|state| state.generation);
        let newest = known.reduce(|newest, known| if known.is_newer_than(newest) { known } else { newest });
        let is_used = states().any(|state| matches!(state.phase, SlotPhase::Installed | SlotPhase::Fired));
        (!is_used).then(|| (slot, newest.map_or(Generation(1), Generation::next)))
    })
}

/// The slot of the simultaneous event that nodes have a part in; they have room for one.
fn simultaneous_slot(nodes: &[Node]) -> Option<SlotId> {
    SlotId::ALL.into_iter().find(|slot| {
        let states = nodes.iter().filter_map(|node| node.slots.get(usize::from(slot.number()))?.state);
        states.into_iter().any(|state| {
            state.detector == Detector::Simultaneous && matches!(state.phase, SlotPhase::Installed | SlotPhase::Fired)
        })
    })
}

/// Arms a breakpoint: installs it on every node, asks every node to confirm it, and then enables it. In a system that runs,
/// breakpoints that have fired are removed first: their halt is over.
///
/// `note` is given the breakpoint before any node has it, so that it can be found again if this host is killed.
///
/// # Errors
/// There is no free slot, or a node refused it; what was installed is removed again.
pub fn arm(
    system: &mut System,
    compiled: &Compiled,
    detector: Detector,
    text: &str,
    note: impl FnOnce(&Armed),
) -> Result<Armed, BreakError> {
    arm_by_plan(system, compiled, detector, Carriers::default(), text, note)
}

/// The same where it is known what messages have to carry: the parts of a simultaneous event, or the stages of a linked one on
/// some channels only.
///
/// # Errors
/// As for [`arm`]; or there is a simultaneous event already, or the links on the way of a release began at different times.
pub fn arm_by_plan(
    system: &mut System,
    compiled: &Compiled,
    detector: Detector,
    carriers: Carriers<'_>,
    text: &str,
    note: impl FnOnce(&Armed),
) -> Result<Armed, BreakError> {
    let mut nodes = survey(system)?;
    if nodes.iter().all(|node| node.state == Some(StateCode::Running))
        && !remove_fired(system, &nodes, |_| true)?.is_empty()
    {
        nodes = survey(system)?;
    }
    let (slot, generation) = free_slot(&nodes).ok_or(BreakError::NoSlot)?;
    if detector == Detector::Simultaneous
        && let Some(other) = simultaneous_slot(&nodes)
    {
        return Err(BreakError::OneEvent(other.number()));
    }
    let programs = compiled.programs.iter().map(|(node, program)| (node.0, program.as_bytes().to_vec()));
    let armed = Armed {
        slot: slot.number(),
        generation: generation.0,
        markers: detector == Detector::Marker,
        text: text.to_owned(),
        stages: compiled.stages,
        programs: programs.collect(),
        plans: carriers.plans.iter().map(|(node, plan)| (node.0, plan.to_bytes().to_vec())).collect(),
        silent: carriers.silent.iter().map(|(node, ports)| (node.0, ports.0)).collect(),
    };
    note(&armed);
    let done = install(system, &armed, &nodes).and_then(|()| enable(system, &armed, &nodes));
    if let Err(error) = done {
        // What can still be reached shall not be left with half a breakpoint.
        for at in system.addresses() {
            let _ = system.command(at, &Command::Remove { slot });
        }
        return Err(error);
    }
    Ok(armed)
}

/// The same predicate for a system that stands where these nodes do, to be looked for from there on: a condition of the
/// first stage that holds now does not occur until it was false.
#[must_use]
pub fn look_on(compiled: &Compiled, nodes: &[Node]) -> Compiled {
    let look_on = |(id, program): &(NodeId, Program)| {
        let held = |node: &Node| program.with_held(&node.watch_values(), &node.eval_context());
        (*id, of(nodes, *id).map_or(*program, held))
    };
    Compiled { stages: compiled.stages, programs: compiled.programs.iter().map(look_on).collect() }
}

fn install(system: &mut System, armed: &Armed, nodes: &[Node]) -> Result<(), BreakError> {
    for (at, node) in system.addresses().into_iter().zip(nodes) {
        install_on(system, at, armed, node.id)?;
    }
    let nodes = survey(system)?;
    for id in nodes.iter().map(|node| node.id) {
        confirm(armed, &nodes, id)?;
    }
    Ok(())
}

fn install_on(system: &mut System, at: NodeAddress, armed: &Armed, node: NodeId) -> Result<(), BreakError> {
    let program = armed.program(node).ok_or(BreakError::NoProgram(node.0))?;
    let slot = SlotId::new(armed.slot).ok_or(BreakError::NoSlot)?;
    let (generation, detector, program) = (armed.generation(), armed.detector(), program.as_bytes());
    system.command(at, &Command::Install { slot, generation, detector, program })?;
    if detector == Detector::Simultaneous {
        system.command(at, &Command::Plan { slot, generation, plan: armed.plan(node) })?;
    }
    Ok(())
}

fn confirm(armed: &Armed, nodes: &[Node], id: NodeId) -> Result<(), BreakError> {
    let node = of(nodes, id);
    if node.is_some_and(|node| armed.slot_of(node).is_some()) {
        return Ok(());
    }
    let slot = node.and_then(|node| node.slots.get(usize::from(armed.slot)));
    let says = slot.and_then(|slot| slot.state).map_or("nothing that makes sense".to_owned(), |state| {
        format!("{:?}, generation {}", state.phase, state.generation.0).to_lowercase()
    });
    Err(BreakError::NotConfirmed { node: id.0, slot: armed.slot, says })
}

fn enable(system: &mut System, armed: &Armed, nodes: &[Node]) -> Result<(), BreakError> {
    for (at, node) in system.addresses().into_iter().zip(nodes) {
        enable_on(system, at, armed, node.id)?;
    }
    Ok(())
}

fn enable_on(system: &mut System, at: NodeAddress, armed: &Armed, node: NodeId) -> Result<(), BreakError> {
    let slot = SlotId::new(armed.slot).ok_or(BreakError::NoSlot)?;
    let (generation, silent) = (armed.generation(), armed.silent(node));
    Ok(system.command(at, &Command::Enable { slot, generation, silent })?)
}

/// Arms a breakpoint again on one node that forgot it in a reset.
pub(super) fn rearm(system: &mut System, at: NodeAddress, armed: &Armed, node: NodeId) -> Result<(), BreakError> {
    install_on(system, at, armed, node)?;
    enable_on(system, at, armed, node)
}

/// Removes whatever is in a slot from every node. Nodes that cannot be reached do not keep the others from it.
///
/// # Errors
/// A node could not be reached; the others have removed it.
pub fn remove(system: &mut System, slot: SlotId) -> Result<(), SystemError> {
    let removed: Vec<_> =
        system.addresses().into_iter().map(|at| system.command(at, &Command::Remove { slot })).collect();
    removed.into_iter().collect()
}

/// Removes the breakpoints that have fired and for which `is_over`, from every node. Returns which.
///
/// A breakpoint that has fired does not fire again; it only keeps what is known of its halt. Whoever ends that halt frees its
/// slot.
///
/// # Errors
/// A node could not be reached; the others have removed it.
pub fn remove_fired(
    system: &mut System,
    nodes: &[Node],
    is_over: impl Fn(SlotId) -> bool,
) -> Result<Vec<SlotId>, SystemError> {
    let has_fired = |slot: &SlotId| {
        let states = nodes.iter().filter_map(|node| node.slots.get(usize::from(slot.number()))?.state);
        states.into_iter().any(|state| state.phase == SlotPhase::Fired)
    };
    let fired: Vec<SlotId> = SlotId::ALL.into_iter().filter(|slot| has_fired(slot) && is_over(*slot)).collect();
    fired.iter().try_for_each(|slot| remove(system, *slot))?;
    Ok(fired)
}

#[cfg(test)]
#[path = "arm_tests.rs"]
mod tests;
