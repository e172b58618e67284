//! The demo `rpc_timeouts` on two emulated boards: what it prints, and what a delayed halt of one node does.
mod boards;
mod rpc_demo;

use anyhow::ensure;
use boards::LIMIT;
use rpc_demo::{Demo, FAR_CLIENT, SERVER};
use std::time::{Duration, Instant};

/// What the demo prints in a short run is what lies beside its source.
#[test]
fn a_short_run_prints_what_is_expected() -> anyhow::Result<()> {
    let expected = include_str!("../../target-agent/examples/rpc_timeouts.out");
    let demo = Demo::start(&["calls=20"])?;
    let until = Instant::now() + LIMIT;
    loop {
        let mut lines: Vec<String> = demo
            .machines
            .iter()
            .flat_map(|machine| machine.console().lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        // Three nodes print, each when it is done.
        lines.sort();
        if lines.len() >= expected.lines().count() || Instant::now() > until {
            assert_eq!(lines.join("\n"), expected.trim_end());
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One node stands still; who does not call it runs on, who does waits, and the host knows what it cannot protect.
#[test]
fn a_delayed_halt_stops_one_node_and_those_that_would_call_it() -> anyhow::Result<()> {
    let mut demo = Demo::start(&[])?;
    demo.wait_for_calls(3)?;
    for node in demo.system.nodes()? {
        let plain = demo.system.unprotected(Demo::at(node.id.0.into()))?;
        let names: Vec<_> = plain.iter().map(|port| demo.firmware.name("port", port.name)).collect();
        let expected: &[_] = if node.id.0 >= 2 { &[Some("samples")] } else { &[] };
        assert_eq!(names, expected, "the plain ports of node {}", node.id.0);
    }
    demo.system.suspend(Demo::at(SERVER), LIMIT)?;
    // Both clients come to where they wait for the server.
    let samples = |demo: &mut Demo| demo.node(FAR_CLIENT).map(|node| demo.watch(&node, "samples"));
    let before = samples(&mut demo)?;
    let until = Instant::now() + LIMIT;
    while samples(&mut demo)? < before + 40 {
        ensure!(Instant::now() < until, "no samples come in while the server is stopped");
        std::thread::sleep(Duration::from_millis(20));
    }
    let waiting = demo.counts()?;
    while samples(&mut demo)? < before + 50 {
        ensure!(Instant::now() < until, "no more samples come in while the server is stopped");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(demo.counts()?, waiting, "nobody gets an answer or a timeout from a server that stands still");
    demo.system.resume_one(Demo::at(SERVER), LIMIT)?;
    demo.wait_for_calls(3)
}
