//! What nodes record: chosen for the system, a board or a node, and inherited by what lies inside (Hyder 5.3).
//!
//! What is not chosen for a node is as chosen for its board, then for the system, then as the firmware has it: everything. A
//! choice can override what lies inside, as a parent scope's option does in Hyder 5.3.1. As soon as one node does not
//! record everything the others record causes, so that order stays exact.
//!
//! The system file says what is chosen to begin with; what is chosen while the boards run is kept in the folder of the
//! system (see [`StateDir`](crate::StateDir)). What a node records in the end is in its control block, where any host finds it, and in
//! memory that survives a reset.
mod choice;
mod choices;
mod plan;
#[cfg(test)]
mod tests;

pub use choice::{Choice, ChoiceError, NameError, say};
pub use choices::{Choices, Place, Setting, StoreError};
pub use plan::{NodePlan, Origin, Plan, PlanError, Selected};

/// From where a node has what it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nobody chose anything for it.
    Firmware,
    /// From the system.
    System,
    /// From its board.
    Board,
    /// It was chosen for itself.
    Node,
}

/// Which of the choices for a node, its board and its system counts: the outermost that overrides, otherwise the nearest.
#[must_use]
pub fn counts<'a>(
    system: Option<&'a Choice>,
    board: Option<&'a Choice>,
    node: Option<&'a Choice>,
) -> (Level, Option<&'a Choice>) {
    let levels = [(Level::System, system), (Level::Board, board), (Level::Node, node)];
    let set = || levels.into_iter().filter(|(_, choice)| choice.is_some());
    let outermost = set().find(|(_, choice)| choice.is_some_and(Choice::overrides));
    outermost.or_else(|| set().next_back()).unwrap_or((Level::Firmware, None))
}
