//! Programs as text, for tests and examples.
//!
//! ```text
//! program   := task+
//! task      := node [ "/" name ] [ "!" ] ":" block        "!": it runs as an interrupt handler does
//! block     := statement ( ";" statement )*
//! statement := "send" channel | "recv" channel | "set" watch | "wait" | "skip" | "stop" | "break" | "continue"
//!            | "loop" "{" block "}" | "either" "{" block "}" ( "or" "{" block "}" )+
//! ```
//! A channel leads from the node that sends to the node that receives.
use crate::program::{Action, Builder, Program, ProgramError, StatementId, TaskId};
use std::collections::BTreeMap;
use stillpoint_core::NodeId;
use winnow::ascii::multispace0;
use winnow::combinator::{cut_err, delimited, opt, preceded, repeat, separated, terminated};
use winnow::token::take_while;
use winnow::{ModalResult, Parser};

/// Why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The text does not follow the grammar.
    #[error("expected a statement at `{0}`")]
    Syntax(String),
    /// A channel has no end, or two, on one side.
    #[error("channel `{channel}` has {count} nodes as {end}; it needs one")]
    Ends {
        /// The channel.
        channel: String,
        /// `sender` or `receiver`.
        end: &'static str,
        /// How many nodes there are at that end.
        count: usize,
    },
    /// `break` or `continue` outside a loop.
    #[error("`{0}` outside a loop")]
    NoLoop(&'static str),
    /// The program is not well formed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

#[derive(Clone, Debug)]
enum Part<'a> {
    Send(&'a str),
    Receive(&'a str),
    Set(&'a str),
    Wait,
    Skip,
    Stop,
    Break,
    Continue,
    Loop(Vec<Part<'a>>),
    Either(Vec<Vec<Part<'a>>>),
}

struct Source<'a> {
    node: &'a str,
    preempts: bool,
    body: Vec<Part<'a>>,
}

fn name<'a>(input: &mut &'a str) -> ModalResult<&'a str> {
    terminated(take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_'), multispace0).parse_next(input)
}

fn symbol<'a>(
    text: &'static str,
) -> impl Parser<&'a str, &'a str, winnow::error::ErrMode<winnow::error::ContextError>> {
    terminated(text, multispace0)
}

fn braced<'a>(input: &mut &'a str) -> ModalResult<Vec<Part<'a>>> {
    delimited(symbol("{"), block, symbol("}")).parse_next(input)
}

fn statement<'a>(input: &mut &'a str) -> ModalResult<Part<'a>> {
    let first = name.parse_next(input)?;
    match first {
        "send" => cut_err(name).map(Part::Send).parse_next(input),
        "recv" => cut_err(name).map(Part::Receive).parse_next(input),
        "set" => cut_err(name).map(Part::Set).parse_next(input),
        "wait" => Ok(Part::Wait),
        "skip" => Ok(Part::Skip),
        "stop" => Ok(Part::Stop),
        "break" => Ok(Part::Break),
        "continue" => Ok(Part::Continue),
        "loop" => cut_err(braced).map(Part::Loop).parse_next(input),
        "either" => {
            let first = cut_err(braced).parse_next(input)?;
            let mut ways: Vec<_> = repeat(1.., preceded(symbol("or"), braced)).parse_next(input)?;
            ways.insert(0, first);
            Ok(Part::Either(ways))
        }
        _ => winnow::combinator::fail.parse_next(input),
    }
}

fn block<'a>(input: &mut &'a str) -> ModalResult<Vec<Part<'a>>> {
    separated(1.., statement, symbol(";")).parse_next(input)
}

fn task<'a>(input: &mut &'a str) -> ModalResult<Source<'a>> {
    let node = name.parse_next(input)?;
    opt(preceded(symbol("/"), name)).parse_next(input)?;
    let preempts = opt(symbol("!")).parse_next(input)?.is_some();
    let body = preceded(symbol(":"), cut_err(block)).parse_next(input)?;
    Ok(Source { node, preempts, body })
}

impl std::str::FromStr for Program {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let tasks: Vec<Source<'_>> = preceded(multispace0, repeat(1.., task))
            .parse(text)
            .map_err(|error| TextError::Syntax(text[error.offset()..].chars().take(20).collect()))?;
        lower(&tasks)
    }
}

/// Numbers the names and turns the parts into statements.
fn lower(tasks: &[Source<'_>]) -> Result<Program, TextError> {
    let mut names: Vec<&str> = Vec::new();
    let mut uses = Uses::default();
    for task in tasks {
        let at = names.iter().position(|name| *name == task.node).unwrap_or_else(|| {
            names.push(task.node);
            names.len() - 1
        });
        uses.collect(NodeId(at as u8), &task.body);
    }
    let mut lowering = Lowering { builder: Builder::default(), channels: BTreeMap::new(), watches: BTreeMap::new() };
    for (name, [from, to]) in &uses.channels {
        let one = |nodes: &[NodeId], end| match nodes {
            [node] => Ok(*node),
            _ => Err(TextError::Ends { channel: (*name).into(), end, count: nodes.len() }),
        };
        let id = lowering.builder.channel(name, one(from, "sender")?, one(to, "receiver")?);
        lowering.channels.insert(name, id);
    }
    for (name, node) in &uses.watches {
        let id = lowering.builder.watch(name, *node);
        lowering.watches.insert(name, id);
    }
    for source in tasks {
        let node = names.iter().position(|name| *name == source.node).unwrap_or_default();
        let task = lowering.builder.task(NodeId(node as u8), source.preempts);
        let entry = lowering.builder.entry(task);
        lowering.block(task, &source.body, vec![entry], &mut Vec::new())?;
    }
    Ok(lowering.builder.finish()?)
}

/// Which nodes use which names.
#[derive(Default)]
struct Uses<'a> {
    channels: BTreeMap<&'a str, [Vec<NodeId>; 2]>,
    watches: BTreeMap<&'a str, NodeId>,
}

impl<'a> Uses<'a> {
    fn collect(&mut self, node: NodeId, parts: &[Part<'a>]) {
        for part in parts {
            match part {
                Part::Send(name) => self.end(name, 0, node),
                Part::Receive(name) => self.end(name, 1, node),
                Part::Set(name) => {
                    self.watches.entry(name).or_insert(node);
                }
                Part::Loop(body) => self.collect(node, body),
                Part::Either(ways) => ways.iter().for_each(|way| self.collect(node, way)),
                Part::Wait | Part::Skip | Part::Stop | Part::Break | Part::Continue => {}
            }
        }
    }

    fn end(&mut self, name: &'a str, end: usize, node: NodeId) {
        let nodes = &mut self.channels.entry(name).or_default()[end];
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
}

struct Lowering<'a> {
    builder: Builder,
    channels: BTreeMap<&'a str, crate::ChannelId>,
    watches: BTreeMap<&'a str, crate::WatchId>,
}

/// The head of a loop, and the statements that leave it.
struct Enclosing {
    head: StatementId,
    leaving: Vec<StatementId>,
}

impl<'a> Lowering<'a> {
    /// Adds `parts` behind the statements `from`. Returns the statements from which control leaves them at the end.
    fn block(
        &mut self,
        task: TaskId,
        parts: &[Part<'a>],
        mut from: Vec<StatementId>,
        loops: &mut Vec<Enclosing>,
    ) -> Result<Vec<StatementId>, TextError> {
        for part in parts {
            from = match part {
                Part::Send(name) => self.simple(task, Action::Send(self.channels[name]), &from),
                Part::Receive(name) => self.simple(task, Action::Receive(self.channels[name]), &from),
                Part::Set(name) => self.simple(task, Action::Write(self.watches[name]), &from),
                Part::Wait => self.simple(task, Action::Wait, &from),
                Part::Skip => self.simple(task, Action::Local, &from),
                Part::Stop => Vec::new(),
                Part::Break => {
                    let enclosing = loops.last_mut().ok_or(TextError::NoLoop("break"))?;
                    enclosing.leaving.append(&mut from);
                    Vec::new()
                }
                Part::Continue => {
                    let head = loops.last().ok_or(TextError::NoLoop("continue"))?.head;
                    from.iter().for_each(|last| self.builder.edge(*last, head));
                    Vec::new()
                }
                Part::Loop(body) => {
                    let [head] = self.simple(task, Action::Local, &from)[..] else { unreachable!("one statement") };
                    loops.push(Enclosing { head, leaving: Vec::new() });
                    let ends = self.block(task, body, vec![head], loops)?;
                    ends.iter().for_each(|last| self.builder.edge(*last, head));
                    loops.pop().map(|enclosing| enclosing.leaving).unwrap_or_default()
                }
                Part::Either(ways) => {
                    let mut ends = Vec::new();
                    for way in ways {
                        ends.append(&mut self.block(task, way, from.clone(), loops)?);
                    }
                    ends
                }
            };
        }
        Ok(from)
    }

    fn simple(&mut self, task: TaskId, action: Action, from: &[StatementId]) -> Vec<StatementId> {
        let id = self.builder.statement(task, action);
        from.iter().for_each(|last| self.builder.edge(*last, id));
        vec![id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_branches_become_edges() {
        let program: Program =
            "P: loop { either { send a } or { break } }; set x  Q/in: loop { recv a }".parse().unwrap();
        let send = program.statements_with(Action::Send(program.channel("a").unwrap())).next().unwrap();
        let head = program.successors(send).next().unwrap();
        let write = program.statements_with(Action::Write(program.watch("x").unwrap())).next().unwrap();
        let mut next: Vec<_> = program.successors(head).collect();
        next.sort();
        assert_eq!(next, [send, write]);
        assert_eq!(program.tasks().len(), 2);
    }

    #[test]
    fn what_is_no_program_is_refused_with_a_sentence() {
        let refused = |text: &str| text.parse::<Program>().unwrap_err().to_string();
        assert_eq!(refused("P: send"), "expected a statement at ``");
        assert_eq!(refused("P: jump a"), "expected a statement at `a`");
        assert_eq!(refused("P: send a"), "channel `a` has 0 nodes as receiver; it needs one");
        assert_eq!(refused("P: send a Q: recv a R: send a"), "channel `a` has 2 nodes as sender; it needs one");
        assert_eq!(refused("P: break"), "`break` outside a loop");
    }

    #[test]
    fn a_watch_belongs_to_one_node() {
        let error = "P: set x Q: set x".parse::<Program>().unwrap_err();
        assert_eq!(error.to_string(), "node 1 sets `x`, which belongs to another node");
    }
}
