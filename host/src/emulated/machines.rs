//! Starting, finding and stopping the machines of emulated boards.
use crate::chip::Chip;
use crate::config::{BoardConfig, ProbeConfig, SystemFile};
use crate::did_you_mean;
use crate::lock::BoardLock;
use crate::quiet::LiveBoard;
use crate::session::{Group, SessionError};
use crate::state::StateDir;
use crate::{Memory, MemoryError};
use probe_rs::Permissions;
use qemu_probe::machine::Region;
use qemu_probe::{
    DebuggerState, GroupHandle, Link, LinkEnd, LiveMemory, Machine, MachineError, MachineKind, QemuProbe, Serial,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How an emulated board stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// Its machine runs as this process.
    Up(u32),
    /// It was started, and its machine is gone: why, as far as known.
    Ended(String),
    /// It was not started.
    Down,
}

/// What [`up`] did with a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// Started it, as this process.
    Started(u32),
    /// It was up already.
    Already(u32),
}

fn emulator(error: MachineError) -> SessionError {
    SessionError::Emulator(error.to_string())
}

fn kind_of(board: &BoardConfig) -> Result<MachineKind, SessionError> {
    kind_named(&board.chip)
}

fn kind_named(chip: &str) -> Result<MachineKind, SessionError> {
    MachineKind::ALL.into_iter().find(|kind| kind.name() == chip).ok_or_else(|| {
        let names: Vec<&str> = MachineKind::ALL.iter().map(|kind| kind.name()).collect();
        let hint = did_you_mean(chip, names.iter().copied());
        SessionError::Chip(format!("no emulated chip {chip:?}{hint} (there are: {})", names.join(", ")))
    })
}

/// The chips that can be emulated, the usual one first.
pub fn chips() -> impl Iterator<Item = &'static str> {
    MachineKind::ALL.into_iter().map(MachineKind::name)
}

/// What is known of an emulated chip.
pub(crate) fn chip(name: &str) -> Result<Chip, SessionError> {
    let kind = kind_named(name)?;
    let range = |region: &Region| u64::from(region.base)..u64::from(region.base) + u64::from(region.len);
    Ok(Chip { cores: kind.cores(), memory: kind.memory().iter().map(range).collect() })
}

/// The chip as probe-rs describes it.
pub(crate) fn target(name: &str) -> Result<probe_rs::config::Target, SessionError> {
    let kind = kind_named(name)?;
    let unknown = |error: probe_rs::config::RegistryError| SessionError::Chip(error.to_string());
    qemu_probe::registry().get_target_by_name(kind.name()).map_err(unknown)
}

/// How many cores the chip has.
pub(crate) fn cores(board: &BoardConfig) -> Option<usize> {
    kind_of(board).ok().map(MachineKind::cores)
}

/// How an emulated board stands now.
pub fn state(file: &SystemFile, board: &BoardConfig) -> Result<MachineState, SessionError> {
    let folder = StateDir::of(file)?.machine(board);
    Ok(match Machine::attach(&folder) {
        Ok(machine) => MachineState::Up(machine.pid()),
        Err(_) if folder.join("machine.json").exists() => MachineState::Ended(last_words(&folder)),
        Err(_) => MachineState::Down,
    })
}

/// What QEMU said before it ended.
fn last_words(folder: &Path) -> String {
    why_it_ended(&std::fs::read_to_string(folder.join("stderr")).unwrap_or_default())
}

/// Why QEMU ended, from what it wrote.
fn why_it_ended(said: &str) -> String {
    // The registers of the core follow.
    if let Some(fatal) = said.lines().find_map(|line| line.strip_prefix("qemu: fatal: ")) {
        return match fatal.starts_with("Lockup") {
            true => format!("QEMU has ended: a core locked up, because it could not run its fault handler ({fatal})"),
            false => format!("QEMU has ended: {fatal}"),
        };
    }
    let last = said.lines().rfind(|line| !line.trim().is_empty() && !line.ends_with("has no peer"));
    last.map_or("QEMU has ended and left no message, as after `kill -9`".into(), |line| {
        format!("QEMU has ended: {line}")
    })
}

/// Starts every emulated board that is not up: powered, empty, waiting to be flashed.
///
/// Boards that are joined start together: a wire is made when both its machines start.
pub fn up(file: &SystemFile) -> Result<Vec<(String, Up)>, SessionError> {
    let emulated = || file.boards.iter().enumerate().filter(|(_, board)| board.probe == ProbeConfig::Qemu);
    let mut locks = Vec::new();
    let mut running = HashMap::new();
    let state_dir = StateDir::of(file)?;
    for (index, board) in emulated() {
        kind_of(board)?;
        if let MachineState::Up(pid) = state(file, board)? {
            running.insert(index, pid);
        } else {
            // An owner of what was there before has nothing to own.
            crate::owner::end(&state_dir)?;
            locks.push(BoardLock::take(&state_dir.lock(board))?);
        }
    }
    for link in &file.links {
        let [one, other] = link.between.map(|end| (end.board, running.contains_key(&end.board)));
        if one.1 != other.1 {
            let (up, gone) = if one.1 { (one.0, other.0) } else { (other.0, one.0) };
            let [up, gone] = [up, gone].map(|index| &file.boards[index].name);
            return Err(SessionError::Emulator(format!(
                "board {gone} has ended, and board {up}, to which it is joined, is up; run `stillpoint down`, then `up`"
            )));
        }
    }
    let mut ends: HashMap<(usize, usize), LinkEnd> = HashMap::new();
    for link in file.links.iter().filter(|link| !running.contains_key(&link.between[0].board)) {
        let pair = Link::pair().map_err(|error| SessionError::Emulator(format!("cannot make a link: {error}")))?;
        for (end, wire) in link.between.into_iter().zip([pair.0, pair.1]) {
            ends.insert((end.board, end.uart), wire);
        }
    }
    let mut done = Vec::new();
    let mut started: Vec<Machine> = Vec::new();
    for (index, board) in emulated() {
        if let Some(pid) = running.get(&index) {
            done.push((board.name.clone(), Up::Already(*pid)));
            continue;
        }
        match start(&state_dir, board, index, &mut ends) {
            Ok(machine) => {
                done.push((board.name.clone(), Up::Started(machine.pid())));
                started.push(machine);
            }
            Err(error) => {
                // All or nothing: a board without its peers is of no use.
                started.into_iter().for_each(|machine| drop(machine.stop()));
                return Err(error);
            }
        }
    }
    Ok(done)
}

fn start(
    state: &StateDir,
    board: &BoardConfig,
    index: usize,
    ends: &mut HashMap<(usize, usize), LinkEnd>,
) -> Result<Machine, SessionError> {
    let uarts = ends.keys().filter(|(of, _)| *of == index).map(|(_, uart)| uart + 1).max().unwrap_or(0);
    let builder = Machine::builder(kind_of(board)?).shared_ram(true).words(board.arguments.iter().cloned()).gdb(true);
    let wired = (0..uarts)
        .fold(builder, |builder, uart| builder.serial(ends.remove(&(index, uart)).map_or(Serial::Null, Serial::Link)));
    wired.detached(state.machine(board)).start().map_err(emulator)
}

/// Stops an emulated board. Returns how it stood before.
pub fn down(file: &SystemFile, board: &BoardConfig) -> Result<MachineState, SessionError> {
    let state_dir = StateDir::of(file)?;
    let before = state(file, board)?;
    crate::owner::end(&state_dir)?;
    let _lock = BoardLock::take(&state_dir.lock(board))?;
    let folder = state_dir.machine(board);
    if let MachineState::Up(_) = before {
        Machine::attach(&folder).and_then(Machine::stop).map_err(emulator)?;
    }
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SessionError::Emulator(format!("cannot remove {}: {error}", folder.display())))
        }
        _ => Ok(before),
    }
}

/// All cores of a machine as one.
struct MachineGroup(GroupHandle);

impl Group for MachineGroup {
    fn halt(&self, _: &mut probe_rs::Session) -> Result<(), SessionError> {
        self.0.halt().map_err(|error| SessionError::Emulator(error.to_string()))
    }

    fn resume(&self, _: &mut probe_rs::Session) -> Result<(), SessionError> {
        self.0.resume().map_err(|error| SessionError::Emulator(error.to_string()))
    }

    fn is_usual(&self) -> bool {
        true
    }

    fn keep_halted(&self) -> Result<bool, SessionError> {
        self.0.keep_halted().map(|()| true).map_err(|error| SessionError::Emulator(error.to_string()))
    }

    fn released(&self) -> &[usize] {
        self.0.released()
    }
}

/// A machine whose memory is used while it runs.
struct LiveMachine {
    /// Its run directory. Once that was moved, commands do not find the machine any more.
    folder: PathBuf,
    machine: Machine,
    memory: LiveMemory,
}

impl LiveBoard for LiveMachine {
    fn cores(&self) -> usize {
        self.machine.kind().cores()
    }

    fn is_there(&self) -> bool {
        self.machine.is_alive() && self.folder.exists()
    }

    fn halted(&self) -> Option<Vec<bool>> {
        match self.machine.debugger_state() {
            DebuggerState::Left(halted) => Some(halted),
            DebuggerState::Never => Some(vec![true; self.cores()]),
            // What the other debugger does with the cores is its own business.
            DebuggerState::Attached => Some(vec![false; self.cores()]),
            DebuggerState::Killed => None,
        }
    }
}

impl Memory for LiveMachine {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        self.check_alive(address)?;
        let mut bytes = vec![0; 4 * into.len()];
        self.memory.read(address, &mut bytes).map_err(|error| self.failed(address, error))?;
        for (word, bytes) in into.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        self.check_alive(address)?;
        let bytes: Vec<u8> = from.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.write(address, &bytes).map_err(|error| self.failed(address, error))
    }
}

impl LiveMachine {
    /// The file behind the shared RAM outlives QEMU, and what it says is over then.
    fn check_alive(&self, address: u32) -> Result<(), MemoryError> {
        if self.machine.is_alive() {
            return Ok(());
        }
        Err(MemoryError::Emulator { address, reason: "QEMU has ended".into() })
    }

    fn failed(&self, address: u32, error: MachineError) -> MemoryError {
        MemoryError::Emulator { address, reason: self.machine.why_it_is_silent(error).to_string() }
    }
}

/// The memory of an emulated board, without a debugger; `None` if a debugger has to put something right first.
pub(crate) fn live(state: &StateDir, board: &BoardConfig) -> Result<Option<Box<dyn LiveBoard>>, SessionError> {
    let machine = find(state, board)?;
    let memory = machine.live_memory();
    let live = LiveMachine { folder: state.machine(board), machine, memory };
    Ok(live.halted().is_some().then(|| Box::new(live) as Box<dyn LiveBoard>))
}

/// Attaches to the machine of an emulated board.
pub(crate) fn open(
    state: &StateDir,
    board: &BoardConfig,
) -> Result<(probe_rs::Session, Option<Box<dyn Group>>), SessionError> {
    let machine = find(state, board)?;
    let (probe, group) = QemuProbe::attach(&machine).map_err(emulator)?;
    let session = probe
        .attach_with_registry(machine.kind().name(), Permissions::default(), &qemu_probe::registry())
        .map_err(|source| SessionError::Probe { what: "attach", source })?;
    Ok((session, Some(Box::new(MachineGroup(group)))))
}

/// The machine of an emulated board that is up.
fn find(state: &StateDir, board: &BoardConfig) -> Result<Machine, SessionError> {
    let kind = kind_of(board)?;
    let folder = state.machine(board);
    let machine = Machine::attach(&folder).map_err(|error| match error {
        MachineError::NotRunning { .. } if folder.join("machine.json").exists() => {
            SessionError::Ended(last_words(&folder))
        }
        MachineError::NotRunning { .. } => SessionError::Down("it was not started".into()),
        other => emulator(other),
    })?;
    if machine.kind() != kind {
        return Err(SessionError::Chip(format!(
            "it is up as {}, the system file says {kind}; run `stillpoint down`, then `up`",
            machine.kind()
        )));
    }
    Ok(machine)
}

#[cfg(test)]
mod tests {
    use super::why_it_ended;

    #[test]
    fn a_core_that_locked_up_a_signal_and_a_silent_end_are_told_apart() {
        let start = "qemu-system-arm: warning: nic lan9118.0 has no peer\n";
        let registers = "\nR00=e000ed04 R01=d0000000\nXPSR=61000000 -ZC- T S priv-thread\nFPSCR: 00000000\n";
        let lockup = why_it_ended(&format!("{start}qemu: fatal: Lockup: can't escalate 3 to HardFault\n{registers}"));
        assert_eq!(
            lockup,
            "QEMU has ended: a core locked up, because it could not run its fault handler (Lockup: can't escalate 3 to HardFault)"
        );
        let other = why_it_ended(&format!("{start}qemu: fatal: no memory\n{registers}"));
        assert_eq!(other, "QEMU has ended: no memory");
        let signal = why_it_ended(&format!("{start}qemu-system-arm: terminating on signal 15 from pid 7 (sh)\n"));
        assert_eq!(signal, "QEMU has ended: qemu-system-arm: terminating on signal 15 from pid 7 (sh)");
        assert_eq!(why_it_ended(start), "QEMU has ended and left no message, as after `kill -9`");
    }
}
