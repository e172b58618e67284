//! Entries of the log as the user sees them.
use crate::cli::paint::Paint;
use crate::cli::{Output, paint};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};
use stillpoint::System;
use stillpoint::text_log::{Entry, Filter, Level, Line, Said};

/// How entries are laid out.
pub struct Columns {
    names: usize,
    full: bool,
}

impl Columns {
    pub fn of(system: &System, full: bool) -> Self {
        let names = system.addresses().into_iter().map(|at| system.node_name(at).chars().count()).max().unwrap_or(0);
        Self { names, full }
    }

    pub fn write(&self, f: &mut dyn fmt::Write, entry: &Entry) -> fmt::Result {
        let (name, width) = (&entry.node, self.names);
        let note = |f: &mut dyn fmt::Write, text: &str| {
            writeln!(
                f,
                "{:13}  {}{name:width$}{:#}  {}-- {text}{:#}",
                "",
                paint::NAME,
                paint::NAME,
                paint::WARN,
                paint::WARN
            )
        };
        match &entry.said {
            Said::Line(line) => self.line(f, name, line),
            Said::Dropped(1) => note(f, "1 line is missing here: the ring was full"),
            Said::Dropped(count) => note(f, &format!("{count} lines are missing here: the ring was full")),
            Said::Restarted => note(f, "was reset; what it said before and nobody read is lost"),
            Said::Damaged(why) => note(f, why),
        }
    }

    fn line(&self, f: &mut dyn fmt::Write, name: &str, line: &Line) -> fmt::Result {
        let mark = if line.clock.is_some() { ' ' } else { '~' };
        let time = line.time.map_or(String::new(), |time| format!("{}.{:06}", time / 1_000_000, time % 1_000_000));
        let width = self.names;
        write!(f, "{mark}{}{time:>12}{:#}  ", paint::FAINT, paint::FAINT)?;
        write!(f, "{}{name:width$}{:#}  ", paint::NAME, paint::NAME)?;
        let level = line.level.map_or("", Level::name);
        let style = style(line.level);
        write!(f, "{style}{level:<5}{style:#}  ")?;
        if self.full {
            let event = line.event.map_or("-".into(), |event| event.to_string());
            write!(f, "{}event {event:<6}{:#}  ", paint::FAINT, paint::FAINT)?;
        }
        // A text of several lines stays one entry: what follows is indented.
        write!(f, "{}", line.text.replace('\n', &format!("\n{:width$}", "", width = 24 + width)))?;
        if self.full {
            let place = line.place.as_ref().map(|(file, at)| format!("  {file}:{at}")).unwrap_or_default();
            write!(f, "  {}{}{place}{:#}", paint::FAINT, line.module, paint::FAINT)?;
        }
        writeln!(f)
    }
}

fn style(level: Option<Level>) -> Paint {
    match level {
        Some(Level::Error) => paint::BAD,
        Some(Level::Warn) => paint::WARN,
        Some(Level::Info) => paint::GOOD,
        Some(Level::Debug | Level::Trace) | None => paint::FAINT,
    }
}

/// Where entries appear as they come.
pub struct Screen {
    out: Output,
    columns: Columns,
    filter: Filter,
    lines: u64,
    /// Lines that are missing, by node, since they were last told of, and in all.
    gaps: BTreeMap<String, u64>,
    missing: u64,
    next: Instant,
}

impl Screen {
    pub fn new(out: Output, columns: Columns, filter: Filter) -> Self {
        Self { out, columns, filter, lines: 0, gaps: BTreeMap::new(), missing: 0, next: Instant::now() }
    }

    /// How many lines were shown.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Shows entries; false once the reader of standard output has gone.
    pub fn show(&mut self, entries: Vec<Entry>) -> bool {
        let mut text = String::new();
        for entry in entries {
            if let Said::Dropped(count) = entry.said {
                *self.gaps.entry(entry.node.clone()).or_default() += u64::from(count);
                self.missing += u64::from(count);
            }
            if !self.filter.shows(&entry) {
                continue;
            }
            self.lines += u64::from(matches!(entry.said, Said::Line(_)));
            if self.out.is_json() {
                text += &serde_json::to_string(&entry).unwrap_or_default();
                text.push('\n');
            } else {
                // A string takes everything.
                let _ = self.columns.write(&mut text, &entry);
            }
        }
        // One write for all of it: a fast log leaves no time for more.
        self.out.write_lines(&text)
    }

    /// Tells of lines that are missing, not more often than `every`.
    pub fn tell_of_gaps(&mut self, every: Duration) {
        if self.gaps.is_empty() || Instant::now() < self.next {
            return;
        }
        let each: Vec<String> = self.gaps.iter().map(|(node, count)| format!("{node} {count}")).collect();
        self.out.say("dropped", format!("{}; their rings were full", each.join(", ")));
        self.gaps.clear();
        self.next = Instant::now() + every;
    }

    /// Shows what is to be said at the end, and how much there was.
    pub fn finish(&mut self, entries: Vec<Entry>) {
        self.show(entries);
        self.next = Instant::now();
        self.tell_of_gaps(Duration::ZERO);
        self.out.say("log", format!("{} lines shown, {} missing", self.lines, self.missing));
    }
}
