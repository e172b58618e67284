//! `stillpoint run` - see to it that every board runs its firmware.
//!
//!     $ stillpoint run
//!     board A  runs
//!     board B  had another image: flashed and started
use super::{CliError, Context, Exit, Report, flash, paint};
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};
use stillpoint::config::{BoardConfig, SystemFile};
use stillpoint::{Firmware, Likeness, OpenCause, OpenError, Session};
use stillpoint_core::control::StateCode;

/// See to it that every board runs the firmware of the system file: write it where it is not, start what is stopped.
#[derive(clap::Args)]
#[command(after_help = "What runs already is not disturbed; nodes that are halted stay so (`stillpoint resume`).\n\n\
                        Example:\n  stillpoint up && stillpoint run")]
pub struct Args {
    /// Give up waiting for the nodes to start after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    limit: u64,
}

#[derive(Serialize)]
struct Answer {
    boards: Vec<Board>,
    halted: Vec<String>,
}

#[derive(Serialize)]
struct Board {
    name: String,
    did: Did,
}

/// What had to be done.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Did {
    Nothing,
    Started,
    Flashed,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let all = context.chosen_boards(&[])?;
    let found = context.on_each(&all, find)?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let stale: Vec<BoardConfig> =
        all.iter().zip(&found).filter(|(_, did)| **did == Did::Flashed).map(|(board, _)| board.clone()).collect();
    if !stale.is_empty() {
        flash::write_and_start(context, &stale)?;
    }
    super::trace::give_chosen(context)?;
    let halted = wait_until_started(context, Duration::from_secs(args.limit))?;
    let boards = all.iter().zip(found).map(|(board, did)| Board { name: board.name.clone(), did }).collect();
    context.out().print(&Answer { boards, halted });
    Ok(Exit::Ok)
}

/// Compares every byte of a board with its ELF file, and starts what is stopped.
fn find(file: &SystemFile, board: &BoardConfig) -> Result<Did, OpenError> {
    let fail = |cause: OpenCause| OpenError { board: board.name.clone(), cause };
    let firmware = Firmware::read(&board.firmware).map_err(|error| fail(error.into()))?;
    let mut session = Session::open(file, board).map_err(|error| fail(error.into()))?;
    let likeness = firmware.image.compare(&mut session);
    if likeness.map_err(|error| fail(OpenCause::Board(error.into())))? != Likeness::Same {
        return Ok(Did::Flashed);
    }
    if !session.halted().map_err(|error| fail(error.into()))?.contains(&true) {
        return Ok(Did::Nothing);
    }
    session.run().map_err(|error| fail(error.into()))?;
    Ok(Did::Started)
}

/// Waits until every node has had its first event. Returns those that are halted.
fn wait_until_started(context: &mut Context, limit: Duration) -> Result<Vec<String>, CliError> {
    let until = Instant::now() + limit;
    loop {
        context.check_interrupt("the boards go on by themselves")?;
        let system = context.system()?;
        let names: Vec<String> = system.addresses().into_iter().map(|at| system.node_name(at)).collect();
        let nodes: Vec<_> = system.nodes()?.into_iter().zip(names).collect();
        let with = |states: &[StateCode]| {
            let chosen = nodes.iter().filter(|(node, _)| node.state.is_some_and(|state| states.contains(&state)));
            chosen.map(|(_, name)| name.clone()).collect::<Vec<_>>()
        };
        let starting = with(&[StateCode::Starting]);
        if starting.is_empty() {
            return Ok(with(&[StateCode::Draining, StateCode::Parked, StateCode::Suspended]));
        }
        if Instant::now() > until {
            let names = starting.join(", ");
            return Err(CliError::Bad(format!("{names} did not start within {limit:?}; is a link missing?")));
        }
        std::thread::yield_now();
    }
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Board { name, did } in &self.boards {
            let did = match did {
                Did::Nothing => "runs",
                Did::Started => "was stopped: started",
                Did::Flashed => "had another image: flashed and started",
            };
            writeln!(f, "{}board {name}{:#}  {did}", paint::NAME, paint::NAME)?;
        }
        if !self.halted.is_empty() {
            let names = self.halted.join(", ");
            writeln!(f, "{}halted{:#}: {names}; let them go with `stillpoint resume`", paint::WARN, paint::WARN)?;
        }
        Ok(())
    }
}
