//! The demo `relay`: two boards of two cores, messages that go round all four, and a host that watches and counts.

mod board;
mod image;
mod log;
mod node;
mod progress;
mod report;
mod ring;
mod run;
mod status;

pub use image::Image;
pub use progress::Progress;
pub use report::Report;
pub use run::{DemoError, Limits, run};
