//! The programs behind `step` and `next`.
use crate::Node;
use crate::expr::Compiled;
use stillpoint_core::predicate::{Op, Program, ProgramBuilder, Relation, VerifyError};
use stillpoint_core::{Direction, EventKind, EventNumber, NodeId, PortId};

/// Satisfied by the next event of one node, or of any (Manabe & Imase 1988, 5.1: both kinds of single step).
///
/// # Errors
/// Never for nodes that a board described.
pub fn next_event(nodes: &[Node], of: Option<NodeId>) -> Result<Compiled, VerifyError> {
    let program = |node: &Node| {
        let number = EventNumber(node.clock.get(usize::from(node.id.0)).copied().unwrap_or(0)).next();
        let builder = ProgramBuilder::new(1);
        if of.is_some_and(|of| of != node.id) {
            return builder.finish();
        }
        let condition = [Op::Count, Op::Const(number.count() as i32), Op::Compare(Relation::Equal)];
        builder.push_condition_term(1, 1, &condition).finish()
    };
    compiled(1, nodes, program)
}

/// Satisfied when a message that a node sends from now on is received: its successors are about to act on it (Hyder 1994,
/// 5.5.1). The stop rides on the message, as the first stage does under the causal detector.
///
/// # Errors
/// A successor has more ports from the node than one stage has room for.
pub fn successors_about_to_act(nodes: &[Node], of: NodeId) -> Result<Compiled, VerifyError> {
    let program = |node: &Node| {
        let builder = ProgramBuilder::new(2);
        let builder = if node.id == of { builder.push_event_term(1, 1, EventKind::Send, None) } else { builder };
        ports_from(node, of)
            .fold(builder, |b, port| b.push_event_term(2, 1, EventKind::Receive, Some(port.0.into())))
            .finish()
    };
    compiled(2, nodes, program)
}

/// The ports of a node at which messages of another arrive.
fn ports_from(node: &Node, of: NodeId) -> impl Iterator<Item = PortId> {
    node.ports.iter().filter(move |port| port.direction == Direction::In && port.peer == of).map(|port| port.id)
}

fn compiled(
    stages: u8,
    nodes: &[Node],
    program: impl Fn(&Node) -> Result<Program, VerifyError>,
) -> Result<Compiled, VerifyError> {
    let programs = nodes.iter().map(|node| Ok((node.id, program(node)?)));
    Ok(Compiled { stages, programs: programs.collect::<Result<_, VerifyError>>()? })
}
