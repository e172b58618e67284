//! Stopping where conditions of several nodes hold at once, as best effort.
//!
//! The breakpoint fires whenever one of the conditions becomes true. The host then looks at the halted state: if all of them
//! hold, that is the answer; otherwise the system goes on.
use super::break_set::{Patience, Wanted, set};
use super::stable::ProgramArgs;
use super::stop::Holds;
use super::{CliError, Context, Exit, stable};
use std::cell::Cell;
use stillpoint::Node;
use stillpoint::breakpoint;
use stillpoint::expr::{self, Promise};
use stillpoint_core::predicate::Detector;

/// Arms a simultaneous event and waits for it.
pub fn run(text: &str, patience: Patience, context: &mut Context) -> Result<Exit, CliError> {
    let directory = breakpoint::directory(context.system()?)?;
    let event = expr::simultaneous(text, &directory).map_err(|error| CliError::Usage(error.to_string()))?;
    let any = event.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" | ");
    let mut wanted = Wanted::understand(&any, Detector::Causal, context)?;
    wanted.said = Some(Promise {
        holds: "when it stops, the host has seen every component hold in the halted state".into(),
        limits: vec![
            "it halts whenever one component becomes true and goes on if another does not hold then, so it slows the \
             system down and may miss moments"
                .into(),
            known(text, context),
        ],
    });
    let all: Vec<_> = wanted.resolved.terms().map(|(_, term)| Holds::of(term.clone())).collect();
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

/// What the sources say of it.
fn known(text: &str, context: &mut Context) -> String {
    let from = ProgramArgs::at(None);
    let judged = from.header(context).and_then(|header| stable::judge(text, &from, &[], &header));
    match judged {
        Ok((_, verdict)) => match (&verdict.promised, verdict.obstacles.first()) {
            (Some(promised), _) => {
                format!("{} could recognise it for certain, but nodes cannot be told to do so yet", promised.node)
            }
            (None, Some(obstacle)) => format!("more cannot be promised: {}", obstacle.why),
            (None, None) => "more cannot be promised".into(),
        },
        Err(error) => format!("whether more could be promised is not known: {error}"),
    }
}
