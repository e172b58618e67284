//! `docs/TUTORIAL.md`: its commands, run as they stand there, and what they print.

mod bench;
mod document;
mod story;

pub use bench::{Background, Bench};
pub use document::{Document, Step};
pub use story::first_difference;
