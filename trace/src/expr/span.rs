//! Places in the text of an expression, and errors that point at them.
use std::fmt;
use std::ops::Range;

/// From which byte to which.
pub type Span = Range<usize>;

/// A part of the text with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word, without quotes.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// What is wrong with an expression, where, and what to do about it.
///
/// # Example: a caret under the place
/// ```
/// let error = stillpoint_trace::expr::parse("left0:send(ring) => right1.holding").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`=` means nothing here\n\
///      \x20 left0:send(ring) => right1.holding\n\
///      \x20                  ^\n\
///      \x20 compare with `==`; the next stage begins with `->`"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
    /// The whole text.
    pub text: String,
    /// Where it is wrong.
    pub span: Span,
}

impl ExprError {
    pub(crate) fn new(text: &str, span: Span, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: advice.into(), text: text.to_owned(), span }
    }
}

impl ExprError {
    /// The same error in a longer text that has this one at the same place.
    pub(super) fn within(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |range: Range<usize>| self.text.get(range).map_or(0, |part| part.chars().count());
        // A line break or a tab would move the caret away from its place.
        let line: String = self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        writeln!(f, "{}", self.problem)?;
        writeln!(f, "  {line}")?;
        write!(f, "  {}{}", " ".repeat(width(0..self.span.start)), "^".repeat(width(self.span.clone()).max(1)))?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "\n  {}", self.advice) }
    }
}

impl std::error::Error for ExprError {}
