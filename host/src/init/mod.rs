//! A first system file, written from what is found on this machine: probes, QEMU, running machines, firmware.
//!
//! What can be read from the firmware is not repeated in it. Where nothing is found, its comments say what to put there.
mod find;
mod write;

pub use find::{FoundFirmware, find_firmware};

use crate::doctor::{Surroundings, leftovers};
use crate::{ProbeSeen, StateDir};
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The debug probes that are plugged in.
    pub probes: Vec<ProbeSeen>,
    /// Emulated boards of this system that run now: name and chip.
    pub running: Vec<(String, String)>,
    /// Whether QEMU is on the PATH.
    pub qemu: bool,
    /// Instrumented firmware, the one to take first.
    pub firmware: Vec<FoundFirmware>,
    /// What was found and cannot be used, and why.
    pub passed_over: Vec<String>,
    /// The chip of boards behind probes, if somebody has said it.
    pub chip: Option<String>,
}

impl Survey {
    /// Looks around, for a system file that will lie at `path`.
    #[must_use]
    pub fn of(around: &Surroundings, path: &Path) -> Self {
        let folder = folder_of(path);
        let ours = around.state.join(StateDir::name_of(path));
        let machines = leftovers(&around.state).into_iter();
        let running = machines.filter(|machine| machine.alive && machine.folder.starts_with(&ours));
        let (firmware, passed_over) = find_firmware(around, &folder);
        Self {
            probes: around.probes.clone(),
            running: running.map(|machine| (machine.board, machine.chip)).collect(),
            qemu: around.find("qemu-system-arm").is_some(),
            firmware,
            passed_over,
            chip: None,
        }
    }

    /// Puts the firmware of this name or path first, of several with this name the newest that has breakpoints. `false` if
    /// there is none.
    pub fn prefer(&mut self, wanted: &Path) -> bool {
        let is_it = |found: &FoundFirmware| {
            found.path == wanted || found.path.file_name() == Some(wanted.as_os_str()) || found.path.ends_with(wanted)
        };
        let at: Vec<usize> = (0..self.firmware.len()).filter(|at| is_it(&self.firmware[*at])).collect();
        let is_whole = |at: &usize| !self.firmware[*at].lacks_breakpoints();
        let whole = if at.len() > 1 { at.iter().copied().find(is_whole) } else { None };
        let Some(at) = whole.or(at.first().copied()) else { return false };
        let chosen = self.firmware.remove(at);
        self.firmware.insert(0, chosen);
        true
    }

    /// The text of a system file that will lie at `path`.
    #[must_use]
    pub fn system_file(&self, path: &Path) -> String {
        write::system_file(self, &folder_of(path))
    }
}

/// The folder that paths in a system file are relative to, as the file system knows it.
fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}
