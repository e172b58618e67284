//! Distributed predicates: "A here, then B there", armed and removed at run time.
//!
//! A predicate is a chain of up to [`MAX_STAGES`] stages, `DP -> DP -> ...`; each stage is satisfied by any one of its
//! simple predicates, the *terms* (Miller & Choi 1988, section 3). A node holds only its own terms, as a [`Program`]:
//! bytes that are verified once when they arrive and can then be run without any check. [`Predicates`] is the table of
//! what is armed on one node; its documentation lists the rules.
//!
//! Two detectors find out that a stage was satisfied elsewhere, and a third that conditions of several nodes hold at once:
//! see [`Detector`].
mod build;
mod carry;
mod eval;
mod id;
mod listing;
mod op;
mod plan;
mod program;
mod slot;
mod table;

pub use build::ProgramBuilder;
pub use carry::{Carry, CarryDecodeError, CarryEncodeError};
pub use eval::{EvalContext, MAX_STEPS, MAX_STEPS_PER_EVENT};
pub use id::{Detector, Generation, Reached, ReachedError, SlotId, SlotSet};
pub use listing::Listing;
pub use op::{Op, Relation};
pub use plan::{Load, MAX_CARRIED, MAX_COMPONENTS, Plan, Values};
pub use program::{Defect, Matcher, Program, Term, VerifyError};
pub(crate) use slot::EventKey;
pub use slot::Phase as SlotPhase;
pub use table::{EnableError, InstallError, Outcome, Predicates, WatchError};

/// Whether nodes evaluate predicates: the feature of this name. A node without it refuses to install any.
pub const BUILT_IN: bool = cfg!(feature = "predicates");

/// How many predicates can be armed at once.
pub const SLOTS: usize = 4;

/// How many watches a node has.
pub const WATCHES: usize = 8;

/// How long a node's part of one predicate can be.
pub const PROGRAM_BYTES: usize = 32;

/// How many stages a predicate can have.
pub const MAX_STAGES: u8 = 8;

/// How many terms one node can have in one predicate.
pub const MAX_TERMS: usize = 8;

/// How many terms one node can have in one stage.
pub const MAX_TERMS_PER_STAGE: usize = 4;
