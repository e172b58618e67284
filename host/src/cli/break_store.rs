//! What was written for each breakpoint, between one command and the next.
use super::{CliError, Context};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use stillpoint::StateDir;
use stillpoint::breakpoint::Armed;
use stillpoint::config::SystemFile;
use stillpoint_core::predicate::SlotId;

/// The breakpoints of a system as they were armed. What the boards say of them counts; this knows their texts and which
/// process armed them.
pub struct Store {
    /// Where it is kept; what a dump says of breakpoints is kept nowhere else.
    path: Option<PathBuf>,
    kept: Vec<Kept>,
}

/// A breakpoint and the process that armed it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kept {
    #[serde(flatten)]
    pub armed: Armed,
    /// The process. Missing in what older releases wrote.
    #[serde(default)]
    owner: Option<String>,
    /// The command that removes it before it ends: nobody else has use for it.
    #[serde(default)]
    pub only_for: Option<String>,
}

impl Kept {
    /// Whether the process that armed it has ended.
    pub fn is_left(&self) -> bool {
        let process = self.owner.as_deref().and_then(|owner| owner.split_once(' ')?.0.parse().ok());
        process.is_none_or(|process| name_of(process) != self.owner)
    }

    /// Whether another process armed it and is still there.
    fn is_of_another(&self) -> bool {
        !self.is_left() && self.owner.as_deref() != Some(this_process())
    }
}

/// A name for a process that no other one has, not even a later one of the same number: its number and when it started.
fn name_of(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let (state, started) = (fields.next()?, fields.nth(18)?);
    // One that has ended, and whose parent has not asked for it yet.
    (!matches!(state, "Z" | "X")).then(|| format!("{process} {started}"))
}

fn this_process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| name_of(std::process::id()).unwrap_or_default())
}

impl Store {
    /// Reads what is remembered of a system.
    pub fn open(file: &SystemFile) -> Result<Self, CliError> {
        let path = StateDir::of(file).map_err(|error| CliError::Usage(error.to_string()))?.breakpoints();
        Ok(Self { kept: Self::read(&path)?, path: Some(path) })
    }

    fn read(path: &Path) -> Result<Vec<Kept>, CliError> {
        Ok(match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let path = path.display();
                CliError::Usage(format!(
                    "{path} is damaged ({error}); delete it: the breakpoints stay armed, only their texts are lost"
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(CliError::Usage(format!("cannot read {}: {error}", path.display()))),
        })
    }

    /// Reads what is remembered of the system that is looked at: the boards', or that of a dump.
    pub fn of(context: &mut Context) -> Result<Self, CliError> {
        match context.dump()? {
            None => Self::open(context.file()?.as_ref()),
            Some(dump) => {
                let saved = dump.breakpoints.clone().and_then(|saved| serde_json::from_value(saved).ok());
                Ok(Self { path: None, kept: saved.unwrap_or_default() })
            }
        }
    }

    /// The breakpoints.
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// The breakpoint in a slot.
    pub fn in_slot(&self, slot: SlotId) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.armed.slot == slot.number())
    }

    /// Remembers a breakpoint of this process, in place of what was in its slot before. `only_for`: the command that removes
    /// it before it ends, if one does.
    pub fn put(&mut self, armed: Armed, only_for: Option<&str>) -> Result<(), CliError> {
        let (owner, only_for) = (Some(this_process().to_owned()), only_for.map(str::to_owned));
        self.change(|kept| {
            kept.retain(|other| other.armed.slot != armed.slot);
            kept.push(Kept { armed, owner, only_for });
            kept.sort_by_key(|kept| kept.armed.slot);
        })
    }

    /// Forgets the breakpoints for which `is_over`.
    pub fn forget(&mut self, is_over: impl Fn(&Armed) -> bool) -> Result<(), CliError> {
        match self.kept.iter().any(|kept| is_over(&kept.armed)) {
            true => self.change(|kept| kept.retain(|kept| !is_over(&kept.armed))),
            false => Ok(()),
        }
    }

    /// Forgets the breakpoints that no board has any more, unless another process is about to arm them.
    pub fn forget_gone(&mut self, is_gone: impl Fn(&Armed) -> bool) -> Result<(), CliError> {
        let is_over = |kept: &Kept| is_gone(&kept.armed) && !kept.is_of_another();
        match self.kept.iter().any(is_over) {
            true => self.change(|kept| kept.retain(|kept| !is_over(kept))),
            false => Ok(()),
        }
    }

    /// Changes the list as it is now: other processes may have changed it since it was read.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Kept>)) -> Result<(), CliError> {
        let Some(path) = &self.path else {
            change(&mut self.kept);
            return Ok(());
        };
        let beside = path.with_extension("changing");
        let fail = |error| CliError::Usage(format!("cannot lock {}: {error}", beside.display()));
        let lock = File::options().write(true).create(true).truncate(false).open(&beside).map_err(fail)?;
        lock.lock().map_err(fail)?;
        self.kept = Self::read(path)?;
        change(&mut self.kept);
        self.write()
    }

    /// A reader finds the old list or the new one, never half of it.
    fn write(&self) -> Result<(), CliError> {
        let Some(path) = &self.path else { return Ok(()) };
        let fail = |error: &dyn std::fmt::Display| CliError::Usage(format!("cannot write {}: {error}", path.display()));
        let text = serde_json::to_vec_pretty(&self.kept).map_err(|error| fail(&error))?;
        stillpoint::OutputFile::at(path).write(|to| to.write_all(&text)).map(drop).map_err(|error| fail(&error))
    }
}
