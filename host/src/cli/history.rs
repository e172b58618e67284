//! Reading a recording for a command that works on one, with news for those who wait.
use super::{CliError, Context, Output};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stillpoint_trace::{History, Note};

/// On a terminal the bar moves this often; elsewhere a line is written once a reading takes this long.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_AFTER: Duration = Duration::from_secs(2);

/// How things stand after Ctrl-C.
const LEFT_ALONE: &str = "nothing was changed";

/// A recording in an order that people expect, and in causal order as well.
pub fn load(path: &Path, context: &Context) -> Result<History, CliError> {
    let history = read(path, context)?.in_time_order();
    context.check_interrupt(LEFT_ALONE).map(|()| history)
}

/// A recording in causal order. What is damaged is read up to the damage, and the history says so. Ctrl-C ends it.
pub fn read(path: &Path, context: &Context) -> Result<History, CliError> {
    let (out, interrupted) = (context.out(), context.interrupt_flag());
    let bar = std::io::stderr().is_terminal().then(|| {
        let template = "{prefix:>10}  {bar:32} {msg}";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(0).with_style(style).with_prefix("reading")
    });
    let mut next = Instant::now() + if bar.is_some() { BAR_EVERY } else { LINE_AFTER };
    let history = History::load(path, |progress| {
        if interrupted.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if Instant::now() < next {
            return ControlFlow::Continue(());
        }
        match &bar {
            Some(bar) => {
                bar.set_length(progress.size);
                bar.set_position(progress.read);
                bar.set_message(format!("{} events", progress.events));
                next = Instant::now() + BAR_EVERY;
            }
            None => {
                out.say("reading", format!("{} of {} bytes, {} events", progress.read, progress.size, progress.events));
                next = Instant::now() + LINE_AFTER;
            }
        }
        ControlFlow::Continue(())
    });
    bar.inspect(ProgressBar::finish_and_clear);
    context.check_interrupt(LEFT_ALONE)?;
    Ok(history?)
}

/// Says what there is to say of one of several recordings besides its events.
pub fn say_notes(path: &Path, history: &History, out: Output) {
    for note in history.notes() {
        out.say("note", format!("{}: {}", path.display(), note.say(&history.header)));
    }
}

/// Whether the file could not be read to its end.
pub fn is_damaged(history: &History) -> bool {
    history.notes().iter().any(|note| matches!(note, Note::Damage { .. }))
}
