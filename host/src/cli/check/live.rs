//! `stillpoint check --live` - check a system while it runs, without a file.
//!
//!     $ stillpoint check ring.model --live --seconds 2
//!     not live ring.model:4: model ring: what can still follow an event is known at the end
//!     ring.model:2  holds so far  not parallel (taken, taken)  (812 events, 0 wrong, 0 undecided)
//!     ring.model:4  not checked  model ring: what can still follow an event is known at the end
//!     1 of 2 checks hold so far, 1 not checked; at most 9 records and events were held
use super::Args;
use crate::cli::trace::live::LiveCheck;
use crate::cli::{CliError, Context, Exit, Report};
use serde::Serialize;
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stillpoint::trace::Watcher;
use stillpoint_trace::check::{LeftOut, Model, Progress};

/// How long rings are left alone when they were empty: a ring of 64 KiB fills in 60 ms at 1 MiB/s.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) fn run(args: &Args, models: Vec<Model>, context: &mut Context) -> Result<Exit, CliError> {
    if context.is_dump() {
        return Err(CliError::Usage(
            "a dump does not run; record it with `trace record` before, or leave --live out".into(),
        ));
    }
    let (out, interrupted) = (context.out(), context.interrupt_flag());
    let system_file = context.file()?.path.display().to_string();
    let system = context.system()?;
    let mut watcher = Watcher::start(system, &system_file)?;
    let mut checker = LiveCheck::new(models, watcher.header(), out)?;
    if args.order.is_sync() {
        checker = checker.by_synchronisation();
    }
    checker.tell_left();
    let until = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let moved = watcher.poll_each(system, &mut |chunk| checker.take(chunk))?;
        let is_halted = checker.look(watcher.elapsed(), system, args.halt)?;
        let is_over = until.is_some_and(|until| Instant::now() >= until) || interrupted.load(Ordering::Relaxed);
        if is_halted || is_over {
            break;
        }
        if moved == 0 {
            std::thread::sleep(PAUSE);
        }
    }
    checker.settle();
    let checks: Vec<Line> = checker.live().progress().map(Line::made).collect();
    let left = checker.live().left().iter().map(Line::left);
    let answer = Answer {
        checks: checks.into_iter().chain(left).collect(),
        most_held: checker.most_held(),
        seconds: watcher.elapsed().as_secs_f64(),
        halt: checker.halt(),
        halt_after_ms: checker.halt_after_ms(),
    };
    let is_unknown = answer.count("holds so far") < answer.checks.len();
    out.print(&answer);
    Ok(if checker.has_failed() || is_unknown && !args.allow_unknown { Exit::Bad } else { Exit::Ok })
}

#[derive(Serialize)]
struct Answer {
    checks: Vec<Line>,
    /// The most records and events that were held because something about them was undecided.
    most_held: usize,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    halt: Option<u16>,
    /// How long after the record of the first failure was read the halt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    halt_after_ms: Option<f64>,
}

#[derive(Serialize)]
struct Line {
    place: String,
    text: String,
    verdict: &'static str,
    events: u64,
    failed: u64,
    undecided: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
}

impl Line {
    fn made(of: &Progress) -> Self {
        let Progress { place, text, events, failed, undecided } = of.clone();
        let verdict = match (failed, undecided) {
            (0, 0) => "holds so far",
            (0, _) => "undecided",
            _ => "FAILS",
        };
        Self { place, text, verdict, events, failed, undecided, why: None }
    }

    fn left(of: &LeftOut) -> Self {
        let LeftOut { place, text, why } = of.clone();
        Self { place, text, verdict: "not checked", events: 0, failed: 0, undecided: 0, why: Some(why) }
    }
}

impl Answer {
    fn count(&self, verdict: &str) -> usize {
        self.checks.iter().filter(|check| check.verdict == verdict).count()
    }
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { place, text, verdict, events, failed, undecided, why } in &self.checks {
            write!(f, "{place}  {verdict}  {text}")?;
            match why {
                Some(why) => writeln!(f, ": {why}")?,
                None => writeln!(f, "  ({events} events, {failed} wrong, {undecided} undecided)")?,
            }
        }
        write!(f, "{} of {} checks hold so far", self.count("holds so far"), self.checks.len())?;
        for (verdict, word) in [("FAILS", "fail"), ("undecided", "undecided"), ("not checked", "not checked")] {
            if self.count(verdict) > 0 {
                write!(f, ", {} {word}", self.count(verdict))?;
            }
        }
        writeln!(f, "; at most {} records and events were held", self.most_held)
    }
}
