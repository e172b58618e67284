//! Stopping where conditions of several nodes hold at once: promised where the sources show that it can be, otherwise as best
//! effort.
//!
//! *Promised*: every node gets its part of a plan, one node recognises the event, and the host looks whether every component
//! holds in the halted state. *Best effort*: the breakpoint fires whenever one of the conditions becomes true. The host then
//! looks at the halted state: if all of them hold, that is the answer; otherwise the system goes on.
//!
//! Sources that are wrong, that cannot be followed where it matters, or an event that is too large arm nothing, unless best effort is
//! asked for.
use super::break_set::{Patience, Wanted, set, silent_text};
use super::stable::ProgramArgs;
use super::stop::Holds;
use super::{CliError, Context, Exit};
use std::cell::Cell;
use std::path::Path;
use stillpoint::Node;
use stillpoint::breakpoint;
use stillpoint::expr::{self, Directory, Promise};
use stillpoint::program::{SystemProgram, verdict};
use stillpoint_core::NodeId;
use stillpoint_core::predicate::{Detector, Plan};

/// Arms a simultaneous event and waits for it.
pub fn run(
    text: &str,
    best_effort: bool,
    source: Option<&Path>,
    patience: Patience,
    context: &mut Context,
) -> Result<Exit, CliError> {
    let directory = breakpoint::directory(context.system()?)?;
    let event = expr::simultaneous(text, &directory).map_err(|error| CliError::Usage(error.to_string()))?;
    let any = event.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" | ");
    let mut wanted = Wanted::understand(&any, Detector::Causal, context)?;
    let all: Vec<_> = wanted.resolved.terms().map(|(_, term)| Holds::of(term.clone())).collect();
    let why = match if best_effort {
        Err(Unplanned::Effort("it was asked for".into()))
    } else {
        planned(text, source, context)
    } {
        Err(Unplanned::Refused(why)) => {
            return Err(CliError::Usage(format!(
                "{why}; nothing is armed (--best-effort halts at each component and looks)"
            )));
        }
        Ok(Planned { plans, promise }) => {
            (wanted.text, wanted.detector, wanted.plans) = (text.to_owned(), Detector::Simultaneous, plans);
            wanted.said = Some(promise);
            wanted.components = event.iter().map(|one| one.text.clone()).zip(all).collect();
            return set(&wanted, patience, context, None);
        }
        Err(Unplanned::Effort(why)) => why,
    };
    wanted.said = Some(Promise {
        holds: "when it stops, the host has seen every component hold in the halted state".into(),
        limits: vec![
            "it halts whenever one component becomes true and goes on if another does not hold then, so it slows the \
             system down and may miss moments"
                .into(),
            why,
        ],
    });
    let (seen, shown) = (Cell::new(0_u32), Cell::new(0_u32));
    let accept = |nodes: &[Node]| {
        let holds = all.iter().all(|one| one.on(nodes));
        seen.set(seen.get() + 1);
        shown.set(shown.get() + u32::from(holds));
        holds
    };
    let exit = set(&wanted, patience, context, Some(&accept))?;
    if seen.get() > 0 {
        context.out().say("shown", format!("{} of {} halted states had every component", shown.get(), seen.get()));
    }
    Ok(exit)
}

/// The part of each node, and what is promised.
struct Planned {
    plans: Vec<(NodeId, Plan)>,
    promise: Promise,
}

/// Why there is no plan.
enum Unplanned {
    /// It can be stopped at as best effort.
    Effort(String),
    /// The sources or the event have to be mended first.
    Refused(String),
}

/// How the sources say that the event can be recognised, or why it cannot be promised.
fn planned(text: &str, source: Option<&Path>, context: &mut Context) -> Result<Planned, Unplanned> {
    let unknown = |error: &dyn std::fmt::Display| {
        Unplanned::Effort(format!("whether more could be promised is not known: {error}"))
    };
    let header = ProgramArgs::at(None).header(context).map_err(|error| unknown(&error))?;
    let program = SystemProgram::load(&header, source).map_err(|error| match error.is_contradiction() {
        true => Unplanned::Refused(error.to_string()),
        false => unknown(&error),
    })?;
    let directory = Directory::of_trace(&header);
    let event = expr::simultaneous(text, &directory).map_err(|error| unknown(&error))?;
    let verdict = verdict(&program, &event, text, &[]).map_err(Unplanned::Refused)?;
    let (Some(promised), Some(recognition)) = (&verdict.promised, verdict.recognition()) else {
        if let Some(note) = &verdict.unfollowed {
            return Err(Unplanned::Refused(format!("whether it can be promised is not known, {note}")));
        }
        let why = verdict.obstacles.first().map(|obstacle| format!(": {}", obstacle.why));
        return Err(Unplanned::Effort(format!("more cannot be promised{}", why.unwrap_or_default())));
    };
    let plans = program.plans(recognition).map_err(Unplanned::Refused)?;
    let others = silent_text(promised.silent);
    let promise = Promise {
        holds: format!(
            "when it fires, every component holds in the halted state; {} recognises it, {} carry what it needs, {others}",
            promised.node,
            promised.carried.join(", ")
        ),
        limits: vec!["a reset of a node or a new session of a link that it relies on ends it".into()],
    };
    Ok(Planned { plans, promise })
}
