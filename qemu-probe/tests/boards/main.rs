//! Emulated boards: their machines, and the debug probe that drives their cores.
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "probe")]
mod kill;
#[cfg(feature = "probe")]
mod life;
mod machine;
#[cfg(feature = "probe")]
mod operations;
#[cfg(feature = "probe")]
mod serve;
#[cfg(feature = "probe")]
mod stress;
