//! Cost as nodes go from 2 to 32 and events from ten thousand to ten million: `cargo run --release -p stillpoint-bench-scaling`.
//!
//! Prints one JSON object with tables and writes plots to `docs/bench`; progress goes to the error output. Instructions are those
//! of this machine's processor, counted by callgrind, which runs this program with `work|talk|pair NODES TIMES` or `sort EVENTS`.
mod count;
mod driver;
mod order;
mod plot;

use anyhow::Context as _;
use driver::{Bytes, HaltCost, System};
use plot::{Line, Plot};
use serde_json::{Map, Value, json};
use std::path::Path;

const NODES: [usize; 5] = [2, 4, 8, 16, 32];
const EVENTS: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// Events that are sorted to take the time of one.
const SHORTEST: usize = 2_000_000;
/// Messages after which stamps and logs are as they stay.
const STEADY: usize = 20_000;

/// What a system of one size does.
#[derive(Clone, Copy)]
enum Deed {
    Work,
    /// All nodes talk.
    Talk,
    /// Two nodes talk.
    Pair,
}

fn run<const N: usize>(deed: Deed, times: usize, counts_bytes: bool) -> anyhow::Result<Bytes> {
    let mut system = System::<N>::new(counts_bytes)?;
    match deed {
        Deed::Work => system.work(times)?,
        Deed::Talk => system.talk(N, times)?,
        Deed::Pair => system.talk(2, times)?,
    }
    system.bytes()
}

macro_rules! for_size {
    ($nodes:expr, $size:ident => $act:expr) => {
        match $nodes {
            2 => {
                const $size: usize = 2;
                $act
            }
            4 => {
                const $size: usize = 4;
                $act
            }
            8 => {
                const $size: usize = 8;
                $act
            }
            16 => {
                const $size: usize = 16;
                $act
            }
            32 => {
                const $size: usize = 32;
                $act
            }
            other => anyhow::bail!("a system of {other} nodes is not measured; there are {NODES:?}"),
        }
    };
}

/// Does it, for its instructions to be counted.
fn do_sized(nodes: usize, deed: Deed, times: usize) -> anyhow::Result<()> {
    for_size!(nodes, N => run::<N>(deed, times, false).map(drop))
}

/// Bytes of the steady state.
fn bytes_sized(nodes: usize, deed: Deed) -> anyhow::Result<Bytes> {
    for_size!(nodes, N => run::<N>(deed, STEADY, true))
}

fn halt_sized(nodes: usize) -> anyhow::Result<HaltCost> {
    for_size!(nodes, N => {
        let mut system = System::<N>::new(false)?;
        system.talk(N, 1000)?;
        system.halt(0)
    })
}

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<usize>().with_context(|| format!("{word:?} is not a number"));
    match &words[..] {
        ["sort", events] => order::sort(number(events)?).map(drop),
        ["work", nodes, times] => do_sized(number(nodes)?, Deed::Work, number(times)?),
        ["talk", nodes, times] => do_sized(number(nodes)?, Deed::Talk, number(times)?),
        ["pair", nodes, times] => do_sized(number(nodes)?, Deed::Pair, number(times)?),
        [] => measure(),
        _ => anyhow::bail!("say nothing, or `work|talk|pair NODES TIMES`, or `sort EVENTS`"),
    }
}

fn measure() -> anyhow::Result<()> {
    let mut counts = Map::new();
    let (nodes, node_pictures) = by_nodes(&mut counts)?;
    let (events, event_picture) = by_events(&mut counts)?;
    let text = "Nodes are the shipped ones, driven in turn without any I/O: a ring in which each node sends to both its neighbours. *All talk* is the worst \
case for stamps, since every message has news of every node; *two talk* is a system whose other nodes are silent. Bytes are those of \
the steady state. Instructions are those of this machine's processor, counted by callgrind; those of the target are in their own \
section. A halt is triggered at node 0; a marker goes over each lane of each channel, so there are two for each channel.";
    let pictures: Vec<Value> = node_pictures.into_iter().chain([event_picture]).collect();
    let section = json!({ "title": "Scaling", "text": text, "tables": [nodes, events], "counts": counts, "pictures": pictures, "after": "" });
    println!("{section:#}");
    Ok(())
}

fn by_nodes(counts: &mut Map<String, Value>) -> anyhow::Result<(Value, Vec<Value>)> {
    let mut rows = Vec::new();
    let names = ["local event", "message, two nodes talk", "message, all talk"];
    let mut instructions = names.map(|name| Line { name: name.into(), points: Vec::new() });
    let names = ["stamp, two nodes talk", "stamp, all talk", "log, per message event"];
    let mut bytes = names.map(|name| Line { name: name.into(), points: Vec::new() });
    for nodes in NODES {
        eprintln!("{nodes} nodes");
        let mut row = vec![json!(nodes)];
        for (line, deed) in instructions.iter_mut().zip(["work", "pair", "talk"]) {
            let each = count::per_time(&[deed, &nodes.to_string()], 4_000, 20_000)?;
            row.push(each.map_or_else(|| json!("-"), |each| json!(each)));
            if let Some(each) = each {
                counts.insert(format!("instructions, {}, {nodes} nodes", line.name), json!(each));
                line.points.push((nodes as f64, each as f64));
            }
        }
        let (pair, talk) = (bytes_sized(nodes, Deed::Pair)?, bytes_sized(nodes, Deed::Talk)?);
        let per = |bytes: u64, times: u64| (bytes as f64 / times as f64 * 100.0).round() / 100.0;
        let figures = [per(pair.stamps, pair.messages), per(talk.stamps, talk.messages), per(talk.log, talk.records)];
        for (line, figure) in bytes.iter_mut().zip(figures) {
            counts.insert(format!("bytes, {}, {nodes} nodes", line.name), json!(figure));
            line.points.push((nodes as f64, figure));
            row.push(json!(figure));
        }
        let halt = halt_sized(nodes)?;
        counts.insert(format!("markers of a halt, {nodes} nodes"), json!(halt.markers));
        row.extend([json!(halt.markers), json!(halt.hops)]);
        rows.push(row);
    }
    let columns = [
        "nodes",
        "instructions, local event",
        "instructions, message, two talk",
        "instructions, message, all talk",
        "stamp bytes, two talk",
        "stamp bytes, all talk",
        "log bytes per message event",
        "markers of a halt",
        "hops of a halt",
    ];
    let table = json!({ "caption": "As nodes become more", "columns": columns, "rows": rows });
    let mut pictures = Vec::new();
    if instructions.iter().all(|line| !line.points.is_empty()) {
        let plot = Plot {
            title: "What an event costs as nodes become more",
            x: "nodes",
            y: "instructions (x86-64, callgrind)",
            lines: instructions.into(),
        };
        pictures.push(draw(&plot, "nodes-instructions.svg")?);
    }
    let plot = Plot { title: "Bytes as nodes become more", x: "nodes", y: "bytes", lines: bytes.into() };
    pictures.push(draw(&plot, "nodes-bytes.svg")?);
    Ok((table, pictures))
}

fn by_events(counts: &mut Map<String, Value>) -> anyhow::Result<(Value, Value)> {
    let mut rows = Vec::new();
    let names = ["nanoseconds per event", "records and clocks held at most"];
    let mut lines = names.map(|name| Line { name: name.into(), points: Vec::new() });
    for events in EVENTS {
        eprintln!("{events} events");
        // A time is told in steps of milliseconds, so short runs are repeated.
        let repeats = (SHORTEST / events).max(1);
        let runs = (0..repeats).map(|_| order::sort(events)).collect::<anyhow::Result<Vec<_>>>()?;
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let (each, held) = (seconds * 1e9 / (events * repeats) as f64, runs[0].held);
        counts.insert(format!("records held, {events} events"), json!(held));
        lines[0].points.push((events as f64, each));
        lines[1].points.push((events as f64, held as f64));
        rows.push(vec![json!(events), json!((each * 10.0).round() / 10.0), json!(held)]);
    }
    if let Some(each) = count::per_time(&["sort"], 8_000, 40_000)? {
        counts.insert("instructions, causal order, one event".into(), json!(each));
    }
    let columns = ["events", "ns of the processor per event", "records and clocks held at most"];
    let caption = "Causal order with clocks on the host, 8 nodes in a ring, as events become more";
    let table = json!({ "caption": caption, "columns": columns, "rows": rows });
    let title = "Causal order on the host as events become more";
    let plot = Plot { title, x: "events", y: "nanoseconds; records", lines: lines.into() };
    Ok((table, draw(&plot, "events.svg")?))
}

fn draw(plot: &Plot<'_>, name: &str) -> anyhow::Result<Value> {
    let file = format!("docs/bench/{name}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&file);
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(&path, plot.svg()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(json!({ "file": file, "alt": plot.title }))
}
