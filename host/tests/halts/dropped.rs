//! What is lost on the line between two boards delays a halt or a resume, and prevents none; garbage does no harm.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
mod wire;

use crate::boards::{LIMIT, boards_on, firmware, start, wait_until};
use anyhow::Context as _;
use qemu_probe::Machine;
use std::time::{Duration, Instant};
use stillpoint::{Node, NodeAddress, System};
use stillpoint_core::{Command, HaltId};
use wire::{Doing, Sort, Which, Wire};

const ON_A: NodeAddress = NodeAddress { board: 0, core: 0 };
const ON_B: NodeAddress = NodeAddress { board: 1, core: 1 };

/// Two boards that pass a token over a wire in the test's hands.
struct Ring {
    _machines: [Machine; 2],
    system: System,
    wire: Wire,
    handled: Vec<u32>,
}

impl Ring {
    fn start(noise: &[u8]) -> anyhow::Result<Self> {
        let (wire, ends) = Wire::new(noise)?;
        let (machines, system) = boards_on("token_ring", ends, [&[], &[]])?;
        let mut ring = Self { _machines: machines, system, wire, handled: vec![0; 4] };
        ring.goes_round().context("at the start")?;
        Ok(ring)
    }

    /// Waits until every node has handled four more messages.
    fn goes_round(&mut self) -> anyhow::Result<()> {
        let handled = &self.handled;
        let counts = |nodes: &[Node]| -> Vec<u32> {
            nodes.iter().map(|node| node.ports.iter().map(|port| port.count).sum()).collect()
        };
        let nodes = wait_until(&mut self.system, "the token goes round", |nodes| {
            counts(nodes).iter().zip(handled).all(|(now, before)| now.wrapping_sub(*before) >= 4)
        })?;
        self.handled = counts(&nodes);
        Ok(())
    }

    /// Halts from one node and proves it.
    fn halt(&mut self, from: NodeAddress) -> anyhow::Result<HaltId> {
        Ok(self.system.halt(from, LIMIT).with_context(|| format!("halting from {from:?}"))?.halt)
    }

    fn release(&mut self, from: NodeAddress, halt: HaltId) -> anyhow::Result<()> {
        self.system.release(from, halt, LIMIT).with_context(|| format!("releasing from {from:?}"))?;
        self.goes_round()
    }
}

fn is_parked_in(node: &Node, halt: HaltId) -> bool {
    node.is_parked() && node.last_halt == halt
}

#[test]
fn all_nodes_halt_though_the_first_marker_is_lost() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    for (round, (from, to)) in [(ON_A, 1), (ON_B, 0)].into_iter().enumerate() {
        ring.wire.set(to, Doing::Dropping(Sort::Marker));
        let halt = ring.halt(from).with_context(|| format!("round {round}"))?;
        assert_eq!(ring.wire.dropped(to), 1, "the wire dropped a marker");
        ring.release(from, halt)?;
    }
    Ok(())
}

#[test]
fn all_nodes_resume_though_the_first_release_is_lost() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    for (from, to) in [(ON_A, 1), (ON_B, 0)] {
        let halt = ring.halt(from)?;
        ring.wire.set(to, Doing::Dropping(Sort::Release));
        ring.release(from, halt)?;
        assert_eq!(ring.wire.dropped(to), 1, "the wire dropped a release");
    }
    Ok(())
}

#[test]
fn all_nodes_halt_and_resume_though_an_acknowledgement_is_lost() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    for (from, to) in [(ON_A, 0), (ON_B, 1)] {
        ring.wire.set(to, Doing::Dropping(Sort::Acknowledgement));
        let halt = ring.halt(from)?;
        ring.release(from, halt)?;
        ring.wire.wait_for(to, 1, 0, LIMIT).context("the wire drops an acknowledgement")?;
    }
    Ok(())
}

/// The initiator hears nothing of the other board: it parks all the same, and the halt is complete when it hears again.
#[test]
fn bytes_discarded_while_a_node_parks_only_delay_the_halt() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    ring.wire.set(0, Doing::Discarding);
    ring.system.begin_halt(&[ON_A])?;
    let halt = ring.system.nodes()?[0].last_halt;
    wait_until(&mut ring.system, "every node parks", |nodes| nodes.iter().all(|node| is_parked_in(node, halt)))?;
    ring.wire.wait_for(0, 0, 20, LIMIT)?;
    let has_marker = |node: &Node| node.ports.iter().all(|port| port.marker.is_some());
    assert!(!has_marker(&ring.system.nodes()?[0]), "the marker of board B cannot have arrived");
    ring.wire.set(0, Doing::Passing);
    assert_eq!(ring.system.wait_parked(LIMIT)?, halt);
    ring.system.prove()?;
    ring.release(ON_A, halt)
}

/// The release does not reach board B while it hears nothing; it does when it hears again.
#[test]
fn bytes_discarded_on_their_way_to_a_parked_node_only_delay_its_release() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    let halt = ring.halt(ON_A)?;
    ring.wire.set(1, Doing::Discarding);
    ring.system.command(ON_A, &Command::Release(halt))?;
    ring.wire.wait_for(1, 0, 60, LIMIT)?;
    let nodes = ring.system.nodes()?;
    assert!(nodes[2..].iter().all(|node| is_parked_in(node, halt)), "board B cannot have heard of the release");
    ring.wire.set(1, Doing::Passing);
    wait_until(&mut ring.system, "every node leaves the halt", |nodes| nodes.iter().all(|node| !node.is_parked()))?;
    ring.goes_round()
}

/// The token is being repeated when the halt comes: it is in flight, once, and arrives afterwards, once.
#[test]
fn a_halt_during_a_retransmission_finds_the_message_in_flight() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    for (to, from) in [(1, ON_A), (0, ON_A), (1, ON_B)] {
        ring.wire.set(to, Doing::Withholding(Sort::Message));
        let before = ring.wire.dropped(to);
        ring.wire.wait_for(to, before + 3, 0, LIMIT).context("the token is repeated")?;
        let proof = ring.system.halt(from, LIMIT)?;
        let in_flight: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
        assert_eq!(in_flight, 1, "the token is on the line");
        ring.wire.set(to, Doing::Passing);
        ring.release(from, proof.halt)?;
    }
    Ok(())
}

/// The emulated UART holds bytes back instead of overrunning and has no framing errors, so the wire makes them.
#[test]
fn halts_are_proven_and_nothing_is_lost_though_uarts_overrun_and_miss_stop_bits() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    let which = [Which::OneInEight, Which::EveryThird];
    for doing in which.into_iter().flat_map(|which| [Doing::Overrunning(which), Doing::Misframing(which)]) {
        let before = [0, 1].map(|to| ring.wire.dropped(to));
        [0, 1].iter().for_each(|to| ring.wire.set(*to, doing));
        for (cycle, from) in [ON_A, ON_B, ON_A, ON_B].into_iter().enumerate() {
            let proof = ring.system.halt(from, LIMIT).with_context(|| format!("{doing:?}, halt {cycle}"))?;
            let in_flight: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
            assert!(in_flight <= 1, "{doing:?}: there is one token, and {in_flight} messages are in flight");
            ring.release(from, proof.halt).with_context(|| format!("{doing:?}, release {cycle}"))?;
        }
        [0, 1].iter().for_each(|to| ring.wire.set(*to, Doing::Passing));
        let spoiled = [0, 1].map(|to| ring.wire.dropped(to) - before[to]);
        assert!(spoiled.iter().all(|count| *count >= 4), "{doing:?}: {spoiled:?} frames");
    }
    let nodes = ring.system.nodes()?;
    assert!(nodes.iter().all(|node| node.refused == 0), "{nodes:#?}");
    Ok(())
}

/// Noise before the first hello, among it half a frame, zeros, and bytes that look like the beginning of a hello.
#[test]
fn garbage_on_the_line_before_the_first_hello_does_no_harm() -> anyhow::Result<()> {
    let mut noise: Vec<u8> = (0..400_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    noise.extend([0, 0, 3, 8, 5, 2, 1, 0, 0x55, 0xFF, 3, 8]);
    let mut ring = Ring::start(&noise)?;
    let halt = ring.halt(ON_B)?;
    ring.release(ON_A, halt)
}

/// The peer hangs in the middle of a frame, for longer than the retry limit: the link goes down; when the peer is back
/// the same session goes on, and the token is neither lost nor doubled.
#[test]
fn a_peer_that_hangs_in_the_middle_of_a_frame_takes_nothing_with_it() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    for to in [0, 1] {
        ring.wire.set(to, Doing::Hanging(Sort::Message));
        ring.wire.wait_for(to, 1, 0, LIMIT)?;
        wait_until(&mut ring.system, "the link goes down", |nodes| {
            nodes.iter().any(|node| node.ports.iter().any(|port| !port.up))
        })?;
        ring.wire.set(to, Doing::Passing);
        ring.goes_round()?;
        let proof = ring.system.halt(ON_A, LIMIT)?;
        let in_flight: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
        assert!(in_flight <= 1, "there is one token, and {in_flight} messages are in flight");
        ring.release(ON_B, proof.halt)?;
    }
    Ok(())
}

/// The other board is gone in the middle of a frame: this one halts alone, says whom it could not tell, and resumes.
#[test]
fn a_board_whose_peer_disappeared_halts_and_resumes_without_it() -> anyhow::Result<()> {
    let elf = firmware("token_ring")?;
    let (wire, [end_a, end_b]) = Wire::new(&[])?;
    let (_machine_a, board_a) = start(&elf, end_a, &["board=A"])?;
    let (machine_b, board_b) = start(&elf, end_b, &["board=B"])?;
    let mut system = System::new(vec![board_a]);
    wire.set(0, Doing::Hanging(Sort::Message));
    wire.wait_for(0, 1, 0, LIMIT)?;
    drop(board_b);
    machine_b.kill()?;
    for _ in 0..3 {
        system.begin_halt(&[ON_A])?;
        let halt = system.nodes()?[0].last_halt;
        let nodes =
            wait_until(&mut system, "both cores park", |nodes| nodes.iter().all(|node| is_parked_in(node, halt)))?;
        assert_ne!(nodes[0].undelivered, 0, "the markers for board B cannot have been delivered");
        system.release(ON_A, halt, LIMIT)?;
    }
    Ok(())
}

/// Halts all nodes over a link that passes nothing. They park all the same, and the report says whose markers are missing.
fn halt_without_a_link(system: &mut System) -> anyhow::Result<()> {
    let limit = Duration::from_secs(3);
    let began = Instant::now();
    let halted = system.halt_all(None, limit)?;
    let took = began.elapsed();
    // A halt is given up after the limit without progress.
    anyhow::ensure!(halted.took.reached < limit && took < 6 * limit, "it took {took:?}: {:?}", halted.took);
    assert!(halted.nodes.iter().all(|(_, _, node)| is_parked_in(node, halted.halt)), "{halted:?}");
    assert!(halted.lost.is_empty() && !halted.is_certified(), "{halted:?}");
    let mut late: Vec<_> = halted.waiting.iter().map(|late| (late.node.as_str(), late.why.as_str())).collect();
    late.sort_unstable();
    // The ends of the link are the cores 0 of the boards.
    assert_eq!(late, [("left0", "parked, no marker from right0"), ("right0", "parked, no marker from left0")]);
    Ok(())
}

#[test]
fn nodes_at_a_link_that_is_cut_while_they_run_park_and_are_named_with_the_missing_marker() -> anyhow::Result<()> {
    let mut ring = Ring::start(&[])?;
    [0, 1].into_iter().for_each(|to| ring.wire.set(to, Doing::Discarding));
    halt_without_a_link(&mut ring.system)?;
    // What is missing arrives when the link works again.
    [0, 1].into_iter().for_each(|to| ring.wire.set(to, Doing::Passing));
    let halt = ring.system.wait_parked(LIMIT)?;
    ring.release(ON_B, halt)
}

#[test]
fn nodes_at_a_link_that_was_never_there_park_and_are_named_with_the_missing_marker() -> anyhow::Result<()> {
    let (wire, ends) = Wire::new(&[])?;
    [0, 1].into_iter().for_each(|to| wire.set(to, Doing::Discarding));
    let (_machines, mut system) = boards_on("token_ring", ends, [&[], &[]])?;
    halt_without_a_link(&mut system)
}
