//! QEMU: is it here, is it new enough, and if not, get it.
use std::fmt;
use std::process::Command;

use crate::command::{self, CommandError};
use crate::packages::{Apt, InstallError, Package};

/// The program that is our board.
pub const PROGRAM: &str = "qemu-system-arm";

const PACKAGE: Package =
    Package { apt: "qemu-system-arm", dnf: "qemu-system-arm", pacman: "qemu-system-arm", brew: "qemu" };

/// The oldest version whose mps2-an521 was tried.
const OLDEST: Version = Version { major: 7, minor: 2, patch: 0 };

/// A version of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// Reads the first line of `qemu-system-arm --version`.
    fn parse(text: &str) -> Option<Self> {
        let number = text.lines().next()?.split_once("version ")?.1.split_whitespace().next()?;
        // A release candidate or a package revision may follow: 9.0.0-rc2, 7.2.22-1.
        let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        let mut next = || parts.next()?.ok();
        Some(Self { major: next()?, minor: next()?, patch: next().unwrap_or(0) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why there is no usable QEMU.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// It is missing and could not be installed.
    #[error("{PROGRAM} is missing: {0}")]
    Missing(#[from] InstallError),
    /// It is there, but says something unexpected.
    #[error("{PROGRAM} --version says {0:?}, which names no version; is another program in its place on the PATH?")]
    Unreadable(String),
    /// It is there, but will not run.
    #[error("{PROGRAM} is there but does not run: {0}; reinstall it")]
    Broken(CommandError),
    /// It is older than what the board needs.
    #[error(
        "{PROGRAM} {0} is too old: the board mps2-an521 needs {OLDEST} or newer; upgrade it, or put a newer one first on the PATH"
    )]
    TooOld(Version),
}

/// Makes sure of a usable QEMU, installing it if it is missing.
pub fn ready() -> Result<Version, QemuError> {
    let said = match ask() {
        Err(CommandError::Missing(_)) => {
            Apt::find().install(&[PACKAGE.apt], &PACKAGE, || ask().is_ok_and(|said| judge(&said).is_ok()))?;
            ask()
        }
        said => said,
    };
    judge(&said.map_err(QemuError::Broken)?)
}

fn ask() -> Result<String, CommandError> {
    command::output(Command::new(PROGRAM).arg("--version"))
}

fn judge(said: &str) -> Result<Version, QemuError> {
    let version = Version::parse(said).ok_or_else(|| QemuError::Unreadable(said.chars().take(80).collect()))?;
    if version < OLDEST { Err(QemuError::TooOld(version)) } else { Ok(version) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_distributions_and_release_candidates_are_read() {
        let read = |text| Version::parse(text).map(|version| version.to_string());
        assert_eq!(read("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright").as_deref(), Some("7.2.22"));
        assert_eq!(read("QEMU emulator version 9.1.0-rc2").as_deref(), Some("9.1.0"));
        assert_eq!(read("QEMU emulator version 8.2").as_deref(), Some("8.2.0"));
    }

    #[test]
    fn an_old_version_is_refused_with_the_version_needed() {
        let error = judge("QEMU emulator version 5.2.0 (Debian 1:5.2)").unwrap_err();
        assert!(matches!(error, QemuError::TooOld(_)));
        assert!(error.to_string().contains("needs 7.2.0 or newer"), "{error}");
        assert!(judge("QEMU emulator version 7.2.0").is_ok());
        assert!(judge("QEMU emulator version 10.0.0").is_ok());
    }

    #[test]
    fn something_that_is_not_qemu_is_refused() {
        for text in ["", "hello", "QEMU emulator version", "QEMU emulator version x.y"] {
            assert!(matches!(judge(text), Err(QemuError::Unreadable(_))), "{text}");
        }
    }
}
