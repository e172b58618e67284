//! A deterministic simulator: shipped nodes, their drivers, channels with any delay, and an oracle beside them.
//!
//! [`System`] is one system; each of its methods is one step of a schedule, so a schedule can come from a test, a
//! transcript or a list of numbers ([`Plan`]). The drivers do what `Effects` say and nothing else. [`Reference`] runs
//! Chandy & Lamport's recorder and true vector clocks on the same schedule; the checks compare.
//!
//! The driver here is not the agent's. It does by itself what `Effects` ask for (write the record, put the message into its
//! channel, put markers, releases and predicate markers into control lanes, freeze and resume the application), hands what
//! arrives to its node, and resets nodes. It has no interrupts, links, log rings of cores, gate of calls or crash
//! path, and finds no fault in the agent's.
//!
//! It stays because the agent cannot take its place: a schedule here delays every message of every channel by itself, on any
//! graph of up to 32 nodes, while the agent's channels are the mailboxes of two cores and links that are one line for both
//! directions and both lanes. A step here is one input of one node; the agent takes hundreds of points for it, and properties
//! are tried with a million schedules. The agent itself runs on the platform of `stillpoint-agent`'s own tests that
//! preempts it (`src/preempt.rs`), with the same oracles: the halted state equals the snapshot, one marker a channel with
//! nothing behind it, nothing after the stop, no event lost, every wake-up arrives.
mod app;
mod channel;
mod check;
mod console;
mod driver;
mod life;
mod linked;
mod logs;
mod member;
mod plan;
mod recorded;
mod reference;
mod setup;
mod system;
mod violation;
mod wire;

pub use app::App;
pub use channel::{Channel, Control, Lane, Message};
pub use console::Console;
pub use linked::Linked;
pub use member::{Entry, Log, Member, PORTS};
pub use plan::{Adversity, Failure, Plan, Seen};
pub use recorded::Recorded;
pub use reference::{Happened, Reference, State};
pub use setup::{HaltMode, Sabotage, Setup};
pub use system::System;
pub use violation::Violation;
pub use wire::Wire;
