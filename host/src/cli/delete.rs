//! `stillpoint delete` - remove breakpoints; the same as `break rm`.
use super::break_::{Which, remove};
use super::{CliError, Context, Exit};

/// Remove a breakpoint, or all of them.
#[derive(clap::Args)]
#[command(after_help = "`stillpoint status` and `stillpoint break list` show which there are.\n\n\
                        Example:\n  stillpoint delete 0\n  stillpoint delete all")]
pub struct Args {
    /// Its number, or `all`.
    #[arg(value_name = "N|all")]
    which: Which,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    remove(context, args.which)
}
