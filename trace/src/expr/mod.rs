//! Breakpoint expressions: `left0:send(ring) -> right1.holding == 1`.
//!
//! [`parse`] reads the text, [`resolve`] looks up its names in a [`Directory`], [`Resolved::class`] says what kind of
//! predicate it is and what can be promised for it, and [`compile`] makes of it a program for each node. The language is
//! described in `docs/BREAKPOINTS.md`; it is that of Miller & Choi 1988, section 3.
mod ast;
mod class;
mod compile;
mod formula;
mod names;
pub(crate) mod parse;
mod recorded;
mod resolve;
mod simultaneous;
mod span;
pub(crate) mod token;

pub use ast::{Argument, Expression, Index, Operator, Simple, Stage, Value, ValueKind, What};
pub use class::{Class, Promise};
pub use compile::{Compiled, compile};
pub use formula::{Formula, Surroundings};
pub use names::{Directory, NodeNames, NotOneNode, PortNames, one_node};
pub use parse::parse;
pub use resolve::{Match, Resolved, Term, resolve};
pub(crate) use resolve::{resolve_any, resolve_simple};
pub use simultaneous::{LocalCondition, MAX_COMPONENTS, is_simultaneous, simultaneous};
pub use span::{ExprError, Span, Word};
