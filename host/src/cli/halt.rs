//! `stillpoint halt` - stop all nodes at one consistent moment.
//!
//!     $ stillpoint halt
//!     left0    event 4711  reached by host
//!     left1    event 2204  reached by host
//!     right0   event 4702  reached by host
//!     right1   event 2203  reached by host
//!     6 channels, 1 message in flight
//!     certificate: halt 1 is one consistent moment of 4 nodes, reached in 9.8 ms
mod consistent;
mod delayed;
mod probed;

use super::{CliError, Context, Exit};
use std::time::Duration;

/// How many seconds a halt may make no progress, unless somebody says otherwise.
const LIMIT: u64 = 10;

/// Stop all nodes at one consistent moment, and prove it.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code 1 if there is no certificate: a node is missing or late, or the state does not add up. The nodes that \
                        can be reached are halted all the same.\n\n\
                        Example:\n  stillpoint halt\n  stillpoint halt --at right0\n  stillpoint halt --delayed left1\n  \
                        stillpoint halt --json | jq .certified"
)]
pub struct Args {
    /// Command this node alone and let its markers halt the others. Without it, the host commands all nodes at once.
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Stop this node alone and let the others run until they would interact with it.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["at", "sequential", "group"])]
    delayed: Option<String>,
    /// For comparison: stop the cores by the probe, one after the other.
    #[arg(long, conflicts_with_all = ["at", "group"])]
    sequential: bool,
    /// For comparison: stop all cores of a board as one, board after board: by the emulator, or by the cross trigger (CTI) of
    /// a chip that has one, which is not tried on a chip.
    #[arg(long, conflicts_with = "at")]
    group: bool,
    /// Say when each part of the halt was over.
    #[arg(long)]
    verbose: bool,
    /// Give up after this many seconds without progress.
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT)]
    limit: u64,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let limit = Duration::from_secs(args.limit);
    if let Some(node) = &args.delayed {
        return delayed::run(node, limit, context);
    }
    if args.sequential || args.group {
        return probed::run(args.group, context);
    }
    consistent::run(args.at.as_deref(), limit, args.verbose, context)
}

/// Halts everything consistently, as the command without options does.
pub fn everything(context: &mut Context) -> Result<Exit, CliError> {
    context.controlled(|context| consistent::run(None, Duration::from_secs(LIMIT), false, context))
}
