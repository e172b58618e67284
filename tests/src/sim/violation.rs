//! What must never happen.
use std::fmt;
use stillpoint_core::{HaltId, StepError};

/// What must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The cut certificate was refused.
    Certificate(stillpoint_core::Violation),
    /// The node did not stop although a halt was started and everything was delivered.
    NotStopped(usize),
    /// The node did not run on although its halt was released and everything was delivered.
    NotResumed(usize),
    /// The nodes do not agree which halt was the last.
    LastHalts(Vec<u16>),
    /// Something happened on a node that was stopped.
    EventWhileStopped(usize),
    /// The node refused what is legal.
    Refused(usize, StepError),
    /// The application got another message than the one that was next in the channel.
    WrongMessage(usize),
    /// The node's clock is not the true one.
    WrongClock {
        /// Whose.
        node: usize,
        /// What it says.
        says: Vec<u32>,
        /// What is true.
        truth: Vec<u32>,
    },
    /// The node's halted state is not the one that Chandy & Lamport's algorithm recorded.
    OtherState(usize),
    /// What is in flight is not what Chandy & Lamport's algorithm recorded.
    OtherChannelState(usize),
    /// A marker was reached while there were still messages ahead of it, or none had been sent.
    MarkerOutOfPlace(usize),
    /// The node halted in a halt that nobody started.
    NobodyStarted(usize, HaltId),
    /// The node left a halt that nobody released.
    NobodyReleased(usize, HaltId),
    /// A message was sent and neither received nor lost by a reset.
    Lost(usize),
    /// A node that started anew did not start above what others know of it.
    StaleStart {
        /// Who started.
        node: usize,
        /// Who knows of a newer event.
        knower: usize,
    },
    /// The log of the node does not tell what happened.
    Log(usize, String),
    /// A linked predicate fired where it should not, or did not where it should.
    Predicate(usize),
    /// Deliveries go on for ever.
    NeverSettles,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(violation) => write!(f, "no certificate: {violation}"),
            Self::NotStopped(node) => write!(f, "node {node} did not stop"),
            Self::NotResumed(node) => write!(f, "node {node} did not run on"),
            Self::LastHalts(halts) => write!(f, "the nodes disagree on the last halt: {halts:?}"),
            Self::EventWhileStopped(node) => write!(f, "something happened on node {node} while it was stopped"),
            Self::Refused(node, error) => write!(f, "node {node} refused what is legal: {error}"),
            Self::WrongMessage(edge) => write!(f, "channel {edge} handed out another message than the next"),
            Self::WrongClock { node, says, truth } => {
                write!(f, "the clock of node {node} says {says:?}, the truth is {truth:?}")
            }
            Self::OtherState(node) => write!(f, "node {node} halted in another state than was recorded"),
            Self::OtherChannelState(edge) => write!(f, "channel {edge} holds other messages than were recorded"),
            Self::MarkerOutOfPlace(edge) => write!(f, "the marker of channel {edge} was reached out of place"),
            Self::NobodyStarted(node, halt) => write!(f, "node {node} halted in halt {}, which nobody started", halt.0),
            Self::NobodyReleased(node, halt) => write!(f, "node {node} left halt {}, which nobody released", halt.0),
            Self::Lost(edge) => write!(f, "a message of channel {edge} is gone"),
            Self::StaleStart { node, knower } => {
                write!(f, "node {node} started anew below what node {knower} knows of it")
            }
            Self::Log(node, what) => write!(f, "the log of node {node}: {what}"),
            Self::Predicate(node) => write!(f, "the predicate fired or failed to fire wrongly on node {node}"),
            Self::NeverSettles => f.write_str("deliveries go on for ever"),
        }
    }
}

impl std::error::Error for Violation {}
