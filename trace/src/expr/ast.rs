//! What an expression says, before anybody knows whether the names in it exist.
use super::span::{Span, Word};
use stillpoint_core::predicate::Relation;

/// A whole expression: stages joined by `->`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The text it was read from.
    pub text: String,
    /// The stages, in the order in which they must be satisfied.
    pub stages: Vec<Stage>,
}

/// What satisfies a stage: any of its alternatives, joined by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The alternatives; each is one simple predicate, or several joined by `&`.
    pub alternatives: Vec<Vec<Simple>>,
}

/// A predicate on one node, with the occurrence that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    /// Whose.
    pub node: Word,
    /// `[j]` behind the node: one of a family of nodes. Only models have it.
    pub instance: Option<Index>,
    /// What must happen or hold there.
    pub what: What,
    /// `^n`, and its place.
    pub occurrence: Option<(i64, Span)>,
    /// `^i` with a variable. Only models have it.
    pub nth: Option<Index>,
    /// Where it stands.
    pub span: Span,
}

/// A variable of a model, and what is added to it: `j`, `j+1`, `j-1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The variable.
    pub variable: Word,
    /// What is added.
    pub offset: i64,
}

/// What a simple predicate looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// `node:event`: a kind of event, and what it is about.
    Event {
        /// `send`, `recv` ...
        kind: Word,
        /// A port, a name or a number.
        argument: Option<Argument>,
    },
    /// `node.condition`.
    Condition(Value),
}

/// What stands in the parentheses of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A name.
    Name(Word),
    /// A number, for what has no name.
    Number(i64, Span),
}

/// A value of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// What it is.
    pub kind: ValueKind,
    /// Where it stands.
    pub span: Span,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A constant.
    Number(i64),
    /// A watch, `count` or `epoch`; perhaps with the node once more before it.
    Name(Option<Word>, Word),
    /// `pred(node)`.
    Pred(Word),
    /// `-x`
    Negate(Box<Value>),
    /// `!x`
    Not(Box<Value>),
    /// `x + y` and the like.
    Binary(Operator, Box<Value>, Box<Value>),
}

/// What joins two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `==` and the like.
    Compare(Relation),
    /// `&&`
    And,
    /// `||`
    Or,
}
