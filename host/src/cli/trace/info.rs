//! `stillpoint trace info` - what is in a recording.
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::trace::{Chunk, Item, Stream, TraceReader};

/// Say what is in a recording, and where it is damaged if it is.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. Exit code 1 if the file is damaged or cut off: what lies before the \
                        damage is summed up all the same.\n\nExample:\n  stillpoint trace info run.trace"
)]
pub struct Args {
    /// The recording.
    file: PathBuf,
}

#[derive(Serialize)]
struct Result_ {
    system: String,
    tool: String,
    boards: Vec<(String, String, String)>,
    /// How long it took, if it was ended in order.
    seconds: Option<f64>,
    nodes: Vec<Node>,
    /// Where it is damaged, and how.
    damage: Option<String>,
}

#[derive(Default, Serialize)]
struct Node {
    name: String,
    events: u64,
    bytes: u64,
    frames: u64,
    /// Records that found the ring full, as the log says.
    dropped: u64,
    /// Records before the first sync record.
    unplaced: u64,
    restarts: u64,
    /// Places at which the bytes are not a log.
    broken: u64,
    /// The first and the last event.
    first: Option<u32>,
    last: Option<u32>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let mut trace = TraceReader::open(&args.file)?;
    let mut sums: Vec<Sum> = trace.header.nodes.iter().map(|node| Sum::new(node.id, node.name.clone())).collect();
    // Piece by piece: a recording may be larger than the memory.
    while let Some(chunk) = trace.chunk()? {
        if let Some(sum) = sums.iter_mut().find(|sum| sum.id == chunk.node) {
            sum.add(&chunk);
        }
    }
    let boards = trace.header.boards.iter();
    let result = Result_ {
        system: trace.header.system.clone(),
        tool: trace.header.tool.clone(),
        boards: boards.map(|of| (of.name.clone(), of.firmware.clone(), of.identity.clone())).collect(),
        seconds: trace.ended.map(|ended| ended as f64 / 1e6),
        nodes: sums.into_iter().map(|sum| sum.node).collect(),
        damage: trace.damage.as_ref().map(ToString::to_string),
    };
    let exit = if result.damage.is_some() { Exit::Bad } else { Exit::Ok };
    context.out().print(&result);
    Ok(exit)
}

/// One node's log, summed up as it is read.
struct Sum {
    id: u8,
    stream: Stream,
    node: Node,
}

impl Sum {
    fn new(id: u8, name: String) -> Self {
        Self { id, stream: Stream::new(), node: Node { name, ..Node::default() } }
    }

    fn add(&mut self, chunk: &Chunk) {
        let node = &mut self.node;
        node.bytes += chunk.bytes.len() as u64;
        node.frames += 1;
        self.stream.push(chunk.position, &chunk.bytes, |item| match item {
            Item::Record(record) => {
                node.events += 1;
                node.first = node.first.or(Some(record.number.0));
                node.last = Some(record.number.0);
            }
            Item::Unplaced(_) => node.unplaced += 1,
            Item::Gap(dropped) => node.dropped += u64::from(dropped),
            Item::Restart => node.restarts += 1,
            Item::Broken(_) => node.broken += 1,
            Item::Causes { .. } | Item::Sync(_) => {}
        });
    }
}

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "recorded from {} by {}", self.system, self.tool)?;
        for (name, firmware, identity) in &self.boards {
            writeln!(f, "board {name}  {firmware}, {identity}")?;
        }
        for node in &self.nodes {
            let Node { name, events, bytes, dropped, .. } = node;
            write!(f, "{}{name:<8}{:#} {events:>9} events  {bytes:>9} bytes", paint::NAME, paint::NAME)?;
            if let (Some(first), Some(last)) = (node.first, node.last) {
                write!(f, "  {first} to {last}")?;
            }
            let rare = [
                (*dropped, "dropped"),
                (node.unplaced, "before the first sync record"),
                (node.restarts, "restarts"),
                (node.broken, "places that are no log"),
            ];
            for (count, what) in rare.into_iter().filter(|(count, _)| *count > 0) {
                write!(f, "  {}{count} {what}{:#}", paint::WARN, paint::WARN)?;
            }
            writeln!(f)?;
        }
        match (&self.damage, self.seconds) {
            (Some(damage), _) => writeln!(f, "{}{damage}{:#}", paint::BAD, paint::BAD),
            (None, Some(seconds)) => writeln!(f, "ended in order after {seconds:.1} s"),
            (None, None) => writeln!(
                f,
                "not ended in order: the recorder was stopped before it could finish, or the file was cut; events may be missing at \
                 the end"
            ),
        }
    }
}
