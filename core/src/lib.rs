//! Vector clocks, consistent halting, distributed predicates and RPC delay propagation, sans-IO and `no_std`.
//!
//! Every algorithm of Stillpoint lives here once and is used by the firmware and by the host. Nothing here performs
//! I/O, reads a clock, allocates, or panics: a value goes in, a value that says what to do comes out.
#![no_std]
#![cfg_attr(not(on_target), forbid(unsafe_code))]

mod certificate;
mod clock;
pub mod control;
mod cut;
pub mod delay;
mod event;
mod halt;
mod id;
pub mod link;
pub mod log;
mod node;
#[cfg(on_target)]
pub mod on_target;
pub mod predicate;
pub mod shared;
mod stamp;
mod stamp_order;
pub mod time;

pub use certificate::{Certificate, ChannelReport, NodeReport, Violation};
pub use clock::{EventNumber, VectorClock};
pub use cut::{Channel, Cut, InFlight, Snapshot};
pub use event::{Event, EventKind, KindSet};
pub use halt::{HaltMarker, HaltOrder, MarkerError, Phase, ResumeTo};
pub use id::{HaltId, MAX_NODES, MAX_PORTS, NodeId, PortId, PortSet};
pub use node::{Command, ConnectError, Direction, Effects, Hello, Input, LinkHello, Node, Quick, StepError, Then};
pub use stamp::{MessageStamp, SenderNumber, StampError, StampKind, max_stamp_len, message_stamp_len};
pub use stamp_order::StampOrder;
