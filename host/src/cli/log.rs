//! `stillpoint log` - what the programs of all nodes say, in causal order.
//!
//!     $ stillpoint log --level info
//!          0.089060  left0   info   makes the token
//!          0.099413  left1   info   took the token, lap 1
//!          0.297975  right0  info   took the token, lap 1
//!          0.300712  right1  info   took the token, lap 1
//!          0.441289  left0   info   took the token, lap 1
//!          0.442343  left1   info   took the token, lap 2
//!          0.351263  right0  info   took the token, lap 2
//!     ...
//!
//! Every line carries the clock of its node, so messages and calls order lines whether or not the nodes record
//! their events. Accesses of shared objects order them as far as the log rings have their records; `--order sync` leaves these
//! out. What is concurrent goes by time; boards have no common clock, so between boards that is a guess. A line of
//! a node that had not started yet has no clock: it is marked with `~`, and time alone put it where it is.
//!
//! Without `--follow` the boards are only read: the same lines are there the next time. A ring that is full drops new
//! lines, and says how many where they are missing; `--take` and `--follow` make room.
mod show;

use super::{CliError, Context, Exit, Report};
use serde::Serialize;
use show::{Columns, Screen};
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stillpoint::text_log::{Entry, Filter, Level, Said, TextLog, TextLogError};
use stillpoint::{System, did_you_mean};

/// Show what the programs of all nodes log with defmt, in causal order.
#[derive(clap::Args)]
#[command(
    after_help = "A line marked with ~ is placed by time alone: its node had not started. With --json one value; with --follow one \
                  value a line.\nCtrl-C ends --follow with exit code 0 and leaves the boards as they are; so does a pipe that closes.\n\n\
                  Examples:\n  stillpoint log\n  stillpoint log --node left0 --level warn\n  stillpoint log --follow --module token_ring\n  \
                  stillpoint log --follow --json | jq -r 'select(.level == \"error\").text'"
)]
pub struct Args {
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// Go on with what is logged from now on, until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
    /// Only of this node; may be given several times.
    #[arg(long, value_name = "NAME")]
    node: Vec<String>,
    /// Only from this module and what is inside it, as in `token_ring::link`; may be given several times.
    #[arg(long, value_name = "PATH")]
    module: Vec<String>,
    /// Only what is at least so important.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,
    /// With event number, module, file and line.
    #[arg(long)]
    full: bool,
    /// Take what is shown out of the boards' rings: makes room, and the next time it is not shown again.
    #[arg(long, conflicts_with = "follow")]
    take: bool,
    /// End --follow after this many seconds.
    #[arg(long, value_name = "N", requires = "follow")]
    seconds: Option<u64>,
    /// End --follow once this many lines were shown.
    #[arg(long, value_name = "N", requires = "follow")]
    lines: Option<u64>,
    #[command(flatten)]
    pub(super) look: super::Look,
}

/// How long rings are left alone when they were empty: a ring of 32 KiB fills in 30 ms at 1 MiB/s.
const PAUSE: Duration = Duration::from_millis(2);
const NEWS_EVERY: Duration = Duration::from_secs(1);

fn level(text: &str) -> Result<Level, String> {
    let all = || Level::ALL.into_iter();
    all().find(|level| level.name() == text.to_lowercase()).ok_or_else(|| {
        let names: Vec<&str> = all().map(Level::name).collect();
        format!("levels are {}{}", names.join(", "), did_you_mean(text, names.iter().copied()))
    })
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let (out, interrupted) = (context.out(), context.interrupt_flag());
    if context.is_dump() && (args.follow || args.take) {
        return Err(CliError::Usage(
            "a dump does not go on, and nothing is taken out of it; leave --follow and --take out".into(),
        ));
    }
    let system = context.system()?;
    let mut log = TextLog::open(system).map_err(explain)?;
    let filter = filter(args, system, &log)?;
    if !log.is_exact() {
        out.say("log", "messages carry event numbers only: order through a third node is not known");
    }
    let columns = Columns::of(system, args.full);
    let through_objects = !args.order.is_sync() && TextLog::shares_objects(system);
    if through_objects && !TextLog::records_accesses(system).map_err(explain)? {
        out.say("log", "accesses of shared objects are not recorded by every node: order through them is not known");
    }
    if !args.follow {
        let entries = look(&mut log, system, through_objects, args.take).map_err(explain)?;
        if log.lines_before_events() > 0 {
            let count = log.lines_before_events();
            out.say(
                "log",
                format!("{count} lines are older than the log rings: order through shared objects is not known there"),
            );
        }
        let entries = entries.into_iter().filter(|entry| filter.shows(entry)).collect();
        out.print(&Answer { entries, columns });
        return Ok(Exit::Ok);
    }
    if through_objects {
        log.follow_accesses(system).map_err(explain)?;
    }
    let until = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut screen = Screen::new(out, columns, filter);
    loop {
        let ends = interrupted.load(Ordering::Relaxed)
            || until.is_some_and(|until| Instant::now() >= until)
            || args.lines.is_some_and(|most| screen.lines() >= most);
        let read = match follow_once(&mut log, system, ends) {
            Ok(read) => read,
            Err(error) => {
                // What was read before the board fell silent is all there is.
                screen.show(log.release());
                return Err(explain(error));
            }
        };
        let is_open = screen.show(log.release());
        if ends || !is_open {
            log.free_released(system).map_err(explain)?;
            screen.finish(log.dropped_since());
            return Ok(Exit::Ok);
        }
        screen.tell_of_gaps(NEWS_EVERY);
        if read == 0 {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Reads what is new, and makes room for more unless this is the end.
fn follow_once(log: &mut TextLog, system: &mut System, ends: bool) -> Result<usize, TextLogError> {
    let read = log.poll(system)?;
    if !ends {
        log.free_read(system)?;
    }
    Ok(read)
}

/// What the rings hold now, and no more.
fn look(log: &mut TextLog, system: &mut System, through_objects: bool, take: bool) -> Result<Vec<Entry>, TextLogError> {
    log.poll(system)?;
    if through_objects {
        log.read_accesses(system)?;
    }
    let mut entries = log.release();
    // A second look completes the first: what came before one of its lines may have been read before it was written.
    log.poll(system)?;
    entries.extend(log.release());
    if take {
        log.free_released(system)?;
    }
    entries.extend(log.dropped_since());
    Ok(entries)
}

fn filter(args: &Args, system: &System, log: &TextLog) -> Result<Filter, CliError> {
    let nodes = args.node.iter().map(|name| Ok(system.node_name(system.find(name)?)));
    let nodes = nodes.collect::<Result<Vec<String>, CliError>>()?;
    let known = log.modules();
    for module in &args.module {
        if !known.iter().any(|path| stillpoint::text_log::is_inside(path, module)) {
            let hint = did_you_mean(module, known.iter().copied());
            return Err(CliError::Usage(format!(
                "no module {module} logs anything{hint} (there are: {})",
                known.join(", ")
            )));
        }
    }
    Ok(Filter { nodes, modules: args.module.clone(), level: args.level })
}

fn explain(error: TextLogError) -> CliError {
    match error {
        TextLogError::System(error) => CliError::System(*error),
        other => CliError::Usage(other.to_string()),
    }
}

#[derive(Serialize)]
struct Answer {
    entries: Vec<Entry>,
    #[serde(skip)]
    columns: Columns,
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| self.columns.write(f, entry))?;
        if self.entries.iter().any(|entry| matches!(entry.said, Said::Dropped(_))) {
            writeln!(f, "a ring was full: `stillpoint log --take` makes room, `--follow` keeps it")?;
        }
        Ok(())
    }
}
