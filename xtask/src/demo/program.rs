//! The program `stillpoint`, built and run as a user runs it.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{self, CommandError};
use crate::toolchain::cargo;

/// The program, and the folder it is run in.
pub struct Program {
    executable: PathBuf,
    folder: PathBuf,
}

/// What one command printed, and whether all was well.
pub struct Said {
    /// Its standard output.
    pub text: String,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
}

impl Program {
    /// Builds it; it will run in `folder`.
    pub fn build(folder: &Path) -> Result<Self, CommandError> {
        let mut build = cargo();
        build.args(["build", "--package", "stillpoint", "--bin", "stillpoint"]);
        build.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let messages = command::output(&mut build)?;
        let executable = crate::firmware::executables(&messages).into_iter().find(|(name, _)| name == "stillpoint");
        let executable = executable.map(|(_, path)| path).ok_or_else(|| CommandError::Missing("stillpoint".into()))?;
        Ok(Self { executable, folder: folder.to_owned() })
    }

    /// Where it is.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Runs one command; its news go to the user's screen.
    pub fn run(&self, words: &[&str]) -> Result<Said, CommandError> {
        let mut command = Command::new(&self.executable);
        command.args(words).current_dir(&self.folder).stdin(Stdio::null()).stderr(Stdio::inherit());
        let done = command.output().map_err(|error| CommandError::Start("stillpoint".into(), error))?;
        Ok(Said { text: String::from_utf8_lossy(&done.stdout).into_owned(), code: done.status.code() })
    }
}
