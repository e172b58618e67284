//! What is asked of a trace: an expression, read and with its names looked up.
use crate::expr::parse::{Input, Misfit, joined, sign, stage};
use crate::expr::token::all_tokens;
use crate::expr::{Directory, ExprError, Expression, Match, Stage, Term, resolve_any};
use winnow::Parser;
use winnow::combinator::{cut_err, preceded};
use winnow::error::ErrMode;
use winnow::stream::TokenSlice;

/// A question.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// `A -> B`: each stage before the next; each is any of several things that one node does.
    Linked(Vec<Vec<Local>>),
    /// `A || B`: events of all stages that are concurrent.
    Concurrent(Vec<Vec<Local>>),
    /// `a.x & b.y`: several nodes at once; perhaps with alternatives.
    Cut(Vec<Vec<Local>>),
}

/// Predicates of one node that hold at once.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub node: u8,
    pub terms: Vec<Term>,
    /// Which occurrence counts; none if any does.
    pub nth: Option<u16>,
    /// As it is written.
    pub text: String,
}

impl Local {
    /// Whether it holds at single events only, and not for a while.
    pub fn is_event(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.what, Match::Event { .. }))
    }
}

/// Reads a question.
pub(super) fn ask(text: &str, directory: &Directory) -> Result<Question, ExprError> {
    let (expression, between) = read(text)?;
    let resolved = resolve_any(&expression, directory)?;
    let mut stages = Vec::new();
    for (written, stage) in expression.stages.iter().zip(resolved.stages) {
        let mut alternatives = Vec::new();
        for (simples, terms) in written.alternatives.iter().zip(stage) {
            let counted = simples.iter().map(|simple| simple.occurrence.is_some());
            alternatives.push(locals(text, terms.into_iter().zip(counted))?);
        }
        stages.push(alternatives);
    }
    let spans_nodes = stages.iter().flatten().any(|locals| locals.len() > 1);
    if spans_nodes && stages.len() > 1 {
        let span = expression.stages.iter().flat_map(|stage| &stage.alternatives).find(|simples| simples.len() > 1);
        let span = span.and_then(|simples| simples.first()).map_or(0..0, |simple| simple.span.clone());
        let problem = "several nodes at once cannot be a part of something larger";
        return Err(ExprError::new(text, span, problem, "ask for the conjunction by itself"));
    }
    if spans_nodes {
        return Ok(Question::Cut(stages.remove(0)));
    }
    let single = stages.into_iter().map(|stage| stage.into_iter().flatten().collect()).collect();
    Ok(if between == "||" { Question::Concurrent(single) } else { Question::Linked(single) })
}

/// Stages with `->` or with `||` between them.
fn read(text: &str) -> Result<(Expression, &'static str), ExprError> {
    // Whatever is wrong with the signs, the parser of expressions says it best.
    if !text.contains("||") {
        return Ok((crate::expr::parse(text)?, "->"));
    }
    let tokens = all_tokens(text)?;
    let mut input = TokenSlice::new(&tokens);
    let mut parse = || -> Result<(Vec<Stage>, &'static str), ErrMode<Misfit>> {
        let mut stages = vec![stage(&mut input)?];
        let between = if input.first().is_some_and(|token| *token == "||") { "||" } else { "->" };
        if input.first().is_some_and(|token| *token == between) {
            let rest = preceded(sign(between), cut_err(|input: &mut Input<'_>| joined(stage, between, input)));
            let rest: Vec<Stage> = { rest }.parse_next(&mut input)?;
            stages.extend(rest);
        }
        match (input.is_empty(), between) {
            (true, _) => Ok((stages, between)),
            (false, "||") => Err(ErrMode::Cut(Misfit { left: input.len(), expected: "`||`, `|` or the end" })),
            (false, _) => Err(ErrMode::Cut(Misfit { left: input.len(), expected: "`->`, `|`, `&` or the end" })),
        }
    };
    let (stages, between) = parse().map_err(|error| {
        let misfit = error.into_inner().unwrap_or(Misfit { left: 0, expected: "an expression" });
        misfit.explain(text, &tokens)
    })?;
    Ok((Expression { text: text.to_owned(), stages }, between))
}

/// The terms of a conjunction, those of one node together.
fn locals(text: &str, terms: impl Iterator<Item = (Term, bool)>) -> Result<Vec<Local>, ExprError> {
    let mut locals: Vec<Local> = Vec::new();
    for (term, counted) in terms {
        let (node, nth) = (term.node.0, counted.then_some(term.occurrences));
        let written = text[term.span.clone()].to_owned();
        match locals.iter_mut().find(|local| local.node == node) {
            Some(local) if local.nth.is_none() && nth.is_none() => {
                local.text = format!("{} & {written}", local.text);
                local.terms.push(term);
            }
            Some(_) => {
                let problem = "`^n` counts one predicate, and here are several of one node";
                return Err(ExprError::new(
                    text,
                    term.span,
                    problem,
                    "leave out `^n`, or write one condition with `&&`",
                ));
            }
            None => locals.push(Local { node, terms: vec![term], nth, text: written }),
        }
    }
    Ok(locals)
}
