//! `stillpoint cut` - show the halted system: certificate, frontier, messages in flight, where each core stands, skew.
//!
//!     $ stillpoint cut
//!     certificate of halt 3: valid
//!       ok  every node is parked in the same halt                    4 of 4
//!       ok  sent = received + in flight, on every channel            8208 = 8207 + 1
//!       ...
//!     frontier
//!       left0  event 8210   token_ring::main  target-agent/examples/token_ring.rs:93
//!     in flight
//!       left0:out -> right0:ring    1 message of Token
//!         2052  Token { lap: 4103 }
use super::break_report::Listing;
use super::cut_history::{LastEvents, Wanted, read};
use super::cut_saved::Saved;
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::backtrace::FrameKind;
use stillpoint::{ChannelLine, CutReport, Message, NodeMoment, SkewLine};

/// Show the halted system: its certificate, where each core stands, what is in flight, and what the halt cost.
#[derive(clap::Args)]
#[command(
    after_help = "Nothing is changed. Exit code 1 if the halted state is not one consistent moment, or a board is \
                        missing, or a dump is damaged so that only the certificate saved in it can be shown.\n\nExample:\n  stillpoint halt && stillpoint cut\n  stillpoint cut --full\n  stillpoint cut --history 20 --html last.html\n  \
                        stillpoint cut --json | jq '.channels[].in_flight[].value'"
)]
pub struct Args {
    /// Show every frame of every core, those of the kit and of libraries too.
    #[arg(long)]
    full: bool,
    /// Show every task: its state and where it waits. With --full the futures inside, too.
    #[arg(long)]
    tasks: bool,
    #[command(flatten)]
    last: Wanted,
    #[command(flatten)]
    pub(super) look: super::Look,
}

#[derive(Serialize)]
struct Result_ {
    /// Boards that could not be attached to.
    missing: Vec<Missing>,
    #[serde(flatten)]
    cut: CutReport,
    /// What is armed, and which events satisfied which stage. Only boards that are all there can say.
    #[serde(flatten)]
    breakpoints: Option<Listing>,
    /// The last events of every node, if they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<LastEvents>,
    #[serde(skip)]
    full: bool,
    #[serde(skip)]
    with_tasks: bool,
}

/// A board that could not be attached to.
#[derive(Serialize)]
pub(super) struct Missing {
    pub board: String,
    pub nodes: Vec<String>,
    pub why: String,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system = context.present()?;
    let missing = system.missing().iter().map(|lost| Missing {
        board: lost.board.clone(),
        nodes: lost.nodes.clone(),
        why: lost.why.clone(),
    });
    let missing: Vec<Missing> = missing.collect();
    let cut = match system.cut_report() {
        Ok(cut) => cut,
        Err(error) => {
            // Of a dump that is damaged where the check has to look, there is still what was found when it was made.
            let Some(dump) = context.dump()? else { return Err(error.into()) };
            let Some(report) = &dump.report else { return Err(error.into()) };
            out.print(&Saved { certificate_as_saved: report, not_checked_anew: error.to_string(), missing });
            return Ok(Exit::Bad);
        }
    };
    compare(context, &cut)?;
    let good = cut.valid && missing.is_empty();
    let breakpoints = if good { Some(super::break_::listing(context)?) } else { None };
    let history = read(&args.last, &cut, context)?;
    out.print(&Result_ { missing, cut, breakpoints, history, full: args.full, with_tasks: args.tasks });
    Ok(if good { Exit::Ok } else { Exit::Bad })
}

/// A dump is checked anew. If that shows another cut than the one that was saved, somebody should know.
fn compare(context: &mut Context, cut: &CutReport) -> Result<(), CliError> {
    let out = context.out();
    let Some(dump) = context.dump()? else { return Ok(()) };
    let mut now = serde_json::to_value(cut).unwrap_or_default();
    // Dumps of before tasks were shown have none.
    let has_tasks = dump.report.as_ref().is_none_or(|saved| saved.get("tasks").is_some());
    if let Some(now) = now.as_object_mut().filter(|_| !has_tasks) {
        now.remove("tasks");
    }
    match &dump.report {
        None => out.say("missing", "the cut as it was saved; this one is made anew from what is there"),
        Some(saved) => {
            let tool = &dump.header.tool;
            for line in stillpoint::dump::differences(saved, &now, 5) {
                out.say("differs", format!("from the cut that {tool} saved: {line}"));
            }
        }
    }
    Ok(())
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { board, nodes, why } = self;
        let nodes = if nodes.is_empty() { String::new() } else { format!(" ({})", nodes.join(", ")) };
        write!(f, "board {board}{nodes} is missing: {why}")
    }
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.certificate(f)?;
        heading(f, "frontier")?;
        for node in &self.cut.nodes {
            self.node(f, node)?;
        }
        if self.with_tasks {
            heading(f, "tasks")?;
            super::tasks::table(f, &self.cut.tasks.tasks, self.full)?;
        }
        heading(f, "in flight")?;
        let held: Vec<_> = self.cut.channels.iter().filter(|channel| !channel.in_flight.is_empty()).collect();
        for channel in &held {
            in_flight(f, channel)?;
        }
        match self.cut.channels.len() - held.len() {
            0 => {}
            1 => writeln!(f, "  nothing on 1 other channel")?,
            empty => writeln!(f, "  nothing on {empty} {}channels", if held.is_empty() { "" } else { "other " })?,
        }
        if let Some(armed) = self.breakpoints.as_ref().filter(|armed| !armed.breakpoints.is_empty()) {
            heading(f, "breakpoints")?;
            armed.text(f)?;
        }
        if let Some(history) = &self.history {
            history.text(f)?;
        }
        if self.cut.ledger.triggers.is_empty() {
            return Ok(());
        }
        heading(f, "skew")?;
        writeln!(f, "  triggered by {}", listed(&self.cut.ledger.triggers, " and "))?;
        for line in &self.cut.ledger.lines {
            skew(f, line)?;
        }
        if self.cut.nodes.windows(2).all(|pair| pair[0].board == pair[1].board) {
            return Ok(());
        }
        writeln!(f, "  times are compared on one board only, whose cores share a counter: boards have no common clock")
    }
}

pub(super) fn heading(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    writeln!(f, "{}{text}{:#}", paint::NAME, paint::NAME)
}

fn listed(names: &[String], between: &str) -> String {
    if names.is_empty() { "nobody".into() } else { names.join(between) }
}

impl Result_ {
    fn certificate(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let halt = self.cut.halt.map_or_else(String::new, |halt| format!(" of halt {halt}"));
        let (style, verdict) =
            if self.cut.valid && self.missing.is_empty() { (paint::GOOD, "valid") } else { (paint::BAD, "FAILED") };
        writeln!(f, "{}certificate{halt}:{:#} {style}{verdict}{style:#}", paint::NAME, paint::NAME)?;
        self.missing.iter().try_for_each(|missing| writeln!(f, "  {}--{:#}  {missing}", paint::BAD, paint::BAD))?;
        for check in &self.cut.checks {
            let (style, mark) = match (check.checked, check.wrong.is_empty()) {
                (false, _) => (paint::WARN, "??"),
                (true, true) => (paint::GOOD, "ok"),
                (true, false) => (paint::BAD, "--"),
            };
            let figures = if check.checked { &check.figures } else { "not checked" };
            writeln!(f, "  {style}{mark}{style:#}  {:<57} {figures}", check.what)?;
            for wrong in &check.wrong {
                writeln!(f, "        {}{wrong}{:#}", paint::BAD, paint::BAD)?;
            }
        }
        Ok(())
    }

    fn node(&self, f: &mut fmt::Formatter<'_>, node: &NodeMoment) -> fmt::Result {
        let epoch = if node.epoch == 0 { String::new() } else { format!(" of epoch {}", node.epoch) };
        let event = format!("event {}{epoch}", node.event);
        write!(f, "  {}{:<8}{:#} {event:<14} ", paint::NAME, node.name, paint::NAME)?;
        let Some(backtrace) = &node.backtrace else {
            return writeln!(f, "no backtrace: {}", node.no_backtrace.as_deref().unwrap_or("not asked for"));
        };
        match backtrace.user() {
            Some(frame) => writeln!(f, "{frame}")?,
            None => writeln!(f, "not in user code")?,
        }
        let shown = if self.full { &backtrace.frames[..] } else { backtrace.past_the_agent() };
        let mut hidden = 0;
        // The first of the user's own frames stands beside the name.
        let first = backtrace.user();
        for frame in shown.iter().filter(|frame| self.full || Some(*frame) != first) {
            if self.full || frame.kind == FrameKind::User {
                let style = if frame.kind == FrameKind::User { paint::NAME } else { paint::FAINT };
                writeln!(f, "      {style}{frame}{style:#}")?;
            } else {
                hidden += 1;
            }
        }
        if hidden > 0 {
            writeln!(f, "      {}and {hidden} of libraries and the kit: --full{:#}", paint::FAINT, paint::FAINT)?;
        }
        Ok(())
    }
}

fn in_flight(f: &mut fmt::Formatter<'_>, channel: &ChannelLine) -> fmt::Result {
    let count = channel.in_flight.len();
    let of = channel.carries.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
    writeln!(f, "  {:<36} {count} message{}{of}", channel.name, if count == 1 { "" } else { "s" })?;
    for message in &channel.in_flight {
        let Message { number, stamp, payload, value, undecoded, .. } = message;
        write!(f, "    {number:>8}  ")?;
        match (value, undecoded) {
            (Some(value), _) => write!(f, "{value}")?,
            (None, Some(why)) if stamp.is_empty() && payload.is_empty() => write!(f, "{why}")?,
            (None, Some(why)) => write!(f, "{}   not decoded: {why}", hex(payload))?,
            (None, None) => write!(f, "{}", hex(payload))?,
        }
        writeln!(f, "   {}stamp {}{:#}", paint::FAINT, hex(stamp), paint::FAINT)?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}

fn skew(f: &mut fmt::Formatter<'_>, line: &SkewLine) -> fmt::Result {
    let events = match line.events {
        Some(1) => "1 event".into(),
        Some(events) => format!("{events} events"),
        None => "? events".into(),
    };
    write!(f, "  {:<8} at most {events} after the trigger, by {}", line.node, line.path.join(" > "))?;
    match &line.after {
        Some(after) if after.than == line.node => writeln!(f),
        Some(after) if after.time < 0.0 => {
            writeln!(f, "; stopped {:.1} {} before {}", -after.time, after.unit, after.than)
        }
        Some(after) => writeln!(f, "; stopped {:.1} {} after {}", after.time, after.unit, after.than),
        None => writeln!(f),
    }
}
