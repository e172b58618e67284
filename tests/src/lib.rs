//! Simulator, paper tests, transcripts, exhaustive exploration and end-to-end tests of Stillpoint.
pub mod algorithm_d;
pub mod explore;
pub mod faulty;
pub mod fuzz;
pub mod sim;
pub mod transcript;
