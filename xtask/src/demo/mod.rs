//! The main job, as a user does it: the program `stillpoint` on two emulated boards that run `token_ring` with its bug.

mod program;
mod script;
mod system;
mod transcript;

pub use program::Program;
pub use script::play;
pub use system::SystemFolder;
pub use transcript::{excerpt, same_story};
