//! Delayed halting: stop one node and let the rest run until they would interact with it.
//!
//! This is the on-line algorithm of Kawabe, Yamashita and Moriya, "Paradise: Distributed Debugging Environment -
//! Distributed and Delayed Halting for Distributed Processes", Appendix A, as a pair of pure state machines. A
//! *thread* is one line of control that moves between nodes by calling and returning; its *delay* is the time it
//! was stopped, held at a door, or frozen behind somebody who was. A thread may enter a node as soon as its own
//! delay is at least that of every other thread that may enter there: then all that would have come first have come.
//!
//! Two roles:
//! - a [`Satellite`] on every node keeps the delays of the threads that are there, says when one is suspended or
//!   goes on, keeps a call or return at the door until it is admitted, and runs the timeouts of its callers in
//!   thread time;
//! - a [`Central`] guards the doors of one node, of several, or of all. On boards each node's own `Central` guards its own
//!   door; the paper's single central debugger is one that guards all of them.
//!
//! Driver duties, in this order for every call or return of a thread:
//! 1. where it comes from: [`Satellite::leave`]; the [`Passage`] it gives travels with the request or reply;
//! 2. where it arrives: [`Satellite::arrive`], and give the [`Ask`] to the `Central` that guards this door;
//! 3. on [`Verdict::Enter`] or [`Effect::Admit`]: [`Satellite::admit`], then run the request or deliver the reply;
//! 4. every [`Tell`]: give its notice to both roles of each node it names, its own node first. Nothing is
//!    ever sent to a node that it does not concern;
//! 5. after every change, set an alarm for [`Central::next_alarm`] and call [`Central::recheck`] when it rings.
//!
//! Where this departs from the paper:
//! - delays are compared, not times: clocks of two boards have no common zero;
//! - the paper sets an alarm once, when a thread asks. Somebody it waits for may be stopped again before it rings, so
//!   here every change and every alarm decides anew;
//! - a held thread leaves with exactly the delay it waited for, not with the ticks by which its alarm came late.
//!   So delays become equal again after a halt, and the doors open again at the cost of one compare;
//! - a thread that waits for another (queued behind it, or called it) is frozen while that one is suspended, and
//!   this counts as delay; but never by a suspension that waits, through however many others, for that very thread.
//!
//! As in the paper, order is kept for threads whose running time does not depend on one another, and, as its section 4 in
//! fact proves, for calls and returns only. Inside a server whose clients queue, a client that comes with a longer delay
//! than the one it queues behind makes up for some of it while it waits.
//!
//! Order is kept for calls that are further apart than a notice takes to arrive. Where the tick rates of
//! boards differ, call [`Satellite::refresh`] and [`Central::refresh`] every so often (say once a second) while
//! anybody is suspended; without it two boards that disagree about who is behind could each hold the other's thread.
mod access;
mod account;
mod central;
mod deadline;
mod effect;
mod error;
mod header;
mod message;
mod satellite;
mod set;
#[cfg(any(test, on_target))]
mod tests;
mod wire;

pub use access::{Access, ThreadId};
pub use central::Central;
pub use deadline::{Deadline, Left};
pub use effect::{Effect, Effects, Notices, Verdict};
pub use error::{AccessError, AskError, MoveError, NoticeError, PauseError};
pub use header::CallHeader;
pub use message::{Ask, Delay, Notice, Passage, Step, Tell};
pub use satellite::Satellite;
pub use set::{NodeSet, ThreadSet};
pub use wire::DelayDecodeError;
