//! `stillpoint break` - stop everything when something happens, somewhere.
//!
//!     $ stillpoint break "left0:send(ring) -> right1.holding == 1"
//!      promised  exact: each stage really happened before the next; ...
//!         armed  breakpoint 0 on 4 nodes
//!     breakpoint 0 fired: left0:send(ring) -> right1.holding == 1
//!       stage 1  left0   event 412  left0:send(ring)      happened before
//!       stage 2  right1  event 398  right1.holding == 1   completed it
//!     halt 1 is one consistent moment of 4 nodes; resume with `stillpoint resume`
use super::break_left::remove_left;
use super::break_report::{Listed, Listing, Removed};
use super::break_set::{Patience, Wanted, set};
use super::break_store::Store;
use super::{CliError, Context, Exit, break_simultaneous};
use std::path::PathBuf;
use stillpoint::breakpoint::{self, Agreement, Armed};
use stillpoint::expr::{self, Resolved};
use stillpoint_core::predicate::{Detector, SLOTS, SlotId, SlotPhase};

/// Stop all nodes consistently when an expression is satisfied.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "A breakpoint fires once. It is listed as fired until the system is resumed or stepped, then it is removed.\n\
                  docs/BREAKPOINTS.md describes the language, and what is promised for each kind of expression.\n\n\
                  Examples:\n  stillpoint break \"left0:send(ring) -> right1.holding == 1\"\n  \
                  stillpoint break \"left0.laps > 100 | right0:fault\" --no-wait\n  \
                  stillpoint break 'left0.lap == 4 === right1.lap == 5'\n  stillpoint break list\n  stillpoint break rm all"
)]
pub struct Args {
    /// What to stop at: node:event or node.condition, joined by -> (then), | (or), or conditions of several nodes joined by === (at once: promised where the sources show it, else as best effort).
    #[arg(value_name = "EXPR", required = true)]
    expression: Option<String>,
    /// Let stages travel by Miller & Choi's markers instead of on the program's messages.
    #[arg(long)]
    markers: bool,
    /// Do not look for a promise of conditions joined by ===: halt at each of them and look.
    #[arg(long)]
    best_effort: bool,
    /// The folder of the sources, or the first file of the firmware; else they are where the debug information says.
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    #[command(flatten)]
    patience: Patience,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Show what is armed, as the boards say.
    List,
    /// Remove a breakpoint, or all of them.
    Rm {
        /// Its number, or `all`.
        #[arg(value_name = "N|all")]
        which: Which,
    },
}

/// Which breakpoints are meant.
#[derive(Clone, Copy)]
pub enum Which {
    /// The one with this number.
    One(SlotId),
    /// All there are.
    All,
}

impl std::str::FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let slot = || text.parse().ok().and_then(SlotId::new).map(Self::One);
        let all = (text == "all").then_some(Self::All);
        all.or_else(slot).ok_or_else(|| format!("breakpoints are 0 to {}, or all", SLOTS - 1))
    }
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    match (&args.verb, &args.expression) {
        (Some(Verb::List), _) => list(context),
        (Some(Verb::Rm { which }), _) => context.controlled(|context| remove(context, *which)),
        (None, Some(text)) if expr::is_simultaneous(text) => {
            break_simultaneous::run(text, args.best_effort, args.source.as_deref(), args.patience, context)
        }
        (None, Some(text)) => {
            let detector = if args.markers { Detector::Marker } else { Detector::Causal };
            let mut wanted = Wanted::understand(text, detector, context)?;
            wanted.carry_where_needed(args.source.as_deref(), context);
            set(&wanted, args.patience, context, None)
        }
        (None, None) => Err(CliError::Usage("what shall it stop at? `stillpoint break --help` has examples".into())),
    }
}

fn list(context: &mut Context) -> Result<Exit, CliError> {
    let listing = listing(context)?;
    context.out().print(&listing);
    Ok(Exit::Ok)
}

/// Every breakpoint as the boards say it is, with the events that satisfied its stages so far.
pub fn listing(context: &mut Context) -> Result<Listing, CliError> {
    remove_left(context)?;
    let mut store = Store::of(context)?;
    let system = context.system()?;
    let nodes = breakpoint::survey(system)?;
    let directory = breakpoint::directory(system)?;
    let mut breakpoints = Vec::new();
    for slot in SlotId::ALL {
        let known = store.in_slot(slot).map(|kept| &kept.armed);
        let agreement = known.map(|armed| (armed, breakpoint::agreement(armed, &nodes)));
        if let Some((armed, agreement)) = agreement.filter(|(_, agreement)| *agreement != Agreement::Gone) {
            let resolved: Option<Resolved> =
                expr::parse(&armed.text).and_then(|expression| expr::resolve(&expression, &directory)).ok();
            breakpoints.push(Listed::ours(armed, &agreement, &nodes, resolved.as_ref(), &directory));
            continue;
        }
        let states = nodes.iter().filter_map(|node| node.slots.get(usize::from(slot.number()))?.state);
        let mut in_use = states.filter(|state| matches!(state.phase, SlotPhase::Installed | SlotPhase::Fired));
        if let Some(state) = in_use.next() {
            breakpoints.push(Listed::foreign(slot, state));
        }
    }
    // What no board has any more needs no text.
    store.forget_gone(|armed: &Armed| breakpoint::agreement(armed, &nodes) == Agreement::Gone)?;
    Ok(Listing { breakpoints })
}

/// Removes breakpoints from every node.
pub fn remove(context: &mut Context, which: Which) -> Result<Exit, CliError> {
    remove_left(context)?;
    let (out, file) = (context.out(), context.file()?);
    let mut store = Store::open(&file)?;
    let system = context.system()?;
    let slots: &[SlotId] = match &which {
        Which::One(slot) => std::slice::from_ref(slot),
        Which::All => &SlotId::ALL,
    };
    let nodes = breakpoint::survey(system)?;
    let is_used = |slot: &&SlotId| {
        let states = nodes.iter().filter_map(|node| node.slots.get(usize::from(slot.number()))?.state);
        states.into_iter().any(|state| matches!(state.phase, SlotPhase::Installed | SlotPhase::Fired))
    };
    let used: Vec<SlotId> = slots.iter().filter(is_used).copied().collect();
    if let (Which::One(slot), []) = (which, used.as_slice()) {
        return Err(CliError::Usage(format!(
            "there is no breakpoint {}; `stillpoint break list` shows those there are",
            slot.number()
        )));
    }
    for slot in &used {
        breakpoint::remove(system, *slot)?;
        store.forget(|armed| armed.slot == slot.number())?;
    }
    out.print(&Removed { removed: used.iter().map(|slot| slot.number()).collect() });
    Ok(Exit::Ok)
}
