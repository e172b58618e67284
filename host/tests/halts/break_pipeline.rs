//! Breakpoints on a pipeline, through which nothing ever flows back.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::boards::{LIMIT, firmware, start, wait_until_started};
use anyhow::ensure;
use qemu_probe::{Link, Machine};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use stillpoint::breakpoint::{self, Agreement, Armed, Order, Waited};
use stillpoint::expr::{compile, parse, resolve};
use stillpoint::{Node, System};
use stillpoint_core::predicate::Detector;
use stillpoint_core::{EventNumber, NodeId};

const PRODUCER: NodeId = NodeId(0);
const SINK: NodeId = NodeId(3);
const AGAINST_THE_STREAM: &str = "sink.count == 5 -> producer:send(out)";

/// A pipeline that has halted itself before the sink's fifth number, so that a breakpoint can be armed in time.
fn halted_pipeline() -> anyhow::Result<([Machine; 2], System)> {
    let elf = firmware("pipeline")?;
    let (one, other) = Link::pair()?;
    let (a, board_a) = start(&elf, one, &["board=A"])?;
    let (b, board_b) = start(&elf, other, &["board=B", "halt-at=2"])?;
    let mut system = System::new(vec![board_a, board_b]);
    wait_until_started(&mut system)?;
    system.wait_parked(LIMIT)?;
    Ok(([a, b], system))
}

/// Arms the breakpoint and lets the pipeline run. Also says what the tool warns of.
fn arm_and_release(system: &mut System, detector: Detector) -> anyhow::Result<(Armed, Vec<String>)> {
    let directory = breakpoint::directory(system)?;
    let resolved = resolve(&parse(AGAINST_THE_STREAM)?, &directory)?;
    let limits = resolved.promise(detector, &directory).limits;
    let armed = breakpoint::arm(system, &compile(&resolved, &directory)?, detector, AGAINST_THE_STREAM, |_| {})?;
    let halt = system.prove()?.halt;
    system.release(system.addresses()[0], halt, LIMIT)?;
    Ok((armed, limits))
}

/// How many events all nodes together have had.
fn events(nodes: &[Node]) -> u32 {
    nodes.iter().map(|node| EventNumber(node.clock[usize::from(node.id.0)]).count()).sum()
}

/// Miller & Choi 3.6 against the order of events themselves: no message flows from the sink to the producer, so nothing that
/// the producer does happened after anything that the sink did.
#[test]
fn against_the_stream_the_causal_detector_never_fires_in_a_hundred_thousand_events() -> anyhow::Result<()> {
    let (_machines, mut system) = halted_pipeline()?;
    let (armed, limits) = arm_and_release(&mut system, Detector::Causal)?;
    assert!(limits.iter().any(|limit| limit.contains("no message gets from sink to producer")), "{limits:?}");
    let before = breakpoint::survey(&mut system)?;
    let sent = |nodes: &[Node]| nodes[0].ports[0].count;
    let (mut reached, mut moved) = (0, Instant::now());
    let after = loop {
        let nodes = breakpoint::survey(&mut system)?;
        ensure!(nodes.iter().all(|node| !node.is_parked()), "it fired");
        let now = events(&nodes) - events(&before);
        if now >= 100_000 {
            break nodes;
        }
        if now > reached {
            (reached, moved) = (now, Instant::now());
        }
        // A machine with other things to do is slow, but never stands still.
        ensure!(moved.elapsed() < LIMIT, "the pipeline stands still after {now} events: {nodes:#?}");
        // Not to wait for anything: a look costs the boards time, and they have much to do until the next one.
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(breakpoint::agreement(&armed, &after), Agreement::Armed);
    assert_ne!(after[usize::from(SINK.0)].slots[0].satisfied[0], EventNumber(0), "the first stage was satisfied");
    assert!(sent(&after) > sent(&before), "and the second happened many times: {}", sent(&after));
    assert_eq!(after[usize::from(PRODUCER.0)].slots[0].satisfied[1], EventNumber(0), "but did not count");
    Ok(())
}

#[test]
fn against_the_stream_the_marker_detector_fires_and_the_two_events_are_concurrent() -> anyhow::Result<()> {
    let (_machines, mut system) = halted_pipeline()?;
    let (armed, limits) = arm_and_release(&mut system, Detector::Marker)?;
    assert!(limits.iter().any(|limit| limit.contains("may report too much")), "{limits:?}");
    let never = AtomicBool::new(false);
    let waited = breakpoint::wait(&mut system, &armed, None, Some(LIMIT), &never, |_| {})?;
    let Waited::Fired(fired) = waited else { anyhow::bail!("it did not fire: {waited:?}") };
    let shown: Vec<_> = fired.satisfied.iter().map(|event| (event.stage, event.node, event.order)).collect();
    assert_eq!(shown, [(1, SINK, Order::Concurrent), (2, PRODUCER, Order::Last)], "the marker made the order");
    let proof = fired.proof.map_err(|why| anyhow::anyhow!("{why}"))?;
    assert_eq!(proof.initiators, [PRODUCER]);
    Ok(())
}
