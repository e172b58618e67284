//! What the user sees: results on standard output, as text or as JSON; everything else on standard error.
use super::CliError;
use serde::Serialize;
use std::fmt;
use std::io::{BufWriter, Write as _};

/// A result of a command: the same facts as text and as JSON.
pub trait Report: Serialize {
    /// As text, with the styles of [`paint`]; they are taken out where nobody can see them.
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
        // A reader that has seen enough, such as `head`, is no error.
        let _ = if self.json {
            // Written as it is made: a report may be longer than there is memory for.
            let mut stdout = BufWriter::new(std::io::stdout().lock());
            let written = serde_json::to_writer_pretty(&mut stdout, report).map_err(std::io::Error::from);
            written.and_then(|()| writeln!(stdout)).and_then(|()| stdout.flush())
        } else {
            write!(anstream::stdout().lock(), "{}", Text(report))
        };
    }

    /// One line of news about what goes on.
    pub fn say(self, verb: &str, what: impl fmt::Display) {
        let _ = writeln!(anstream::stderr(), "{}{verb:>10}{:#}  {what}", paint::NEWS, paint::NEWS);
    }

    /// Tells why there is no result; with `--json` also on standard output, so that a program reads one value in any case.
    pub fn error(self, error: &CliError) {
        if self.json {
            let value = serde_json::json!({ "error": error.to_string() });
            let _ = writeln!(std::io::stdout(), "{value:#}");
        }
        let _ = writeln!(anstream::stderr(), "{}stillpoint{:#}: {error}", paint::BAD, paint::BAD);
    }
}

/// Styles: write one before a text and `{:#}` of it behind.
pub mod paint {
    use anstyle::{AnsiColor, Style};

    /// Of what is as it should be.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// Of what is not.
    pub const BAD: Style = AnsiColor::Red.on_default().bold();
    /// Of what is worth a look.
    pub const WARN: Style = AnsiColor::Yellow.on_default();
    /// Of names.
    pub const NAME: Style = Style::new().bold();
    /// Of what is there for those who look closely.
    pub const FAINT: Style = Style::new().dimmed();
    /// Of what goes on.
    pub const NEWS: Style = AnsiColor::Cyan.on_default();
}
