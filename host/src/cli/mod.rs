//! The program `stillpoint`: one file per command, each with `Args` and `run`.
//!
//! A new command is a file here, a variant of [`Command`] and a line in [`Command::run`]. Its `run` gets a [`Context`] (the
//! system file, the attached boards, whether Ctrl-C was pressed) and prints its result through [`Output::print`]: text for
//! people, or with `--json` the same as one JSON value. A command runs alone or as a line of the shell, where the context and
//! what it is attached to live on: a command that reaches boards by itself calls [`Context::detach`] first. Results go to standard output, everything else to standard error.
mod break_;
mod break_left;
mod break_report;
mod break_set;
mod break_simultaneous;
mod break_store;
mod bt;
mod check;
mod completions;
mod context;
mod cut;
mod cut_history;
mod cut_saved;
mod delete;
mod detect;
mod diff;
mod doctor;
#[cfg(feature = "qemu")]
mod down;
mod dump;
mod error;
mod export;
mod files;
mod flash;
mod halt;
mod history;
mod info;
mod init;
mod learn;
mod log;
mod man;
mod next;
mod order;
mod output;
mod owner;
mod picture;
mod print;
mod races;
mod reset;
mod resume;
mod run;
mod shell;
mod show;
mod stable;
mod started;
mod status;
mod step;
mod step_report;
mod stop;
mod tasks;
mod trace;
#[cfg(feature = "qemu")]
mod up;
mod watch;
mod when;

pub use context::Context;
pub use error::{CliError, Exit};
pub use output::{Output, Report, paint};
pub use started::NodeSeen;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Halt many cores and boards at one consistent moment.
#[derive(Parser)]
#[command(
    name = "stillpoint",
    version,
    about,
    after_help = "Exit codes: 0 all is well; 1 the answer is bad (a certificate fails, a node is missing, a recording is damaged); \
                  2 usage or environment error (wrong option, missing file, no probe, no room for the result); 130 Ctrl-C.\n\n\
                  Examples:\n  stillpoint up && stillpoint flash\n  stillpoint halt\n  stillpoint resume\n  \
                  stillpoint --system bench/stillpoint.toml status --json"
)]
struct Line {
    #[command(flatten)]
    source: Source,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// What a command works on.
#[derive(clap::Args, Default)]
struct Source {
    /// The system file; without this option the nearest stillpoint.toml here or in a folder above.
    #[arg(long, global = true, value_name = "FILE")]
    system: Option<PathBuf>,
    // Not global: `halt` has an option of this name. Commands that only look have it as a part of theirs.
    /// Look at a system that `stillpoint dump` has saved, instead of at boards.
    #[arg(long, value_name = "DUMP")]
    from: Option<PathBuf>,
}

impl Source {
    /// Whether the line names something to work on. In a shell that is something else than what the shell is attached to.
    fn is_given(&self) -> bool {
        let Self { system, from } = self;
        system.is_some() || from.is_some()
    }
}

/// Where a command that only looks at boards finds them; the same as `--from` before its name.
#[derive(clap::Args)]
pub struct Look {
    /// Look at a system that `stillpoint dump` has saved, instead of at boards.
    #[arg(long, value_name = "DUMP")]
    from: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Args),
    Doctor(doctor::Args),
    #[cfg(feature = "qemu")]
    Up(up::Args),
    #[cfg(feature = "qemu")]
    Down(down::Args),
    Flash(flash::Args),
    Run(run::Args),
    Reset(reset::Args),
    Info(info::Args),
    Status(status::Args),
    Halt(halt::Args),
    Cut(cut::Args),
    Tasks(tasks::Args),
    Bt(bt::Args),
    Dump(dump::Args),
    Watch(watch::Args),
    Print(print::Args),
    Resume(resume::Args),
    Step(step::Args),
    Next(next::Args),
    Break(break_::Args),
    Stop(stop::Args),
    When(when::Args),
    Delete(delete::Args),
    Trace(trace::Args),
    Show(Box<show::Args>),
    Races(races::Args),
    Export(export::Args),
    Diff(diff::Args),
    Check(check::Args),
    Detect(detect::Args),
    Stable(stable::Args),
    Learn(learn::Args),
    Shell(shell::Args),
    Completions(completions::Args),
    Man(man::Args),
    Log(log::Args),
    Owner(owner::Args),
}

impl Command {
    /// Of a command that only looks, so that a dump will do: where to look.
    fn look(&self) -> Option<&Look> {
        match self {
            Self::Info(args) => Some(&args.look),
            Self::Status(args) => Some(&args.look),
            Self::Cut(args) => Some(&args.look),
            Self::Tasks(args) => Some(&args.look),
            Self::Bt(args) => Some(&args.look),
            Self::Log(args) => Some(&args.look),
            Self::Watch(args) => Some(&args.look),
            Self::Print(args) => Some(&args.look),
            Self::Stable(args) => Some(&args.look),
            _ => None,
        }
    }

    /// Runs it, and fails if its result could not be written.
    fn run(&self, context: &mut Context) -> Result<Exit, CliError> {
        let done = self.run_on_source(context);
        let written = context.out().check();
        done.and_then(|exit| written.map(|()| exit))
    }

    fn run_on_source(&self, context: &mut Context) -> Result<Exit, CliError> {
        match self.look() {
            Some(Look { from: Some(from) }) => self.run_and_judge(&mut context.beside_dump(from.clone())),
            None if context.is_dump() && !matches!(self, Self::Shell(_)) => Err(CliError::Usage(
                "this needs boards, and a dump can only be looked at: with cut, tasks, bt, status, info, log, watch, print or stable; leave \
                 --from out"
                    .into(),
            )),
            _ => self.run_and_judge(context),
        }
    }

    /// Runs it. What is shown of a damaged dump is not all that was saved.
    fn run_and_judge(&self, context: &mut Context) -> Result<Exit, CliError> {
        match self.run_on(context)? {
            Exit::Ok if context.saw_damage() => Ok(Exit::Bad),
            exit => Ok(exit),
        }
    }

    /// Whether it changes what the boards do, from its start to its end: no other process does so meanwhile. Commands that
    /// wait for a breakpoint take control only where they need it.
    fn controls(&self) -> bool {
        match self {
            Self::Flash(_) | Self::Run(_) | Self::Reset(_) | Self::Halt(_) | Self::Resume(_) => true,
            Self::Step(_) | Self::Next(_) | Self::Delete(_) => true,
            Self::Trace(args) => args.controls(),
            _ => false,
        }
    }

    fn run_on(&self, context: &mut Context) -> Result<Exit, CliError> {
        if self.controls() { context.controlled(|context| self.start(context)) } else { self.start(context) }
    }

    fn start(&self, context: &mut Context) -> Result<Exit, CliError> {
        match self {
            Self::Init(args) => init::run(args, context),
            Self::Doctor(args) => doctor::run(args, context),
            #[cfg(feature = "qemu")]
            Self::Up(args) => up::run(args, context),
            #[cfg(feature = "qemu")]
            Self::Down(args) => down::run(args, context),
            Self::Flash(args) => flash::run(args, context),
            Self::Run(args) => run::run(args, context),
            Self::Reset(args) => reset::run(args, context),
            Self::Info(args) => info::run(args, context),
            Self::Status(args) => status::run(args, context),
            Self::Halt(args) => halt::run(args, context),
            Self::Cut(args) => cut::run(args, context),
            Self::Tasks(args) => tasks::run(args, context),
            Self::Bt(args) => bt::run(args, context),
            Self::Dump(args) => dump::run(args, context),
            Self::Watch(args) => watch::run(args, context),
            Self::Print(args) => print::run(args, context),
            Self::Resume(args) => resume::run(args, context),
            Self::Step(args) => step::run(args, context),
            Self::Next(args) => next::run(args, context),
            Self::Break(args) => break_::run(args, context),
            Self::Stop(args) => stop::run(args, context),
            Self::When(args) => when::run(args, context),
            Self::Delete(args) => delete::run(args, context),
            Self::Trace(args) => trace::run(args, context),
            Self::Show(args) => show::run(args, context),
            Self::Races(args) => races::run(args, context),
            Self::Export(args) => export::run(args, context),
            Self::Diff(args) => diff::run(args, context),
            Self::Check(args) => check::run(args, context),
            Self::Detect(args) => detect::run(args, context),
            Self::Stable(args) => stable::run(args, context),
            Self::Learn(args) => learn::run(args, context),
            Self::Shell(args) => shell::run(args, context),
            Self::Completions(args) => completions::run(args, context),
            Self::Man(args) => man::run(args, context),
            Self::Log(args) => log::run(args, context),
            Self::Owner(args) => owner::run(args, context),
        }
    }
}

impl Command {
    /// Runs it, and lets go of the boards as it left them.
    fn run_and_detach(&self, context: &mut Context) -> Result<Exit, CliError> {
        let done = self.run(context);
        context.tell_all_stopped();
        let detached = context.detach();
        done.and_then(|exit| detached.map(|()| exit))
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let (out, result) = match Line::try_parse() {
        Ok(line) => {
            let out = Output::new(line.json);
            let run = |mut context: Context| line.command.run_and_detach(&mut context);
            (out, Context::new(line.source, out).and_then(run))
        }
        Err(error) => {
            let out = Output::new(false);
            (out, Ok(out.parsed(&error)))
        }
    };
    // A board that was lost with the process that owns it is no answer of the boards.
    let environment = |exit| if exit == Exit::Bad && stillpoint::owner::is_lost() { Exit::Usage } else { exit };
    let exit = result.unwrap_or_else(|error| {
        out.error(&error);
        error.exit()
    });
    // With `--json` the error is a result, too.
    let exit = out.check().map_or_else(
        |error| {
            out.error(&error);
            error.exit()
        },
        |()| exit,
    );
    environment(exit).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound_and_every_command_has_an_example() {
        let line = Line::command();
        line.clone().debug_assert();
        for command in line.get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{} --help has no example", command.get_name());
            assert!(command.get_about().is_some(), "{} does not say what it does", command.get_name());
        }
    }
}
