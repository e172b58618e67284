//! A board that is reset while the system runs or is halted: new epochs, new sessions, and certificates that balance.
use crate::boards::{self, LIMIT, firmware, first_watch, wait_until, wait_until_started};
use anyhow::Context as _;
use qemu_probe::{Link, LinkEnd, Machine, MachineKind, QemuProbe, Serial};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use stillpoint::{
    Board, ChannelState, Firmware, HaltProof, Memory, MemoryError, Node, NodeAddress, ProbeMemory, System,
};
use stillpoint_core::control::StateCode;
use stillpoint_core::{EventNumber, NodeId};

/// A probe that the test keeps a hand on.
#[derive(Clone)]
struct Probe(Arc<Mutex<ProbeMemory>>);

impl Memory for Probe {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        self.lock().read(address, into)
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        self.lock().write(address, from)
    }
}

impl Probe {
    fn lock(&self) -> std::sync::MutexGuard<'_, ProbeMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reset(&self) -> anyhow::Result<()> {
        Ok(self.lock().0.core(0)?.reset()?)
    }
}

fn start(elf: &Path, end: LinkEnd, board: &str) -> anyhow::Result<(Machine, Probe, Board)> {
    let machine = Machine::builder(MachineKind::Mps2An521)
        .elf(elf)
        .serial(Serial::Null)
        .serial(Serial::Link(end))
        .shared_ram(true)
        .words([board])
        .gdb(true)
        .start()?;
    let (probe, group) = QemuProbe::attach(&machine)?;
    let permissions = probe_rs::Permissions::default();
    let session = probe.attach_with_registry(MachineKind::Mps2An521.name(), permissions, &qemu_probe::registry())?;
    group.resume()?;
    let probe = Probe(Arc::new(Mutex::new(ProbeMemory(session))));
    let board = Board::attach(Box::new(probe.clone()), Firmware::read(elf)?, 2, LIMIT)?;
    Ok((machine, probe, board))
}

const SINK: usize = 3;
const LEFT0: NodeAddress = NodeAddress { board: 0, core: 0 };
const RIGHT1: NodeAddress = NodeAddress { board: 1, core: 1 };

struct Bench {
    _machines: [Machine; 2],
    probes: [Probe; 2],
    system: System,
}

impl Bench {
    /// Both boards, with every ring of the pipeline full.
    fn new() -> anyhow::Result<Self> {
        let mut bench = Self::of("faults")?;
        bench.wait_for_sink(|seen| seen >= 40)?;
        Ok(bench)
    }

    /// Both boards with this firmware.
    fn of(demo: &str) -> anyhow::Result<Self> {
        let elf = firmware(demo)?;
        let (one, other) = Link::pair()?;
        let (a, probe_a, board_a) = start(&elf, one, "board=A")?;
        let (b, probe_b, board_b) = start(&elf, other, "board=B")?;
        let mut system = System::new(vec![board_a, board_b]);
        wait_until_started(&mut system)?;
        Ok(Self { _machines: [a, b], probes: [probe_a, probe_b], system })
    }

    fn wait_for_sink(&mut self, is_so: impl Fn(i32) -> bool) -> anyhow::Result<i32> {
        let nodes = wait_until(&mut self.system, "progress of the sink", |nodes| is_so(first_watch(&nodes[SINK])))?;
        Ok(first_watch(&nodes[SINK]))
    }

    /// Resets a board and waits until its nodes have started in the next epoch.
    fn reset(&mut self, board: usize) -> anyhow::Result<()> {
        let own = |nodes: &[Node]| [2 * board, 2 * board + 1].map(|node| epoch(&nodes[node]));
        let before = own(&self.system.nodes()?);
        self.probes[board].reset()?;
        let until = Instant::now() + LIMIT;
        loop {
            let nodes = self.system.nodes()?;
            let started = nodes.iter().all(|node| node.state != Some(StateCode::Starting));
            if started && own(&nodes) == before.map(following) {
                return Ok(());
            }
            let epochs = own(&nodes);
            anyhow::ensure!(Instant::now() < until, "board {board}: epochs {before:?} became {epochs:?}");
        }
    }

    fn halt(&mut self, at: NodeAddress) -> anyhow::Result<HaltProof> {
        self.system.halt(at, LIMIT).with_context(|| format!("halt from {at:?}"))
    }

    fn release(&mut self, proof: &HaltProof) -> anyhow::Result<()> {
        Ok(self.system.release(LEFT0, proof.halt, LIMIT)?)
    }
}

fn epoch(node: &Node) -> u8 {
    EventNumber(node.clock[usize::from(node.id.0)]).epoch()
}

/// The epoch after this one: 1 follows 255.
fn following(epoch: u8) -> u8 {
    epoch.checked_add(1).unwrap_or(1)
}

/// The way of the serial link from board A to board B.
fn far(proof: &HaltProof) -> &ChannelState {
    let is_far = |state: &&ChannelState| (state.channel.from, state.channel.to) == (NodeId(0), NodeId(2));
    proof.channels.iter().find(is_far).expect("the boards are joined")
}

/// Messages that resets took there.
fn lost(proof: &HaltProof) -> u32 {
    far(proof).lost_by_reset
}

/// One board is reset while all are halted with more messages in flight than the other end alone can hold.
fn reset_with_messages_in_flight(board: usize) -> anyhow::Result<()> {
    /// What one end holds: its ring, and the window of its link.
    const HELD_BY_ONE_END: usize = 4 + 4;
    let mut bench = Bench::new()?;
    let until = Instant::now() + LIMIT;
    let before = loop {
        let proof = bench.halt(RIGHT1)?;
        assert_eq!(lost(&proof), 0);
        if far(&proof).in_flight.len() > HELD_BY_ONE_END {
            break proof;
        }
        anyhow::ensure!(Instant::now() < until, "the pipeline never fills: {proof:?}");
        bench.release(&proof)?;
    };
    bench.reset(board)?;
    assert_eq!(bench.system.wait_parked(LIMIT)?, before.halt);
    let after = bench.system.prove()?;
    let (in_flight, lost) = (far(&before).in_flight.len(), lost(&after) as usize);
    // What the board that was reset held itself went with its memory, and with the counts of its nodes.
    assert!((in_flight - HELD_BY_ONE_END..=in_flight).contains(&lost), "{lost} lost of {in_flight}: {after:?}");
    bench.release(&after)?;
    let seen = bench.wait_for_sink(|seen| seen > 0)?;
    bench.wait_for_sink(|now| now > seen)?;
    bench.halt(LEFT0)?;
    Ok(())
}

#[test]
fn a_receiver_that_is_reset_takes_messages_with_it_which_are_counted_and_the_rest_balances() -> anyhow::Result<()> {
    reset_with_messages_in_flight(1)
}

#[test]
fn a_sender_that_is_reset_leaves_messages_behind_which_are_counted_and_the_rest_balances() -> anyhow::Result<()> {
    reset_with_messages_in_flight(0)
}

#[test]
fn a_board_that_is_reset_while_all_are_halted_joins_the_halt_again() -> anyhow::Result<()> {
    let mut bench = Bench::new()?;
    for board in [1, 0] {
        let before = bench.halt(LEFT0)?;
        bench.reset(board)?;
        let halt = bench.system.wait_parked(LIMIT).with_context(|| format!("board {board} joins the halt"))?;
        assert_eq!(halt, before.halt);
        let again = bench.system.prove()?;
        bench.release(&again)?;
        let seen = bench.wait_for_sink(|seen| seen > 0)?;
        bench.wait_for_sink(|now| now > seen)?;
    }
    Ok(())
}

#[test]
fn resets_in_turn_grow_epochs_and_every_halt_between_them_is_certified() -> anyhow::Result<()> {
    let mut bench = Bench::new()?;
    let mut last = None;
    for round in 0..6 {
        bench.reset(round % 2)?;
        let seen = bench.wait_for_sink(|seen| seen > 0)?;
        bench.wait_for_sink(|now| now != seen)?;
        let proof =
            bench.halt(if round % 3 == 0 { LEFT0 } else { RIGHT1 }).with_context(|| format!("round {round}"))?;
        assert!(last.is_none_or(|last| proof.halt.is_newer_than(last)), "halts go on where they were");
        last = Some(proof.halt);
        bench.release(&proof)?;
    }
    let epochs: Vec<u8> = bench.system.nodes()?.iter().map(epoch).collect();
    assert_eq!(epochs, [3, 3, 3, 3]);
    Ok(())
}

/// A few resets, or as many as `STILLPOINT_ROUNDS` says: epochs of the one board go round while the other runs on.
#[test]
fn a_board_that_is_reset_again_and_again_is_heard_by_its_peer_that_runs_on() -> anyhow::Result<()> {
    let rounds = std::env::var("STILLPOINT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4);
    let mut bench = Bench::new()?;
    for round in 0..rounds {
        bench.reset(0).with_context(|| format!("reset {round}"))?;
        let seen = bench.wait_for_sink(|_| true)?;
        bench.wait_for_sink(|now| now != seen).with_context(|| format!("messages after reset {round}"))?;
        if round % 16 == 0 || round + 1 == rounds {
            let proof = bench.halt(if round % 32 == 0 { LEFT0 } else { RIGHT1 });
            bench.release(&proof.with_context(|| format!("halt after reset {round}"))?)?;
        }
    }
    assert!(bench.system.nodes()?.iter().all(|node| node.refused == 0), "a message was refused");
    Ok(())
}

/// Halts from every node while every channel is busy, with resets of either board between them.
fn busy_halts_between_resets(demo: &str) -> anyhow::Result<()> {
    /// Halts after each reset, and before the first.
    const HALTS: usize = 4;
    let mut bench = Bench::of(demo)?;
    let mut in_flight = 0;
    for round in 0..4 {
        if round > 0 {
            bench.reset(round % 2)?;
        }
        for step in 0..HALTS {
            let events = |nodes: &[Node]| nodes.iter().map(Node::event).collect::<Vec<_>>();
            let before = events(&boards::report(&mut bench.system)?);
            let is_busy = |nodes: &[Node]| {
                nodes.iter().all(|node| node.ports.iter().all(|port| port.up))
                    && events(nodes).iter().zip(&before).all(|(now, before)| now.wrapping_sub(*before) >= 10)
            };
            wait_until(&mut bench.system, "events of every node and links that are up", is_busy)?;
            let at = bench.system.addresses()[(round + step) % 4];
            let proof = bench.halt(at).with_context(|| format!("{demo}, after {round} resets, halt {step}"))?;
            in_flight += proof.channels.iter().map(|state| state.in_flight.len()).sum::<usize>();
            bench.release(&proof)?;
        }
    }
    assert!(in_flight > 0, "no message was ever in flight");
    assert!(bench.system.nodes()?.iter().all(|node| node.refused == 0));
    Ok(())
}

#[test]
fn halts_with_every_channel_busy_are_proven_before_and_after_resets() -> anyhow::Result<()> {
    busy_halts_between_resets("chatter")
}

#[test]
fn halts_over_a_line_that_loses_bytes_are_proven_before_and_after_resets() -> anyhow::Result<()> {
    busy_halts_between_resets("link_soak")
}
