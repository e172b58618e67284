//! A board that is reset forgets its breakpoints: the host notices, says so, and arms it again.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::boards::{LIMIT, two_boards};
use std::sync::atomic::{AtomicBool, Ordering};
use stillpoint::System;
use stillpoint::breakpoint::{self, Agreement, Armed, Blind, Order, Waited};
use stillpoint::expr::{Resolved, compile, parse, resolve};
use stillpoint_core::NodeId;
use stillpoint_core::predicate::Detector;

/// The register by which any Cortex-M is reset, and what to write there.
const AIRCR: (u32, u32) = (0xE000_ED0C, 0x05FA_0004);

fn reset_board_b(system: &mut System) -> anyhow::Result<()> {
    let (address, value) = AIRCR;
    Ok(system.boards()[1].memory().write(address, &[value])?)
}

fn arm(system: &mut System, text: &str) -> anyhow::Result<(Armed, Resolved)> {
    let directory = breakpoint::directory(system)?;
    let resolved = resolve(&parse(text)?, &directory)?;
    let compiled = compile(&resolved, &directory)?;
    Ok((breakpoint::arm(system, &compiled, Detector::Causal, text, |_| {})?, resolved))
}

#[test]
fn a_node_that_was_reset_is_armed_again_and_the_blind_interval_is_told() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    let (armed, resolved) = arm(&mut system, "left0:fault -> right0:fault")?;
    reset_board_b(&mut system)?;
    let (enough, mut told) = (AtomicBool::new(false), Vec::new());
    let waited = breakpoint::wait(&mut system, &armed, Some(&resolved), Some(LIMIT), &enough, |blind: Blind| {
        told.push(blind.node);
        enough.store(told.len() == 2, Ordering::Relaxed);
    })?;
    assert!(matches!(waited, Waited::Interrupted), "{waited:?}");
    told.sort_by_key(|node| node.0);
    assert_eq!(told, [NodeId(2), NodeId(3)], "the two nodes of board B");
    let nodes = breakpoint::survey(&mut system)?;
    assert_eq!(breakpoint::agreement(&armed, &nodes), Agreement::Armed);
    Ok(())
}

#[test]
fn a_reset_that_was_asked_for_halts_the_system_after_it() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    let (armed, resolved) = arm(&mut system, "right0:reset | right1:reset")?;
    reset_board_b(&mut system)?;
    let never = AtomicBool::new(false);
    let waited = breakpoint::wait(&mut system, &armed, Some(&resolved), Some(LIMIT), &never, |_| {})?;
    let Waited::Fired(fired) = waited else { anyhow::bail!("it did not fire: {waited:?}") };
    let [event] = fired.satisfied.as_slice() else { anyhow::bail!("one event: {fired:?}") };
    assert!(event.node == NodeId(2) || event.node == NodeId(3));
    assert_eq!((event.stage, event.order), (1, Order::Last));
    assert!(system.nodes()?.iter().all(|node| node.is_parked()));
    Ok(())
}
