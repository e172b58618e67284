//! Real firmware on two emulated boards with two cores each, through probe-rs.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use anyhow::Context as _;
use qemu_probe::{Link, LinkEnd, Machine, MachineKind, QemuProbe, Serial};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stillpoint::{Board, Firmware, NodeAddress, ProbeMemory, System};
use stillpoint_core::Direction;
use stillpoint_core::control::StateCode;

const LIMIT: Duration = Duration::from_secs(60);

fn firmware() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("STILLPOINT_TOKEN_RING");
    path.map(PathBuf::from)
        .context("set STILLPOINT_TOKEN_RING to the ELF file of token_ring, or run `cargo xtask test qemu`")
}

/// A board that runs, and its machine, which ends with it.
fn start(letter: &str, end: LinkEnd) -> anyhow::Result<(Machine, Board)> {
    let elf = firmware()?;
    let machine = Machine::builder(MachineKind::Mps2An521)
        .elf(&elf)
        .serial(Serial::Null)
        .serial(Serial::Link(end))
        .shared_ram(true)
        .semihosting(["firmware".to_owned(), format!("board={letter}")])
        .gdb(true)
        .start()?;
    let (probe, group) = QemuProbe::attach(&machine)?;
    let registry = qemu_probe::registry();
    let session =
        probe.attach_with_registry(MachineKind::Mps2An521.name(), probe_rs::Permissions::default(), &registry)?;
    group.resume()?;
    let board = Board::attach(Box::new(ProbeMemory(session)), Firmware::read(&elf)?, 2, LIMIT)?;
    Ok((machine, board))
}

fn two_boards() -> anyhow::Result<([Machine; 2], System)> {
    let (one, other) = Link::pair()?;
    let (a, board_a) = start("A", one)?;
    let (b, board_b) = start("B", other)?;
    let mut system = System::new(vec![board_a, board_b]);
    // A control block is there before the firmware has opened its ports and started its node.
    let until = Instant::now() + LIMIT;
    while system.nodes()?.iter().any(|node| node.state == Some(StateCode::Starting)) {
        anyhow::ensure!(Instant::now() < until, "not every node starts within {LIMIT:?}");
    }
    Ok(([a, b], system))
}

/// Waits until every node has handled `more` messages than `before`: the token goes round. Returns the new counts.
fn wait_for_traffic(system: &mut System, before: &[u32], more: u32) -> anyhow::Result<Vec<u32>> {
    let until = Instant::now() + LIMIT;
    loop {
        for at in system.addresses() {
            system.command(at, &stillpoint_core::Command::Report)?;
        }
        let nodes = system.nodes()?;
        let counts: Vec<u32> = nodes.iter().map(|node| node.ports.iter().map(|port| port.count).sum()).collect();
        if counts.iter().zip(before).all(|(now, before)| now - before >= more) {
            return Ok(counts);
        }
        anyhow::ensure!(Instant::now() < until, "the token does not go round within {LIMIT:?}: {nodes:#?}");
    }
}

/// How many halts: each takes a few milliseconds on an idle machine.
const CYCLES: usize = 200;

/// Halts from every node in turn, each certified from the raw rings; then the token goes on.
#[test]
fn four_nodes_on_two_boards_halt_consistently_from_any_node_and_resume() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards()?;
    let mut handled = wait_for_traffic(&mut system, &[0; 4], 4)?;
    let addresses = system.addresses();
    for cycle in 0..CYCLES {
        // A fixed but irregular choice of who initiates and who releases.
        let choose = |salt: usize| addresses[(cycle * 7 + cycle / 5 + salt) % addresses.len()];
        let initiator: NodeAddress = choose(0);
        let proof = system.halt(initiator, LIMIT).with_context(|| format!("halt {cycle} from {initiator:?}"))?;
        let in_flight: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
        assert!(in_flight <= 1, "there is one token, and {in_flight} messages are in flight");
        assert_eq!(proof.channels.len(), 6, "two mailboxes and one way of the serial link on each board");
        assert!(proof.orders.iter().all(|order| order[0] == proof.orders[0][0]), "one initiator: {:?}", proof.orders);
        system.release(choose(1), proof.halt, LIMIT).with_context(|| format!("release {cycle}"))?;
        if cycle % 10 == 9 {
            handled = wait_for_traffic(&mut system, &handled, 4).with_context(|| format!("after release {cycle}"))?;
        }
    }
    for node in system.nodes()? {
        assert_eq!(node.refused, 0, "node {} refused a step", node.id.0);
    }
    Ok(())
}

/// What the control blocks say is what the firmware's source says.
#[test]
fn ports_and_watches_are_known_by_their_names() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards()?;
    let firmware = Firmware::read(&firmware()?)?;
    for node in system.nodes()? {
        let names: Vec<_> = node.ports.iter().map(|port| firmware.name("port", port.name)).collect();
        assert!(names.iter().all(Option::is_some), "node {} has ports {names:?}", node.id.0);
        assert!(node.ports.iter().any(|port| port.direction == Direction::Out));
    }
    Ok(())
}
