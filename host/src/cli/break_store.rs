//! What was written for each breakpoint, between one command and the next.
use super::{CliError, Context};
use std::path::PathBuf;
use stillpoint::StateDir;
use stillpoint::breakpoint::Armed;
use stillpoint::config::SystemFile;

/// The breakpoints of a system as they were armed. What the boards say of them counts; this only knows their texts.
pub struct Store {
    /// Where it is kept; what a dump says of breakpoints is kept nowhere else.
    path: Option<PathBuf>,
    armed: Vec<Armed>,
}

impl Store {
    /// Reads what is remembered of a system.
    pub fn open(file: &SystemFile) -> Result<Self, CliError> {
        let path = StateDir::of(file).map_err(|error| CliError::Usage(error.to_string()))?.breakpoints();
        let armed = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let path = path.display();
                CliError::Usage(format!(
                    "{path} is damaged ({error}); delete it: the breakpoints stay armed, only their texts are lost"
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(CliError::Usage(format!("cannot read {}: {error}", path.display()))),
        };
        Ok(Self { path: Some(path), armed })
    }

    /// Reads what is remembered of the system that is looked at: the boards', or that of a dump.
    pub fn of(context: &mut Context) -> Result<Self, CliError> {
        match context.dump()? {
            None => Self::open(context.file()?.as_ref()),
            Some(dump) => {
                let saved = dump.breakpoints.clone().and_then(|saved| serde_json::from_value(saved).ok());
                Ok(Self { path: None, armed: saved.unwrap_or_default() })
            }
        }
    }

    /// The breakpoints.
    pub fn armed(&self) -> &[Armed] {
        &self.armed
    }

    /// Remembers a breakpoint, in place of what was in its slot before.
    pub fn put(&mut self, armed: Armed) -> Result<(), CliError> {
        self.armed.retain(|other| other.slot != armed.slot);
        self.armed.push(armed);
        self.armed.sort_by_key(|armed| armed.slot);
        self.write()
    }

    /// Forgets the breakpoints for which `is_over`.
    pub fn forget(&mut self, is_over: impl Fn(&Armed) -> bool) -> Result<(), CliError> {
        let before = self.armed.len();
        self.armed.retain(|armed| !is_over(armed));
        if self.armed.len() == before { Ok(()) } else { self.write() }
    }

    /// A reader finds the old list or the new one, never half of it.
    fn write(&self) -> Result<(), CliError> {
        let Some(path) = &self.path else { return Ok(()) };
        let fail = |error: &dyn std::fmt::Display| CliError::Usage(format!("cannot write {}: {error}", path.display()));
        let text = serde_json::to_vec_pretty(&self.armed).map_err(|error| fail(&error))?;
        let new = path.with_extension("new");
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)).map_err(|error| fail(&error))
    }
}
