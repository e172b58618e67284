//! Arming a breakpoint and waiting for it: what `break`, `stop` and `when` have in common.
use super::break_left::remove_left;
use super::break_report::Stopped;
use super::break_store::Store;
use super::stable::ProgramArgs;
use super::stop::Holds;
use super::{CliError, Context, Exit, Output};
use std::path::Path;
use std::time::{Duration, Instant};
use stillpoint::breakpoint::{self, Armed, BreakError, Carriers, Fired, Waited};
use stillpoint::expr::{self, Compiled, Directory, ExprError, Promise, Resolved};
use stillpoint::program::StageCarriers;
use stillpoint::{Node, Slot, System};
use stillpoint_core::control::StateCode;
use stillpoint_core::predicate::{Detector, Plan, SlotId, SlotPhase};
use stillpoint_core::{Command, HaltId, NodeId};

/// How long a system may take to stop or to go on, of which it needs milliseconds.
const RELEASE_LIMIT: Duration = Duration::from_secs(10);

/// An expression that was understood, with all that follows from it.
pub struct Wanted {
    pub text: String,
    pub detector: Detector,
    pub resolved: Resolved,
    pub compiled: Compiled,
    pub directory: Directory,
    /// What is said of it instead of what its expression promises.
    pub said: Option<Promise>,
    /// For a simultaneous event that is promised: the part of each node that has one.
    pub plans: Vec<(NodeId, Plan)>,
    /// For one with several stages, which channels carry them, if the sources say so.
    pub carriers: StageCarriers,
    /// What must hold in the halted state when it has fired, with its text.
    pub components: Vec<(String, Holds)>,
}

/// How many channels carry nothing.
pub fn silent_text(count: usize) -> String {
    match count {
        1 => "1 other channel carries nothing".to_owned(),
        n => format!("{n} other channels carry nothing"),
    }
}

/// An expression that cannot be used is the user's to mend, with the caret on a line of its own.
fn wrong(error: ExprError) -> CliError {
    CliError::Usage(error.to_string())
}

/// What keeps a breakpoint from being armed is the user's to mend, unless a board would not.
pub fn failed(error: BreakError) -> CliError {
    match error {
        BreakError::System(error) => error.into(),
        other => CliError::Usage(other.to_string()),
    }
}

impl Wanted {
    /// Understands an expression. A mistake in the text is found before any board is touched.
    pub fn understand(text: &str, detector: Detector, context: &mut Context) -> Result<Self, CliError> {
        let expression = expr::parse(text).map_err(wrong)?;
        let directory = breakpoint::directory(context.system()?)?;
        let resolved = expr::resolve(&expression, &directory).map_err(wrong)?;
        let compiled = expr::compile(&resolved, &directory).map_err(wrong)?;
        Ok(Self {
            text: text.to_owned(),
            detector,
            resolved,
            compiled,
            directory,
            said: None,
            plans: Vec::new(),
            carriers: StageCarriers::default(),
            components: Vec::new(),
        })
    }

    fn promised(&self) -> Promise {
        self.said.clone().unwrap_or_else(|| self.resolved.promise(self.detector, &self.directory))
    }

    /// Says what a stop at it will mean.
    pub fn promise(&self, out: Output) {
        let promise = self.promised();
        let best_effort = self.said.is_some() && self.plans.is_empty();
        out.say(if best_effort { "best effort" } else { "promised" }, &promise.holds);
        for limit in &promise.limits {
            out.say("but", limit);
        }
        let StageCarriers { carried, quiet, .. } = &self.carriers;
        if *quiet > 0 {
            out.say("carried", format!("by {}; {}", carried.join(", "), silent_text(*quiet)));
        }
    }

    /// Arms it and remembers what was written for it. `only_for`: the command that removes it before it ends, if one does.
    pub fn arm(&self, context: &mut Context, only_for: Option<&str>) -> Result<Armed, CliError> {
        self.arm_compiled(&self.compiled, context, only_for)
    }

    /// Arms it again where it fired: a condition that still holds does not fire once more until it was false.
    pub fn arm_again(&self, context: &mut Context, only_for: Option<&str>) -> Result<Armed, CliError> {
        let nodes = breakpoint::survey(context.system()?)?;
        self.arm_compiled(&breakpoint::look_on(&self.compiled, &nodes), context, only_for)
    }

    fn arm_compiled(
        &self,
        compiled: &Compiled,
        context: &mut Context,
        only_for: Option<&str>,
    ) -> Result<Armed, CliError> {
        context.controlled(|context| {
            remove_left(context)?;
            let mut store = Store::open(context.file()?.as_ref())?;
            let system = context.system()?;
            let mut kept = Ok(());
            let carriers = Carriers { plans: &self.plans, silent: &self.carriers.silent };
            // Before any board has it: should this process be killed, the next one knows what it finds.
            let note = |armed: &Armed| kept = store.put(armed.clone(), only_for);
            let armed = breakpoint::arm_by_plan(system, compiled, self.detector, carriers, &self.text, note);
            let armed = armed.map_err(failed)?;
            kept?;
            Ok(armed)
        })
    }

    /// Lets its stages travel only on the channels between its stages, if the sources of the firmware tell which those are.
    pub fn carry_where_needed(&mut self, source: Option<&Path>, context: &mut Context) {
        let stages = self.resolved.stages.iter().map(|stage| stage.iter().flatten().map(|term| term.node).collect());
        let stages: Vec<Vec<NodeId>> = stages.collect();
        if self.detector != Detector::Causal || stages.iter().flatten().all(|node| stages[0].first() == Some(node)) {
            return;
        }
        let from = ProgramArgs::at(source.map(Path::to_owned));
        // Without sources every message carries them, which is right as well.
        let program = from.header(context).and_then(|header| from.load(&header)).ok();
        self.carriers = program.and_then(|program| program.stages(&stages)).unwrap_or_default();
    }

    /// What is to be shown of it.
    pub fn shown(&self, armed: &Armed) -> Stopped {
        let StageCarriers { carried, quiet, .. } = &self.carriers;
        Stopped::new(armed, self.resolved.class(), self.promised()).carried(carried, *quiet)
    }

    /// Waits for it.
    pub fn wait(
        &self,
        armed: &Armed,
        past: Option<HaltId>,
        limit: Option<Duration>,
        context: &mut Context,
    ) -> Result<Waited, CliError> {
        let (out, interrupt) = (context.out(), context.interrupt_flag());
        let tell = |blind: breakpoint::Blind| {
            let (name, until) = (self.directory.name_of(blind.node), blind.until.count());
            out.say("reset", format!("{name} was reset and saw nothing until its event {until}; armed again"));
        };
        let (system, resolved) = (context.system()?, Some(&self.resolved));
        breakpoint::wait_past(system, armed, resolved, past, limit, &interrupt, tell).map_err(failed)
    }

    /// Disarms it.
    pub fn remove(&self, armed: &Armed, context: &mut Context) -> Result<(), CliError> {
        context.controlled(|context| {
            let mut store = Store::open(context.file()?.as_ref())?;
            if let Some(slot) = SlotId::new(armed.slot) {
                breakpoint::remove(context.system()?, slot)?;
            }
            store.forget(|other| other.slot == armed.slot)
        })
    }
}

/// How long to wait.
#[derive(clap::Args, Clone, Copy)]
pub struct Patience {
    /// Only arm it; the system stops by itself when it fires.
    #[arg(long)]
    pub no_wait: bool,
    /// Wait for at most so many seconds; the breakpoint stays armed.
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait")]
    pub timeout: Option<u64>,
}

/// Whether what has fired is what was meant, to be asked of the nodes while they stand.
pub type Accept<'a> = &'a dyn Fn(&[Node]) -> bool;

/// Arms a breakpoint, waits for it as long as wished, and shows what came of it.
///
/// `accept`, if there is one, looks at the nodes when it has fired; where it finds that this was not what was meant, the
/// system goes on. When nobody waits any more nobody looks, so such a breakpoint does not stay armed.
pub fn set(
    wanted: &Wanted,
    patience: Patience,
    context: &mut Context,
    accept: Option<Accept<'_>>,
) -> Result<Exit, CliError> {
    let out = context.out();
    wanted.promise(out);
    let was_halted = is_halted(context.system()?)?;
    // One with a condition that this command looks at is of no use without it.
    let only_for = accept.map(|_| "stop").filter(|_| !patience.no_wait && !was_halted);
    let mut armed = wanted.arm(context, only_for)?;
    out.say("armed", format!("breakpoint {} on {} nodes", armed.slot, armed.programs.len()));
    let mut stopped = wanted.shown(&armed);
    if patience.no_wait || was_halted {
        if accept.is_some() {
            out.say(
                "but",
                "the condition is looked at by whoever waits: it may not hold any more when this stops the system",
            );
        }
        stopped.outcome = if was_halted { "armed, and the system is halted" } else { "armed" };
        out.print(&stopped);
        return Ok(Exit::Ok);
    }
    let until = patience.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut past = None;
    let waited = loop {
        let limit = until.map(|until| until.saturating_duration_since(Instant::now()));
        match wanted.wait(&armed, past, limit, context)? {
            Waited::Fired(fired) if fired.proof.is_ok() && !accepts(accept, context)? => {
                out.say(
                    "went on",
                    format!("halt {}: what was asked for does not hold in the halted state", fired.halt.0),
                );
                armed = context.controlled(|context| {
                    wanted.remove(&armed, context)?;
                    let armed = wanted.arm(context, only_for)?;
                    release(context.system()?, fired.halt)?;
                    Ok(armed)
                })?;
                past = Some(fired.halt);
            }
            waited => break waited,
        }
    };
    if accept.is_some() && matches!(waited, Waited::TimedOut | Waited::Interrupted) {
        context.controlled(|context| take_back(wanted, &armed, context))?;
        if matches!(waited, Waited::Interrupted) {
            return Err(CliError::Interrupted("the breakpoint is removed, and the system runs"));
        }
        stopped.outcome = "not fired in time; it is removed, as nobody would look at its condition any more";
        out.print(&stopped);
        return Ok(Exit::Bad);
    }
    let has_fired = matches!(waited, Waited::Fired(_));
    let exit = outcome(&mut stopped, waited, wanted)?;
    if has_fired && !wanted.components.is_empty() {
        let nodes = context.system()?.nodes()?;
        stopped.components(wanted.components.iter().map(|(text, holds)| (text.clone(), holds.on(&nodes))));
    }
    out.print(&stopped);
    Ok(if stopped.keeps_its_promise() { exit } else { Exit::Bad })
}

/// Whether what has fired is what was meant.
fn accepts(accept: Option<Accept<'_>>, context: &mut Context) -> Result<bool, CliError> {
    Ok(match accept {
        Some(accept) => accept(&context.system()?.nodes()?),
        None => true,
    })
}

/// Disarms a breakpoint for which nobody waits any more. If it has stopped the system meanwhile, that goes on.
fn take_back(wanted: &Wanted, armed: &Armed, context: &mut Context) -> Result<(), CliError> {
    wanted.remove(armed, context)?;
    let system = context.system()?;
    let until = Instant::now() + RELEASE_LIMIT;
    let stops = |node: &Node| matches!(node.state, Some(StateCode::Parked | StateCode::Draining));
    let has_fired = |slot: &Slot| slot.state.is_some_and(|state| state.phase == SlotPhase::Fired);
    let mut released = None;
    loop {
        let nodes = system.nodes()?;
        // What another breakpoint stopped stays so.
        if !nodes.iter().any(stops) || nodes.iter().any(|node| node.slots.iter().any(has_fired)) {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(CliError::Bad(
                "the breakpoint is removed, but the system it stopped does not go on; `stillpoint resume` it".into(),
            ));
        }
        // Some may be on their way into the halt, or out of the last one.
        let halt = nodes[0].last_halt;
        if released != Some(halt) && nodes.iter().all(|node| node.is_parked() && node.last_halt == halt) {
            release(system, halt)?;
            released = Some(halt);
        }
        std::thread::yield_now();
    }
}

/// How waiting ended, for the user.
pub fn outcome(stopped: &mut Stopped, waited: Waited, wanted: &Wanted) -> Result<Exit, CliError> {
    Ok(match waited {
        Waited::Fired(fired) => show_fired(stopped, &fired, wanted),
        Waited::HaltedOtherwise(halt, proof) => {
            stopped.halted_otherwise(halt, &proof, &wanted.directory);
            Exit::Bad
        }
        Waited::TimedOut => {
            stopped.outcome = "not fired in time; it stays armed";
            Exit::Bad
        }
        Waited::Gone if !wanted.plans.is_empty() => {
            stopped.outcome = "over: a node was reset, or a link began a new session, so what nodes said of each other is \
                               worth nothing; remove it and set it again";
            Exit::Bad
        }
        Waited::Gone => {
            stopped.outcome = "gone: every board was reset, or somebody removed it";
            Exit::Bad
        }
        Waited::Interrupted => {
            return Err(CliError::Interrupted(
                "the breakpoint stays armed and stops the system when it fires; `stillpoint break list` shows it",
            ));
        }
    })
}

/// Which events made it fire.
pub fn show_fired(stopped: &mut Stopped, fired: &Fired, wanted: &Wanted) -> Exit {
    stopped.fired(fired, &wanted.resolved, &wanted.directory);
    if fired.proof.is_ok() { Exit::Ok } else { Exit::Bad }
}

/// Whether any node is in a consistent halt.
pub fn is_halted(system: &mut System) -> Result<bool, CliError> {
    Ok(system.nodes()?.iter().any(|node| node.state == Some(StateCode::Parked)))
}

/// Lets a halted system go on, without waiting until every node has: it may halt again at once.
fn release(system: &mut System, halt: HaltId) -> Result<(), CliError> {
    match system.addresses().first() {
        Some(at) => Ok(system.command(*at, &Command::Release(halt))?),
        None => Ok(()),
    }
}
