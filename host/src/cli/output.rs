//! What the user sees: results on standard output, as text or as JSON; everything else on standard error.
//!
//! Commands write through [`Output`] only. A write to standard output that fails is remembered, and [`Output::check`] turns
//! it into an error once the command has ended. A reader that has gone is no error: the command ends as if it were there.
pub mod paint;
mod stream;

use super::{CliError, Exit};
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use stillpoint_trace::JsonEscapes;

/// A result of a command: the same facts as text and as JSON.
pub trait Report: Serialize {
    /// As text, with the styles of [`paint`]; they are left out where standard output shows no colours.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Where results go, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
}

impl Output {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether programs read the results.
    #[must_use]
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints a result.
    pub fn print(self, report: &impl Report) {
        struct Text<'a, R>(&'a R);
        impl<R: Report> fmt::Display for Text<'_, R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.text(f)
            }
        }
        if self.json {
            // Written as it is made: a report may be longer than there is memory for.
            self.write(|to| {
                serde_json::to_writer_pretty(JsonEscapes(&mut *to), report)?;
                writeln!(to)
            });
        } else {
            self.write_text(Text(report));
        }
    }

    /// Writes text to standard output, made safe to print. Returns whether more can be written.
    pub fn write_text(self, text: impl fmt::Display) -> bool {
        stream::write_text(text)
    }

    /// Writes lines of a command that goes on: text, or a JSON value each. Returns whether more can be written; with no
    /// lines, [`Output::is_open`].
    pub fn write_lines(self, lines: &str) -> bool {
        match (lines.is_empty(), self.json) {
            (true, _) => self.is_open(),
            (false, true) => self.write(|to| JsonEscapes(to).write_all(lines.as_bytes())),
            (false, false) => self.write_text(lines),
        }
    }

    /// Writes bytes to standard output. Returns whether more can be written.
    pub fn write(self, work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> bool {
        stream::write(work)
    }

    /// Writes help, or what is wrong with a command line.
    pub fn parsed(self, error: &clap::Error) -> Exit {
        let text = error.render();
        if error.use_stderr() {
            let _ = write!(anstream::stderr(), "{}", text.ansi());
            return Exit::Usage;
        }
        self.write(|to| if stream::has_colours() { write!(to, "{}", text.ansi()) } else { write!(to, "{text}") });
        Exit::Ok
    }

    /// Whether the reader of standard output is still there. Commands that wait ask this.
    #[must_use]
    pub fn is_open(self) -> bool {
        stream::is_open()
    }

    /// Whether standard output is a terminal.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        stream::is_terminal()
    }

    /// Fails if something could not be written to standard output since the last call.
    pub fn check(self) -> Result<(), CliError> {
        stream::take_failure().map_or(Ok(()), |error| {
            Err(CliError::Usage(format!("cannot write to standard output: {error}; the result is not complete")))
        })
    }

    /// One line of news about what goes on.
    pub fn say(self, verb: &str, what: impl fmt::Display) {
        stream::write_error(format_args!("{}{verb:>10}{:#}  {what}\n", paint::NEWS, paint::NEWS));
    }

    /// One line that something went wrong, which is not the end of the command.
    pub fn warn(self, what: impl fmt::Display) {
        stream::write_error(format_args!("{what}\n"));
    }

    /// Tells why there is no result; with `--json` also on standard output, so that a program reads one value in any case.
    pub fn error(self, error: &CliError) {
        if self.json {
            let value = serde_json::json!({ "error": error.to_string() });
            self.write(|to| writeln!(JsonEscapes(to), "{value:#}"));
        }
        stream::write_error(format_args!("{}stillpoint{:#}: {error}\n", paint::BAD, paint::BAD));
    }
}
