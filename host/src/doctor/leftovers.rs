//! What machines that are gone have left behind, and which boards are in use now.
use super::{Check, Finding, Surroundings};
use crate::StateDir;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::os::unix::ffi::OsStrExt as _;
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
        for Orphan { process, run_dir } in orphans(&around.root.join("proc")) {
            let what = format!(
                "QEMU process {process} runs, and its run directory {} is gone or was moved",
                run_dir.display()
            );
            let fix = format!("kill {process}");
            let ours = run_dir.starts_with(&around.state);
            findings.push(if ours { Finding::wrong(name, what, fix) } else { Finding::note(name, what, fix) });
        }
        // The owner of this system's boards shares them.
        let owner = ours.as_deref().and_then(crate::owner::owner_process).map(|process| format!("process {process} "));
        let is_shared = |holder: &str| owner.as_ref().is_some_and(|owner| holder.starts_with(owner));
        let held = held_locks(&around.state, ours.as_deref());
        for (lock, holder) in held.into_iter().filter(|(_, holder)| !is_shared(holder)) {
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

/// A machine that no command finds any more.
struct Orphan {
    process: u32,
    /// Where it was started.
    run_dir: PathBuf,
}

/// The machines among the processes in `proc` whose run directory does not name them: it was moved or removed.
fn orphans(proc: &Path) -> Vec<Orphan> {
    let processes = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let mut found: Vec<Orphan> = processes
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            // Only machines that outlive their starter have both: see `qemu_probe::Machine`.
            words.iter().find(|word| word.starts_with(b"socket,id=qmp,server=on"))?;
            let at = words.iter().position(|word| *word == b"-pidfile")?;
            let pid_file = PathBuf::from(OsStr::from_bytes(words.get(at + 1)?));
            let run_dir = pid_file.parent()?.to_owned();
            let named = read(run_dir.clone()).is_some_and(|machine| machine.process == process);
            (!named).then_some(Orphan { process, run_dir })
        })
        .collect();
    found.sort_by_key(|orphan| orphan.process);
    found
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
    fn a_machine_whose_run_directory_was_moved_is_named_with_its_process() {
        let fake = Fake::new();
        let line = |folder: &str| {
            let run_dir = fake.path(folder).display().to_string();
            format!(
                "qemu-system-arm\0-pidfile\0{run_dir}/pid\0-chardev\0socket,id=qmp,server=on,wait=off,path={run_dir}/qmp.sock\0"
            )
        };
        let (moved, there, other) = (line("state/0123/A"), line("state/0123/B"), line("elsewhere/C"));
        let fake = fake
            .file("proc/4194301/cmdline", &moved)
            .file("proc/4194305/cmdline", &there)
            .file("proc/4194303/cmdline", &other)
            .file("proc/4194304/cmdline", "qemu-system-arm\0-pidfile\0/another/programs/pid\0")
            .file("state/0123/B/machine.json", DEAD);
        let found = LeftoversCheck.findings(&fake.around());
        let fixes: Vec<_> = found.iter().filter(|finding| finding.what.starts_with("QEMU process")).collect();
        assert_eq!(fixes.len(), 2, "{found:?}");
        assert_eq!((fixes[0].verdict, fixes[0].fix.as_deref()), (Verdict::Wrong, Some("kill 4194301")));
        assert!(fixes[0].what.ends_with("state/0123/A is gone or was moved"), "{found:?}");
        assert_eq!((fixes[1].verdict, fixes[1].fix.as_deref()), (Verdict::Note, Some("kill 4194303")));
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
