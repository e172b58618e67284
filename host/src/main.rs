//! `stillpoint` - halt many cores and boards at one consistent moment.
mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
