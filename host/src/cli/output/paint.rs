//! Styles: write one before a text and `{:#}` of it behind.
use anstyle::AnsiColor;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

/// Text that is fine.
pub const GOOD: Paint = Paint(AnsiColor::Green.on_default());
/// Text that is wrong.
pub const BAD: Paint = Paint(AnsiColor::Red.on_default().bold());
/// Text that needs attention.
pub const WARN: Paint = Paint(AnsiColor::Yellow.on_default());
/// Names.
pub const NAME: Paint = Paint(anstyle::Style::new().bold());
/// Details.
pub const FAINT: Paint = Paint(anstyle::Style::new().dimmed());
/// Progress.
pub const NEWS: Paint = Paint(AnsiColor::Cyan.on_default());
/// Plain text.
pub const PLAIN: Paint = Paint(anstyle::Style::new());

/// A style of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Paint(anstyle::Style);

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Sequence(format_args!("{}", Same(self.0, f.alternate()))).fmt(f)
    }
}

/// A style, or its end.
struct Same(anstyle::Style, bool);

impl fmt::Display for Same {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, ends) = self;
        if *ends { write!(f, "{style:#}") } else { write!(f, "{style}") }
    }
}

/// An escape sequence that this program sends to the terminal, between two [`mark`]s.
pub struct Sequence<'a>(pub fmt::Arguments<'a>);

impl fmt::Display for Sequence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{0}{1}{0}", mark(), self.0)
    }
}

/// The character that tells escape sequences of this program from those in the text of firmware and files.
///
/// It is another one in each run, of the 65,534 for private use at the end of Unicode, so no text can have it on purpose.
pub fn mark() -> char {
    static MARK: LazyLock<char> = LazyLock::new(|| {
        let random = RandomState::new().hash_one(0) % 0xFFFE;
        char::from_u32(0x10_0000 + random as u32).unwrap_or('\u{10_0000}')
    });
    *MARK
}
