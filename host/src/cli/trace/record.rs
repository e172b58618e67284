//! `stillpoint trace record` - drain the logs of all nodes into a file while they run.
use super::counted::Counted;
use super::follow::{Followed, Screen};
use super::live::{self, Checked, LiveCheck};
use crate::cli::{CliError, Context, Exit, Output, Report};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stillpoint::System;
use stillpoint::trace::{Chunk, Header, NodeSum, Printable, Recorder, View, header_of};

/// Drain the logs of all nodes into a new file while they run, until Ctrl-C.
#[derive(clap::Args)]
#[command(
    after_help = "What is written is never changed and survives a crash of this program; it is forced to the disk every second. \
                        The boards run on, whatever becomes of the file.\n\n\
                        With --follow each event is shown once all that happened before it was, with what was dropped; a node that \
                        is silent is waited for two seconds, and what is shown without it says so. The file has everything, whatever \
                        --only shows. When whoever reads the events has gone, as `head` does, the recording ends in order.\n\n\
                        Other terminals can halt, look and resume meanwhile; the recording goes on through a halt, or ends with it \
                        (--until-halt).\n\n\
                        With --check failures of `pred` and `not parallel` are told while it records; other checks, and all that is not \
                        certain, when it ends. Exit code 1 if something fails or cannot be told.\n\n\
                        Examples:\n  stillpoint trace record run.trace\n  stillpoint trace record run.trace --follow --only kinds=send,recv\n  stillpoint trace record run.trace --events 100000\n  stillpoint trace record run.trace --until-halt\n  stillpoint trace record run.trace --check ring.model --halt"
)]
pub struct Args {
    /// The file to make.
    file: PathBuf,
    /// End after this many seconds.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// End once this many events of all nodes together are recorded.
    #[arg(long, value_name = "N")]
    events: Option<u64>,
    /// End when all nodes are halted, whoever halts them. Without this the recording goes on through a halt.
    #[arg(long)]
    until_halt: bool,
    /// Show the events in causal order while they are recorded.
    #[arg(long)]
    follow: bool,
    /// Show only some: nodes=A,B or kinds=send,recv or actions=send(out),lap. What is left out still orders what is shown.
    #[arg(long, value_name = "WHAT=NAMES", requires = "follow")]
    only: Vec<String>,
    /// Check this model meanwhile: a failure is told when it is certain. The finished file is checked, too.
    #[arg(long, value_name = "MODEL")]
    check: Option<PathBuf>,
    /// Halt all nodes consistently at the first failure, and end the recording.
    #[arg(long, requires = "check")]
    halt: bool,
}

#[derive(Serialize)]
struct Result_ {
    file: PathBuf,
    seconds: f64,
    /// Bytes of the file.
    saved: u64,
    /// How fast the rings of the slowest board can be drained, in MiB a second, measured at the end.
    drain_mib_per_second: f64,
    nodes: Vec<NodeSum>,
    /// What was shown meanwhile, if it was followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    followed: Option<Followed>,
    /// What the model says, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
}

/// How long rings are left alone when they were empty: a ring of 64 KiB fills in 60 ms at 1 MiB/s.
const PAUSE: Duration = Duration::from_millis(2);
/// How often it looks whether the nodes are halted: with `--until-halt` only.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const NEWS_EVERY: Duration = Duration::from_secs(1);

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system_file = context.file()?.path.display().to_string();
    let interrupted = context.interrupt_flag();
    let model = args.check.as_deref().map(live::model).transpose()?;
    super::give_chosen(context)?;
    let system = context.system()?;
    let view = |header: &Header| View::parse(&args.only, header).map_err(|error| CliError::Usage(error.to_string()));
    if args.follow {
        // What cannot be shown is said before a file is made.
        view(&header_of(system, &system_file)?)?;
    }
    if let Some(model) = &model {
        LiveCheck::new(vec![model.clone()], &header_of(system, &system_file)?, out)?.tell_left();
    }
    let mut recorder = Recorder::start(system, &system_file, &args.file)?;
    let screen = args.follow.then(|| Ok::<_, CliError>(Screen::new(recorder.header(), view(recorder.header())?, out)));
    let mut screen = screen.transpose()?;
    let mut checker = model.map(|model| LiveCheck::new(vec![model], recorder.header(), out)).transpose()?;
    let mut news = News::new(&recorder, args.follow);
    let until = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut look_at = Instant::now();
    loop {
        let moved = recorder.poll_each(system, &mut |chunk| watch(&mut screen, &mut checker, chunk))?;
        let elapsed = recorder.elapsed();
        let checks = checker.as_mut().map(|checker| checker.look(elapsed, system, args.halt));
        let mut is_halted = checks.transpose()?.unwrap_or(false);
        if args.until_halt && Instant::now() >= look_at {
            is_halted |= system.nodes()?.iter().all(stillpoint::Node::is_parked);
            look_at = Instant::now() + LOOK_EVERY;
        }
        let is_open = screen.as_mut().is_none_or(|screen| screen.show(recorder.elapsed()));
        news.tell(&recorder, |line| out.say("recording", line));
        let events: u64 = recorder.sums().map(|node| node.events + node.unplaced).sum();
        let enough =
            args.events.is_some_and(|most| events >= most) || until.is_some_and(|until| Instant::now() >= until);
        if enough || !is_open || is_halted || interrupted.load(Ordering::Relaxed) {
            break;
        }
        if moved == 0 {
            std::thread::sleep(PAUSE);
        }
    }
    let mut result = finish(&mut recorder, system, args, &mut screen, &mut checker)?;
    news.clear();
    result.checked = checker.map(|checker| checker.finish(&args.file)).transpose()?;
    let holds = result.checked.as_ref().is_none_or(Checked::holds);
    match screen {
        Some(screen) => {
            result.followed = Some(screen.finish());
            screen_summary(&result, out);
        }
        None => out.print(&result),
    }
    Ok(if holds { Exit::Ok } else { Exit::Bad })
}

/// Hands what was saved to whoever follows.
fn watch(screen: &mut Option<Screen>, checker: &mut Option<LiveCheck>, chunk: &Chunk) {
    if let Some(checker) = checker {
        checker.take(chunk);
    }
    if let Some(screen) = screen {
        screen.take(chunk);
    }
}

/// Standard output has the events, a line each, so the sum of it is one line too, or goes where news goes.
fn screen_summary(result: &Result_, out: Output) {
    if out.is_json() {
        out.write_lines(&format!("{}\n", serde_json::json!({ "recorded": result })));
        return;
    }
    for node in &result.nodes {
        out.say(&node.name, Counted(node));
    }
    if let Some(followed) = &result.followed {
        out.say("followed", followed);
    }
    out.say("recorded", format!("{:.1} s into {}: {} bytes", result.seconds, result.file.display(), result.saved));
}

fn finish(
    recorder: &mut Recorder,
    system: &mut System,
    args: &Args,
    screen: &mut Option<Screen>,
    checker: &mut Option<LiveCheck>,
) -> Result<Result_, CliError> {
    recorder.finish_each(system, &mut |chunk| watch(screen, checker, chunk))?;
    if let Some(checker) = checker {
        checker.settle();
    }
    let nodes: Vec<NodeSum> = recorder.sums().cloned().collect();
    let (seconds, saved) = (recorder.elapsed().as_secs_f64(), recorder.saved());
    let rate = recorder.drain_rate(system)?;
    Ok(Result_ {
        file: args.file.clone(),
        seconds,
        saved,
        drain_mib_per_second: rate,
        nodes,
        followed: None,
        checked: None,
    })
}

/// What is shown while it records: a line for each node on a terminal, otherwise one line a second for all.
struct News {
    bars: Vec<ProgressBar>,
    next: Instant,
}

impl News {
    fn new(recorder: &Recorder, follows: bool) -> Self {
        let mut bars = Vec::new();
        // Lines of events and lines that stay where they are do not go together.
        if std::io::stderr().is_terminal() && !follows {
            let all = MultiProgress::new();
            let style =
                ProgressStyle::with_template("{prefix:>10}  {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = |node: &NodeSum| {
                ProgressBar::no_length().with_style(style.clone()).with_prefix(Printable(&node.name).to_string())
            };
            bars = recorder.sums().map(|node| all.add(bar(node))).collect();
        }
        Self { bars, next: Instant::now() }
    }

    fn tell(&mut self, recorder: &Recorder, mut say: impl FnMut(String)) {
        if Instant::now() < self.next {
            return;
        }
        for (bar, node) in self.bars.iter().zip(recorder.sums()) {
            bar.set_message(Counted(node).to_string());
        }
        if !self.bars.is_empty() {
            self.next = Instant::now() + NEWS_EVERY / 10;
            return;
        }
        let each: Vec<String> = recorder
            .sums()
            .map(|node| format!("{} {} events, {} dropped", node.name, node.events, node.dropped))
            .collect();
        say(format!("{}; {} bytes saved", each.join("; "), recorder.saved()));
        self.next = Instant::now() + NEWS_EVERY;
    }

    fn clear(&self) {
        self.bars.iter().for_each(ProgressBar::finish_and_clear);
    }
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.nodes {
            writeln!(f, "{:<8}{:#}", node.name, Counted(node))?;
        }
        let (file, seconds, rate) = (self.file.display(), self.seconds, self.drain_mib_per_second);
        let saved = self.saved;
        writeln!(f, "recorded {seconds:.1} s into {file}: {saved} bytes; a board can be drained at {rate:.1} MiB/s")?;
        let Some(Checked { violations, most_held, report, .. }) = &self.checked else { return Ok(()) };
        write!(f, "{report}")?;
        writeln!(
            f,
            "{} failures were told while it recorded; at most {most_held} records and events were held",
            violations.len()
        )
    }
}
