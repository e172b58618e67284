//! The session with stock tools that the README of qemu-probe shows.

pub mod install;
mod play;
mod transcript;

pub use play::Play;
pub use transcript::write_transcript;
