//! What the analysis costs: the extraction and analysis of every demo, and generated graphs of growing size.
//!
//! `cargo bench -p stillpoint-analysis`
#[path = "../tests/simultaneous/demos.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod demos;

use std::time::{Duration, Instant};
use stillpoint_analysis::{
    Action, Builder, ChannelId, Component, Flow, Interactions, Pairs, Program, WatchId, recognise,
};
use stillpoint_core::NodeId;

const NODES: u8 = 8;

fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed())
}

/// A ring of nodes, each with one endless loop of branches, sends, receives and sets, of so many statements in all.
fn ring(statements: usize) -> (Program, Vec<Component>) {
    let mut builder = Builder::default();
    let nodes: Vec<_> = (0..NODES).map(NodeId).collect();
    let next = |node: NodeId| NodeId((node.0 + 1) % NODES);
    let channels: Vec<ChannelId> =
        nodes.iter().map(|node| builder.channel(&format!("c{}", node.0), *node, next(*node))).collect();
    let watches: Vec<WatchId> = nodes.iter().map(|node| builder.watch(&format!("w{}", node.0), *node)).collect();
    for (at, node) in nodes.iter().enumerate() {
        let task = builder.task(*node, false);
        let head = builder.entry(task);
        let (out, into) = (channels[at], channels[(at + nodes.len() - 1) % nodes.len()]);
        let mut last = vec![head];
        for step in 0..statements / nodes.len() - 1 {
            let action = match step % 5 {
                0 => Action::Receive(into),
                1 => Action::Write(watches[at]),
                2 => Action::Local,
                3 => Action::Wait,
                _ => Action::Send(out),
            };
            let id = builder.statement(task, action);
            last.iter().for_each(|before| builder.edge(*before, id));
            // A branch past each wait.
            last = if step % 5 == 3 { vec![last[0], id] } else { vec![id] };
        }
        last.iter().for_each(|before| builder.edge(*before, head));
    }
    let component = |at: usize| Component { node: nodes[at], watches: vec![watches[at]], monotonic: false };
    (builder.finish().expect("the generator keeps to the rules"), vec![component(0), component(4)])
}

fn main() {
    let (statements, all) = timed(|| {
        let mut statements = 0;
        for demo in demos::all() {
            let found = demo.extract();
            let program = &found.program;
            statements += program.statements().count();
            let (flow, pairs) = (Flow::new(program), Pairs::new(program));
            std::hint::black_box(Interactions::new(program, &flow, &pairs));
            let watches = program.watches().iter().enumerate();
            let components: Vec<_> = watches
                .map(|(at, watch)| Component { node: watch.node, watches: vec![WatchId(at as u32)], monotonic: false })
                .collect();
            for pair in components.windows(2).filter(|pair| pair[0].node != pair[1].node) {
                std::hint::black_box(recognise(program, pair));
            }
        }
        statements
    });
    println!("all {} demos, {statements} statements: {:.1} ms", demos::all().len(), all.as_secs_f64() * 1e3);
    println!("{:>10} {:>12} {:>12} {:>12} {:>14}", "statements", "flow ms", "pairs ms", "sets ms", "recognise ms");
    for size in [100, 300, 1_000, 3_000, 10_000] {
        let (program, event) = ring(size);
        let (flow, flow_time) = timed(|| Flow::new(&program));
        let (pairs, pairs_time) = timed(|| Pairs::new(&program));
        let (_, recognise_time) = timed(|| std::hint::black_box(recognise(&program, &event)));
        let (_, sets_time) = timed(|| std::hint::black_box(Interactions::new(&program, &flow, &pairs)));
        let [flow, pairs, sets, recognise] =
            [flow_time, pairs_time, sets_time, recognise_time].map(|time| time.as_secs_f64() * 1e3);
        let count = program.statements().count();
        println!("{count:>10} {flow:>12.1} {pairs:>12.1} {sets:>12.1} {recognise:>14.1}");
    }
}
