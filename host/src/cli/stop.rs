//! `stillpoint stop` - Hyder's breakpoint: in a node, at an event, if a condition holds.
//!
//!     $ stillpoint stop in left0 at "send(ring)" if "lap > 3"
//!     breakpoint 0 fired: left0.lap > 3 -> left0:send(ring)
use super::break_set::{Patience, Wanted, set};
use super::{CliError, Context, Exit};
use stillpoint::Node;
use stillpoint::breakpoint;
use stillpoint::expr::{Match, Resolved, Term};
use stillpoint_core::Event;
use stillpoint_core::predicate::{Detector, Generation, Predicates, ProgramBuilder, SlotId};

/// Stop all nodes consistently when a node comes to an event, a condition holds in it, or both.
#[derive(clap::Args)]
#[command(
    after_help = "EVENT and COND are those of `stillpoint break`, without the node: send(port), recv(port), trace(name) ...; \
                  comparisons of watches, count, epoch and pred(NODE).\nWith both, the condition must hold at the event; the \
                  host looks when the breakpoint fires, and lets the system go on if it does not hold any more; such a breakpoint is removed when the waiting ends.\n\n\
                  Example:\n  stillpoint stop in left0 at 'send(ring)'\n  stillpoint stop in left0 if 'lap > 3'\n  \
                  stillpoint stop in right1 at 'recv(ring)' if 'pred(left0) > 100'"
)]
pub struct Args {
    /// `in NODE at EVENT if COND`, of which either `at` or `if` may be missing.
    #[arg(value_name = "in NODE at EVENT if COND", required = true, num_args = 1.., allow_negative_numbers = true)]
    words: Vec<String>,
    #[command(flatten)]
    patience: Patience,
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Stop<'a> {
    node: &'a str,
    event: Option<&'a str>,
    condition: Option<&'a str>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let text = args.words.join(" ");
    let stop = parse(&text).ok_or_else(|| {
        CliError::Usage(format!(
            "`stop {text}` is not understood; write `stop in NODE at EVENT if COND`, with `at`, `if` or both"
        ))
    })?;
    let Stop { node, event, condition } = stop;
    let expression = match (event, condition) {
        (Some(event), Some(condition)) => format!("{node}.{condition} -> {node}:{event}"),
        (Some(event), None) => format!("{node}:{event}"),
        (None, Some(condition)) => format!("{node}.{condition}"),
        (None, None) => return Err(CliError::Usage("stop where? say `at EVENT`, `if COND` or both".into())),
    };
    let mut wanted = Wanted::understand(&expression, Detector::Causal, context)?;
    let (Some(event), Some(_)) = (event, condition) else { return set(&wanted, args.patience, context, None) };
    let Some(holds) = Holds::first_stage_of(&wanted.resolved) else {
        return Err(CliError::Usage(format!(
            "`{expression}` is more than one condition and one event; use `stillpoint break`"
        )));
    };
    // What holds already need not become true first, and what changes at the event itself cannot hold before it.
    let system = context.system()?;
    if holds.changes_with_events || holds.on(&breakpoint::survey(system)?) {
        wanted = Wanted::understand(&format!("{node}:{event}"), Detector::Causal, context)?;
    }
    set(&wanted, args.patience, context, Some(&|nodes: &[Node]| holds.on(nodes)))
}

/// Finds the parts between the words `in`, `at` and `if`.
fn parse(text: &str) -> Option<Stop<'_>> {
    let rest = text.trim().strip_prefix("in ")?;
    let (rest, condition) = cut(rest, " if ");
    let (node, event) = cut(rest, " at ");
    let is_said = |part: Option<&str>| part.is_none_or(|part| !part.is_empty());
    (!node.is_empty() && !node.contains(' ') && is_said(event) && is_said(condition)).then_some(Stop {
        node,
        event,
        condition,
    })
}

fn cut<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    text.split_once(word).map_or((text.trim(), None), |(before, behind)| (before.trim(), Some(behind.trim())))
}

/// A condition that the host evaluates as the node would.
pub(super) struct Holds {
    term: Term,
    /// It asks for what the event itself may change: event numbers.
    changes_with_events: bool,
}

impl Holds {
    fn first_stage_of(resolved: &Resolved) -> Option<Self> {
        let [condition, _] = resolved.stages.as_slice() else { return None };
        let [together] = condition.as_slice() else { return None };
        let [term] = together.as_slice() else { return None };
        let text = &resolved.text[term.span.clone()];
        let changes_with_events = ["count", "epoch", "pred"].iter().any(|word| text.contains(word));
        Some(Self { term: term.clone(), changes_with_events })
    }

    /// A condition on watches.
    pub(super) fn of(term: Term) -> Self {
        Self { term, changes_with_events: false }
    }

    /// Whether it holds in the state that the nodes show.
    pub(super) fn on(&self, nodes: &[Node]) -> bool {
        let Some(node) = nodes.iter().find(|node| node.id == self.term.node) else { return false };
        let Match::Condition(formula) = &self.term.what else { return false };
        let Ok(program) = ProgramBuilder::new(1).push_condition_term(1, 1, &formula.instructions()).finish() else {
            return false;
        };
        let (slot, mut predicates) = (SlotId::ALL[0], Predicates::new());
        for (number, value) in (0..).zip(node.watch_values()) {
            let _ = predicates.set_watch(number, value);
        }
        let armed = predicates.install(slot, Generation(1), Detector::Causal, &program).is_ok()
            && predicates.enable(slot, Generation(1)).is_ok();
        armed && predicates.after_event(&Event::local(0), &node.eval_context()).fired.contains(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_has_a_node_and_an_event_a_condition_or_both() {
        let stop = |node, event, condition| Some(Stop { node, event, condition });
        assert_eq!(parse("in left0 at send(ring)"), stop("left0", Some("send(ring)"), None));
        assert_eq!(parse("in left0 if lap > 3"), stop("left0", None, Some("lap > 3")));
        assert_eq!(parse(" in left0 at recv(ring) if lap > 3 "), stop("left0", Some("recv(ring)"), Some("lap > 3")));
        assert_eq!(parse("in left0"), stop("left0", None, None));
        for bad in ["", "left0 at send(ring)", "in", "in a b at send(c)", "in left0 at  if x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
