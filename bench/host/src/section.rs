//! The section of BENCHMARKS.md: tables and counts.
use crate::callgrind::{self, tenths};
use crate::{check, clocks, detection, growth, logs, order};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;

const TEXT: &str = "Instructions on the host, as `valgrind --tool=callgrind` counts them, for one call or one event; what \
is needed beforehand (records, histories) is made before the counting begins. Hash maps are seeded alike on every run, so \
the counts of two runs of the same program are equal. Times are on the processor, the best of three.";

const ORDER: &str = "Causal order with a full clock for each event: a ring with chords in which every node sends to the next \
two; a round of each node is two tracepoints, two sends and two receives, and some receives are read before their sends. \
All get the same decoded records in the same pieces, a round of a node each, sort them, and lend every event (node, number, \
times, kind, message, the send of a receive, whether its past is known) with its whole clock to the same sink; a test compares \
all of it. *crdts, natural* is how one writes it with `crdts::VClock`: every record through the queue of its node, a clock of \
its own for each event, those of sends in a hash map by message. *crdts, lean* is written as ours is: a record is taken where it \
was read unless it must wait, clocks wait in a queue for each channel, and only a send's clock is copied.";

/// Counts by name.
struct Counts(BTreeMap<String, f64>);

impl Counts {
    fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    fn cell(&self, name: &str) -> Value {
        self.get(name).map_or(json!("-"), |count| json!(count))
    }

    /// How many times the first the second is.
    fn times(&self, one: &str, other: &str) -> Value {
        match (self.get(one), self.get(other)) {
            (Some(one), Some(other)) if one > 0.0 => json!(tenths(other / one)),
            _ => json!("-"),
        }
    }
}

/// Measures everything. The section as JSON.
pub fn make() -> Result<String, Box<dyn Error>> {
    eprintln!("counting instructions under callgrind");
    let counts = Counts(callgrind::count().map_err(|error| error.to_string())?);
    let taken = growth::run()?;
    let tables =
        [clocks_table(&counts), order_table(&counts), growth_table(&counts), time_table(&taken), other_table(&counts)];
    let memory = |events| taken.iter().find(|taken| taken.events == events).map_or(0, |taken| taken.memory);
    let figures = json!({
        "causal order, peak memory at 1.25 million events, KiB": memory(1_250_000),
        "causal order, peak memory at 10 million events, KiB": memory(10_000_000),
        "live checks, 8 nodes, 20 rules, thousand events per second": (check::events_per_second() / 1000.0).round(),
    });
    let section = json!({
        "title": "Host", "text": TEXT, "tables": tables, "counts": counts.0, "figures": figures,
        "after": "Clocks of `stillpoint-core` have at most 32 entries, as many as a system has nodes.",
    });
    Ok(section.to_string())
}

fn clocks_table(counts: &Counts) -> Value {
    let row = |call: &str, size: usize| {
        let name = |whose: &str| format!("clock {call}, {whose}, {size} entries");
        let [ours, crdts, vclock] = ["stillpoint", "crdts", "vclock"].map(name);
        let times = [counts.times(&ours, &crdts), counts.times(&ours, &vclock)];
        let [to_crdts, to_vclock] = times;
        json!([call, size, counts.cell(&ours), counts.cell(&crdts), counts.cell(&vclock), to_crdts, to_vclock])
    };
    let rows: Vec<Value> =
        clocks::CALLS.iter().flat_map(|call| clocks::SIZES.iter().map(move |size| row(call, *size))).collect();
    let columns = ["call", "entries", "stillpoint", "crdts", "vclock", "crdts / ours", "vclock / ours"];
    json!({ "caption": "Clocks: instructions for one call (a system has at most 32 nodes, so ours has no 64 entries)", "columns": columns, "rows": rows })
}

fn order_table(counts: &Counts) -> Value {
    let row = |nodes: usize| {
        let name = |whose: &str| format!("causal order, {whose}, {nodes} nodes");
        let [ours, lean, natural] = ["stillpoint", "crdts", "crdts, a copy for each event"].map(name);
        let times = [counts.times(&ours, &natural), counts.times(&ours, &lean)];
        let [to_natural, to_lean] = times;
        json!([nodes, counts.cell(&ours), counts.cell(&natural), to_natural, counts.cell(&lean), to_lean])
    };
    let columns = ["nodes", "stillpoint", "crdts, natural", "times ours", "crdts, lean", "times ours"];
    json!({ "caption": ORDER, "columns": columns, "rows": order::NODES.map(row) })
}

fn growth_table(counts: &Counts) -> Value {
    let name = |times: usize| format!("causal order of {} events, 8 nodes", order::EVENTS * times);
    let row = |times: usize| {
        let total = |times| counts.get(&name(times)).map(|count| count * (order::EVENTS * times) as f64);
        let half = (times > 1).then(|| total(times / 2)).flatten();
        let ratio = half.zip(total(times)).map_or(json!(""), |(half, all)| json!(format!("{:.3}", all / half)));
        json!([order::EVENTS * times, counts.cell(&name(times)), ratio])
    };
    let columns = ["events", "instructions per event", "times half as many cost"];
    json!({ "caption": "Growth, by instructions", "columns": columns, "rows": order::GROWTH.map(row) })
}

fn time_table(taken: &[growth::Taken]) -> Value {
    let row = |at: usize| {
        let now = taken[at];
        let per_event = now.nanoseconds as f64 / now.events as f64;
        let half = at.checked_sub(1).map(|before| taken[before].nanoseconds as f64);
        let ratio = half.map_or(json!(""), |half| json!(format!("{:.2}", now.nanoseconds as f64 / half)));
        json!([now.events, tenths(per_event), ratio, now.held, now.memory])
    };
    let columns =
        ["events", "ns per event", "times half as many took", "records and clocks held at most", "peak memory, KiB"];
    let caption = "Growth, by the clock, 8 nodes, streamed: the making of the records is in the time";
    json!({ "caption": caption, "columns": columns, "rows": (0..taken.len()).map(row).collect::<Vec<_>>() })
}

fn other_table(counts: &Counts) -> Value {
    let mut rows: Vec<Value> =
        [logs::DECODE, logs::DECODE_AND_ORDER].iter().map(|name| json!([name, counts.cell(name)])).collect();
    rows.extend(detection::EVENTS.iter().map(|events| {
        let name = detection::name(*events);
        json!([name, counts.cell(&name)])
    }));
    rows.extend([check::SYNC, check::CAUSALITY, check::LIVE].map(|name| json!([name, counts.cell(name)])));
    json!({ "caption": "Decoding, detection and checks", "columns": ["work", "instructions per event"], "rows": rows })
}
