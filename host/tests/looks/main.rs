//! The program `stillpoint` on emulated boards: commands that look at them.
#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/waiting.rs"]
mod waiting;

mod cut_cli;
mod dump_cli;
mod log_cli;
mod print_cli;
#[cfg(feature = "hardware")]
mod probe_quiet;
mod watch_cli;
