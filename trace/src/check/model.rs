//! Models of expected behaviour, as they are written and with every name looked up.
use crate::expr::parse::Nth;
use crate::expr::{ExprError, Index, Simple, Span, Word};
use crate::pattern::Pattern;
use std::fmt;

/// A text with a model, and what it is called in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl Source {
    /// The line of a place and the column in it, counted from 1, and the text of the line.
    fn locate(&self, at: usize) -> (usize, usize, &str) {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        (self.text[..start].matches('\n').count() + 1, self.text[start..at].chars().count() + 1, line)
    }
}

/// What is wrong with a model, where, and what to do about it.
///
/// # Example: a caret under the place
/// ```
/// use stillpoint_trace::check::{Source, parse};
/// let text = "# the ring\npred left1:recv(ring) left0:send(ring)\n".to_owned();
/// let error = parse(&Source { name: "ring.model".into(), text }).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "ring.model:2:23: `left0` cannot stand here\n\
///      \x20 pred left1:recv(ring) left0:send(ring)\n\
///      \x20                       ^^^^^\n\
///      \x20 expected `{` and what comes before it"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    source: Box<Source>,
    error: Box<ExprError>,
}

impl ModelError {
    pub(super) fn new(source: &Source, error: ExprError) -> Self {
        Self { source: Box::new(source.clone()), error: Box::new(error) }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExprError { problem, advice, span, .. } = &*self.error;
        let (line, column, text) = self.source.locate(span.start);
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let marked = self.source.text[span.clone()].split('\n').next().map_or(0, |part| part.chars().count());
        writeln!(f, "{}:{line}:{column}: {problem}", self.source.name)?;
        writeln!(f, "  {}", text.trim_end())?;
        write!(f, "  {}{}", " ".repeat(column - 1), "^".repeat(marked.max(1)))?;
        if advice.is_empty() { Ok(()) } else { write!(f, "\n  {advice}") }
    }
}

impl std::error::Error for ModelError {}

/// What a model says, before anybody knows whether the names in it exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub(super) source: Source,
    pub(super) statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub span: Span,
    pub says: Says,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// `event NAME = ACTION`
    Event(Word, Action),
    /// `pred A { B, C }`, or `pred immediate A { B, C }`
    Pred { of: Action, before: Vec<Action>, immediate: bool },
    /// `parallel (A, B)`, or `not parallel (A, B)`
    Parallel { actions: Vec<Action>, never: bool },
    /// `model NAME { .. }`
    Model(Word, Vec<Part>),
}

/// What stands for a set of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The name of an event.
    Name(Word),
    /// Simple predicates, any of which will do.
    Any(Vec<Simple>, Span),
}

impl Action {
    pub fn span(&self) -> &Span {
        match self {
            Self::Name(word) => &word.span,
            Self::Any(_, span) => span,
        }
    }
}

/// What stands in the braces of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `NAME = ACTION`
    Action(Member, Action),
    /// `A -> B -> C`
    Flow(Vec<Member>),
    /// `in A {B, C} | {}` and `out A {B}`
    Rule { of: Member, routes: bool, sets: Vec<Vec<Member>> },
}

/// `mult[j]^i`: an action of a model, perhaps one of a family, perhaps only one of its occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub name: Word,
    pub instance: Option<Index>,
    pub nth: Option<Nth>,
}

/// A check with every name looked up.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub place: String,
    pub text: String,
    pub rule: Rule,
}

#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// Each event of the first has before it one of every pattern of one of the sets.
    Pred(Pattern, Vec<Vec<Pattern>>),
    /// The same with *immediately* before, among the events of all these patterns.
    Immediate(Pattern, Vec<Vec<Pattern>>),
    Parallel {
        patterns: Vec<Pattern>,
        never: bool,
    },
    Order(Expected),
}

/// The expected behaviour of chosen actions: Hyder's M = (Sigma_M, F_M, I_M, O_M).
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    /// The actions, with their names in the model.
    pub actions: Vec<(String, Pattern)>,
    /// The dependences: who may come immediately before whom.
    pub flow: Vec<(usize, usize)>,
    /// For each action what must come immediately before it: any of these sets. Empty if there is no rule.
    pub fires: Vec<Vec<Set>>,
    /// The same for what comes immediately after.
    pub routes: Vec<Vec<Set>>,
}

/// One set of a firing or routing rule.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// The occurrences of the action that it is about.
    pub of: Option<Occurrence>,
    /// The actions, ascending, each once, and which of their occurrences.
    pub members: Vec<(usize, Option<Occurrence>)>,
}

/// Which occurrence: a number, or the variable of the rule and what is added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    Number(i64),
    Variable { offset: i64 },
}
