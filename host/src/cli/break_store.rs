//! What was written for each breakpoint, between one command and the next.
use super::{CliError, Context};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::SystemTime;
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
    /// Whether another process armed it. That process has ended or lost the boards, as this one has them now.
    pub fn is_left(&self) -> bool {
        self.owner.as_deref() != Some(this_process())
    }
}

/// A name for this process that no other one has, not even a later one of the same number.
fn this_process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("{} {}", std::process::id(), since.as_nanos())
    })
}

impl Store {
    /// Reads what is remembered of a system.
    pub fn open(file: &SystemFile) -> Result<Self, CliError> {
        let path = StateDir::of(file).map_err(|error| CliError::Usage(error.to_string()))?.breakpoints();
        let kept = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let path = path.display();
                CliError::Usage(format!(
                    "{path} is damaged ({error}); delete it: the breakpoints stay armed, only their texts are lost"
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(CliError::Usage(format!("cannot read {}: {error}", path.display()))),
        };
        Ok(Self { path: Some(path), kept })
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
        self.kept.retain(|other| other.armed.slot != armed.slot);
        let (owner, only_for) = (Some(this_process().to_owned()), only_for.map(str::to_owned));
        self.kept.push(Kept { armed, owner, only_for });
        self.kept.sort_by_key(|kept| kept.armed.slot);
        self.write()
    }

    /// Forgets the breakpoints for which `is_over`.
    pub fn forget(&mut self, is_over: impl Fn(&Armed) -> bool) -> Result<(), CliError> {
        let before = self.kept.len();
        self.kept.retain(|kept| !is_over(&kept.armed));
        if self.kept.len() == before { Ok(()) } else { self.write() }
    }

    /// A reader finds the old list or the new one, never half of it.
    fn write(&self) -> Result<(), CliError> {
        let Some(path) = &self.path else { return Ok(()) };
        let fail = |error: &dyn std::fmt::Display| CliError::Usage(format!("cannot write {}: {error}", path.display()));
        let text = serde_json::to_vec_pretty(&self.kept).map_err(|error| fail(&error))?;
        stillpoint::OutputFile::at(path).write(|to| to.write_all(&text)).map(drop).map_err(|error| fail(&error))
    }
}
