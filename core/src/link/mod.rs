//! A serial line made first-in-first-out and reliable, as every algorithm here assumes its channels to be.

mod arrival;
mod cobs;
mod config;
mod crc;
mod endpoint;
mod frame;
mod lane;
mod machine;
mod queue;
#[cfg(any(test, on_target))]
mod tests;

pub use config::{Config, Counters};
pub use endpoint::{Lane, Ledger, Link, LinkEvent, LinkPhase, Received, SendError};
pub use frame::{Flags, FrameDecoder, FrameError, HEADER_BYTES, Header, Kind, TooShort, wire_bytes};

/// The version of the wire form; ends with different ones do not talk.
pub const VERSION: u8 = 1;

/// The largest window: how many data frames a link can hold in each direction.
pub const MAX_WINDOW: usize = 8;

/// The largest payload of a data frame.
pub const MAX_FRAME: usize = 240;

/// The largest item of the control lane.
pub const CONTROL_BYTES: usize = 48;

/// How many items the control lane holds in each direction.
pub const CONTROL_WINDOW: usize = 4;

/// How much a driver can say in a hello.
pub const HELLO_BYTES: usize = 32;

// One buffer assembles the frames of both lanes and the hellos.
const _: () = assert!(HELLO_BYTES <= CONTROL_BYTES && CONTROL_BYTES <= MAX_FRAME && MAX_FRAME <= 255);
