//! Crashes of every kind, on every node of a pipeline, in every place that could hang another core: the system stops at
//! that moment, proves it, and can be read, released and halted again.
use crate::boards::{self, LIMIT, first_watch, goes_on_without, report, two_boards_with, wait_until};
use anyhow::Context as _;
use object::{Object as _, ObjectSymbol as _};
use std::time::Instant;
use stillpoint::{Fault, NodeAddress, System};
use stillpoint_core::control::FaultBlock;

/// Where a node of the pipeline is, and its number.
const LEFT0: (NodeAddress, usize) = (NodeAddress { board: 0, core: 0 }, 0);
const LEFT1: (NodeAddress, usize) = (NodeAddress { board: 0, core: 1 }, 1);
const RIGHT0: (NodeAddress, usize) = (NodeAddress { board: 1, core: 0 }, 2);
const RIGHT1: (NodeAddress, usize) = (NodeAddress { board: 1, core: 1 }, 3);

/// The number of the exception that every fault of the hardware becomes.
const HARD_FAULT: u32 = 3;

/// Has a node crash, and checks all there is to check. Returns what it left behind.
fn crash((at, node): (NodeAddress, usize), way: &str) -> anyhow::Result<(Fault, String)> {
    let words = [format!("crash={way}"), format!("core={}", at.core)];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let nothing: &[&str] = &[];
    let (a, b) = if at.board == 0 { (&*words, nothing) } else { (nothing, &*words) };
    let (_machines, mut system) = two_boards_with("faults", [a, b])?;
    // Nobody commands a halt: the crash brings it.
    let halt = system.wait_parked(LIMIT).with_context(|| format!("the crash by {way}"))?;
    let proof = system.prove()?;
    assert_eq!(proof.halt, halt);
    assert!(proof.orders.iter().all(|order| usize::from(order[0].0) == node), "who began: {:?}", proof.orders);
    let nodes = system.nodes()?;
    let crashed: Vec<usize> = (0..4).filter(|index| nodes[*index].fault.is_some()).collect();
    assert_eq!(crashed, [node], "who crashed");
    let fault = nodes[node].fault.clone().context("no fault")?;
    let text = fault.describe(system.boards()[at.board].memory())?;
    goes_on_without(&mut system, node, halt)?;
    Ok((fault, text))
}

#[test]
fn a_panic_at_the_end_of_the_pipeline_stops_its_producer_and_says_what_and_where() -> anyhow::Result<()> {
    let (fault, text) = crash(RIGHT1, "panic")?;
    assert_eq!(fault.cause, FaultBlock::PANIC);
    assert!(text.starts_with("panic at ") && text.contains("examples/faults.rs:"), "{text}");
    assert!(text.ends_with(": message 20 was one too many"), "{text}");
    Ok(())
}

#[test]
fn a_hard_fault_in_the_middle_of_the_pipeline_stops_it_both_ways_and_names_the_instruction() -> anyhow::Result<()> {
    const UNDEFINED_INSTRUCTION: u32 = 1 << 16;
    for node in [LEFT0, RIGHT0] {
        let (fault, _) = crash(node, "hardfault")?;
        assert_eq!((fault.cause, fault.status[0]), (HARD_FAULT, UNDEFINED_INSTRUCTION));
        let [pc, lr, sp, _] = fault.registers;
        assert!((0x1000_0000..0x1040_0000).contains(&pc) && lr != 0 && sp != 0, "{fault:#x?}");
    }
    Ok(())
}

const STACK_OVERFLOW: u32 = 1 << 20;

#[test]
fn a_full_stack_is_a_crash_like_another_on_either_core() -> anyhow::Result<()> {
    for node in [LEFT1, RIGHT0] {
        let (fault, _) = crash(node, "overflow")?;
        assert_eq!((fault.cause, fault.status[0] & STACK_OVERFLOW), (HARD_FAULT, STACK_OVERFLOW), "{fault:#x?}");
    }
    Ok(())
}

#[test]
fn a_crash_that_the_firmware_declares_carries_its_code() -> anyhow::Result<()> {
    let (fault, text) = crash(LEFT1, "declared")?;
    assert_eq!((fault.cause, fault.status[0]), (FaultBlock::DECLARED, 0xC0DE));
    assert_eq!(text, "declared by the firmware, code 0xc0de");
    Ok(())
}

#[test]
fn a_panic_in_an_interrupt_handler_stops_the_system() -> anyhow::Result<()> {
    for node in [RIGHT0, LEFT1] {
        let (_, text) = crash(node, "interrupt")?;
        assert!(text.ends_with(": a handler that nobody tried"), "{text}");
    }
    Ok(())
}

/// The message that was being sent is counted, stamped and logged, and not in its ring: the certificate must balance.
#[test]
fn a_fault_in_the_middle_of_an_event_is_counted_from_the_rings() -> anyhow::Result<()> {
    for node in [LEFT1, RIGHT0, LEFT0, RIGHT1] {
        let (fault, _) = crash(node, "section")?;
        assert_eq!(fault.cause, HARD_FAULT);
        assert_ne!(fault.status[1], 0, "the address that could not be written: {fault:#x?}");
    }
    Ok(())
}

#[test]
fn a_crash_while_holding_the_cross_core_lock_does_not_hang_the_other_core() -> anyhow::Result<()> {
    for (node, way) in
        [(LEFT0, "lock-panic"), (RIGHT1, "lock-panic"), (LEFT1, "lock-hardfault"), (RIGHT0, "lock-hardfault")]
    {
        crash(node, way)?;
    }
    Ok(())
}

/// How often the other core has had the lock, by its own count.
fn turns(system: &mut System, at: NodeAddress, nodes: &[stillpoint::Node]) -> i32 {
    let firmware = system.boards()[at.board].firmware();
    let watches = &nodes[2 * at.board + 1 - at.core].watches;
    watches.iter().find(|(name, _)| firmware.name("watch", *name) == Some("turns")).map_or(0, |(_, value)| *value)
}

#[test]
fn the_lock_of_a_core_that_crashed_is_free_for_the_other_core() -> anyhow::Result<()> {
    for ((at, _), way) in [(RIGHT0, "crash=lock-panic"), (RIGHT1, "crash=lock-hardfault")] {
        let core = format!("core={}", at.core);
        let (_machines, mut system) = two_boards_with("faults", [&[], &["lock=busy", way, &core]])?;
        let halt = system.wait_parked(LIMIT)?;
        system.prove()?;
        let nodes = system.nodes()?;
        let before = turns(&mut system, at, &nodes);
        system.release(at, halt, LIMIT)?;
        let until = Instant::now() + LIMIT;
        loop {
            let nodes = report(&mut system)?;
            if turns(&mut system, at, &nodes) > before + 1 {
                break;
            }
            anyhow::ensure!(Instant::now() < until, "the other core waits for the lock: {way} on {core}");
        }
    }
    Ok(())
}

/// What is upstream of a crashed node stands in back-pressure after the release; what is downstream takes what is left.
#[test]
fn the_rest_of_the_pipeline_runs_dry_after_a_crash_and_a_release() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&["crash=panic"], &[]])?;
    let halt = system.wait_parked(LIMIT)?;
    system.release(RIGHT1.0, halt, LIMIT)?;
    // The twentieth was the one that it crashed at.
    wait_until(&mut system, "the sink takes all that was sent", |nodes| first_watch(&nodes[RIGHT1.1]) == 19)?;
    let proof = system.halt(RIGHT1.0, LIMIT)?;
    let left: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
    assert!(left > 0, "the producer's messages stay in flight");
    Ok(())
}

/// The stack that is there for the core whose own one is full: all of it, as it is now.
fn crash_stack(system: &mut System, board: usize) -> anyhow::Result<Vec<u32>> {
    let bytes = std::fs::read(boards::firmware("faults")?)?;
    let file = object::File::parse(&*bytes)?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("STILLPOINT_CRASH_STACK"));
    let symbol = symbol.context("no stack for crashes")?;
    let mut words = vec![0; symbol.size() as usize / 4];
    system.boards()[board].memory().read(symbol.address() as u32, &mut words)?;
    Ok(words)
}

/// Memory of the emulated board is zero at first, and the start of the program leaves this stack alone.
#[test]
fn a_third_of_the_crash_stack_is_margin_and_only_a_core_without_room_of_its_own_takes_it() -> anyhow::Result<()> {
    for (way, takes_it) in [("crash=overflow", true), ("crash=hardfault", false), ("crash=panic", false)] {
        let (_machines, mut system) = two_boards_with("faults", [&[way], &[]])?;
        let halt = system.wait_parked(LIMIT)?;
        // What a crashed node does afterwards counts as well.
        goes_on_without(&mut system, LEFT0.1, halt)?;
        let stack = crash_stack(&mut system, 0)?;
        let untouched = stack.iter().take_while(|word| **word == 0).count();
        let (used, size) = (4 * (stack.len() - untouched), 4 * stack.len());
        println!("{way}: {used} of {size} bytes");
        assert_eq!(used > 0, takes_it, "{way}: {used} bytes");
        assert!(3 * used <= 2 * size, "{way} takes {used} of {size} bytes: make it larger");
    }
    Ok(())
}

/// There is one stack for the crashes of both cores, and the first one keeps it.
#[test]
fn two_cores_whose_stacks_are_both_full_both_say_so() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with("faults", [&["crash=overflow", "core=both"], &[]])?;
    let halt = system.wait_parked(LIMIT)?;
    let crashed = |nodes: &[stillpoint::Node]| nodes.iter().filter(|node| node.fault.is_some()).count();
    if crashed(&system.nodes()?) == 1 {
        // The other one was halted before it came so far.
        system.release(RIGHT0.0, halt, LIMIT)?;
        wait_until(&mut system, "the other core crashes", |nodes| crashed(nodes) == 2)?;
        system.wait_parked(LIMIT)?;
    }
    let nodes = system.nodes()?;
    for (_, node) in [LEFT0, LEFT1] {
        let fault = nodes[node].fault.as_ref().context("no fault")?;
        assert_eq!((fault.cause, fault.status[0] & STACK_OVERFLOW), (HARD_FAULT, STACK_OVERFLOW), "{fault:#x?}");
    }
    system.prove()?;
    Ok(())
}
