//! How a command ends.
use std::process::ExitCode;
use stillpoint::config::ConfigError;
use stillpoint::dump::DumpError;
use stillpoint::owner::OwnerError;
use stillpoint::trace::{RecordError, TraceError};
use stillpoint::{OpenError, SessionError, SystemError, UnknownNode};

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Ok,
    /// The answer is bad: a certificate fails, a node is missing, a recording is damaged.
    Bad,
    /// Usage or environment error: a wrong option, a missing file, no probe, no room for the result.
    Usage,
    /// Ctrl-C.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Bad => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
        })
    }
}

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The system file is missing or wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A board could not be attached to.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A board's probe or machine would not.
    #[error("board {board}: {source}")]
    Session {
        /// Which board.
        board: String,
        /// Why.
        source: SessionError,
    },
    /// Another process controls the boards, or the one that owns them cannot be asked.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The machines of emulated boards would not.
    #[cfg(feature = "qemu")]
    #[error(transparent)]
    Machines(SessionError),
    /// The boards did not do what was asked.
    #[error(transparent)]
    System(#[from] SystemError),
    /// There is no recording, or none that can be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A recording cannot be written, or a board that is recorded does not answer.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no dump, or none that can be read.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// No node has this name.
    #[error(transparent)]
    UnknownNode(#[from] UnknownNode),
    /// The user pressed Ctrl-C, or the system wants us to end.
    #[error("interrupted; {0}")]
    Interrupted(&'static str),
    /// Something that only this command knows of, and that the caller can mend.
    #[error("{0}")]
    Usage(String),
    /// A line of a file that was read went wrong.
    #[error("{place}: {text}")]
    At {
        /// Which line of which file.
        place: String,
        /// What went wrong.
        text: String,
        /// The exit code that belongs to it.
        exit: Exit,
    },
    /// Something that only this command knows of: the answer is bad.
    #[error("{0}")]
    Bad(String),
}

fn of_system(error: &SystemError) -> Exit {
    match error {
        SystemError::Interrupted(_) | SystemError::Owner(OwnerError::Interrupted) => Exit::Interrupted,
        SystemError::Owner(_) => Exit::Usage,
        _ => Exit::Bad,
    }
}

impl CliError {
    /// Returns the exit code, for all commands alike.
    ///
    /// A file, a probe or a board that is missing or unusable is [`Exit::Usage`]. Boards that were there and did not do what
    /// was asked are a bad answer.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Interrupted(_) | Self::Owner(OwnerError::Interrupted) => Exit::Interrupted,
            Self::At { exit, .. } => *exit,
            Self::Bad(_) => Exit::Bad,
            Self::System(error) | Self::Dump(DumpError::System(error)) => of_system(error),
            Self::Record(RecordError::System { source, .. }) => of_system(source),
            _ => Exit::Usage,
        }
    }
}
