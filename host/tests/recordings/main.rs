//! The program `stillpoint` on emulated boards: recordings, and what is asked of them.
#[path = "../support/boards.rs"]
mod boards;
#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/waiting.rs"]
mod waiting;

mod check_cli;
mod races_cli;
mod show_cli;
mod solver_docs;
mod trace_modes;
mod trace_record;
