//! The program `stillpoint` on emulated boards: commands that start, halt, step and resume them.
#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/waiting.rs"]
mod waiting;

mod break_cli;
#[cfg(feature = "hardware")]
mod cli_faults;
mod cli_halt;
mod cli_life;
mod cli_start;
mod cli_terminals;
mod shell_cli;
mod shell_terminal;
mod step_cli;
