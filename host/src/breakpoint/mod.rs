//! Breakpoints over a whole system: armed everywhere, confirmed, then enabled; and what made one fire.
//!
//! [`arm`] puts a compiled expression into a free slot of every node, [`wait`] waits until it stops the system, and
//! [`Fired`] says which events satisfied which stage. Nothing of it needs the host in between: a breakpoint that fires while
//! nobody is attached parks the system, and [`look`] finds out later.
mod arm;
mod directory;
mod fired;
mod once;
mod step;
mod wait;

pub use arm::{
    Agreement, Armed, Carriers, agreement, arm, arm_by_plan, free_slot, is_half_armed, look_on, remove, remove_fired,
};
pub use directory::directory;
pub use fired::{Fired, Order, Satisfied, satisfied};
pub use once::{Moved, Ran, run_until};
pub use step::{next_event, successors_about_to_act};
pub use wait::{Blind, Waited, look, wait, wait_past};

use crate::{Node, System, SystemError};
use stillpoint_core::predicate::SLOTS;
use stillpoint_core::{Command, NodeId};

/// Why a breakpoint could not be armed, removed or waited for.
#[derive(Debug, thiserror::Error)]
pub enum BreakError {
    /// A board would not.
    #[error(transparent)]
    System(#[from] SystemError),
    /// Every slot is in use.
    #[error("all {SLOTS} breakpoints are in use; remove one with `stillpoint break rm N`")]
    NoSlot,
    /// A second simultaneous event.
    #[error(
        "breakpoint {0} is a simultaneous event, and nodes have room for one; remove it with `stillpoint break rm {0}`"
    )]
    OneEvent(u8),
    /// Nothing can run until something, because nothing stands.
    #[error("{0} not halted; halt the system first with `stillpoint halt`")]
    NotHalted(String),
    /// A node was not given a program for.
    #[error("node {0} was not there when the expression was compiled; compile it again")]
    NoProgram(u8),
    /// A node does not say that it has what it was given.
    #[error("node {node} does not confirm breakpoint {slot}: it says {says}; was it reset just now? Arm it again")]
    NotConfirmed {
        /// Which node.
        node: u8,
        /// Which breakpoint.
        slot: u8,
        /// What it says instead.
        says: String,
    },
}

/// Asks every node to say where it stands, and reads it.
///
/// # Errors
/// A board could not be reached.
pub fn survey(system: &mut System) -> Result<Vec<Node>, SystemError> {
    for at in system.addresses() {
        // What a dump says of its nodes is as new as it gets.
        if system.boards()[at.board].dumped().is_none() {
            system.command(at, &Command::Report)?;
        }
    }
    system.nodes()
}

/// The node of this name among those that were read.
fn of(nodes: &[Node], id: NodeId) -> Option<&Node> {
    nodes.iter().find(|node| node.id == id)
}
