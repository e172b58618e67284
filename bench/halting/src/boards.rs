//! Two emulated boards with two cores each, reached by the kit and, past it, by the probe core by core.
use anyhow::Context as _;
use qemu_probe::{GroupHandle, Link, LinkEnd, LiveMemory, Machine, MachineError, MachineKind, QemuProbe, Serial};
use std::path::Path;
use std::time::{Duration, Instant};
use stillpoint::{Board, Firmware, Memory, MemoryError, NodeAddress, System};
use stillpoint_core::control::StateCode;

/// How long anything may take on a machine that has other things to do as well.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The memory of a board while it runs, as commands use it: no access stops a core.
struct Live(LiveMemory);

impl Memory for Live {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        let mut bytes = vec![0; 4 * into.len()];
        self.0.read(address, &mut bytes).map_err(|error| failed(address, &error))?;
        for (word, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        let bytes: Vec<u8> = from.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.0.write(address, &bytes).map_err(|error| failed(address, &error))
    }
}

fn failed(address: u32, error: &MachineError) -> MemoryError {
    MemoryError::Emulator { address, reason: error.to_string() }
}

/// A board's probe.
struct Probe {
    session: probe_rs::Session,
    group: GroupHandle,
}

/// Both boards. Their machines end with them, and with this process however it ends.
pub struct Boards {
    /// What the kit sees of them.
    pub system: System,
    probes: Vec<Probe>,
    _machines: Vec<Machine>,
}

impl Boards {
    /// Starts boards A and B with the same firmware, joined by a serial link, and waits until every node has started.
    pub fn start(elf: &Path) -> anyhow::Result<Self> {
        anyhow::ensure!(elf.is_file(), "there is no firmware {}: build it with `cargo xtask size`", elf.display());
        let (one, other) = Link::pair().context("cannot make a serial link")?;
        let (mut machines, mut probes, mut boards) = (Vec::new(), Vec::new(), Vec::new());
        for (name, end) in [("A", one), ("B", other)] {
            let machine = machine(elf, name, end)?;
            let (probe, board) = attach(&machine, elf)?;
            probes.push(probe);
            boards.push(board.named(name, Vec::new()));
            machines.push(machine);
        }
        let mut system = System::new(boards);
        let until = Instant::now() + LIMIT;
        while system.nodes()?.iter().any(|node| node.state == Some(StateCode::Starting)) {
            anyhow::ensure!(Instant::now() < until, "not every node starts within {LIMIT:?}");
        }
        Ok(Self { system, probes, _machines: machines })
    }

    /// Halts one core by the probe; the others run on.
    pub fn halt_core(&mut self, at: NodeAddress) -> anyhow::Result<()> {
        self.probes[at.board].session.core(at.core)?.halt(LIMIT)?;
        Ok(())
    }

    /// Halts all cores of a board as one stop of its machine.
    pub fn halt_group(&self, board: usize) -> anyhow::Result<()> {
        Ok(self.probes[board].group.halt()?)
    }

    /// Lets every core run that the probe has stopped.
    pub fn run(&self) -> anyhow::Result<()> {
        self.probes.iter().try_for_each(|probe| Ok(probe.group.resume()?))
    }
}

fn machine(elf: &Path, name: &str, end: LinkEnd) -> anyhow::Result<Machine> {
    let machine = Machine::builder(MachineKind::Mps2An521)
        .elf(elf)
        .serial(Serial::Null)
        .serial(Serial::Link(end))
        .shared_ram(true)
        .words([format!("board={name}")])
        .gdb(true)
        .start();
    machine.with_context(|| format!("board {name} does not start; `cargo xtask setup` gets what is missing"))
}

fn attach(machine: &Machine, elf: &Path) -> anyhow::Result<(Probe, Board)> {
    let (probe, group) = QemuProbe::attach(machine)?;
    let (chip, registry) = (MachineKind::Mps2An521.name(), qemu_probe::registry());
    let session = probe.attach_with_registry(chip, probe_rs::Permissions::default(), &registry)?;
    group.resume()?;
    let board = Board::attach(
        Box::new(Live(machine.live_memory())),
        Firmware::read(elf)?,
        MachineKind::Mps2An521.cores(),
        LIMIT,
    )?;
    Ok((Probe { session, group }, board))
}
