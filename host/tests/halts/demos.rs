//! Every demo does what its opening comment says, with the kit and without it.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
mod text;

use crate::boards::{LIMIT, attach, firmware, plain_firmware, start, two_boards, wait_until_started};
use anyhow::{Context as _, ensure};
use qemu_probe::{Link, LinkEnd, Machine, MachineKind, Serial};
use std::path::Path;
use std::time::Instant;
use stillpoint::{Node, NodeAddress, System};
use stillpoint_core::NodeId;
use text::TextLog;

/// A demo, the names of its nodes, and what it says in its first laps.
struct Demo {
    name: &'static str,
    nodes: [&'static str; 4],
    expected: &'static str,
}

const TOKEN_RING: Demo = Demo {
    name: "token_ring",
    nodes: ["left0", "left1", "right0", "right1"],
    expected: include_str!("../../../target-agent/examples/token_ring.out"),
};
const PIPELINE: Demo = Demo {
    name: "pipeline",
    nodes: ["producer", "filter", "square", "sink"],
    expected: include_str!("../../../target-agent/examples/pipeline.out"),
};

const SOLVER: Demo = Demo {
    name: "solver",
    nodes: ["solve", "mult1", "mult2", "mult3"],
    expected: include_str!("../../../target-agent/examples/solver.out"),
};

const TWO_PHASE: Demo = Demo {
    name: "two_phase",
    nodes: ["coordinator", "store1", "store2", "store3"],
    expected: include_str!("../../../target-agent/examples/two_phase.out"),
};

const BARRIER: Demo = Demo {
    name: "barrier",
    nodes: ["gate", "near", "wire", "far"],
    expected: include_str!("../../../target-agent/examples/barrier.out"),
};

/// A machine that runs firmware to which no host attaches.
fn start_alone(elf: &Path, end: LinkEnd, word: &str) -> anyhow::Result<Machine> {
    let machine = Machine::builder(MachineKind::Mps2An521).elf(elf).serial(Serial::Null).serial(Serial::Link(end));
    Ok(machine.shared_ram(true).words([word]).gdb(false).start()?)
}

/// Boards A and B with words of their own besides their letters.
fn two_boards_with(demo: &Demo, words: &[&str]) -> anyhow::Result<([Machine; 2], System)> {
    let elf = firmware(demo.name)?;
    let (one, other) = Link::pair()?;
    let (a, board_a) = start(&elf, one, &[&["board=A"], words].concat())?;
    let (b, board_b) = start(&elf, other, &[&["board=B"], words].concat())?;
    Ok(([a, b], System::new(vec![board_a, board_b])))
}

fn watch(system: &mut System, node: &Node, board: usize, name: &str) -> Option<i32> {
    let firmware = system.boards()[board].firmware();
    node.watches.iter().find(|(number, _)| firmware.name("watch", *number) == Some(name)).map(|(_, value)| *value)
}

#[test]
fn each_demo_says_what_its_out_file_has() -> anyhow::Result<()> {
    for demo in [TOKEN_RING, PIPELINE, SOLVER, TWO_PHASE, BARRIER] {
        let (machines, _system) = two_boards(demo.name)?;
        let text = TextLog::of(&firmware(demo.name)?)?;
        assert_eq!(text.transcript(&machines, &demo.nodes, demo.expected)?, demo.expected, "{}", demo.name);
    }
    Ok(())
}

#[test]
fn each_demo_says_the_same_with_the_kit_compiled_out() -> anyhow::Result<()> {
    for demo in [TOKEN_RING, PIPELINE, SOLVER, TWO_PHASE, BARRIER] {
        let elf = plain_firmware(demo.name)?;
        let (one, other) = Link::pair()?;
        let machines = [start_alone(&elf, one, "board=A")?, start_alone(&elf, other, "board=B")?];
        let said = TextLog::of(&elf)?.transcript(&machines, &demo.nodes, demo.expected)?;
        assert_eq!(said, demo.expected, "{} without the kit", demo.name);
    }
    Ok(())
}

/// The sink halts the system by itself; the host only looks. Nothing flows from the sink to the producer.
#[test]
fn a_halt_at_the_end_of_the_pipeline_stops_its_beginning_with_no_command_of_a_host() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards_with(&PIPELINE, &["halt-at=40"])?;
    let halt = system.wait_parked(LIMIT)?;
    let proof = system.prove()?;
    assert_eq!(proof.halt, halt);
    assert_eq!(proof.initiators, [NodeId(3)], "the sink halted first");
    let nodes = system.nodes()?;
    let counts: Vec<_> = (0..4).map(|node| watch(&mut system, &nodes[node], node / 2, "count")).collect();
    let [Some(producer), Some(filter), Some(square), Some(sink)] = counts[..] else { anyhow::bail!("{counts:?}") };
    assert_eq!(sink, 40);
    assert!(producer >= 3 * filter && filter >= square && square >= sink, "{counts:?}");
    system.release(NodeAddress { board: 0, core: 0 }, halt, LIMIT).context("the producer lets everybody go on")?;
    Ok(())
}

#[test]
fn the_seeded_bug_of_the_token_ring_makes_a_second_token() -> anyhow::Result<()> {
    let (machines, mut system) = two_boards_with(&TOKEN_RING, &["bug=duplicate"])?;
    wait_until_started(&mut system)?;
    let text = TextLog::of(&firmware(TOKEN_RING.name)?)?;
    let until = Instant::now() + LIMIT;
    while !text.lines(&machines[0])?[1].iter().any(|line| line == "lap 5 came twice") {
        ensure!(Instant::now() < until, "left1 does not see lap 5 twice within {LIMIT:?}");
    }
    // Both tokens are under way from now on: some consistent halt finds both in channels.
    let mut most = 0;
    while most < 2 {
        let proof = system.halt(NodeAddress { board: 0, core: 1 }, LIMIT)?;
        most = most.max(proof.channels.iter().map(|channel| channel.in_flight.len()).sum());
        system.release(NodeAddress { board: 1, core: 0 }, proof.halt, LIMIT)?;
        ensure!(Instant::now() < until, "no halt finds two tokens in flight within {LIMIT:?}");
    }
    assert_eq!(most, 2, "the bug makes one token more, not two");
    Ok(())
}

/// What the program of `docs/INSTRUMENT.md` says, instrumented or not.
const GUIDE: &str = include_str!("../../../target-agent/examples/guide/guide.out");

fn one_board(elf: &Path, gdb: bool) -> anyhow::Result<Machine> {
    Ok(Machine::builder(MachineKind::Mps2An521).elf(elf).shared_ram(true).gdb(gdb).start()?)
}

#[test]
fn the_guides_program_says_the_same_before_and_after_and_can_be_halted_then() -> anyhow::Result<()> {
    let names = ["meter", "averager"];
    let before = firmware("guide_before")?;
    let machine = one_board(&before, false)?;
    assert_eq!(TextLog::of(&before)?.transcript(&[machine], &names, GUIDE)?, GUIDE, "before");
    let after = firmware("guide_after")?;
    let machine = one_board(&after, true)?;
    let mut system = System::new(vec![attach(&machine, &after)?]);
    wait_until_started(&mut system)?;
    let first = NodeAddress { board: 0, core: 0 };
    for _ in 0..3 {
        let proof = system.halt(NodeAddress { board: 0, core: 1 }, LIMIT)?;
        assert_eq!(proof.channels.len(), 2);
        system.release(first, proof.halt, LIMIT)?;
    }
    assert_eq!(TextLog::of(&after)?.transcript(&[machine], &names, GUIDE)?, GUIDE, "after");
    Ok(())
}

#[test]
fn every_piece_of_rust_in_the_guide_is_in_the_program_it_leads_to() {
    let guide = include_str!("../../../docs/INSTRUMENT.md");
    let program = include_str!("../../../target-agent/examples/guide/after.rs");
    let pieces: Vec<&str> = guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(pieces.len() > 8, "the guide has its pieces in blocks of rust");
    for piece in pieces {
        assert!(program.contains(piece), "not in examples/guide/after.rs:\n{piece}");
    }
}
