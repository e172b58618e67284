//! `stillpoint owner` - own the boards of a system for other commands, which start this by themselves.
use super::{CliError, Context, Exit};
use std::path::PathBuf;

/// Own the boards of a system and serve their memory to other commands.
#[derive(clap::Args)]
#[command(hide = true, after_help = "Example:\n  stillpoint owner /run/user/1000/stillpoint/0123456789abcdef")]
pub struct Args {
    /// The folder of the system, where its locks are.
    folder: PathBuf,
}

pub fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    // Ctrl-C in the terminal is for the commands there. One that leads a group of processes already has its own.
    let _ = nix::unistd::setsid();
    stillpoint::owner::serve(&args.folder, stillpoint::owner::IDLE, &context.interrupt_flag())?;
    Ok(Exit::Ok)
}
