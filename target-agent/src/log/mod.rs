//! Logging with defmt: one ring per core that a host reads while the firmware runs.
//!
//! A frame is in its ring whole or not at all, a full ring counts what it dropped, and only the logging core's
//! interrupts are masked meanwhile: neither core ever waits for the other, or for the host.
mod ring;
pub use ring::{HEADER, MAGIC, Ring};

#[cfg(all(feature = "mps2-an521", target_os = "none"))]
mod logger;
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
pub use logger::{STILLPOINT_DEFMT_RINGS, init};
