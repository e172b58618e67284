//! Looking up names: from what an expression says to numbers of nodes, ports, watches and tags.
use super::ast::{Argument, Expression, Operator, Simple, Value, ValueKind, What};
use super::formula::Formula;
use super::names::{self, About, Directory, NodeNames, suggest};
use super::span::{ExprError, Span, Word};
use stillpoint_core::predicate::MAX_STAGES;
use stillpoint_core::{Direction, EventKind, NodeId};

/// An expression whose names all exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The text it was read from.
    pub text: String,
    /// For each stage its alternatives; each is one term, or several that must hold at once.
    pub stages: Vec<Vec<Vec<Term>>>,
}

/// A simple predicate: what a node looks for, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Which node.
    pub node: NodeId,
    /// Which occurrence counts.
    pub occurrences: u16,
    /// What an occurrence is.
    pub what: Match,
    /// Where it stands in the text.
    pub span: Span,
}

/// What an occurrence of a term is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Match {
    /// An event of this kind, with any of these arguments; with any at all if there are none.
    Event {
        /// The kind.
        kind: EventKind,
        /// Ports or tags.
        arguments: Vec<u16>,
    },
    /// A condition becomes true.
    Condition(Formula),
}

/// Looks up every name of an expression.
///
/// # Errors
/// A name does not exist (with the nearest that does), a number is out of range, or there are too many stages.
pub fn resolve(expression: &Expression, directory: &Directory) -> Result<Resolved, ExprError> {
    let text = &expression.text;
    if expression.stages.len() > usize::from(MAX_STAGES) {
        let extra = &expression.stages[usize::from(MAX_STAGES)].alternatives;
        let span = extra.first().and_then(|simples| simples.first()).map_or(0..0, |simple| simple.span.clone());
        let problem = format!("a breakpoint has at most {MAX_STAGES} stages, this has {}", expression.stages.len());
        return Err(ExprError::new(text, span, problem, "leave out stages that the others imply"));
    }
    resolve_any(expression, directory)
}

/// The same without the limits of what a node can keep.
pub(crate) fn resolve_any(expression: &Expression, directory: &Directory) -> Result<Resolved, ExprError> {
    let text = &expression.text;
    let lookup = Lookup { text, directory };
    let stages = expression.stages.iter().map(|stage| {
        stage.alternatives.iter().map(|simples| simples.iter().map(|simple| lookup.simple(simple)).collect()).collect()
    });
    Ok(Resolved { text: text.clone(), stages: stages.collect::<Result<_, _>>()? })
}

/// Looks up the names of one simple predicate of a text. `*` stands for every node that has what is asked for.
pub(crate) fn resolve_simple(text: &str, simple: &Simple, directory: &Directory) -> Result<Vec<Term>, ExprError> {
    let lookup = Lookup { text, directory };
    if simple.node.text != "*" {
        return Ok(vec![lookup.simple(simple)?]);
    }
    let mut terms = Vec::new();
    let mut first_error = None;
    for node in &directory.nodes {
        match lookup.term(node, simple) {
            Ok(term) => terms.push(term),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) if terms.is_empty() => Err(error),
        _ if terms.is_empty() => lookup.error(&simple.node.span, "the trace has no nodes", "record one with boards"),
        _ => Ok(terms),
    }
}

struct Lookup<'a> {
    text: &'a str,
    directory: &'a Directory,
}

impl<'a> Lookup<'a> {
    fn error<T>(&self, span: &Span, problem: impl Into<String>, advice: impl Into<String>) -> Result<T, ExprError> {
        Err(ExprError::new(self.text, span.clone(), problem, advice))
    }

    fn node(&self, word: &Word) -> Result<&'a NodeNames, ExprError> {
        self.directory.node(&word.text).or_else(|why| {
            let (problem, advice) = self.directory.explain(&word.text, &why);
            self.error(&word.span, problem, advice)
        })
    }

    fn simple(&self, simple: &Simple) -> Result<Term, ExprError> {
        self.term(self.node(&simple.node)?, simple)
    }

    fn term(&self, node: &NodeNames, simple: &Simple) -> Result<Term, ExprError> {
        let occurrences = match &simple.occurrence {
            None => 1,
            Some((number, span)) => match u16::try_from(*number) {
                Ok(0) => return self.error(span, "^0 never occurs", "count from ^1"),
                Ok(number) => number,
                Err(_) => {
                    return self.error(span, "this is counted up to 65535", "break on a watch that counts instead");
                }
            },
        };
        let what = match &simple.what {
            What::Condition(value) => Match::Condition(self.value(node, value)?),
            What::Event { kind, argument } => self.event(node, kind, argument.as_ref())?,
        };
        Ok(Term { node: node.id, occurrences, what, span: simple.span.clone() })
    }

    fn event(&self, node: &NodeNames, kind: &Word, argument: Option<&Argument>) -> Result<Match, ExprError> {
        let recorded = self.directory.recorded;
        let Some((event, about)) = names::event(&kind.text, recorded) else {
            let words = names::event_words(recorded).map(String::from);
            let problem = format!("there is no event `{}`", kind.text);
            return self.error(&kind.span, problem, suggest("events", &kind.text, words));
        };
        let arguments = match (about, argument) {
            (About::Tag(of @ ("call" | "serve")), None) => self.ends(node, of, kind)?,
            (_, None) => Vec::new(),
            (About::Nothing, Some(Argument::Name(Word { span, .. }) | Argument::Number(_, span))) => {
                return self.error(
                    span,
                    format!("`{}` is about nothing in particular", kind.text),
                    "leave out the parentheses",
                );
            }
            (About::Port, Some(argument)) => vec![self.port(node, event, argument)?],
            (About::Watch, Some(argument)) => vec![self.watch(node, argument)?],
            (About::Tag(of), Some(argument)) => self.tags(node, of, argument)?,
        };
        Ok(Match::Event { kind: event, arguments })
    }

    /// Every name of one end of remote procedures. Firmware that names both ends `call` does not tell them apart: then any will do.
    fn ends(&self, node: &NodeNames, of: &str, kind: &Word) -> Result<Vec<u16>, ExprError> {
        let numbers =
            |of: &str| node.tags.iter().filter(|(kind, ..)| kind == of).map(|(_, number, _)| *number).collect();
        let (own, servers): (Vec<u16>, Vec<u16>) = (numbers(of), numbers("serve"));
        if of == "serve" && own.is_empty() {
            let problem = format!("the firmware of {} serves nothing by this name", node.display());
            return self.error(&kind.span, problem, "name its server with `name!(serve \"...\")`");
        }
        Ok(if servers.is_empty() { Vec::new() } else { own })
    }

    fn port(&self, node: &NodeNames, event: EventKind, argument: &Argument) -> Result<u16, ExprError> {
        let fits = |direction: Direction| match event {
            EventKind::Send => direction == Direction::Out,
            EventKind::Receive => direction == Direction::In,
            _ => true,
        };
        let candidates = || node.ports.iter().filter(|port| fits(port.direction));
        let (what, found, span) = match argument {
            Argument::Name(word) => {
                let found: Vec<_> = candidates().filter(|port| port.name.as_ref() == Some(&word.text)).collect();
                (word.text.clone(), found, &word.span)
            }
            Argument::Number(number, span) => {
                let found: Vec<_> = candidates().filter(|port| i64::from(port.id.0) == *number).collect();
                (number.to_string(), found, span)
            }
        };
        let is_link_event = matches!(event, EventKind::LinkUp | EventKind::LinkDown);
        match found.as_slice() {
            [port] => Ok(port.id.0.into()),
            // Both directions of one link go up and down together.
            [port, others @ ..] if is_link_event && others.iter().all(|other| other.peer == port.peer) => {
                Ok(port.id.0.into())
            }
            [] => {
                let verb = match event {
                    EventKind::Send => "sends through",
                    EventKind::Receive => "receives from",
                    _ => "has",
                };
                let names = candidates().map(|port| node.port_name(port.id));
                let problem = format!("{} {verb} no port `{what}`", node.display());
                self.error(span, problem, suggest("ports", &what, names))
            }
            [..] => {
                let numbers: Vec<_> = found.iter().map(|port| port.id.0.to_string()).collect();
                let problem = format!("{} has {} ports called `{what}`", node.display(), found.len());
                self.error(span, problem, format!("say which by its number: {}", numbers.join(" or ")))
            }
        }
    }

    fn watch(&self, node: &NodeNames, argument: &Argument) -> Result<u16, ExprError> {
        let (found, what, span) = match argument {
            Argument::Name(word) => (node.watch(&word.text), word.text.clone(), &word.span),
            Argument::Number(number, span) => {
                let known = (0..node.watches.len()).find(|watch| i64::try_from(*watch) == Ok(*number));
                (known.and_then(|watch| u8::try_from(watch).ok()), number.to_string(), span)
            }
        };
        found.map_or_else(
            || {
                let problem = format!("{} has no watch `{what}`", node.display());
                self.error(span, problem, suggest("watches", &what, node.watch_names()))
            },
            |watch| Ok(watch.into()),
        )
    }

    fn tags(&self, node: &NodeNames, of: &str, argument: &Argument) -> Result<Vec<u16>, ExprError> {
        let word = match argument {
            Argument::Number(number, span) => match u16::try_from(*number) {
                Ok(number) => return Ok(vec![number]),
                Err(_) => return self.error(span, format!("no {of} has the number {number}"), "they are 0 to 65535"),
            },
            Argument::Name(word) => word,
        };
        let of_kind = || node.tags.iter().filter(|(kind, ..)| kind == of);
        let numbers: Vec<u16> =
            of_kind().filter(|(.., text)| *text == word.text).map(|(_, number, _)| *number).collect();
        if numbers.is_empty() {
            let problem = format!("the firmware of {} has no {of} `{}`", node.display(), word.text);
            let names = of_kind().map(|(.., text)| text.clone());
            return self.error(&word.span, problem, suggest(&format!("{of}s"), &word.text, names));
        }
        Ok(numbers)
    }

    fn value(&self, node: &NodeNames, value: &Value) -> Result<Formula, ExprError> {
        Ok(match &value.kind {
            ValueKind::Number(number) => match i32::try_from(*number) {
                Ok(number) => Formula::Const(number),
                Err(_) => {
                    let problem = format!("{number} does not fit into 32 bits");
                    return self.error(&value.span, problem, "watches are between -2147483648 and 2147483647");
                }
            },
            ValueKind::Name(of, name) => self.name(node, of.as_ref(), name)?,
            ValueKind::Pred(of) => {
                let of = self.node(of)?;
                let is_neighbour = node.ports.iter().any(|port| port.direction == Direction::In && port.peer == of.id);
                if !node.knows_all_clocks && !is_neighbour && of.id != node.id {
                    let problem = format!("{} does not hear of {}", node.display(), of.display());
                    return self.error(
                        &value.span,
                        problem,
                        "its messages carry event stamps: build with vector stamps",
                    );
                }
                Formula::Pred(of.id)
            }
            ValueKind::Negate(inner) => {
                Formula::binary(Operator::Subtract, Formula::Const(0), self.value(node, inner)?)
            }
            ValueKind::Not(inner) => Formula::Not(Box::new(self.value(node, inner)?)),
            ValueKind::Binary(operator, left, right) => {
                Formula::binary(*operator, self.value(node, left)?, self.value(node, right)?)
            }
        })
    }

    fn name(&self, node: &NodeNames, of: Option<&Word>, name: &Word) -> Result<Formula, ExprError> {
        if let Some(word) = of {
            let of = self.node(word)?;
            if of.id != node.id {
                let problem = format!("a condition of {} cannot read a watch of {}", node.display(), of.display());
                let advice = "join conditions of two nodes with `->` (one before the other) or `|` (either)";
                return self.error(&word.span, problem, advice);
            }
        }
        // A watch first: whoever called it `count` means it.
        match (node.watch(&name.text), name.text.as_str()) {
            (Some(number), _) => Ok(Formula::Watch(number)),
            (None, "count") => Ok(Formula::Count),
            (None, "epoch") => Ok(Formula::Epoch),
            (None, unknown) => {
                let names = node.watch_names().chain(["count", "epoch"].map(String::from));
                let problem = format!("{} has no watch `{unknown}`", node.display());
                self.error(&name.span, problem, suggest("watches", unknown, names))
            }
        }
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
pub(super) mod tests;
