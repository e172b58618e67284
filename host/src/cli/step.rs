//! `stillpoint step` - run a halted system to its next event, or to that of one node.
//!
//!     $ stillpoint step left0
//!     left0  event 413  recv(ring)  token_ring::pass  target-agent/examples/token_ring.rs:88
//!       meanwhile right1 2 events: trace("token taken"), send(ring)
//!     halt 5, begun by left0, is one consistent moment of 4 nodes; resume with `stillpoint resume`
use super::break_left::{is_looked_after, remove_left};
use super::break_report::Halt;
use super::break_store::Store;
use super::step_report::{Did, Step, Steps};
use super::{CliError, Context, Exit, break_set, stable};
use std::path::PathBuf;
use std::time::Duration;
use stillpoint::backtrace::Unwinders;
use stillpoint::breakpoint::{self, BreakError, Ran, Waited};
use stillpoint::expr::Compiled;
use stillpoint::program::LineIndex;
use stillpoint::{Node, NodeAddress, System, SystemError};
use stillpoint_core::control::StateCode;
use stillpoint_core::predicate::{SLOTS, SlotId};

/// Run a halted system to the next event of any node, or of a chosen one, and halt it there.
#[derive(clap::Args)]
#[command(
    after_help = "Whatever else has to run for it runs, and is shown. The chosen node executes exactly one event; without a \
                  node, whoever is first stops at its next event, and another may have come to its own before it heard of that.\n\
                  A step takes one of the breakpoints while it runs. Ctrl-C takes it back and lets the system run.\n\n\
                  Example:\n  stillpoint halt && stillpoint step\n  stillpoint step left0 -n 5\n  stillpoint step left0 --lines"
)]
pub struct Args {
    /// Whose next event; without it, anybody's.
    #[arg(value_name = "NODE")]
    node: Option<String>,
    /// So many steps, one after the other.
    #[arg(short = 'n', long = "count", value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Wait for each step for at most so many seconds.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Show which source line an event is of, or which it may be of.
    #[arg(long)]
    lines: bool,
    /// With --lines, the folder of the sources; else they are where the debug information says.
    #[arg(long, value_name = "DIR", requires = "lines")]
    source: Option<PathBuf>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let mut unwinders = Unwinders::default();
    let (mut steps, mut failed) = (Vec::new(), None);
    let lines = match args.lines {
        true => {
            let from = stable::ProgramArgs::at(args.source.clone());
            let header = from.header(context)?;
            Some(LineIndex::new(&from.load(&header)?))
        }
        false => None,
    };
    for _ in 0..args.count {
        match step(args, context, &mut unwinders, lines.as_ref()) {
            Ok(step) => {
                let good = step.good;
                steps.push(step);
                if !good {
                    break;
                }
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    let good = steps.last().is_some_and(|step| step.good);
    // What was done before something went wrong was done.
    if !steps.is_empty() {
        out.print(&Steps { steps });
    }
    failed.map_or(Ok(if good { Exit::Ok } else { Exit::Bad }), Err)
}

fn step(
    args: &Args,
    context: &mut Context,
    unwinders: &mut Unwinders,
    lines: Option<&LineIndex>,
) -> Result<Step, CliError> {
    let system = context.system()?;
    let chosen = args.node.as_ref().map(|name| system.find(name)).transpose()?;
    let nodes = system.nodes()?;
    let at = |at: &NodeAddress| system.addresses().iter().position(|of| of == at).map(|index| &nodes[index]);
    let node = chosen.as_ref().and_then(at);
    if let Some((node, name)) = node.zip(args.node.as_ref())
        && (node.fault.is_some() || node.state == Some(StateCode::Faulted))
    {
        return Err(CliError::Usage(format!(
            "{name} has crashed, so it has no next event; `stillpoint cut` shows where"
        )));
    }
    let waits_for = |of: &Node| node.is_none_or(|node| node.id == of.id);
    let names = system.addresses().into_iter().map(|at| system.node_name(at));
    let counts = nodes.iter().zip(names).filter(|(node, _)| waits_for(node));
    let text = counts.map(|(node, name)| format!("{name}.count == {}", (node.event() + 1) & 0xFF_FFFF));
    let text = text.collect::<Vec<_>>().join(" | ");
    let compiled = breakpoint::next_event(&nodes, node.map(|node| node.id));
    let compiled = compiled.map_err(|error| CliError::Usage(format!("no program for this step: {error}")))?;
    let ran = run_until(context, &compiled, &text, args.limit.map(Duration::from_secs), "step")?;
    let system = context.system()?;
    let mut step = report(system, &ran, "stepped", lines, |moved| match &ran.waited {
        Waited::Fired(fired) => fired.satisfied.iter().any(|event| event.node == moved.after.id),
        _ => chosen == Some(moved.at),
    })?;
    let stepped: Vec<NodeAddress> = ran
        .moved
        .iter()
        .map(|moved| moved.at)
        .filter(|at| {
            let name = system.node_name(*at);
            step.stepped.iter().any(|did| did.node == name)
        })
        .collect();
    if !stepped.is_empty() {
        let places = system.places(&stepped, unwinders)?;
        for (did, place) in step.stepped.iter_mut().zip(places) {
            did.place = place.map(|frame| frame.to_string());
        }
    }
    if step.good && chosen.is_some() && step.stepped.iter().any(|did| did.count != Some(1)) {
        step.good = false;
        step.outcome = "the node executed another number of events than one; this should not be".into();
    }
    Ok(step)
}

/// Runs a halted system into a breakpoint that is there for this one use.
pub(super) fn run_until(
    context: &mut Context,
    compiled: &Compiled,
    text: &str,
    limit: Option<Duration>,
    verb: &str,
) -> Result<Ran, CliError> {
    let (interrupt, file) = (context.interrupt_flag(), context.file()?);
    remove_left(context)?;
    let mut store = Store::open(&file)?;
    let is_kept: Vec<bool> = SlotId::ALL.into_iter().map(|slot| is_looked_after(&store, slot)).collect();
    let is_kept = |slot: SlotId| is_kept.get(usize::from(slot.number())) == Some(&true);
    let system = context.system()?;
    let (mut slot, mut kept) = (None, Ok(()));
    let ran = breakpoint::run_until(system, compiled, text, limit, &interrupt, is_kept, |armed| {
        slot = Some(armed.slot);
        kept = store.put(armed.clone(), Some(verb));
    });
    if let Some(slot) = slot {
        store.forget(|armed| armed.slot == slot)?;
    }
    kept?;
    let ran = ran.map_err(|error| match error {
        BreakError::NoSlot => CliError::Usage(format!(
            "all {SLOTS} breakpoints are in use, and a {verb} needs one for itself; `stillpoint break list` shows them, `stillpoint \
             break rm N` removes one"
        )),
        BreakError::System(SystemError::Interrupted(_)) => interrupted(system),
        other => break_set::failed(other),
    })?;
    if matches!(ran.waited, Waited::Interrupted) {
        return Err(interrupted(system));
    }
    Ok(ran)
}

/// How things stand after Ctrl-C.
fn interrupted(system: &mut System) -> CliError {
    let nodes = system.nodes().unwrap_or_default();
    let halted = nodes.iter().any(|node| matches!(node.state, Some(StateCode::Parked | StateCode::Draining)));
    CliError::Interrupted(if halted {
        "its breakpoint is removed, but the system was halting already; see `stillpoint status`"
    } else {
        "its breakpoint is removed, and the system runs"
    })
}

/// What came of a run. `waited_for` tells whom it was about.
pub(super) fn report(
    system: &mut System,
    ran: &Ran,
    good: &str,
    lines: Option<&LineIndex>,
    waited_for: impl Fn(&stillpoint::breakpoint::Moved) -> bool,
) -> Result<Step, CliError> {
    let directory = breakpoint::directory(system)?;
    let (mut stepped, mut also) = (Vec::new(), Vec::new());
    for moved in &ran.moved {
        let did = Did::of(moved, system, lines);
        if waited_for(moved) {
            stepped.push(did);
        } else if did.count != Some(0) {
            also.push(did);
        }
    }
    let mut notes: Vec<String> =
        ran.fired.iter().map(|slot: &SlotId| format!("breakpoint {} fired", slot.number())).collect();
    for moved in ran.moved.iter().filter(|moved| moved.before.fault.is_none() && moved.after.fault.is_some()) {
        notes.push(format!("{} crashed; `stillpoint cut` shows where", system.node_name(moved.at)));
    }
    let (outcome, halt) = match &ran.waited {
        Waited::Fired(fired) => (good.to_owned(), Some(Halt::of(fired.halt, &fired.proof, &directory))),
        Waited::HaltedOtherwise(halt, proof) => {
            let why = if notes.is_empty() { "somebody else halted it" } else { "something else came first" };
            (format!("not {good}: {why}"), Some(Halt::of(*halt, proof, &directory)))
        }
        Waited::TimedOut => (format!("not {good} in time; the system runs"), None),
        Waited::Gone => (format!("not {good}: a board was reset meanwhile; the system runs"), None),
        Waited::Interrupted => ("interrupted".to_owned(), None),
    };
    let good = matches!(&ran.waited, Waited::Fired(fired) if fired.proof.is_ok());
    Ok(Step { outcome, stepped, also, halt, notes, good })
}
