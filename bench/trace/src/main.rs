//! What causal order with clocks costs on the host: `cargo run --release -p stillpoint-trace-bench` runs this program under
//! `valgrind --tool=callgrind` and by the clock, and prints tables.
//!
//! With `ours|crdts|read NODES EVENTS` it runs one pipeline, for its instructions to be counted.
//!
//! Both pipelines get the same logs, decoded: every node sends to the next two and takes what comes. `ours` is
//! [`CausalOrder`]; `crdts` sorts in the same way and keeps its clocks in the `crdts` crate's `VClock`; `read` only goes
//! through the records, so that making them can be taken off.
use crdts::{CmRDT as _, CvRDT as _, VClock};
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use stillpoint_core::log::Record;
use stillpoint_core::{Event, EventKind, EventNumber};
use stillpoint_trace::{CausalOrder, ChannelInfo, Header, Item, NodeInfo, PortInfo};

/// A ring with chords: node `i` sends on port 0 to `i + 1` and on port 1 to `i + 2`; ports 2 and 3 take what comes.
fn header(nodes: usize) -> Header {
    let at = |node: usize| (node % nodes) as u8;
    let port = |id, out, peer| PortInfo { id, name: format!("p{id}"), out, peer };
    let node = |id: usize| NodeInfo {
        id: id as u8,
        name: format!("n{id}"),
        ports: vec![
            port(0, true, at(id + 1)),
            port(1, true, at(id + 2)),
            port(2, false, at(id + nodes - 1)),
            port(3, false, at(id + nodes - 2)),
        ],
        ..NodeInfo::default()
    };
    let channel = |from: usize, hop: usize| ChannelInfo {
        from: at(from),
        out: hop as u8 - 1,
        to: at(from + hop),
        into: hop as u8 + 1,
    };
    let channels = (0..nodes).flat_map(|from| [channel(from, 1), channel(from, 2)]).collect();
    Header { nodes: (0..nodes).map(node).collect(), channels, ..Header::default() }
}

/// The records of a run, one after another as a recorder reads them: rounds of six events a node, without end.
struct Run {
    nodes: usize,
    numbers: Vec<u32>,
    counts: Vec<[u32; 4]>,
    step: usize,
}

const ROUND: [EventKind; 6] =
    [EventKind::Local, EventKind::Send, EventKind::Send, EventKind::Receive, EventKind::Receive, EventKind::Local];
const PORTS: [u16; 6] = [7, 0, 1, 2, 3, 9];

impl Run {
    fn new(nodes: usize) -> Self {
        Self { nodes, numbers: vec![0; nodes], counts: vec![[0; 4]; nodes], step: 0 }
    }
}

impl Iterator for Run {
    type Item = (u8, Record);

    fn next(&mut self) -> Option<Self::Item> {
        // Node by node in pieces of a round, so that a third of the receives come before their sends.
        let (place, node) = (self.step % 6, self.step / 6 % self.nodes);
        let round = self.step / (6 * self.nodes);
        self.step += 1;
        self.numbers[node] += 1;
        let event = Event::new(ROUND[place], PORTS[place]);
        let message = match event.kind {
            EventKind::Send | EventKind::Receive => {
                let count = &mut self.counts[node][usize::from(event.arg)];
                *count += 1;
                Some(*count)
            }
            _ => None,
        };
        let number = EventNumber(self.numbers[node]);
        Some((node as u8, Record { event, number, time: round as u64 * 50, message }))
    }
}

/// Everything is summed up, so that nothing is left out.
fn ours(nodes: usize, events: usize) -> (u64, usize) {
    let (mut order, mut sum, mut held) = (CausalOrder::new(&header(nodes)), 0, 0);
    for (node, record) in Run::new(nodes).take(events) {
        order.push(node, 0, Item::Record(record), &mut |_, clock| sum += u64::from(clock[0]));
        held = held.max(order.held());
    }
    order.finish(&mut |_, clock| sum += u64::from(clock[0]));
    (sum, held)
}

/// The same by the book: a clock a node, merged with the message's at a receive, copied at every event.
fn crdts(nodes: usize, events: usize) -> u64 {
    let mut clocks = vec![VClock::<u8>::new(); nodes];
    let mut queues: Vec<VecDeque<Record>> = vec![VecDeque::new(); nodes];
    let mut sent: HashMap<(u8, u16, u32), VClock<u8>> = HashMap::new();
    let mut sum = 0;
    for (node, record) in Run::new(nodes).take(events) {
        queues[usize::from(node)].push_back(record);
        let mut ready = vec![usize::from(node)];
        while let Some(node) = ready.pop() {
            while let Some(record) = queues[node].front() {
                let (kind, port, message) = (record.event.kind, record.event.arg, record.message.unwrap_or(0));
                if kind == EventKind::Receive {
                    let hop = usize::from(port) - 1;
                    let from = ((node + nodes - hop) % nodes) as u8;
                    let Some(clock) = sent.remove(&(from, port - 2, message)) else { break };
                    clocks[node].merge(clock);
                }
                let tick = clocks[node].inc(node as u8);
                clocks[node].apply(tick);
                let event = clocks[node].clone();
                sum += event.get(&0);
                if kind == EventKind::Send {
                    sent.insert((node as u8, port, message), event);
                    ready.push((node + usize::from(port) + 1) % nodes);
                }
                queues[node].pop_front();
            }
        }
    }
    sum
}

fn read(nodes: usize, events: usize) -> u64 {
    let mut sum = 0;
    for (node, record) in Run::new(nodes).take(events) {
        sum += u64::from(black_box((node, Item::Record(record))).0);
    }
    sum
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [which, nodes, events] => {
            let (nodes, events) = (nodes.parse().unwrap_or(4), events.parse().unwrap_or(0));
            match which.as_str() {
                "ours" => drop(black_box(ours(nodes, events))),
                "crdts" => _ = black_box(crdts(nodes, events)),
                _ => _ = black_box(read(nodes, events)),
            }
        }
        _ => table(),
    }
}

fn table() {
    println!("| nodes | instructions per event | the same with `crdts` | times |\n|---|---|---|---|");
    for nodes in [4, 8, 32] {
        let base = per_event("read", nodes);
        let (ours, crdts) = (per_event("ours", nodes) - base, per_event("crdts", nodes) - base);
        println!("| {nodes} | {ours:.0} | {crdts:.0} | {:.1} |", crdts / ours);
    }
    println!(
        "\n| events | ns per event, 8 nodes | times half as many cost | records and clocks held at most |\n|---|---|---|---|"
    );
    let mut before = None;
    for events in [1_250_000, 2_500_000, 5_000_000, 10_000_000] {
        let best = (0..3).map(|_| {
            let began = Instant::now();
            let (_, held) = black_box(ours(8, events));
            (began.elapsed().as_secs_f64(), held)
        });
        let (seconds, held) = best.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        let ratio = before.map_or_else(String::new, |before: f64| format!("{:.2}", seconds / before));
        println!("| {events} | {:.1} | {ratio} | {held} |", seconds * 1e9 / events as f64);
        before = Some(seconds);
    }
}

/// Instructions for one event more, so that starting and ending do not count.
fn per_event(which: &str, nodes: usize) -> f64 {
    let (few, many) = (6_000, 30_000);
    (count(which, nodes, many) - count(which, nodes, few)) / f64::from(many - few)
}

/// Instructions of a whole run, as callgrind counts them.
fn count(which: &str, nodes: usize, events: i32) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([which, &nodes.to_string(), &events.to_string()])
        .output()
        .expect("valgrind is installed");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let refs = said.lines().find_map(|line| line.split_once("Collected :").map(|(_, count)| count.trim().to_owned()));
    refs.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("callgrind said: {said}"))
}
