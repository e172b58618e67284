//! Running other programs: quietly when only the answer matters, visibly when the user waits for it.
use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that could not be run, or that failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program is not on the PATH.
    #[error("`{0}` is not installed or not on the PATH")]
    Missing(String),
    /// The operating system refused to start it.
    #[error("`{0}` could not be started: {1}")]
    Start(String, Error),
    /// It ran and said no; the last lines it wrote say why.
    #[error("`{command}` failed ({status}){output}")]
    Failed {
        /// The command line, as one would type it.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The end of what it wrote, when that was not already on the screen.
        output: String,
    },
}

/// Runs to the end with the user watching.
pub fn run(command: &mut Command) -> Result<(), CommandError> {
    let status = command.status().map_err(|error| start_error(command, error))?;
    if status.success() {
        return Ok(());
    }
    Err(CommandError::Failed { command: shown(command), status, output: String::new() })
}

/// Runs to the end unseen, and returns what it wrote to its output.
pub fn output(command: &mut Command) -> Result<String, CommandError> {
    let done = command.stdin(Stdio::null()).output().map_err(|error| start_error(command, error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if done.status.success() {
        return Ok(text(&done.stdout));
    }
    let said = if done.stderr.is_empty() { text(&done.stdout) } else { text(&done.stderr) };
    let lines: Vec<&str> = said.lines().collect();
    let tail: String = lines[lines.len().saturating_sub(6)..].iter().map(|line| format!("\n    {line}")).collect();
    Err(CommandError::Failed { command: shown(command), status: done.status, output: tail })
}

/// The command line, as one would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words = std::iter::once(program.file_name().unwrap_or(program.as_os_str())).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

fn start_error(command: &Command, error: Error) -> CommandError {
    let program = command.get_program().to_string_lossy().into_owned();
    match error.kind() {
        ErrorKind::NotFound => CommandError::Missing(program),
        _ => CommandError::Start(program, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_apart_from_one_that_fails() {
        let missing = output(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(matches!(missing, CommandError::Missing(_)), "{missing}");
        let failed = output(Command::new("sh").args(["-c", "echo reason >&2; exit 3"])).unwrap_err();
        assert!(failed.to_string().contains("reason"), "{failed}");
    }

    #[test]
    fn output_is_returned_without_its_last_line_break() {
        assert_eq!(output(Command::new("sh").args(["-c", "echo one; echo two"])).unwrap(), "one\ntwo");
    }
}
