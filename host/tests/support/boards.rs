//! Starting two emulated boards that run one of the demos, for every test that needs them.
#![allow(dead_code, reason = "each test uses a part of it")]
use anyhow::Context as _;
use qemu_probe::{Link, LinkEnd, Machine, MachineKind, QemuProbe, Serial};
use std::path::{Path, PathBuf};
use stillpoint::{Board, Firmware, NodeAddress, ProbeMemory, System};
use stillpoint_core::HaltId;
use stillpoint_core::control::StateCode;

pub use crate::waiting::{LIMIT, wait_for};

/// The ELF file of a demo.
pub fn firmware(name: &str) -> anyhow::Result<PathBuf> {
    in_folder("STILLPOINT_FIRMWARE", name)
}

/// The ELF file of a demo that was built without the kit.
pub fn plain_firmware(name: &str) -> anyhow::Result<PathBuf> {
    in_folder("STILLPOINT_PLAIN_FIRMWARE", name)
}

fn in_folder(variable: &str, name: &str) -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os(variable);
    let folder =
        folder.with_context(|| format!("set {variable} to the folder of the demos, or run `cargo xtask test qemu`"))?;
    Ok(Path::new(&folder).join(name))
}

/// A board that runs, and its machine, which ends with it. `words` are what the firmware finds on its command line.
pub fn start(elf: &Path, end: LinkEnd, words: &[&str]) -> anyhow::Result<(Machine, Board)> {
    start_with(elf, vec![end], words)
}

/// The same with a wire at each of the UARTs from number 1 on.
fn start_with(elf: &Path, ends: Vec<LinkEnd>, words: &[&str]) -> anyhow::Result<(Machine, Board)> {
    let builder = Machine::builder(MachineKind::Mps2An521).elf(elf).serial(Serial::Null);
    let machine = ends
        .into_iter()
        .fold(builder, |builder, end| builder.serial(Serial::Link(end)))
        .shared_ram(true)
        .words(words.iter().copied())
        .semihosting(true)
        .gdb(true)
        .start()?;
    let board = attach(&machine, elf)?;
    Ok((machine, board))
}

/// A session with a machine that runs.
pub fn attach(machine: &Machine, elf: &Path) -> anyhow::Result<Board> {
    let (probe, group) = QemuProbe::attach(machine)?;
    let registry = qemu_probe::registry();
    let session =
        probe.attach_with_registry(MachineKind::Mps2An521.name(), probe_rs::Permissions::default(), &registry)?;
    group.resume()?;
    Ok(Board::attach(Box::new(ProbeMemory(session)), Firmware::read(elf)?, 2, LIMIT)?)
}

/// New sessions with boards that somebody has attached to before.
pub fn attach_again(machines: &[Machine], demo: &str) -> anyhow::Result<System> {
    let elf = firmware(demo)?;
    let boards = machines.iter().map(|machine| attach(machine, &elf)).collect::<anyhow::Result<_>>()?;
    Ok(System::new(boards))
}

/// Boards A and B with the same firmware, joined by a serial link, every node started.
pub fn two_boards(demo: &str) -> anyhow::Result<([Machine; 2], System)> {
    two_boards_with(demo, [&[], &[]])
}

/// The same, with further words on the command line of each.
pub fn two_boards_with(demo: &str, words: [&[&str]; 2]) -> anyhow::Result<([Machine; 2], System)> {
    let (one, other) = Link::pair()?;
    boards_on(demo, [one, other], words)
}

/// Boards A and B with the same firmware, each with its own end of a wire, every node started.
pub fn boards_on(demo: &str, ends: [LinkEnd; 2], words: [&[&str]; 2]) -> anyhow::Result<([Machine; 2], System)> {
    let [one, other] = ends;
    boards_on_wires(demo, [vec![one], vec![other]], words)
}

/// The same with two serial links between them.
pub fn two_boards_with_two_links(demo: &str, words: [&[&str]; 2]) -> anyhow::Result<([Machine; 2], System)> {
    let ((one, other), (second, other_second)) = (Link::pair()?, Link::pair()?);
    boards_on_wires(demo, [vec![one, second], vec![other, other_second]], words)
}

fn boards_on_wires(
    demo: &str,
    [left, right]: [Vec<LinkEnd>; 2],
    words: [&[&str]; 2],
) -> anyhow::Result<([Machine; 2], System)> {
    let elf = firmware(demo)?;
    let (a, board_a) = start_with(&elf, left, &[&["board=A"], words[0]].concat())?;
    let (b, board_b) = start_with(&elf, right, &[&["board=B"], words[1]].concat())?;
    let mut system = System::new(vec![board_a, board_b]);
    wait_until_started(&mut system)?;
    Ok(([a, b], system))
}

/// A control block is there before the firmware has opened its ports and started its node.
pub fn wait_until_started(system: &mut System) -> anyhow::Result<()> {
    let is_up = |node: &stillpoint::Node| node.state != Some(StateCode::Starting);
    wait_for("every node starts", || Ok(system.nodes()?.iter().all(is_up).then_some(())))
}

/// Asks every node to say where it stands.
pub fn report(system: &mut System) -> anyhow::Result<Vec<stillpoint::Node>> {
    for at in system.addresses() {
        system.command(at, &stillpoint_core::Command::Report)?;
    }
    Ok(system.nodes()?)
}

/// Waits until a look at the nodes shows what is waited for.
pub fn wait_until(
    system: &mut System,
    what: &str,
    is_so: impl Fn(&[stillpoint::Node]) -> bool,
) -> anyhow::Result<Vec<stillpoint::Node>> {
    let mut seen = Vec::new();
    wait_for(what, || {
        seen = report(system)?;
        Ok(is_so(&seen).then_some(()))
    })
    .with_context(|| format!("{seen:#?}"))?;
    Ok(seen)
}

/// The value of a node's first watch.
pub fn first_watch(node: &stillpoint::Node) -> i32 {
    node.watches.first().map_or(0, |(_, value)| *value)
}

/// After a crash and the release of its halt the others run as far as they can, the crashed node answers, and halts are as good
/// as before, also from the crashed node.
pub fn goes_on_without(system: &mut System, crashed: usize, halt: HaltId) -> anyhow::Result<()> {
    let at = system.addresses()[crashed];
    system.release(at, halt, LIMIT)?;
    let states: Vec<_> = system.nodes()?.iter().map(|node| node.state).collect();
    for (index, state) in states.into_iter().enumerate() {
        let expected = if index == crashed { StateCode::Faulted } else { StateCode::Running };
        assert_eq!(state, Some(expected), "node {index} after the release");
    }
    let initiator = NodeAddress { board: 1 - at.board, core: at.core };
    let again = system.halt(initiator, LIMIT).context("the halt after the release")?;
    assert!(again.halt.is_newer_than(halt));
    system.release(initiator, again.halt, LIMIT)?;
    system.halt(at, LIMIT).context("a halt from the crashed node")?;
    Ok(())
}
