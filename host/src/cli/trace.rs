//! `stillpoint trace` - record what all nodes do, and say what is in a recording.
//!
//!     $ stillpoint trace record run.trace --seconds 3
//!     left0     12034 events    48210 bytes   0 dropped
//!     ...
//!     recorded 3.0 s into run.trace: 192840 bytes; a board can be drained at 31.2 MiB/s
mod counted;
mod follow;
mod info;
pub(super) mod live;
mod mode;
mod record;

pub use mode::give_chosen;

use super::{CliError, Context, Exit};

/// Record what all nodes do, say what is in a recording, and choose what is recorded.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  stillpoint trace record run.trace --seconds 10\n  stillpoint trace info run.trace\n  \
                        stillpoint trace mode all full"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Record(record::Args),
    Info(info::Args),
    Mode(mode::Args),
}

impl Args {
    /// Whether it changes what the boards do.
    pub fn controls(&self) -> bool {
        matches!(self.verb, Verb::Mode(_))
    }
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    match &args.verb {
        Verb::Record(args) => record::run(args, context),
        Verb::Info(args) => info::run(args, context),
        Verb::Mode(args) => mode::run(args, context),
    }
}
