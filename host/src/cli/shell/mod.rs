//! `stillpoint shell` - the same commands in one session that stays attached to the boards.
//!
//!     $ stillpoint shell
//!     stillpoint (4 running)> halt
//!     ...
//!     stillpoint (halted 3)> alias c cut
//!     stillpoint (halted 3)> c --full
mod alias;
mod complete;
mod input;
mod prompt;
mod source;
mod words;

use super::when::When;
use super::{CliError, Command, Context, Exit, Output, Source, halt};
use alias::Aliases;
use clap::{CommandFactory as _, Parser, Subcommand};
use complete::{Completion, Names};
use input::{Heard, Input, Printer};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use stillpoint::{StateDir, breakpoint};

/// Run commands in one session that stays attached to the boards.
#[derive(clap::Args)]
#[command(
    after_help = "Inside, commands go without `stillpoint`, and there are alias, unalias, source, help and quit.\n\
                  Ctrl-C halts the system consistently, at the prompt and while a command waits; Ctrl-D leaves, and the \
                  boards stay as they are.\nWithout a terminal, lines are read from standard input; the exit code is that \
                  of the last command that failed.\n\n\
                  Examples:\n  stillpoint shell\n  echo 'halt; # one line each' | stillpoint shell"
)]
pub struct Args {}

/// A line of the shell: the commands of the program, and those that only a session needs.
#[derive(Parser)]
#[command(name = "", no_binary_name = true, disable_version_flag = true)]
struct Typed {
    #[command(flatten)]
    source: Source,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    #[command(flatten)]
    Tool(Command),
    /// Give commands a short name; without words, show those there are.
    Alias {
        /// The short name.
        name: Option<String>,
        /// What it stands for.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        meaning: Vec<String>,
    },
    /// Forget a short name.
    Unalias {
        /// The short name.
        name: String,
    },
    /// Run the lines of a file, up to the first that fails.
    Source {
        /// The file.
        file: PathBuf,
    },
    /// Leave the shell; the boards stay as they are.
    #[command(visible_alias = "exit")]
    Quit,
}

/// How often somebody looks after things while nobody types.
const TICK: Duration = Duration::from_millis(200);

struct Shell<'a> {
    context: &'a mut Context,
    /// In which form results are printed, unless a line says otherwise.
    out: Output,
    aliases: Aliases,
    /// Breakpoints whose commands are run here.
    whens: Vec<When>,
    /// The files that are being read.
    depth: usize,
    quit: bool,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    // Without a system file there is no place for it; what else that means, the commands say.
    let file = context.file().ok();
    let history = file.and_then(|file| StateDir::of(&file).ok()).map(|state| state.history());
    let mut shell = Shell::new(context);
    let exit =
        if std::io::stdin().is_terminal() && out.is_terminal() { shell.converse(history) } else { Ok(shell.obey()) };
    for when in &shell.whens {
        let what =
            format!("breakpoint {} stays armed and stops the system; nobody runs its commands then", when.slot());
        out.say("left", what);
    }
    exit
}

/// Runs lines one after the other, up to the first that fails.
pub fn run_lines(lines: &[String], context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let mut shell = Shell::new(context);
    for line in lines {
        let exit = shell.typed(line)?;
        if exit != Exit::Ok {
            return Ok(exit);
        }
    }
    context.set_out(out);
    Ok(Exit::Ok)
}

impl<'a> Shell<'a> {
    fn new(context: &'a mut Context) -> Self {
        Self { out: context.out(), context, aliases: Aliases::default(), whens: Vec::new(), depth: 0, quit: false }
    }

    /// Runs the commands of breakpoints that have fired. `printer` is there while somebody types.
    fn look_after(&mut self, mut printer: Option<&mut Printer>) {
        let mut index = 0;
        while let Some(when) = self.whens.get_mut(index) {
            self.context.set_out(self.out);
            let began = printer.is_some();
            let clear = || {
                if began {
                    self.out.write(|to| write!(to, "\r\x1b[K"));
                }
            };
            let looked = when.has_fired(self.context).and_then(|fired| {
                if !fired {
                    return Ok(None);
                }
                clear();
                when.look(self.context)
            });
            let over = match &looked {
                Ok(None) => false,
                Ok(Some(_)) => when.is_over(),
                Err(error) => {
                    self.out.error(error);
                    true
                }
            };
            if !matches!(looked, Ok(None))
                && let Some(printer) = &mut printer
            {
                // Has the line that is being typed drawn again.
                printer(format!("({})", prompt::state(self.context)));
            }
            if over {
                self.whens.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Reads what somebody types. How the last command ended is nobody's exit code.
    fn converse(&mut self, history: Option<PathBuf>) -> Result<Exit, CliError> {
        // Whoever is told to end while somebody types leaves the terminal as it was.
        let terminal = nix::sys::termios::tcgetattr(std::io::stdin()).ok();
        let completion = Completion::default();
        completion.update(|names| names.commands = commands());
        let opened = Input::terminal(history, completion.clone());
        let (input, mut printer) = opened.map_err(|why| CliError::Usage(format!("cannot use the terminal: {why}")))?;
        if let Err(error) = self.context.present() {
            self.out.error(&error);
        }
        while !self.quit {
            let prompt = prompt::text(self.context);
            self.learn_names(&completion);
            let interrupt = self.context.interrupt_flag();
            let ended = || interrupt.load(std::sync::atomic::Ordering::Relaxed);
            // At the prompt Ctrl-C is a key. What comes as a signal then means that we shall end.
            let meanwhile = || {
                self.look_after(printer.as_mut());
                !ended()
            };
            match input.read(&prompt, TICK, meanwhile) {
                Heard::Line(line) => {
                    self.line(&line);
                }
                Heard::NotText => self.complain("the line is not UTF-8 text"),
                Heard::Interrupt => self.halt(),
                Heard::End => break,
                Heard::Broken(why) => return Err(CliError::Usage(format!("cannot read from the terminal: {why}"))),
            }
        }
        if let Some(terminal) = terminal {
            let _ = nix::sys::termios::tcsetattr(std::io::stdin(), nix::sys::termios::SetArg::TCSADRAIN, &terminal);
        }
        Ok(Exit::Ok)
    }

    /// Reads lines from a pipe.
    fn obey(&mut self) -> Exit {
        let input = Input::pipe();
        let mut last = Exit::Ok;
        let interrupt = self.context.interrupt_flag();
        while !self.quit {
            let ended = || interrupt.load(std::sync::atomic::Ordering::Relaxed);
            let meanwhile = || {
                self.look_after(None);
                !ended()
            };
            let exit = match input.read("", TICK, meanwhile) {
                Heard::Line(line) => self.line(&line),
                Heard::NotText => {
                    self.complain("a line is not UTF-8 text");
                    Exit::Usage
                }
                Heard::Broken(why) => {
                    self.complain(&format!("cannot read standard input: {why}"));
                    return Exit::Usage;
                }
                Heard::Interrupt | Heard::End => break,
            };
            if exit != Exit::Ok {
                last = exit;
            }
            if exit == Exit::Interrupted {
                return exit;
            }
        }
        if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            self.context.clear_interrupt();
            self.halt();
            return Exit::Interrupted;
        }
        last
    }

    fn complain(&self, text: &str) {
        self.out.error(&CliError::Usage(text.to_owned()));
    }

    /// Ctrl-C: everything stops at one consistent moment.
    fn halt(&mut self) {
        self.context.set_out(self.out);
        if let Err(error) = halt::everything(self.context) {
            self.out.error(&error);
        }
    }

    /// Runs one line, says what went wrong, and halts the system if Ctrl-C ended it.
    fn line(&mut self, line: &str) -> Exit {
        let exit = match self.typed(line) {
            Ok(exit) => exit,
            Err(error) => {
                self.context.out().error(&error);
                error.exit()
            }
        };
        // A command that Ctrl-C ends in good order has answered it.
        self.context.clear_interrupt();
        if exit == Exit::Interrupted {
            self.halt();
        }
        self.look_after(None);
        exit
    }

    fn typed(&mut self, line: &str) -> Result<Exit, CliError> {
        self.context.set_out(self.out);
        let words = words::words(&self.aliases.expand(line)).map_err(CliError::Usage)?;
        if words.is_empty() {
            return Ok(Exit::Ok);
        }
        let typed = match Typed::try_parse_from(&words) {
            Ok(typed) => typed,
            Err(error) => {
                let exit = self.out.parsed(&error);
                return self.out.check().map(|()| exit);
            }
        };
        let out = if typed.json { Output::new(true) } else { self.out };
        match typed.command {
            Verb::Tool(Command::Shell(_)) => {
                Err(CliError::Usage("this is the shell; `help` shows what there is".into()))
            }
            Verb::Tool(Command::When(args)) => {
                self.context.set_out(out);
                let when = args.arm(self.context)?;
                // Another breakpoint with this number is no more.
                self.whens.retain(|other| other.slot() != when.slot());
                self.whens.push(when);
                Ok(Exit::Ok)
            }
            Verb::Tool(command) if typed.source.is_given() => {
                let mut beside = self.context.beside(typed.source, out);
                command.run_and_detach(&mut beside)
            }
            Verb::Tool(command) => {
                self.context.set_out(out);
                let done = command.run(self.context);
                self.context.tell_all_stopped();
                done
            }
            Verb::Alias { name, meaning } => self.alias(name, &meaning),
            Verb::Unalias { name } if self.aliases.remove(&name) => Ok(Exit::Ok),
            Verb::Unalias { name } => Err(CliError::Usage(format!("there is no alias {name}"))),
            Verb::Source { file } => self.source(&file),
            Verb::Quit => {
                self.quit = true;
                Ok(Exit::Ok)
            }
        }
    }

    fn alias(&mut self, name: Option<String>, meaning: &[String]) -> Result<Exit, CliError> {
        let Some(name) = name else {
            for (name, meaning) in self.aliases.all() {
                self.out.write_text(format_args!("{name}  {meaning}\n"));
            }
            return self.out.check().map(|()| Exit::Ok);
        };
        let known = commands();
        if meaning.is_empty() {
            let Some((_, meaning)) = self.aliases.all().find(|(known, _)| *known == name) else {
                return Err(CliError::Usage(format!("there is no alias {name}")));
            };
            self.out.write_text(format_args!("{name}  {meaning}\n"));
            return self.out.check().map(|()| Exit::Ok);
        }
        // One word is a line of its own, as in alias s 'halt --at left0'; several are words of one line.
        let meaning = match meaning {
            [line] => line.clone(),
            words => shlex::try_join(words.iter().map(String::as_str))
                .map_err(|error| CliError::Usage(format!("cannot be the meaning of an alias: {error}")))?,
        };
        let is_own = meaning.split_whitespace().next() == Some(name.as_str());
        if is_own && !known.iter().any(|(command, _)| *command == name) {
            return Err(CliError::Usage(format!("an alias loop: {name} -> {name}; nothing was changed")));
        }
        self.aliases.set(&name, &meaning).map_err(CliError::Usage)?;
        Ok(Exit::Ok)
    }

    /// Has the names of the system offered for completion. Boards that do not answer are told of elsewhere.
    fn learn_names(&mut self, completion: &Completion) {
        let directory = self.context.if_attached().and_then(|system| breakpoint::directory(system).ok());
        completion.update(|names| {
            names.aliases = self.aliases.all().map(|(name, _)| name.to_owned()).collect();
            if let Some(directory) = directory {
                names.terms = Names::terms_of(&directory);
            }
        });
    }
}

/// Every command with its verbs and options, for completion.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut typed = Typed::command();
    typed.build();
    let follow = |command: &clap::Command| {
        let options = command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}"));
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).chain(options).collect()
    };
    typed.get_subcommands().map(|command| (command.get_name().to_owned(), follow(command))).collect()
}
