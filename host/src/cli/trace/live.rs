//! Checks while it is recorded, and the verdict on the finished file.
use crate::cli::{CliError, Output};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};
use stillpoint::System;
use stillpoint::trace::{Chunk, Follower, Header, History};
use stillpoint_trace::check::{LeftOut, Live, Model, Options, Report, Source, Verdict, Violation, check, parse};

/// How long a halt at a violation may take.
const HALT_LIMIT: Duration = Duration::from_secs(5);

/// What live checking did.
#[derive(Serialize)]
pub struct Checked {
    /// Violations that were certain while it ran.
    pub violations: Vec<String>,
    /// The most events that were kept because something about them was undecided.
    pub most_held: usize,
    /// The halt at the first violation, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<u16>,
    /// The verdict on the finished file.
    pub report: Report,
}

/// Follows a recording and checks it.
pub struct LiveCheck {
    models: Vec<Model>,
    follower: Follower,
    live: Live,
    violations: Vec<String>,
    most_held: usize,
    /// When the logs were last read through, in microseconds since reading began.
    read_through: u64,
    halt: Option<u16>,
    /// When the record of the first failure was read, in microseconds since reading began.
    first: Option<u64>,
    /// How long after that the halt began, in milliseconds.
    halt_after_ms: Option<f64>,
    out: Output,
}

/// Reads a model.
pub fn model(path: &Path) -> Result<Model, CliError> {
    let name = path.display().to_string();
    let text = stillpoint::input_file::read_text(path)
        .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
    parse(&Source { name, text }).map_err(|error| CliError::Usage(error.to_string()))
}

impl LiveCheck {
    /// For the system that a header describes. Names that it does not have are an error.
    pub fn new(models: Vec<Model>, header: &Header, out: Output) -> Result<Self, CliError> {
        let live = Live::new(&models, header).map_err(|error| CliError::Usage(error.to_string()))?;
        let follower = Follower::new(header);
        Ok(Self {
            models,
            follower,
            live,
            violations: Vec::new(),
            most_held: 0,
            read_through: 0,
            halt: None,
            first: None,
            halt_after_ms: None,
            out,
        })
    }

    /// Orders events by messages and calls alone.
    pub fn by_synchronisation(self) -> Self {
        Self { live: self.live.by_synchronisation(), ..self }
    }

    /// Says which checks are not made while the system runs, and why.
    pub fn tell_left(&self) {
        for LeftOut { place, text, why } in self.live.left() {
            self.out.say("not live", format!("{place}: {text}: {why}"));
        }
    }

    /// The checks as they stand, and those that are left out.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// The most records and events that were held at once.
    pub fn most_held(&self) -> usize {
        self.most_held
    }

    /// A violation was found.
    pub fn has_failed(&self) -> bool {
        !self.violations.is_empty()
    }

    /// The halt at the first violation, if there was one.
    pub fn halt(&self) -> Option<u16> {
        self.halt
    }

    /// How long after the record of the first violation was read that halt began, in milliseconds.
    pub fn halt_after_ms(&self) -> Option<f64> {
        self.halt_after_ms
    }

    /// Nothing more comes: what was held back for silent nodes is checked.
    pub fn settle(&mut self) {
        let Self { follower, live, violations, first, out, .. } = self;
        follower.finish(&mut |event, clock| tell(live.event(event, clock), violations, first, *out));
        tell(live.settle(u64::MAX), violations, first, *out);
    }

    /// A piece of a log was read.
    pub fn take(&mut self, chunk: &Chunk) {
        let Self { follower, live, violations, most_held, first, out, .. } = self;
        follower.chunk(chunk, &mut |event, clock| {
            tell(live.event(event, clock), violations, first, *out);
            *most_held = live.held().max(*most_held);
        });
        *most_held = (follower.held() + live.held()).max(*most_held);
    }

    /// All logs were read once more. With `halts` the system is halted at the first violation; returns whether it was.
    pub fn look(&mut self, elapsed: Duration, system: &mut System, halts: bool) -> Result<bool, CliError> {
        let entered = Instant::now();
        let Self { follower, live, violations, first, out, .. } = self;
        follower.wait_no_longer(elapsed.as_micros() as u64, &mut |event, clock| {
            tell(live.event(event, clock), violations, first, *out);
        });
        // All that was written before something in the last round was read has been read by now.
        tell(
            live.settle(std::mem::replace(&mut self.read_through, elapsed.as_micros() as u64)),
            violations,
            first,
            *out,
        );
        let (true, None, Some(first)) = (halts, self.halt, self.first) else { return Ok(self.halt.is_some()) };
        // While another process controls the boards, the next look tries again.
        let Some(_control) = system.control_briefly()? else { return Ok(false) };
        let (began, read) = (Instant::now(), Duration::from_micros(first));
        let since_read = (elapsed + entered.elapsed()).saturating_sub(read).as_secs_f64() * 1000.0;
        self.halt_after_ms = Some(since_read);
        let halted = system.halt_all(None, HALT_LIMIT)?;
        self.halt = Some(halted.halt.0);
        let certified = if halted.is_certified() { "certified" } else { "without a certificate: see `stillpoint cut`" };
        let took = began.elapsed().as_secs_f64() * 1000.0;
        self.out.say("halted", format!("all nodes, halt {}, in {took:.0} ms, {certified}; it began {since_read:.1} ms after the record of the failure was read", halted.halt.0));
        Ok(true)
    }

    /// Checks the finished file.
    pub fn finish(self, file: &Path) -> Result<Checked, CliError> {
        let history = History::load(file, |_| std::ops::ControlFlow::Continue(()))?.causality();
        let report =
            check(&self.models, &history, &Options::default()).map_err(|error| CliError::Usage(error.to_string()))?;
        Ok(Checked { violations: self.violations, most_held: self.most_held, halt: self.halt, report })
    }
}

fn tell(found: Vec<Violation>, violations: &mut Vec<String>, first: &mut Option<u64>, out: Output) {
    for Violation { place, what, wall, .. } in found {
        first.get_or_insert(wall);
        let text = format!("{place}: {what}");
        out.say("wrong", &text);
        violations.push(text);
    }
}

impl Checked {
    /// Whether all that was expected holds.
    pub fn holds(&self) -> bool {
        self.violations.is_empty() && self.report.count(Verdict::Holds) == self.report.checks.len()
    }
}
