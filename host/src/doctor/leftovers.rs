//! What machines that are gone have left behind, and which boards are in use now.
use super::{Check, Finding, Surroundings};
use crate::StateDir;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

pub(super) struct LeftoversCheck;

/// The run directory of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is: the folder of a system, and in it that of the board.
    pub folder: PathBuf,
    /// The name of the board.
    pub board: String,
    /// The number of its process.
    pub process: u32,
    /// The chip it is.
    pub chip: String,
    /// Whether the machine runs.
    pub alive: bool,
}

impl Check for LeftoversCheck {
    fn name(&self) -> &'static str {
        "leftovers"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let name = self.name();
        let ours = around.system.as_ref().ok().map(|file| around.state.join(StateDir::name_of(&file.path)));
        let machines = leftovers(&around.state);
        let mut findings = Vec::new();
        for gone in machines.iter().filter(|machine| !machine.alive) {
            let Leftover { folder, board, process, .. } = gone;
            let what =
                format!("the QEMU of board {board} (process {process}) is gone and has left {}", folder.display());
            if ours.as_ref().is_some_and(|ours| folder.starts_with(ours)) {
                findings.push(Finding::wrong(name, what, "stillpoint down"));
            } else {
                findings.push(Finding::note(name, what + ", of another system", format!("rm -r {}", folder.display())));
            }
        }
        for (lock, holder) in held_locks(&around.state, ours.as_deref()) {
            let what = format!("{} is in use by {holder}", lock.file_stem().unwrap_or_default().to_string_lossy());
            findings.push(Finding::note(name, what, "wait until that ends, or end it"));
        }
        if findings.is_empty() {
            let running = machines.iter().filter(|machine| machine.alive).count();
            let machines = if running == 1 { "machine runs" } else { "machines run" };
            findings.push(Finding::ok(name, format!("nothing of dead machines; {running} {machines}")));
        }
        findings
    }
}

/// Every machine that was started by anybody below this folder and not put away.
#[must_use]
pub fn leftovers(state: &Path) -> Vec<Leftover> {
    let folders = |path: &Path| {
        let mut found: Vec<PathBuf> = std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        found.sort();
        found
    };
    let boards = folders(state).into_iter().flat_map(|system| folders(&system));
    boards.filter_map(read).collect()
}

/// Reads what a machine wrote about itself.
fn read(folder: PathBuf) -> Option<Leftover> {
    let text = std::fs::read(folder.join("machine.json")).ok()?;
    let said: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let process = u32::try_from(said["pid"].as_u64()?).ok()?;
    let chip = said["machine"].as_str()?.to_owned();
    let board = folder.file_name()?.to_string_lossy().into_owned();
    // A later process may have the same number; only the machine itself was started with this path.
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let pid_file = folder.canonicalize().unwrap_or_else(|_| folder.clone()).join("pid");
    let alive = line.split(|byte| *byte == 0).any(|word| word == pid_file.as_os_str().as_encoded_bytes());
    Some(Leftover { folder, board, process, chip, alive })
}

/// Locks that somebody holds now: of this system's boards, and of probes. A lock file that nobody holds is no leftover: it is
/// free whatever is written in it.
fn held_locks(state: &Path, ours: Option<&Path>) -> Vec<(PathBuf, String)> {
    let files =
        [Some(state), ours].into_iter().flatten().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
    let locks =
        files.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "lock"));
    let holder = |path: PathBuf| {
        let file = File::options().read(true).write(true).open(&path).ok()?;
        let held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        held.then(|| (path.clone(), std::fs::read_to_string(&path).unwrap_or_else(|_| "another process".into())))
    };
    locks.filter_map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;
    use crate::BoardLock;

    const DEAD: &str = r#"{"machine":"mps2-an521","pid":4194305,"shared_ram":null,"gdb":true}"#;

    #[test]
    fn a_machine_that_is_gone_is_put_away_by_down_and_one_of_another_system_by_hand() {
        let fake = Fake::new().board("A", "mps2-an521", "qemu");
        let ours = StateDir::name_of(&fake.path("stillpoint.toml"));
        let fake = fake.file(&format!("state/{ours}/A/machine.json"), DEAD).file("state/0123/B/machine.json", DEAD);
        let mut found = LeftoversCheck.findings(&fake.around());
        found.sort_by_key(|finding| finding.verdict == Verdict::Note);
        assert_eq!((found[0].verdict, found[0].fix.as_deref()), (Verdict::Wrong, Some("stillpoint down")));
        assert!(found[0].what.contains("board A (process 4194305) is gone"), "{found:?}");
        assert_eq!(found[1].verdict, Verdict::Note);
        assert_eq!(found[1].fix, Some(format!("rm -r {}", fake.path("state/0123/B").display())));
    }

    #[test]
    fn a_process_of_the_same_number_is_not_the_machine() {
        let mine = DEAD.replace("4194305", &std::process::id().to_string());
        let fake = Fake::new().file("state/0123/B/machine.json", mine);
        assert!(!leftovers(&fake.path("state"))[0].alive);
    }

    #[test]
    fn a_lock_is_worth_a_word_only_while_somebody_holds_it() {
        let fake = Fake::new().file("state/probe-2e8a.lock", "process 1 (stillpoint halt)");
        assert_eq!(LeftoversCheck.findings(&fake.around())[0].verdict, Verdict::Ok);
        let lock = BoardLock::take(&fake.path("state/probe-2e8a.lock")).unwrap();
        let found = LeftoversCheck.findings(&fake.around());
        assert!(
            found[0].what.starts_with(&format!("probe-2e8a is in use by process {}", std::process::id())),
            "{found:?}"
        );
        drop(lock);
        assert_eq!(LeftoversCheck.findings(&fake.around())[0].verdict, Verdict::Ok);
    }
}
