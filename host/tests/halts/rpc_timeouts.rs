//! The demo `rpc_timeouts` on two emulated boards: what it prints, what a delayed halt of one node does, and what a crash in
//! the middle of a call does.
use crate::boards::{LIMIT, goes_on_without, wait_for};
use crate::rpc_demo::{Counts, Demo, FAR_CLIENT, NEAR_CLIENT, SERVER};
use anyhow::Context as _;
use stillpoint::Fault;
use stillpoint_core::control::FaultBlock;

/// What the demo prints in a short run is what lies beside its source.
#[test]
fn a_short_run_prints_what_is_expected() -> anyhow::Result<()> {
    let expected = include_str!("../../../target-agent/examples/rpc_timeouts.out");
    let demo = Demo::start(&["calls=20"])?;
    let said = || {
        // Three nodes print, each when it is done. A line that is still being printed does not count.
        let console = demo.machines.iter().map(|machine| machine.console()).collect::<Vec<_>>();
        let whole = console.iter().flat_map(|text| text.split_inclusive('\n')).filter(|line| line.ends_with('\n'));
        let mut lines: Vec<&str> = whole.collect();
        lines.sort_unstable();
        lines.concat()
    };
    let is_enough = |said: &String| said.lines().count() >= expected.lines().count();
    let said = wait_for("every node says what it did", || Ok(Some(said()).filter(is_enough)))?;
    assert_eq!(said.trim_end(), expected.trim_end());
    Ok(())
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
    // Who does not call the server runs on, for ever so long; an answer that was on its way may still come to each client.
    let stopped = demo.counts()?;
    let mut samples = || demo.node(FAR_CLIENT).map(|node| demo.watch(&node, "samples"));
    let before = samples()?;
    wait_for("samples come in while the server is stopped", || Ok((samples()? >= before + 50).then_some(())))?;
    let waiting = demo.counts()?;
    assert!(waiting.calls - stopped.calls <= 2, "a server that stands still answers: {stopped:?}, then {waiting:?}");
    assert_eq!(
        Counts { calls: stopped.calls, ..waiting },
        stopped,
        "nobody's timeout fires because the server stands still"
    );
    demo.system.resume_one(Demo::at(SERVER), LIMIT)?;
    demo.wait_for_calls(3)
}

/// Has a node crash, waits for the halt that its crash brings, and checks that halt and those after it. Returns the fault and
/// what it says.
fn crash(way: &str, node: usize) -> anyhow::Result<(Fault, String)> {
    let mut demo = Demo::start(&[&format!("crash={way}"), &format!("node={node}")])?;
    let halt = demo.system.wait_parked(LIMIT).with_context(|| format!("node {node} crashes: {way}"))?;
    let proof = demo.system.prove().with_context(|| format!("node {node} crashes: {way}"))?;
    assert!(proof.orders.iter().all(|order| usize::from(order[0].0) == node), "began the halt: {:?}", proof.orders);
    let nodes = demo.system.nodes()?;
    let crashed: Vec<usize> = (0..4).filter(|index| nodes[*index].fault.is_some()).collect();
    assert_eq!(crashed, [node], "crashed by {way}");
    let fault = nodes[node].fault.clone().context("no fault")?;
    let text = fault.describe(demo.system.boards()[node / 2].memory())?;
    goes_on_without(&mut demo.system, node, halt)?;
    Ok((fault, text))
}

#[test]
fn a_panic_while_a_call_is_out_or_served_halts_all_nodes_consistently() -> anyhow::Result<()> {
    for (way, node) in [("calling", NEAR_CLIENT), ("calling", FAR_CLIENT), ("serving", SERVER)] {
        assert_eq!(crash(way, node)?.0.cause, FaultBlock::PANIC, "{way} at node {node}");
    }
    Ok(())
}

#[test]
fn a_panic_inside_the_gate_of_calls_halts_all_nodes_consistently() -> anyhow::Result<()> {
    for node in [SERVER, NEAR_CLIENT, FAR_CLIENT] {
        let (_, text) = crash("gate", node)?;
        assert!(text.ends_with(": inside the gate"), "node {node}: {text}");
    }
    Ok(())
}

/// The gate is read-only for the core that crashes, so it faults as it enters the gate, between its halt and its park.
#[test]
fn a_fault_at_the_gate_of_calls_in_the_middle_of_a_halt_is_halted_consistently() -> anyhow::Result<()> {
    for node in [SERVER, NEAR_CLIENT, FAR_CLIENT] {
        let (fault, _) = crash("halting", node)?;
        assert_ne!(fault.cause, FaultBlock::PANIC, "node {node}");
        assert_ne!(fault.status[1], 0, "the address that could not be written: {fault:#x?}");
    }
    Ok(())
}
