//! Logging with defmt: one ring per core that a host reads while the firmware runs.
//!
//! A line is in its ring whole or not at all, a full ring counts what it dropped and the next line says so, and only the
//! logging core's interrupts are masked meanwhile: neither core ever waits for the other, or for the host. Before each
//! line stands the clock of the core's node, so that a host can tell which lines came before which.
#[cfg(feature = "enabled")]
mod place;
#[cfg(not(feature = "enabled"))]
#[path = "../plain/place.rs"]
mod place;
mod ring;
#[cfg(feature = "enabled")]
pub use place::Standing;
pub use ring::{HEADER, MAGIC, Ring};

#[cfg(all(feature = "mps2-an521", target_os = "none"))]
mod logger;
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
pub use logger::{STILLPOINT_DEFMT_RINGS, init};
#[cfg(all(feature = "mps2-an521", target_os = "none", feature = "enabled"))]
pub use logger::{place_with, ring_of};
