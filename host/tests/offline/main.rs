//! The program `stillpoint` without any board.
#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/waiting.rs"]
mod waiting;

mod cli_words;
mod show_big;
