//! From tokens to an [`Expression`].
use super::ast::{Argument, Expression, Index, Operator, Simple, Stage, Value, ValueKind, What};
use super::span::{ExprError, Span, Word};
use super::token::{Kind, Token, tokens};
use stillpoint_core::predicate::Relation;
use winnow::Parser;
use winnow::combinator::{Infix, Prefix, alt, cut_err, delimited, expression, opt, preceded, trace};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::{Stream as _, TokenSlice};
use winnow::token::any;

/// Reads an expression. It says nothing about whether the names in it exist.
///
/// # Errors
/// Where it stops making sense, and what could stand there.
///
/// # Example
/// ```
/// let expression = stillpoint_trace::expr::parse("left0:send(ring)^3 -> right1.holding == 1 | right0:fault")?;
/// assert_eq!(expression.stages.len(), 2);
/// assert_eq!(expression.stages[1].alternatives.len(), 2);
/// # Ok::<(), stillpoint_trace::expr::ExprError>(())
/// ```
pub fn parse(text: &str) -> std::result::Result<Expression, ExprError> {
    let tokens = tokens(text)?;
    let mut input = TokenSlice::new(&tokens);
    let stages = match linked(&mut input) {
        Ok(stages) if input.is_empty() => return Ok(Expression { text: text.to_owned(), stages }),
        Ok(_) => ErrMode::Cut(Misfit { left: input.len(), expected: after_a_simple(&tokens, input.len()) }),
        Err(error) => error,
    };
    let misfit = stages.into_inner().unwrap_or(Misfit { left: 0, expected: "an expression" });
    Err(misfit.explain(text, &tokens))
}

pub(crate) type Input<'t> = TokenSlice<'t, Token>;
pub(crate) type Result<T> = std::result::Result<T, ErrMode<Misfit>>;

/// A place where something else was expected: so many tokens before the end.
#[derive(Clone, Debug)]
pub(crate) struct Misfit {
    pub(crate) left: usize,
    pub(crate) expected: &'static str,
}

impl ParserError<Input<'_>> for Misfit {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        Self { left: input.len(), expected: "" }
    }

    /// Of two failures the one that got further is the one to tell.
    fn or(self, other: Self) -> Self {
        if other.left < self.left || self.expected.is_empty() { other } else { self }
    }

    fn into_inner(self) -> std::result::Result<Self, Self> {
        Ok(self)
    }
}

impl Misfit {
    pub(crate) fn explain(&self, text: &str, tokens: &[Token]) -> ExprError {
        let advice = format!("expected {}", self.expected);
        match tokens.get(tokens.len() - self.left..).and_then(<[Token]>::first) {
            Some(token) => {
                let found = &text[token.span.clone()];
                ExprError::new(text, token.span.clone(), format!("`{found}` cannot stand here"), advice)
            }
            None if tokens.is_empty() => {
                let advice =
                    "write `node:event` or `node.condition`, for example left0:send(ring) -> right1.holding == 1";
                ExprError::new(text, 0..0, "the expression is empty", advice)
            }
            None => {
                let end = text.trim_end().len();
                ExprError::new(text, end..end, "the expression ends too early", advice)
            }
        }
    }
}

/// What may follow where a simple predicate was read to its end.
fn after_a_simple(tokens: &[Token], left: usize) -> &'static str {
    let read = &tokens[..tokens.len() - left];
    let simple =
        read.iter().rposition(|token| ["->", "|", "&"].iter().any(|sign| token == sign)).map_or(0, |at| at + 1);
    let has = |sign: &str| read[simple..].iter().any(|token| *token == sign);
    if has("^") || read.last().is_some_and(|token| *token == ")") && has(".") {
        "`->`, `|`, `&` or the end"
    } else if has(":") {
        "`^n`, `->`, `|`, `&` or the end"
    } else {
        "an operator (+ - * / % == != < <= > >= && ||), `^n`, `->`, `|`, `&` or the end"
    }
}

/// `parser`, which fails as "expected ..." if it cannot even begin.
pub(crate) fn expect<'t, O>(
    expected: &'static str,
    mut parser: impl Parser<Input<'t>, O, ErrMode<Misfit>>,
) -> impl Parser<Input<'t>, O, ErrMode<Misfit>> {
    move |input: &mut Input<'t>| {
        let left = input.len();
        parser.parse_next(input).map_err(|error| match error {
            ErrMode::Backtrack(misfit) if misfit.left == left => ErrMode::Backtrack(Misfit { left, expected }),
            error => error,
        })
    }
}

pub(crate) fn sign<'t>(sign: &'static str) -> impl Parser<Input<'t>, &'t Token, ErrMode<Misfit>> {
    at_start(any.verify(move |token: &&Token| **token == sign))
}

/// Puts the failure where the token stands, not behind it.
fn at_start<'t, O>(
    mut parser: impl Parser<Input<'t>, O, ErrMode<Misfit>>,
) -> impl Parser<Input<'t>, O, ErrMode<Misfit>> {
    move |input: &mut Input<'t>| {
        let (left, start) = (input.len(), input.checkpoint());
        parser.parse_next(input).map_err(|error| {
            input.reset(&start);
            error.map(|misfit| Misfit { left, ..misfit })
        })
    }
}

pub(crate) fn word(input: &mut Input<'_>) -> Result<Word> {
    at_start(any.verify_map(|token: &Token| match &token.kind {
        Kind::Word(text) => Some(Word { text: text.clone(), span: token.span.clone() }),
        _ => None,
    }))
    .parse_next(input)
}

fn number(input: &mut Input<'_>) -> Result<(i64, Span)> {
    at_start(any.verify_map(|token: &Token| match token.kind {
        Kind::Number(number) => Some((number, token.span.clone())),
        _ => None,
    }))
    .parse_next(input)
}

fn linked(input: &mut Input<'_>) -> Result<Vec<Stage>> {
    joined(stage, "->", input)
}

pub(crate) fn stage(input: &mut Input<'_>) -> Result<Stage> {
    let grouped = delimited(sign("("), cut_err(alternatives), cut_err(expect("`)`", sign(")"))));
    let example = "a node's name, as in left0:send(ring) or left0.holding == 1";
    alt((grouped, expect(example, alternatives))).parse_next(input)
}

fn alternatives(input: &mut Input<'_>) -> Result<Stage> {
    let simple = |input: &mut Input<'_>| expect("a node's name", simple).parse_next(input);
    let conjunction = |input: &mut Input<'_>| joined(simple, "&", input);
    Ok(Stage { alternatives: joined(conjunction, "|", input)? })
}

/// One or more, with a sign between them. Behind the sign there must be one: nothing else begins with it.
pub(crate) fn joined<'t, O>(
    mut item: impl FnMut(&mut Input<'t>) -> Result<O>,
    between: &'static str,
    input: &mut Input<'t>,
) -> Result<Vec<O>> {
    let mut items = vec![item(input)?];
    while input.first().is_some_and(|token| *token == between) {
        items.push(preceded(sign(between), cut_err(&mut item)).parse_next(input)?);
    }
    Ok(items)
}

pub(crate) fn simple(input: &mut Input<'_>) -> Result<Simple> {
    let node = node(input)?;
    let event = preceded(sign(":"), cut_err(event));
    let condition = preceded(sign("."), cut_err(condition)).map(What::Condition);
    let what =
        cut_err(expect("`:` and an event, or `.` and a condition", alt((event, condition)))).parse_next(input)?;
    let occurrence =
        opt(preceded(sign("^"), cut_err(expect("a number: which occurrence counts", number)))).parse_next(input)?;
    let start = node.span.start;
    let end = input.previous_tokens().next().map_or(start, |token| token.span.end);
    Ok(Simple { node, instance: None, what, occurrence, nth: None, span: start..end })
}

/// The same as models have it: the node may be one of a family, and the occurrence a variable.
pub(crate) fn indexed_simple(input: &mut Input<'_>) -> Result<Simple> {
    let node = node(input)?;
    let instance = instance(input)?;
    let event = preceded(sign(":"), cut_err(event));
    let condition = preceded(sign("."), cut_err(condition)).map(What::Condition);
    let what =
        cut_err(expect("`:` and an event, or `.` and a condition", alt((event, condition)))).parse_next(input)?;
    let (occurrence, nth) = match nth(input)? {
        Some(Nth::Number(number, span)) => (Some((number, span)), None),
        Some(Nth::Index(index)) => (None, Some(index)),
        None => (None, None),
    };
    let start = node.span.start;
    let end = input.previous_tokens().next().map_or(start, |token| token.span.end);
    Ok(Simple { node, instance, what, occurrence, nth, span: start..end })
}

/// What may stand behind `^` in a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nth {
    Number(i64, Span),
    Index(Index),
}

/// `[j]`, `[j+1]`
pub(crate) fn instance(input: &mut Input<'_>) -> Result<Option<Index>> {
    let close = cut_err(expect("`]`", sign("]")));
    opt(delimited(sign("["), cut_err(expect("a variable, as in mult[j]", index)), close)).parse_next(input)
}

/// `^3`, `^i`, `^i+1`
pub(crate) fn nth(input: &mut Input<'_>) -> Result<Option<Nth>> {
    let constant = number.map(|(number, span)| Nth::Number(number, span));
    let behind = alt((constant, index.map(Nth::Index)));
    opt(preceded(sign("^"), cut_err(expect("a number or a variable: which occurrence counts", behind))))
        .parse_next(input)
}

fn index(input: &mut Input<'_>) -> Result<Index> {
    let variable = word(input)?;
    let plus = opt(preceded(sign("+"), cut_err(expect("a number", number)))).parse_next(input)?;
    let minus = if plus.is_none() {
        opt(preceded(sign("-"), cut_err(expect("a number", number)))).parse_next(input)?
    } else {
        None
    };
    let offset = plus.map_or(0, |(number, _)| number) - minus.map_or(0, |(number, _)| number);
    Ok(Index { variable, offset })
}

/// A name; `*` is every node of a trace.
fn node(input: &mut Input<'_>) -> Result<Word> {
    let star = sign("*").map(|token: &Token| Word { text: "*".into(), span: token.span.clone() });
    alt((word, star)).parse_next(input)
}

fn event(input: &mut Input<'_>) -> Result<What> {
    let kind = expect(super::names::EVENTS, word).parse_next(input)?;
    let argument = alt((word.map(Argument::Name), number.map(|(number, span)| Argument::Number(number, span))));
    let argument = cut_err(expect("a name or a number", argument));
    let argument = opt(delimited(sign("("), argument, cut_err(expect("`)`", sign(")"))))).parse_next(input)?;
    Ok(What::Event { kind, argument })
}

/// Lowest first: `||`, `&&`, comparisons (which do not chain), `+ -`, `* / %`, signs.
fn condition(input: &mut Input<'_>) -> Result<Value> {
    use Operator::{Add, And, Compare, Divide, Multiply, Or, Remainder, Subtract};
    macro_rules! binary {
        ($associates:ident, $power:literal, $sign:literal, $operator:expr) => {
            sign($sign)
                .value(Infix::$associates($power, |_: &mut Input<'_>, left, right| Ok(join($operator, left, right))))
        };
    }
    let compare = alt((
        binary!(Neither, 5, "==", Compare(Relation::Equal)),
        binary!(Neither, 5, "!=", Compare(Relation::Unequal)),
        binary!(Neither, 5, "<=", Compare(Relation::AtMost)),
        binary!(Neither, 5, ">=", Compare(Relation::AtLeast)),
        binary!(Neither, 5, "<", Compare(Relation::Less)),
        binary!(Neither, 5, ">", Compare(Relation::Greater)),
    ));
    let arithmetic = alt((
        binary!(Left, 7, "+", Add),
        binary!(Left, 7, "-", Subtract),
        binary!(Left, 9, "*", Multiply),
        binary!(Left, 9, "/", Divide),
        binary!(Left, 9, "%", Remainder),
    ));
    let logic = alt((binary!(Left, 3, "&&", And), binary!(Left, 1, "||", Or)));
    let prefix = alt((
        sign("-").value(Prefix(11, |_: &mut Input<'_>, value| Ok(negate(value)))),
        sign("!").value(Prefix(11, |_: &mut Input<'_>, value| {
            let span = prefixed(&value);
            Ok(Value { kind: ValueKind::Not(Box::new(value)), span })
        })),
    ));
    let prefix = cut_err(expect("a watch, a number, `count`, `epoch`, `pred(node)` or `(`", prefix));
    trace("condition", expression(operand).prefix(prefix).infix(alt((compare, arithmetic, logic)))).parse_next(input)
}

fn operand(input: &mut Input<'_>) -> Result<Value> {
    let literal = number.map(|(number, span)| Value { kind: ValueKind::Number(number), span });
    let group = delimited(sign("("), cut_err(condition), cut_err(expect("an operator or `)`", sign(")"))));
    alt((literal, group, name)).parse_next(input)
}

fn name(input: &mut Input<'_>) -> Result<Value> {
    let first = word(input)?;
    let start = first.span.start;
    if first.text == "pred" && input.first().is_some_and(|token| *token == "(") {
        let close = cut_err(expect("`)`", sign(")")));
        let node = delimited(sign("("), cut_err(expect("a node's name", word)), close).parse_next(input)?;
        let end = input.previous_tokens().next().map_or(start, |token| token.span.end);
        return Ok(Value { kind: ValueKind::Pred(node), span: start..end });
    }
    let second = opt(preceded(sign("."), cut_err(expect("a watch, `count` or `epoch`", word)))).parse_next(input)?;
    let (node, name) = match second {
        Some(second) => (Some(first), second),
        None => (None, first),
    };
    let span = start..name.span.end;
    Ok(Value { kind: ValueKind::Name(node, name), span })
}

fn join(operator: Operator, left: Value, right: Value) -> Value {
    let span = left.span.start..right.span.end;
    Value { kind: ValueKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

/// A sign before a number is part of it, so that the smallest number can be written.
fn negate(value: Value) -> Value {
    let span = prefixed(&value);
    let kind = match value.kind {
        ValueKind::Number(number) => ValueKind::Number(number.wrapping_neg()),
        _ => ValueKind::Negate(Box::new(value)),
    };
    Value { kind, span }
}

/// The place of a value with the sign before it.
fn prefixed(value: &Value) -> Span {
    value.span.start.saturating_sub(1)..value.span.end
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
