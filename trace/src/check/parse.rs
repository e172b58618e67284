//! From text to a [`Model`].
use super::model::{Action, Member, Model, ModelError, Part, Says, Source, Statement};
use crate::expr::parse::{Input, Misfit, Result, expect, indexed_simple, instance, joined, nth, sign, word};
use crate::expr::token::{Kind, Token, all_tokens};
use crate::expr::{ExprError, Span, Word};
use winnow::Parser;
use winnow::combinator::{alt, cut_err, delimited, opt, preceded};
use winnow::error::ErrMode;
use winnow::stream::{Stream as _, TokenSlice};

/// Reads a model. It says nothing about whether the names in it exist.
///
/// # Errors
/// Where it stops making sense, and what could stand there.
pub fn parse(source: &Source) -> std::result::Result<Model, ModelError> {
    let wrong = |error| ModelError::new(source, error);
    let tokens = all_tokens(&without_comments(&source.text)).map_err(wrong)?;
    let mut input = TokenSlice::new(&tokens);
    let mut statements = Vec::new();
    loop {
        while input.first().is_some_and(|token| *token == ";") {
            input.next_token();
        }
        if input.is_empty() {
            break;
        }
        statements.push(statement(&mut input).map_err(|error| wrong(explain(error, &source.text, &tokens)))?);
    }
    if statements.is_empty() {
        let advice = "write for example: pred left1:recv(ring) { left0:send(ring) }";
        return Err(wrong(ExprError::new(&source.text, 0..0, "there is nothing to check", advice)));
    }
    Ok(Model { source: source.clone(), statements })
}

/// Comments as blanks, so that places stay where they are.
fn without_comments(text: &str) -> String {
    let (mut quoted, mut comment) = (false, false);
    let blank = |c: char| {
        match c {
            '\n' => (quoted, comment) = (false, false),
            '"' if !comment => quoted = !quoted,
            '#' if !quoted => comment = true,
            _ => {}
        }
        if comment { " ".repeat(c.len_utf8()) } else { c.into() }
    };
    text.chars().map(blank).collect()
}

fn explain(error: ErrMode<Misfit>, text: &str, tokens: &[Token]) -> ExprError {
    let misfit = error.into_inner().unwrap_or(Misfit { left: 0, expected: STATEMENT });
    let mut error = misfit.explain(text, tokens);
    if misfit.left == 0 {
        // Comments may follow the last word.
        let end = tokens.last().map_or(0, |token| token.span.end);
        (error.span, error.problem) = (end..end, "the model ends too early".into());
    }
    error
}

const STATEMENT: &str = "`pred`, `parallel`, `not parallel`, `event` or `model`";

fn statement(input: &mut Input<'_>) -> Result<Statement> {
    let start = input.first().map_or(0, |token| token.span.start);
    let says = if opt(sign("!")).parse_next(input)?.is_some() {
        keyword("parallel", "`parallel` behind `not`", input)?;
        parallel(true, input)?
    } else {
        let left = input.len();
        let first = expect(STATEMENT, word).parse_next(input)?;
        match first.text.as_str() {
            "event" => {
                let name = cut_err(expect("a name for the event", word)).parse_next(input)?;
                cut_err(expect("`=` and the event", sign("="))).parse_next(input)?;
                Says::Event(name, action(input)?)
            }
            "pred" => {
                let immediate = takes_immediate(input);
                let of = action(input)?;
                cut_err(expect("`{` and what comes before it", sign("{"))).parse_next(input)?;
                let before = joined(action, ",", input)?;
                cut_err(expect("`,` or `}`", sign("}"))).parse_next(input)?;
                Says::Pred { of, before, immediate }
            }
            "parallel" => parallel(false, input)?,
            "model" => model(input)?,
            _ => return Err(ErrMode::Cut(Misfit { left, expected: STATEMENT })),
        }
    };
    Ok(Statement { span: start..end_of(input, start), says })
}

fn keyword(text: &'static str, expected: &'static str, input: &mut Input<'_>) -> Result<Word> {
    cut_err(expect(expected, word.verify(move |word: &Word| word.text == text))).parse_next(input)
}

/// Takes the word `immediate`, unless it is the name of a node or event.
fn takes_immediate(input: &mut Input<'_>) -> bool {
    let second = input.iter_offsets().nth(1).map(|(_, token)| token);
    let is_name = second.is_none_or(|token| [":", ".", "{", "["].iter().any(|sign| *token == *sign));
    let before = input.checkpoint();
    let is_word = word(input).is_ok_and(|word| word.text == "immediate");
    if is_name || !is_word {
        input.reset(&before);
    }
    is_word && !is_name
}

fn parallel(never: bool, input: &mut Input<'_>) -> Result<Says> {
    cut_err(expect("`(` and the events", sign("("))).parse_next(input)?;
    let mut actions = vec![action(input)?];
    cut_err(expect("`,` and another event", sign(","))).parse_next(input)?;
    actions.extend(joined(action, ",", input)?);
    cut_err(expect("`,` or `)`", sign(")"))).parse_next(input)?;
    Ok(Says::Parallel { actions, never })
}

/// `left0:send(ring)`, `(a:fault | b:fault)`, or a name.
fn action(input: &mut Input<'_>) -> Result<Action> {
    let start = input.first().map_or(0, |token| token.span.start);
    let group =
        |input: &mut Input<'_>| joined(|input| expect("an event", indexed_simple).parse_next(input), "|", input);
    if input.first().is_some_and(|token| *token == "(") {
        let simples =
            delimited(sign("("), cut_err(group), cut_err(expect("`|` or `)`", sign(")")))).parse_next(input)?;
        return Ok(Action::Any(simples, start..end_of(input, start)));
    }
    let second = input.iter_offsets().nth(1).map(|(_, token)| token);
    if second.is_some_and(|token| *token == ":" || *token == "." || *token == "[") {
        let simples = vec![cut_err(indexed_simple).parse_next(input)?];
        return Ok(Action::Any(simples, start..end_of(input, start)));
    }
    cut_err(expect("an event, as in left0:send(ring), or the name of one", word)).map(Action::Name).parse_next(input)
}

fn model(input: &mut Input<'_>) -> Result<Says> {
    let name = cut_err(expect("a name for the model", word)).parse_next(input)?;
    cut_err(expect("`{`", sign("{"))).parse_next(input)?;
    let mut parts = Vec::new();
    while opt(sign("}")).parse_next(input)?.is_none() {
        if opt(sign(";")).parse_next(input)?.is_none() {
            parts.push(part(input)?);
        }
    }
    Ok(Says::Model(name, parts))
}

fn part(input: &mut Input<'_>) -> Result<Part> {
    const PART: &str = "`name = event`, `a -> b`, `in name {..}`, `out name {..}` or `}`";
    let first = cut_err(expect(PART, word)).parse_next(input)?;
    let rule = first.text == "in" || first.text == "out";
    if rule && input.first().is_some_and(|token| matches!(token.kind, Kind::Word(_))) {
        let of = cut_err(name_of_action).parse_next(input)?;
        let sets = joined(set, "|", input)?;
        return Ok(Part::Rule { of, routes: first.text == "out", sets });
    }
    let member = Member { name: first, instance: instance(input)?, nth: None };
    let next = input.first();
    if next.is_some_and(|token| *token == "=") {
        return preceded(sign("="), cut_err(action))
            .map(|action| Part::Action(member.clone(), action))
            .parse_next(input);
    }
    if next.is_some_and(|token| *token == "->") {
        let rest = preceded(sign("->"), cut_err(|input: &mut Input<'_>| joined(name_of_action, "->", input)));
        let rest: Vec<Member> = { rest }.parse_next(input)?;
        return Ok(Part::Flow([member].into_iter().chain(rest).collect()));
    }
    if rule {
        return cut_err(name_of_action).parse_next(input).map(|_| Part::Flow(vec![member]));
    }
    let behind = cut_err(expect("`=` and an event, or `->` and a name", alt((sign("="), sign("->")))));
    { behind }.parse_next(input).map(|_| Part::Flow(vec![member]))
}

/// `mult`, `mult[j]`, `mult[j]^i`
fn name_of_action(input: &mut Input<'_>) -> Result<Member> {
    let name = expect("the name of an action of the model", word).parse_next(input)?;
    Ok(Member { name, instance: instance(input)?, nth: nth(input)? })
}

/// `{a, b}`; `{}` is nothing at all.
fn set(input: &mut Input<'_>) -> Result<Vec<Member>> {
    cut_err(expect("`{` and names of actions", sign("{"))).parse_next(input)?;
    if opt(sign("}")).parse_next(input)?.is_some() {
        return Ok(Vec::new());
    }
    let names = joined(|input| cut_err(name_of_action).parse_next(input), ",", input)?;
    cut_err(expect("`,` or `}`", sign("}"))).parse_next(input)?;
    Ok(names)
}

fn end_of(input: &Input<'_>, start: usize) -> usize {
    let span: Option<Span> = input.previous_tokens().next().map(|token| token.span.clone());
    span.map_or(start, |span| span.end)
}
