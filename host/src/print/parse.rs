//! What to print, as it is written: a path, fields, indices, and stars for what a pointer points to.
use crate::expr::{ExprError, Span, Word};

/// What to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The whole text.
    pub text: String,
    /// The path of a static, or the end of it.
    pub path: Word,
    pub(super) steps: Vec<Step>,
}

/// From a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `*x`, with the place of the star.
    Deref(Span),
    /// `x.name` or `x.0`.
    Field(Word),
    /// `x[3]`.
    Index(u64, Span),
}

/// Nobody nests deeper, and a text of stars shall not fill the stack.
const DEPTH: u32 = 64;

/// Reads what to print.
pub fn parse(text: &str) -> Result<Query, ExprError> {
    let mut parser = Parser { text, at: 0 };
    let (path, steps) = parser.whole(DEPTH)?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(parser.error("this is too much", "write a path such as `RING`, then `.field` or `[3]`"));
    }
    Ok(Query { text: text.to_owned(), path, steps })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn error(&self, problem: impl Into<String>, advice: impl Into<String>) -> ExprError {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        let span = self.at..self.at + width;
        ExprError { problem: problem.into(), advice: advice.into(), text: self.text.to_owned(), span }
    }

    /// Whether this sign comes next; if so it is taken, and its place is told.
    fn sign(&mut self, sign: char) -> Option<Span> {
        self.skip_blanks();
        let start = self.at;
        self.rest().starts_with(sign).then(|| {
            self.at += sign.len_utf8();
            start..self.at
        })
    }

    fn whole(&mut self, depth: u32) -> Result<(Word, Vec<Step>), ExprError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.error("this is nested too deeply", "print a part of it first"));
        };
        if let Some(star) = self.sign('*') {
            let (path, mut steps) = self.whole(depth)?;
            steps.push(Step::Deref(star));
            return Ok((path, steps));
        }
        let (path, mut steps) = match self.sign('(') {
            Some(_) => {
                let inner = self.whole(depth)?;
                self.sign(')').ok_or_else(|| self.error("here `)` is missing", ""))?;
                inner
            }
            None => (self.path()?, Vec::new()),
        };
        loop {
            if self.sign('.').is_some() {
                steps.push(Step::Field(self.field()?));
            } else if self.sign('[').is_some() {
                let (index, span) = self.number()?;
                self.sign(']').ok_or_else(|| self.error("here `]` is missing", ""))?;
                steps.push(Step::Index(index, span));
            } else {
                return Ok((path, steps));
            }
        }
    }

    /// Names joined by `::`; what the compiler has named itself, such as `{closure#0}` or `<T as X>`, is a name, too.
    fn path(&mut self) -> Result<Word, ExprError> {
        self.skip_blanks();
        let start = self.at;
        let mut brackets = 0u32;
        for (offset, letter) in self.rest().char_indices() {
            match letter {
                '<' | '{' => brackets += 1,
                '>' | '}' => brackets = brackets.saturating_sub(1),
                _ if brackets > 0 || letter.is_alphanumeric() || matches!(letter, '_' | ':' | '$') => {}
                _ => {
                    self.at = start + offset;
                    break;
                }
            }
            self.at = start + offset + letter.len_utf8();
        }
        let path = self.text[start..self.at].trim_end();
        if path.is_empty() || path.starts_with(':') || path.ends_with(':') || path.starts_with(|c: char| c.is_numeric())
        {
            self.at = start;
            return Err(self.error("here the name of a static is expected", "such as `RING` or `token_ring::RING`"));
        }
        Ok(Word { text: path.to_owned(), span: start..start + path.len() })
    }

    fn field(&mut self) -> Result<Word, ExprError> {
        self.skip_blanks();
        let start = self.at;
        let length = self.rest().find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        if length == 0 {
            return Err(self.error("here the name of a field is expected", "a field of a tuple is `.0`, `.1` ..."));
        }
        self.at += length;
        Ok(Word { text: self.text[start..self.at].to_owned(), span: start..self.at })
    }

    fn number(&mut self) -> Result<(u64, Span), ExprError> {
        self.skip_blanks();
        let start = self.at;
        let length = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
        let number = self.rest()[..length].parse();
        let number = number.map_err(|_| self.error("here a number is expected", "elements are counted from [0]"))?;
        self.at += length;
        Ok((number, start..self.at))
    }
}
