//! Exhaustive exploration of the shipped `Node::step` and `link` on systems of three nodes.
//!
//! Each [model](models) is a small system with every interleaving of messages, markers, releases and acknowledgements. The
//! driver around the nodes is the only thing that is modelled; what it knows of the truth it keeps by other means than the
//! nodes do (sets of events instead of clocks, counted halts instead of ids), so that a mistake cannot hide in both.
//! [Mutants](sabotage) are the same systems with one deliberate mistake, and prove that the properties can fail.
//!
//! No symmetry or partial-order reduction is used. What is left out on purpose: application messages have no content; a
//! serial line holds one frame in each direction and its time-out is longer than a round trip; a peer does not send
//! between a reset and the moment it notices.
pub mod config;
mod drive;
pub mod intern;
mod lanes;
pub mod models;
mod oracle;
mod prepare;
mod properties;
mod resets;
pub mod sabotage;
pub mod search;
pub mod serial;
pub mod system;
pub mod transcript;
pub mod world;

#[cfg(test)]
mod tests;
