//! Breakpoint expressions on four nodes of two emulated boards that pass a token.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::boards::{self, LIMIT, two_boards, wait_for};
use anyhow::Context as _;
use std::sync::atomic::AtomicBool;
use stillpoint::breakpoint::{self, Agreement, Armed, BreakError, Fired, Order, Waited};
use stillpoint::expr::{Directory, Resolved, compile, parse, resolve};
use stillpoint::{BoardError, NodeAddress, System, SystemError};
use stillpoint_core::control::{ControlLayout, Refusal, RefusalCode, StateCode};
use stillpoint_core::predicate::{Detector, Generation, Op, ProgramBuilder, SlotId};
use stillpoint_core::{Command, EventKind, NodeId, PortSet};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Waits until every node has opened its watch: only then can conditions name it.
fn names(system: &mut System) -> anyhow::Result<Directory> {
    wait_for("every node opens its watch", || {
        let directory = breakpoint::directory(system)?;
        Ok(directory.nodes.iter().all(|node| !node.watches.is_empty()).then_some(directory))
    })
}

fn arm(system: &mut System, text: &str) -> anyhow::Result<(Armed, Resolved)> {
    let directory = names(system)?;
    let resolved = resolve(&parse(text)?, &directory)?;
    let compiled = compile(&resolved, &directory)?;
    Ok((breakpoint::arm(system, &compiled, Detector::Causal, text, |_| {})?, resolved))
}

fn wait(system: &mut System, armed: &Armed) -> anyhow::Result<Fired> {
    match breakpoint::wait(system, armed, None, Some(LIMIT), &NEVER, |_| {})? {
        Waited::Fired(fired) => Ok(fired),
        other => anyhow::bail!("the breakpoint did not fire: {other:?}"),
    }
}

fn release(system: &mut System, fired: &Fired) -> anyhow::Result<()> {
    let first = system.addresses()[0];
    Ok(system.release(first, fired.halt, LIMIT)?)
}

const LEFT0: NodeId = NodeId(0);
const RIGHT1: NodeId = NodeId(3);

#[test]
fn a_linked_breakpoint_stops_all_nodes_consistently_and_shows_the_first_event_before_the_second() -> anyhow::Result<()>
{
    let (_machines, mut system) = two_boards("token_ring")?;
    for round in 0..10 {
        let (armed, _) = arm(&mut system, "left0:send(ring) -> right1.holding == 1")?;
        assert_eq!(armed.generation, round + 1, "each use of a slot has a generation of its own");
        let fired = wait(&mut system, &armed).with_context(|| format!("round {round}"))?;
        let [send, take] = fired.satisfied.as_slice() else { anyhow::bail!("two stages, two events: {fired:?}") };
        assert_eq!((send.stage, send.node, send.order), (1, LEFT0, Order::Before));
        assert_eq!((take.stage, take.node, take.order), (2, RIGHT1, Order::Last));
        let nodes = system.nodes()?;
        assert!(nodes.iter().all(|node| node.is_parked() && node.last_halt == fired.halt));
        // It stopped at the very event: the last that right1 did, with the watch as the condition wants it.
        assert_eq!(nodes[3].clock[3], take.number.0);
        assert_eq!(nodes[3].watches[0].1, 1);
        assert!(nodes[3].clock[0] >= send.number.0, "by vector clocks");
        let proof = fired.proof.as_ref().map_err(ToString::to_string).expect("one consistent moment");
        assert_eq!(proof.channels.len(), 6);
        assert_eq!(proof.initiators, [RIGHT1], "the node that saw the last stage halts first");
        assert_eq!(breakpoint::agreement(&armed, &nodes), Agreement::Fired);
        breakpoint::remove(&mut system, SlotId::ALL[0])?;
        release(&mut system, &fired)?;
    }
    Ok(())
}

#[test]
fn an_occurrence_an_alternative_and_a_third_stage_count_as_written() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    let text = "left0:trace(\"token taken\")^3 -> left1.holding == 1 | right0:fault -> right0:recv -> left0:send(ring)";
    let (armed, _) = arm(&mut system, text)?;
    let fired = wait(&mut system, &armed)?;
    let stages: Vec<_> = fired.satisfied.iter().map(|event| (event.stage, event.node.0)).collect();
    assert_eq!(stages, [(1, 0), (2, 1), (3, 2), (4, 0)]);
    let (first, last) = (&fired.satisfied[0], &fired.satisfied[3]);
    assert!(fired.satisfied[..3].iter().all(|event| event.order == Order::Before));
    assert!(last.number.is_newer_than(first.number), "the token went round in between");
    Ok(())
}

/// A probe that comes later finds everything: the nodes halt each other, and remember why.
#[test]
fn a_breakpoint_that_fires_with_no_host_attached_parks_the_system_and_is_found_later() -> anyhow::Result<()> {
    let (machines, mut system) = two_boards("token_ring")?;
    let (armed, _) = arm(&mut system, "left0:send(ring)^20 -> right1.holding == 1")?;
    let blocks: Vec<u32> = (0..4).map(|node| system.boards()[node / 2].control_block(node % 2).0).collect();
    drop(system);
    // Nobody is attached: only the memory of the machines is looked at, from outside.
    let state = |node: usize| {
        let (memory, mut word) = (machines[node / 2].shared_ram().context("the machine shares its memory")?, [0; 4]);
        memory.read(blocks[node] + ControlLayout::PHASE as u32, &mut word)?;
        anyhow::Ok(StateCode::from_word(u32::from_le_bytes(word)))
    };
    wait_for("every node parks", || {
        let states = (0..4).map(state).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(states.iter().all(|state| *state == Some(StateCode::Parked)).then_some(()))
    })?;
    let mut system = boards::attach_again(&machines, "token_ring")?;
    let Some(Waited::Fired(fired)) = breakpoint::look(&mut system, &armed)? else { anyhow::bail!("it did not fire") };
    assert_eq!(fired.satisfied.iter().map(|event| event.order).collect::<Vec<_>>(), [Order::Before, Order::Last]);
    release(&mut system, &fired)?;
    Ok(())
}

/// The code with which a node refused a command.
fn refusal(result: Result<(), SystemError>) -> Option<Refusal> {
    match result {
        Err(SystemError::Board { source: BoardError::Refused { refusal, .. }, .. }) => Some(refusal),
        _ => None,
    }
}

#[test]
fn a_program_for_a_watch_or_a_port_that_does_not_exist_is_refused_by_the_node_itself() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    names(&mut system)?;
    let at: NodeAddress = system.addresses()[1];
    let mut install = |bytes: &[u8]| {
        let (slot, generation, detector) = (SlotId::ALL[2], Generation(1), Detector::Causal);
        refusal(system.command(at, &Command::Install { slot, generation, detector, program: bytes }))
    };
    let watch = ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Watch(0), Op::Watch(5), Op::Add]).finish()?;
    assert_eq!(install(watch.as_bytes()), Some(Refusal { code: RefusalCode::NoSuchWatch, value: 5 }));
    let port = ProgramBuilder::new(1).push_event_term(1, 1, EventKind::Send, Some(5)).finish()?;
    assert_eq!(install(port.as_bytes()), Some(Refusal { code: RefusalCode::NoSuchPort, value: 5 }));
    assert_eq!(install(&[0x11, 0x11, 2, 0x08, 0x10]), Some(Refusal { code: RefusalCode::BadProgram, value: 4 }));
    let enable = system
        .command(at, &Command::Enable { slot: SlotId::ALL[2], generation: Generation(1), silent: PortSet::EMPTY });
    assert_eq!(refusal(enable).map(|refusal| refusal.code), Some(RefusalCode::NotInstalled));
    let good = ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Watch(0)]).finish()?;
    let (slot, generation, detector) = (SlotId::ALL[2], Generation(1), Detector::Causal);
    system.command(at, &Command::Install { slot, generation, detector, program: good.as_bytes() })?;
    Ok(())
}

#[test]
fn four_breakpoints_fit_a_fifth_is_refused_and_a_removed_one_makes_room_and_never_fires() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    // A fault that does not happen, so that they stay armed.
    let armed: Vec<Armed> =
        (0..4).map(|_| Ok(arm(&mut system, "left1:fault -> left0:fault")?.0)).collect::<anyhow::Result<_>>()?;
    assert_eq!(armed.iter().map(|armed| armed.slot).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let fifth = arm(&mut system, "left1:fault").unwrap_err();
    assert!(matches!(fifth.downcast_ref(), Some(BreakError::NoSlot)), "{fifth:?}");
    breakpoint::remove(&mut system, SlotId::ALL[1])?;
    assert_eq!(breakpoint::agreement(&armed[1], &system.nodes()?), Agreement::Gone);
    let (again, _) = arm(&mut system, "right0.holding == 1")?;
    assert_eq!((again.slot, again.generation), (1, 2));
    let fired = wait(&mut system, &again)?;
    assert_eq!(fired.satisfied.len(), 1);
    assert_eq!(breakpoint::agreement(&armed[0], &system.nodes()?), Agreement::Armed, "the others stay as they were");
    Ok(())
}
