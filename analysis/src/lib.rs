//! Static analysis of distributed programs: at which points a simultaneous event can be recognised so that the halted
//! state still shows it.
//!
//! After M. Spezialetti and R. Gupta, *Debugging Distributed Programs through the Detection of Simultaneous Events*. The
//! functions of this crate are pure: a [`Program`] goes in, sets of statements and [`Recognition`]s come out.
//!
//! The paper's conditions are unsound for programs with loops, because they do not count messages: a message that lets a
//! process go on may already be under way when the event is recognised. [`recognise`] uses a rule with counts instead; the
//! paper's sets ([`Interactions`]) find the candidates and explain them.
mod extract;
mod flow;
mod interactions;
mod pairs;
mod plan;
mod program;
mod recognition;
mod stability;
mod stages;
mod text;

pub use extract::{ExtractError, Extracted, Node, Note, Place, Port, Source, extract, modules};
pub use flow::Flow;
pub use interactions::Interactions;
pub use pairs::Pairs;
pub use plan::{PlanError, plans};
pub use program::{
    Action, Builder, Channel, ChannelId, Program, ProgramError, Statement, StatementId, Task, TaskId, Watch, WatchId,
};
pub use recognition::{Component, Hold, Obstacle, Point, Recognition, recognise};
pub use stability::{Change, Class, Release, stability};
pub use stages::carriers_of_stages;
pub use text::TextError;
