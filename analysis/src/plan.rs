//! What each node has to do so that an event is recognised: minimal instrumentation (section 3.3).
use crate::recognition::passes_through;
use crate::{ChannelId, Program, Recognition};
use std::collections::BTreeMap;
use stillpoint_core::predicate::{MAX_CARRIED, MAX_COMPONENTS, Plan};
use stillpoint_core::{NodeId, PortId};

/// Why a recognition cannot be carried out by nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The event has too many components.
    #[error("the event has {0} components; nodes have room for {MAX_COMPONENTS}")]
    TooManyComponents(usize),
    /// A node has two components.
    #[error("node {0} has two components; join them with `and`")]
    TwoOfOneNode(u8),
    /// A channel would carry too much.
    #[error("a channel of node {0} would carry more than {MAX_CARRIED} components")]
    TooManyCarried(u8),
}

/// The part of each node that has one. `ports` names the two ends of a channel: where messages leave and where they come in.
///
/// # Errors
/// [`PlanError`] if the event needs more than nodes have room for.
pub fn plans(
    program: &Program,
    recognition: &Recognition,
    ports: impl Fn(ChannelId) -> (PortId, PortId),
) -> Result<BTreeMap<NodeId, Plan>, PlanError> {
    let mut plans: BTreeMap<NodeId, Plan> = BTreeMap::new();
    let guard = |plans: &mut BTreeMap<NodeId, Plan>, channel: ChannelId| {
        let ((out, into), ends) = (ports(channel), &program.channels()[channel.index()]);
        for (node, port) in [(ends.from, out), (ends.to, into)] {
            let plan = plans.entry(node).or_insert(Plan::NOTHING);
            plan.guarded = plan.guarded.with(port);
        }
        (ends.from, out, ends.to, into)
    };
    if recognition.holds.len() > MAX_COMPONENTS {
        return Err(PlanError::TooManyComponents(recognition.holds.len()));
    }
    for hold in recognition.holds.iter().filter(|hold| !hold.carriers.is_empty()) {
        let component = hold.component;
        let source = program.channels()[hold.carriers[0].index()].from;
        for carrier in &hold.carriers {
            let (from, out, _, _) = guard(&mut plans, *carrier);
            let plan = plans.entry(from).or_insert(Plan::NOTHING);
            plan.carriers[component] = plan.carriers[component].with(out);
            if plan.carriers.iter().filter(|set| set.contains(out)).count() > MAX_CARRIED {
                return Err(PlanError::TooManyCarried(from.0));
            }
        }
        let own = plans.entry(source).or_insert(Plan::NOTHING);
        if own.own.replace(component as u8).is_some() {
            return Err(PlanError::TwoOfOneNode(source.0));
        }
        plans.entry(recognition.node).or_insert(Plan::NOTHING).needs |= 1 << component;
        let Some(release) = hold.release else { continue };
        let way = passes_through(program, release);
        for channel in &way {
            let (from, out, to, into) = guard(&mut plans, *channel);
            for (node, port, passes) in
                [(from, out, *channel != release.sent), (to, into, *channel != release.received)]
            {
                let plan = plans.entry(node).or_insert(Plan::NOTHING);
                if passes {
                    plan.wires = plan.wires.with(port);
                }
            }
        }
        plans.entry(recognition.node).or_insert(Plan::NOTHING).sent[component] = Some(ports(release.sent).0);
        plans.entry(source).or_insert(Plan::NOTHING).release = Some(ports(release.received).1);
    }
    Ok(plans)
}
