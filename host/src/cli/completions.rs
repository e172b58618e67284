//! `stillpoint completions` - a script that completes this program's words in a shell.
//!
//!     $ stillpoint completions bash > ~/.local/share/bash-completion/completions/stillpoint
use super::{CliError, Context, Exit, Line};
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Print a script that completes commands and options in a shell.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  stillpoint completions bash > ~/.local/share/bash-completion/completions/stillpoint\n  \
                        stillpoint completions zsh > \"${fpath[1]}/_stillpoint\"\n  \
                        stillpoint completions fish > ~/.config/fish/completions/stillpoint.fish"
)]
pub struct Args {
    /// Which shell.
    shell: Shell,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Line::command(), "stillpoint", &mut script);
    context.out().write(|to| to.write_all(&script));
    Ok(Exit::Ok)
}
