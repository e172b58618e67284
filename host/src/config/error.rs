//! What is wrong with a system file, and where.
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why there is no usable system file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is none.
    #[error(
        "no stillpoint.toml in {0} or the folders above it; go to the system's folder, name its file with --system, or \
         write one with `stillpoint init`"
    )]
    NotFound(PathBuf),
    /// It cannot be read.
    #[error("cannot read {path}: {source}{}", or_init(source), path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It says something that cannot be.
    #[error("{0}")]
    Wrong(Box<Place>),
}

/// A place in a file and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which file.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// How many characters of the line it is about.
    pub width: usize,
    /// The line.
    pub text: String,
    /// What is wrong.
    pub message: String,
}

/// A file that is not there can be written.
fn or_init(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::NotFound => "; `stillpoint init` writes one",
        _ => "",
    }
}

impl ConfigError {
    pub(super) fn at(path: &Path, text: &str, span: Range<usize>, message: String) -> Self {
        let start = span.start.min(text.len());
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = span.end.clamp(start, line_end);
        Self::Wrong(Box::new(Place {
            path: path.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end].chars().count().max(1),
            text: text[line_start..line_end].to_owned(),
            message,
        }))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // A tab before the place must stay a tab, or the caret stands elsewhere.
        let before: String =
            self.text.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{}:{}:{}: {}", self.path.display(), self.line, self.column, self.message)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.text)?;
        write!(f, "{margin} | {before}{}", "^".repeat(self.width))
    }
}
