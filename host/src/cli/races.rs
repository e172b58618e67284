//! `stillpoint races` - accesses of shared objects that nothing in the program orders.
//!
//!     $ stillpoint races run.trace
//!     race on x1 of board B
//!       mult3  read   examples/solver.rs:232  event 4   knows solve 9, mult2 6, mult3 4   had it first
//!       mult2  write  examples/solver.rs:269  event 7   knows solve 9, mult2 7
//!     1 race in 14 accesses of 7 objects
use super::{CliError, Context, Exit, Report, history, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint_trace::EventId;
use stillpoint_trace::races::{Race, Races, Side};

/// Find accesses of shared objects that nothing in the program orders.
#[derive(clap::Args)]
#[command(
    after_help = "Two accesses of one object race if at least one of them writes and no chain of messages and calls leads \
                  from one to the other. Which of them came first in this run does not matter, and is told. Where a log has \
                  a gap, what it may have ordered is told apart and is no finding.\n\n\
                  Needs no board and no system file. Exit code 1 if there is a race, or the file is damaged.\n\n\
                  Example:\n  stillpoint trace record run.trace --seconds 3\n  stillpoint races run.trace\n  stillpoint races run.trace --html races.html"
)]
pub struct Args {
    #[command(flatten)]
    picture: super::picture::PictureArgs,
    /// The recording.
    file: PathBuf,
}

#[derive(Serialize)]
struct Result_ {
    #[serde(flatten)]
    found: Races,
    /// What is missing, broken or contradictory in the trace.
    notes: Vec<String>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let history = history::load(&args.file, context)?;
    let notes = history.notes().iter().map(|note| note.say(&history.header)).collect();
    let result = Result_ { found: Races::of(&history), notes };
    let evidence: Vec<_> = result.found.races.iter().take(5).map(Race::evidence).collect();
    args.picture.draw(&history, &evidence, &args.file, context)?;
    let exit = if result.found.is_bad() || history::is_damaged(&history) { Exit::Bad } else { Exit::Ok };
    context.out().print(&result);
    Ok(exit)
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, race) in (1..).zip(&self.found.races) {
            write_race(f, race, number)?;
        }
        for note in &self.notes {
            writeln!(f, "{}{note}{:#}", paint::WARN, paint::WARN)?;
        }
        let Races { races, objects, accesses, unseen } = &self.found;
        for why in unseen {
            writeln!(f, "{}accesses may be missing: {why}{:#}", paint::WARN, paint::WARN)?;
        }
        let certain = races.iter().filter(|race| race.certain).count();
        let (how_many, style) = match certain {
            0 if !unseen.is_empty() => ("no race among what was recorded, and more may be".into(), paint::WARN),
            0 => ("no race".into(), paint::GOOD),
            1 => ("1 race".into(), paint::BAD),
            more => (format!("{more} races"), paint::BAD),
        };
        let accesses = counted(*accesses, "access", "accesses");
        let objects = counted(*objects, "object", "objects");
        writeln!(f, "{style}{how_many}{style:#} in {accesses} of {objects}")
    }
}

fn write_race(f: &mut fmt::Formatter<'_>, race: &Race, place_in_list: usize) -> fmt::Result {
    let Race { object, board, pairs, first, second, .. } = race;
    if race.certain {
        write!(f, "{}race{:#}", paint::BAD, paint::BAD)?;
    } else {
        write!(f, "{}possibly a race, for a part of what led here is not known,{:#}", paint::WARN, paint::WARN)?;
    }
    write!(f, " on {}{object}{:#} of board {board}", paint::NAME, paint::NAME)?;
    let more = pairs - 1;
    writeln!(
        f,
        "{}",
        if more > 0 { format!(", and {} like it", counted(more as usize, "pair", "pairs")) } else { String::new() }
    )?;
    let width = |text: fn(&Side) -> usize| text(first).max(text(second));
    let (nodes, places) = (width(|side| side.node.len()), width(|side| place(side).len()));
    for (side, remark) in [(first, "   had it first"), (second, "")] {
        let kind = if side.writes { "write" } else { "read" };
        let knows: Vec<_> = side.clock.iter().map(|(node, known)| format!("{node} {}", number(*known))).collect();
        let event = number(side.event.number);
        writeln!(
            f,
            "  {:<nodes$}  {kind:<5}  {:<places$}  event {event:<5}  knows {}{remark}",
            side.node,
            place(side),
            knows.join(", ")
        )?;
    }
    if let Some(by) = race.affected_by {
        writeln!(
            f,
            "  {}affected by race {by}: this is race {place_in_list}, and may not happen without it{:#}",
            paint::FAINT,
            paint::FAINT
        )?;
    }
    Ok(())
}

fn place(side: &Side) -> &str {
    side.place.as_deref().unwrap_or("at a place the firmware does not name")
}

/// An event number as people read it: `41`, or `2.41` in epoch 2.
fn number(number: u32) -> String {
    let id = EventId { node: 0, number };
    if id.epoch() == 0 { id.count().to_string() } else { format!("{}.{}", id.epoch(), id.count()) }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
