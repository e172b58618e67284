//! Static variables of a halted firmware, by their names in the source: `token_ring::RING`, `RING.slots[2]`, `*LIST.head`.
//!
//! [`parse`] reads what was written, [`Query::find`] finds it in the debug information of a firmware, and [`Found::read`]
//! reads its value from the memory of a board, or of a dump.
mod find;
mod live;
mod of_task;
mod parse;
mod read;
mod show;
mod step;
#[cfg(test)]
mod tests;
mod wrappers;

pub use find::{Found, Read};
pub use of_task::{TaskQuery, parse_task};
pub use parse::{Query, parse};
pub(crate) use read::Reader;
pub use show::pretty;

use crate::MemoryError;
use crate::expr::ExprError;

/// How much of a value is read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep structs and arrays may nest.
    pub depth: u32,
    /// How many elements of an array are read.
    pub elements: usize,
}

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// What was written means nothing here.
    #[error(transparent)]
    Expression(#[from] ExprError),
    /// The memory cannot be read.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}
