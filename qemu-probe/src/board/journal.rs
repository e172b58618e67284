//! What the next debugger needs to know, should this one be killed: which cores are to stay halted, and
//! which registers and code of a core must be restored.

use crate::machine::{DebugState, RunDir};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// How a core stood before an instruction was put in front of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Borrowed {
    pub core: usize,
    pub pc: u32,
    pub xpsr: u32,
    pub r0: u32,
    pub r1: u32,
    /// What stood at `pc`.
    pub code: Vec<u8>,
}

/// Files in the run directory of a machine that outlives its debuggers; nothing for one that does not.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    run_dir: Option<RunDir>,
    /// What was last noted.
    noted: Option<DebugState>,
}

impl Journal {
    pub(crate) fn of(run_dir: Option<RunDir>) -> Self {
        Self { run_dir, noted: None }
    }

    fn borrowed(&self) -> Option<PathBuf> {
        self.run_dir.as_ref().map(RunDir::borrowed)
    }

    /// Notes which cores are to stay halted and which are halted now, if that has changed. If it cannot be noted, the next
    /// debugger takes the machine as it finds it.
    pub(super) fn note(&mut self, halted: Vec<bool>, stopped: Vec<bool>) {
        let state = DebugState { vm_running: halted.contains(&false), halted, stopped, at_work: true };
        if let Some(run_dir) = self.run_dir.as_ref().filter(|_| self.noted.as_ref() != Some(&state)) {
            let _ = run_dir.note(&state);
            self.noted = Some(state);
        }
    }

    /// Keeps this until [`clear`](Self::clear). It is not changed on the core before this returns.
    pub(super) fn keep(&self, borrowed: &Borrowed) -> std::io::Result<()> {
        match self.borrowed() {
            Some(path) => fs::write(path, serde_json::to_vec(borrowed)?),
            None => Ok(()),
        }
    }

    /// The core has back what it had.
    pub(super) fn clear(&self) -> std::io::Result<()> {
        match self.borrowed().map(fs::remove_file) {
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// What a debugger that was killed owes. Half a file is of one that had changed nothing yet.
    pub(super) fn owed(&self) -> Option<Borrowed> {
        serde_json::from_slice(&fs::read(self.borrowed()?).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_owed_until_it_is_cleared_and_half_of_it_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let run_dir = RunDir::create(folder.path().into()).unwrap();
        let path = run_dir.borrowed();
        let journal = Journal::of(Some(run_dir));
        let borrowed = Borrowed { core: 1, pc: 0x1000_0200, xpsr: 1 << 24, r0: 7, r1: 8, code: vec![0x30, 0xBF] };
        assert_eq!(journal.owed(), None);
        journal.keep(&borrowed).unwrap();
        assert_eq!(journal.owed().as_ref(), Some(&borrowed));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(journal.owed(), None);
        journal.clear().unwrap();
        journal.clear().unwrap();
        assert!(!path.exists());
    }
}
