//! `stillpoint trace record` - drain the logs of all nodes into a file while they run.
use crate::cli::{CliError, Context, Exit, Report};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stillpoint::System;
use stillpoint::trace::{NodeCounters, RecordError, Recorder};

/// Drain the logs of all nodes into a new file while they run, until Ctrl-C.
#[derive(clap::Args)]
#[command(
    after_help = "What is written is never changed and survives a crash of this program; it is forced to the disk every second. \
                        The boards run on, whatever becomes of the file.\n\n\
                        Example:\n  stillpoint trace record run.trace\n  stillpoint trace record run.trace --events 100000"
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
}

#[derive(Serialize)]
struct Result_ {
    file: PathBuf,
    seconds: f64,
    /// Bytes of the file.
    saved: u64,
    /// How fast the rings of the slowest board can be drained, in MiB a second, measured at the end.
    drain_mib_per_second: f64,
    nodes: Vec<NodeCounters>,
}

/// How long rings are left alone when they were empty: a ring of 64 KiB fills in 60 ms at 1 MiB/s.
const PAUSE: Duration = Duration::from_millis(2);
const NEWS_EVERY: Duration = Duration::from_secs(1);

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let system_file = context.file()?.path.display().to_string();
    let interrupted = context.interrupt_flag();
    let system = context.system()?;
    let mut recorder = Recorder::start(system, &system_file, &args.file).map_err(explain)?;
    let mut news = News::new(&recorder);
    let until = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let moved = recorder.poll(system).map_err(explain)?;
        news.tell(&recorder, |line| out.say("recording", line));
        let events: u64 = recorder.counters().map(|node| node.events).sum();
        let enough =
            args.events.is_some_and(|most| events >= most) || until.is_some_and(|until| Instant::now() >= until);
        if enough || interrupted.load(Ordering::Relaxed) {
            break;
        }
        if moved == 0 {
            std::thread::sleep(PAUSE);
        }
    }
    finish(&mut recorder, system, args).map(|result| {
        news.clear();
        out.print(&result);
        Exit::Ok
    })
}

fn finish(recorder: &mut Recorder, system: &mut System, args: &Args) -> Result<Result_, CliError> {
    recorder.finish(system).map_err(explain)?;
    let nodes: Vec<NodeCounters> = recorder.counters().cloned().collect();
    let (seconds, saved) = (recorder.elapsed().as_secs_f64(), recorder.saved());
    let rate = recorder.drain_rate(system).map_err(explain)?;
    Ok(Result_ { file: args.file.clone(), seconds, saved, drain_mib_per_second: rate, nodes })
}

fn explain(error: RecordError) -> CliError {
    match error {
        RecordError::Write(stillpoint::trace::WriteError::Exists(_)) => CliError::Usage(error.to_string()),
        other => CliError::Bad(other.to_string()),
    }
}

/// What is shown while it records: a line for each node on a terminal, otherwise one line a second for all.
struct News {
    bars: Vec<ProgressBar>,
    next: Instant,
}

impl News {
    fn new(recorder: &Recorder) -> Self {
        let mut bars = Vec::new();
        if std::io::stderr().is_terminal() {
            let all = MultiProgress::new();
            let style =
                ProgressStyle::with_template("{prefix:>10}  {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar =
                |node: &NodeCounters| ProgressBar::no_length().with_style(style.clone()).with_prefix(node.name.clone());
            bars = recorder.counters().map(|node| all.add(bar(node))).collect();
        }
        Self { bars, next: Instant::now() }
    }

    fn tell(&mut self, recorder: &Recorder, mut say: impl FnMut(String)) {
        if Instant::now() < self.next {
            return;
        }
        for (bar, node) in self.bars.iter().zip(recorder.counters()) {
            bar.set_message(Counted(node).to_string());
        }
        if !self.bars.is_empty() {
            self.next = Instant::now() + NEWS_EVERY / 10;
            return;
        }
        let each: Vec<String> = recorder
            .counters()
            .map(|node| format!("{} {} events, {} dropped", node.name, node.events, node.dropped))
            .collect();
        say(format!("{}; {} bytes saved", each.join("; "), recorder.saved()));
        self.next = Instant::now() + NEWS_EVERY;
    }

    fn clear(&self) {
        self.bars.iter().for_each(ProgressBar::finish_and_clear);
    }
}

struct Counted<'a>(&'a NodeCounters);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeCounters { events, bytes, dropped, restarts, .. } = self.0;
        write!(f, "{events:>9} events  {bytes:>9} bytes  {dropped:>6} dropped")?;
        if *restarts > 0 { write!(f, "  {restarts} restarts") } else { Ok(()) }
    }
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.nodes {
            writeln!(f, "{:<8}{}", node.name, Counted(node))?;
        }
        let (file, seconds, rate) = (self.file.display(), self.seconds, self.drain_mib_per_second);
        let saved = self.saved;
        writeln!(f, "recorded {seconds:.1} s into {file}: {saved} bytes; a board can be drained at {rate:.1} MiB/s")
    }
}
