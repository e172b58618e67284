//! The debug sockets of a machine: one debugger has them at a time.

use super::MachineError;
use super::detached::RunDir;
use super::irq::IrqLines;
use super::qmp::{ANSWER_LIMIT, Qmp};
use super::socket::connect_within;
use super::stops::StopCount;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

/// How a debugger leaves a machine, for the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DebugState {
    pub(crate) vm_running: bool,
    /// The cores that are to stay halted.
    pub(crate) halted: Vec<bool>,
    /// The cores that were halted when this was noted: those above, and those that the debugger would have let run.
    #[serde(default)]
    pub(crate) stopped: Vec<bool>,
    /// Noted by a debugger at work. If the next debugger finds this, the former one was killed, possibly while the machine
    /// was stopped for one access.
    #[serde(default)]
    pub(crate) at_work: bool,
}

impl DebugState {
    /// Whether this may still be how the machine is to stand, when it is found running or not.
    fn holds(&self, vm_running: bool) -> bool {
        if self.at_work { !vm_running || self.halted.contains(&false) } else { self.vm_running == vm_running }
    }

    /// The cores that a killed debugger left stopped and that run again once the next one has attached.
    fn released(&self, vm_running: bool) -> Vec<usize> {
        let is_stopped = |core: usize| !vm_running || self.stopped.get(core) == Some(&true);
        (0..self.halted.len()).filter(|core| self.at_work && is_stopped(*core) && !self.halted[*core]).collect()
    }
}

/// How debuggers have left a machine, from their notes: nothing is asked of the machine.
///
/// ```no_run
/// # fn f(machine: &qemu_probe::Machine) {
/// use qemu_probe::DebuggerState;
/// if let DebuggerState::Left(halted) = machine.debugger_state() {
///     println!("{} cores are halted", halted.iter().filter(|halted| **halted).count());
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebuggerState {
    /// No debugger was ever attached: the machine waits for its image.
    Never,
    /// The last debugger left these cores halted.
    Left(Vec<bool>),
    /// A debugger is attached.
    Attached,
    /// The last debugger was killed. The next one puts right what it left.
    Killed,
}

impl DebuggerState {
    pub(super) fn of(run_dir: &RunDir) -> Self {
        let noted = std::fs::read(run_dir.debug_state()).ok();
        let Some(noted) = noted.and_then(|text| serde_json::from_slice::<DebugState>(&text).ok()) else {
            return Self::Never;
        };
        match (noted.at_work, run_dir.has_debugger()) {
            (true, true) => Self::Attached,
            (true, false) => Self::Killed,
            (false, _) => Self::Left(noted.halted.iter().map(|halted| *halted || !noted.vm_running).collect()),
        }
    }
}

/// What a debugger gets.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) gdb: UnixStream,
    pub(crate) qmp: Qmp,
    pub(crate) found: DebugState,
    /// The cores that a killed debugger left stopped and that run again now.
    pub(crate) released: Vec<usize>,
    pub(crate) irqs: Arc<IrqLines>,
    pub(crate) stops: StopCount,
    pub(crate) stderr: Option<File>,
}

/// The sockets, or where to find them.
#[derive(Clone, Debug, Default)]
pub(crate) struct DebugPorts(Arc<Mutex<Slot>>);

#[derive(Debug, Default)]
enum Slot {
    /// The machine has no debug port.
    #[default]
    None,
    /// Sockets inherited by QEMU, waiting for a debugger, and how the last one left.
    Here(UnixStream, Qmp, Option<DebugState>),
    /// A debugger in this process has them; and the lock of the run directory, if there is one.
    Taken(Option<File>),
    /// Sockets to connect to in the run directory.
    InDir,
}

impl DebugPorts {
    pub(crate) fn here(gdb: Option<UnixStream>, qmp: Qmp) -> Self {
        Self::new(match gdb {
            Some(gdb) => Slot::Here(gdb, qmp, None),
            None => Slot::None,
        })
    }

    pub(crate) fn in_dir(gdb: bool) -> Self {
        Self::new(if gdb { Slot::InDir } else { Slot::None })
    }

    fn new(slot: Slot) -> Self {
        Self(Arc::new(Mutex::new(slot)))
    }

    pub(crate) fn take(
        &self,
        cores: usize,
        run_dir: Option<&RunDir>,
        irqs: Arc<IrqLines>,
        stops: StopCount,
        stderr: Option<File>,
    ) -> Result<Attachment, MachineError> {
        let mut slot = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (gdb, qmp, found, released) = match std::mem::replace(&mut *slot, Slot::Taken(None)) {
            Slot::None => {
                *slot = Slot::None;
                return Err(MachineError::NoDebugPort);
            }
            Slot::Taken(lock) => {
                *slot = Slot::Taken(lock);
                return Err(MachineError::DebuggerAttached { by: "this process".into() });
            }
            Slot::Here(gdb, mut qmp, left) => {
                let found = match left {
                    Some(left) => left,
                    None => found_state(&mut qmp, cores)?,
                };
                (gdb, qmp, found, Vec::new())
            }
            Slot::InDir => match run_dir.map(|run_dir| connect(run_dir, cores, &stops)) {
                Some(Ok((lock, connected))) => {
                    *slot = Slot::Taken(Some(lock));
                    connected
                }
                failed => {
                    *slot = Slot::InDir;
                    return Err(failed.and_then(Result::err).unwrap_or(MachineError::NoDebugPort));
                }
            },
        };
        Ok(Attachment { gdb, qmp, found, released, irqs, stops, stderr })
    }

    /// Whether a debugger has halted each core of a machine whose sockets are here; `None` if a debugger has them.
    #[cfg(feature = "probe")]
    pub(super) fn halted(&self, cores: usize) -> Option<Vec<bool>> {
        let mut slot = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &mut *slot {
            Slot::Here(_, _, Some(left)) => Some(left.halted.clone()),
            Slot::Here(_, qmp, None) => found_state(qmp, cores).ok().map(|found| found.halted),
            Slot::None | Slot::Taken(_) | Slot::InDir => None,
        }
    }

    /// Takes the sockets back from a debugger that leaves; `None` if it lost them.
    pub(crate) fn give_back(&self, run_dir: Option<&RunDir>, returned: Option<(UnixStream, Qmp, DebugState)>) {
        let mut slot = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *slot = match (run_dir, returned) {
            (Some(run_dir), returned) => {
                if let Some((gdb, qmp, state)) = returned {
                    let _ = run_dir.note(&state);
                    // Before the lock is free: who has it next shall find the sockets free, too.
                    drop((gdb, qmp));
                }
                Slot::InDir
            }
            (None, Some((gdb, qmp, state))) => Slot::Here(gdb, qmp, Some(state)),
            // QEMU is gone; the next debugger is told that there is nothing to debug.
            (None, None) => Slot::None,
        };
    }
}

/// How a machine stands that no debugger of ours has touched.
fn found_state(qmp: &mut Qmp, cores: usize) -> Result<DebugState, MachineError> {
    let status = qmp.execute("query-status", json!({}))?;
    let vm_running = status["running"].as_bool().unwrap_or(true);
    Ok(DebugState { vm_running, halted: vec![!vm_running; cores], stopped: Vec::new(), at_work: false })
}

type Connected = (UnixStream, Qmp, DebugState, Vec<usize>);

fn connect(run_dir: &RunDir, cores: usize, stops: &StopCount) -> Result<(File, Connected), MachineError> {
    let lock = run_dir.lock_for_debugger()?;
    let socket = connect_within(&run_dir.qmp_socket(), "the control socket", ANSWER_LIMIT)?;
    let mut qmp = Qmp::open(socket, ANSWER_LIMIT)?;
    let found = found_state(&mut qmp, cores)?;
    // What the last debugger noted counts only if nobody has stopped or started the machine since.
    let noted = std::fs::read(run_dir.debug_state()).ok();
    let noted = noted.and_then(|text| serde_json::from_slice::<DebugState>(&text).ok());
    let vm_running = found.vm_running;
    let mut found = noted.filter(|noted| noted.holds(vm_running) && noted.halted.len() == cores).unwrap_or(found);
    let released = found.released(vm_running);
    // Connecting stops the machine, whatever it did before; whoever comes next shall know that it was only this.
    let _ = run_dir.note(&DebugState { at_work: true, ..found.clone() });
    let gdb = connect_within(&run_dir.gdb_socket(), "the debug socket", ANSWER_LIMIT)?;
    if vm_running {
        stops.add().map_err(MachineError::io("counting a stop"))?;
    }
    found.vm_running = false;
    Ok((lock, (gdb, qmp, found, released)))
}
