//! From an expression to a program for each node.
use super::ast::Operator;
use super::class::Class;
use super::formula::Formula;
use super::names::Directory;
use super::resolve::{Match, Resolved, Term};
use super::span::ExprError;
use stillpoint_core::NodeId;
use stillpoint_core::predicate::{Defect, MAX_TERMS, MAX_TERMS_PER_STAGE, PROGRAM_BYTES, Program, ProgramBuilder};

/// The programs of a predicate, one for each node of the system: those without a part in it pass its stages on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// How many stages it has.
    pub stages: u8,
    /// For each node its part.
    pub programs: Vec<(NodeId, Program)>,
}

/// Compiles a predicate for every node of the system.
///
/// # Errors
/// It cannot be stopped at live, or a node's part does not fit: the error says what to write instead or what to shorten.
pub fn compile(resolved: &Resolved, directory: &Directory) -> Result<Compiled, ExprError> {
    if resolved.class() == Class::Conjunctive {
        return Err(refuse_conjunction(resolved, directory));
    }
    let stages = resolved.stages.len() as u8;
    let mut terms = Vec::new();
    for (stage, alternatives) in (1..).zip(&resolved.stages) {
        for together in alternatives {
            terms.push((stage, merged(resolved, together)?));
        }
    }
    if stages > 1
        && let Some((_, reset)) = terms.iter().find(|(_, term)| term.is_reset())
    {
        let advice = "break on the reset alone, or on what the node does after it";
        let problem = "a reset forgets the stages that its node knows, so it cannot be one of several";
        return Err(ExprError::new(&resolved.text, reset.span.clone(), problem, advice));
    }
    let programs = directory.nodes.iter().map(|node| {
        let own: Vec<_> = terms.iter().filter(|(_, term)| term.node == node.id).collect();
        let builder =
            own.iter().fold(ProgramBuilder::new(stages), |builder, (stage, term)| push(builder, *stage, term));
        let program = builder.finish().map_err(|error| does_not_fit(resolved, &node.display(), &own, error.defect))?;
        Ok((node.id, program))
    });
    Ok(Compiled { stages, programs: programs.collect::<Result<_, _>>()? })
}

fn push(builder: ProgramBuilder, stage: u8, term: &Term) -> ProgramBuilder {
    match &term.what {
        Match::Condition(formula) => builder.push_condition_term(stage, term.occurrences, &formula.instructions()),
        Match::Event { kind, arguments } if arguments.is_empty() => {
            builder.push_event_term(stage, term.occurrences, *kind, None)
        }
        Match::Event { kind, arguments } => arguments.iter().fold(builder, |builder, argument| {
            builder.push_event_term(stage, term.occurrences, *kind, Some(*argument))
        }),
    }
}

/// Conditions of one node joined by `&` are one condition.
fn merged(resolved: &Resolved, together: &[Term]) -> Result<Term, ExprError> {
    let Some((first, rest)) = together.split_first() else {
        return Err(ExprError::new(&resolved.text, 0..0, "an empty stage", "write `node:event` or `node.condition`"));
    };
    let mut joined = first.clone();
    for term in rest {
        let text = |term: &Term| resolved.text[term.span.clone()].to_owned();
        let (Match::Condition(left), Match::Condition(right)) = (&joined.what, &term.what) else {
            let (event, other) =
                if matches!(term.what, Match::Event { .. }) { (term, &joined) } else { (&joined, term) };
            let problem = "an event and what holds at it cannot be asked for together";
            let advice = format!("write it in order: {} -> {}", text(other), text(event));
            return Err(ExprError::new(&resolved.text, term.span.clone(), problem, advice));
        };
        if let Some(counted) = [&joined, term].into_iter().find(|term| term.occurrences != 1) {
            let advice = "join the conditions with `&&` and count the whole: left0.a == 1 && b == 2 ^3";
            return Err(ExprError::new(
                &resolved.text,
                counted.span.clone(),
                "`^n` cannot count one side of `&`",
                advice,
            ));
        }
        joined.what = Match::Condition(Formula::binary(Operator::And, left.clone(), right.clone()));
        joined.span.end = term.span.end;
    }
    Ok(joined)
}

fn refuse_conjunction(resolved: &Resolved, directory: &Directory) -> ExprError {
    let several = resolved.stages.iter().flatten().find(|terms| terms.iter().any(|term| term.node != terms[0].node));
    let terms = several.map_or(&[][..], Vec::as_slice);
    let span = terms.first().map_or(0, |term| term.span.start)..terms.last().map_or(0, |term| term.span.end);
    let text = |term: &Term| resolved.text[term.span.clone()].to_owned();
    let mut nodes: Vec<_> = terms.iter().map(|term| directory.name_of(term.node)).collect();
    nodes.dedup();
    let problem = format!(
        "nobody can stop {} in the first state in which this holds on all of them: by the time the last has told the \
         others, they have moved on",
        nodes.join(" and ")
    );
    let mut ways = vec![
        "it can be found afterwards, in a recorded trace: whether it possibly or definitely held, and where first \
         (`stillpoint detect`)"
            .to_owned(),
    ];
    if let [one, other] = terms {
        let (one, other) = (text(one), text(other));
        ways.push(format!("live, stop when one comes after the other: '{one} -> {other}' or '{other} -> {one}'"));
    }
    ExprError::new(&resolved.text, span, problem, ways.join("\n  "))
}

/// What to shorten.
fn does_not_fit(resolved: &Resolved, node: &str, own: &[&(u8, Term)], defect: Defect) -> ExprError {
    let size = |term: &Term| {
        let size = push(ProgramBuilder::new(1), 1, term).finish();
        match size {
            Ok(program) => program.as_bytes().len() - 1,
            Err(error) => match error.defect {
                Defect::TooLong(size) => size - 1,
                _ => 0,
            },
        }
    };
    let largest = own.iter().max_by_key(|(_, term)| size(term));
    let span = largest.map_or(0..0, |(_, term)| term.span.clone());
    let parts = || {
        let parts = own.iter().map(|(_, term)| format!("`{}` takes {}", &resolved.text[term.span.clone()], size(term)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let (problem, advice) = match defect {
        Defect::TooLong(size) => (
            format!("the part of {node} takes {size} bytes, and a node has room for {PROGRAM_BYTES}"),
            format!("{}: shorten this one, compare with smaller numbers, or use two breakpoints", parts()),
        ),
        Defect::TooManyTerms(_) => (
            format!("{node} has a part in more than {MAX_TERMS} places"),
            "use two breakpoints, or one condition with `||` instead of several".to_owned(),
        ),
        Defect::StageTooWide(stage) => (
            format!("{node} has more than {MAX_TERMS_PER_STAGE} alternatives in stage {stage}"),
            "join its conditions with `||`, or use two breakpoints".to_owned(),
        ),
        Defect::StackOverflow => (
            "this condition needs more intermediate values than a node can hold".to_owned(),
            "compute less at once: compare parts of it separately and join them with `&&`".to_owned(),
        ),
        other => (format!("the part of {node} cannot be compiled: {other}"), String::new()),
    };
    ExprError::new(&resolved.text, span, problem, advice)
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
