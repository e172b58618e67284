//! `qemu-probe` - emulated boards for stock probe-rs tools.
//!
//!     $ qemu-probe chip mps2-an521 > board.yaml
//!     $ qemu-probe serve --elf firmware.elf
//!     listening on 127.0.0.1:4444; for example:
//!     probe-rs attach --probe 20b7:9db1:tcp:127.0.0.1:4444 --chip-description-path board.yaml --chip mps2-an521 firmware.elf

use clap::{Parser, Subcommand, ValueEnum};
use qemu_probe::{Machine, MachineKind, Server, chip_description};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Parser)]
#[command(version, about = "Emulated boards for probe-rs tools")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve a machine to stock probe-rs tools (as a Glasgow over TCP)
    Serve(Serve),
    /// Print the chip description of a machine, for `--chip-description-path`
    Chip {
        /// The machine
        machine: Kind,
    },
}

#[derive(clap::Args)]
struct Serve {
    /// The machine to start
    #[arg(long, default_value = "mps2-an521", conflicts_with = "run_dir")]
    machine: Kind,
    /// The image to run; without one the machine waits to be loaded
    #[arg(long, conflicts_with = "run_dir")]
    elf: Option<PathBuf>,
    /// A word for the firmware, such as board=A; may be given several times
    #[arg(long, conflicts_with = "run_dir")]
    word: Vec<String>,
    /// Serve the detached machine of this run directory instead of starting one
    #[arg(long)]
    run_dir: Option<PathBuf>,
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:4444")]
    listen: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    #[value(name = "mps2-an521")]
    Mps2An521,
    #[value(name = "mps3-an524")]
    Mps3An524,
}

impl From<Kind> for MachineKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Mps2An521 => Self::Mps2An521,
            Kind::Mps3An524 => Self::Mps3An524,
        }
    }
}

fn main() -> ExitCode {
    let result = match Args::parse().verb {
        Verb::Serve(args) => serve(args),
        Verb::Chip { machine } => {
            print!("{}", chip_description(machine.into()));
            Ok(())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("qemu-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: Serve) -> Result<(), Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;

    let machine = match args.run_dir {
        Some(run_dir) => Machine::attach(run_dir)?,
        None => {
            let builder = Machine::builder(args.machine.into()).shared_ram(true).words(args.word);
            match args.elf {
                Some(elf) => builder.elf(elf),
                None => builder,
            }
            .start()?
        }
    };
    let server = Server::bind(args.listen.as_str(), &machine)?.reporting(|line| eprintln!("qemu-probe: {line}"));
    let (address, chip, code) = (server.address(), machine.kind(), machine.kind().memory()[1].base);
    println!("listening on {address}; for example:");
    println!("qemu-probe chip {chip} > board.yaml");
    println!(
        "probe-rs read --probe 20b7:9db1:tcp:{address} --chip-description-path board.yaml --chip {chip} b32 {code:#x} 2"
    );
    server.run(&stop)?;
    Ok(())
}
