//! A line, or what is to be said where lines are missing.
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use std::fmt;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Of use to whoever wrote it.
    Trace,
    /// Of use in the search for a bug.
    Debug,
    /// What goes on.
    Info,
    /// Worth a look.
    Warn,
    /// Something is wrong.
    Error,
}

impl Level {
    /// All of them, the least first.
    pub const ALL: [Self; 5] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One line that a program logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub text: String,
    /// How much it matters; none of `defmt::println!`.
    pub level: Option<Level>,
    /// The node's own time, in microseconds since it started.
    pub time: Option<u64>,
    /// The node's clock when it was written, as long as the system has nodes that are known. `None`: where it belongs
    /// among the lines of other nodes is not known, and time alone put it there.
    pub clock: Option<Vec<u32>>,
    /// The number of the event of its node after which it was written.
    pub event: Option<u32>,
    /// The module that logged it; empty if the ELF file does not say.
    pub module: String,
    /// Where in the source, if the ELF file says so.
    pub place: Option<(String, u64)>,
}

/// What an entry of the log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A line of the program.
    Line(Line),
    /// So many lines were dropped here: the ring was full.
    Dropped(u32),
    /// The log began anew, after a reset. What nobody had read by then is lost.
    Restarted,
    /// What follows could not be read, and why; the log goes on behind it.
    Damaged(String),
}

/// Something in the log of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of which node.
    pub node: String,
    /// What.
    pub said: Said,
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("node", &self.node)?;
        match &self.said {
            Said::Line(line) => {
                map.serialize_entry("text", &line.text)?;
                map.serialize_entry("level", &line.level)?;
                map.serialize_entry("time_us", &line.time)?;
                map.serialize_entry("ordered", &line.clock.is_some())?;
                map.serialize_entry("event", &line.event)?;
                map.serialize_entry("clock", &line.clock)?;
                map.serialize_entry("module", &line.module)?;
                map.serialize_entry("file", &line.place.as_ref().map(|(file, _)| file))?;
                map.serialize_entry("line", &line.place.as_ref().map(|(_, line)| line))?;
            }
            Said::Dropped(count) => map.serialize_entry("dropped", count)?,
            Said::Restarted => map.serialize_entry("restarted", &true)?,
            Said::Damaged(why) => map.serialize_entry("damaged", why)?,
        }
        map.end()
    }
}
