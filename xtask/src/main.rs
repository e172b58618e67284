//! The commands of the README: each verb is a file in `verb/`, each tier of tests a file in `tier/`.
use std::process::ExitCode;

use clap::Parser;

mod bench;
mod command;
mod demo;
mod elf;
mod firmware;
mod footprint;
mod nearest;
mod nudge;
mod packages;
mod panics;
mod qemu;
mod say;
mod stock;
mod tier;
mod toolchain;
mod tutorial;
mod verb;
mod workspace;

/// Set up, run and test Stillpoint. Every verb installs what it needs and is missing, and says so.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: verb::Verb,
}

fn main() -> ExitCode {
    match Cli::parse().verb.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", say::sentence(&error));
            ExitCode::FAILURE
        }
    }
}
