//! `stillpoint` - halt many cores and boards at one consistent moment.
#![deny(clippy::print_stdout, reason = "commands write through `cli::Output`")]
mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
