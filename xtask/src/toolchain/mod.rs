//! Which compiler builds the firmware, and making sure it can.
//!
//! Two ways. The ordinary one: the Rust that runs this program, with the thumb targets added by `rustup`. Where rustup
//! cannot download: Debian's own Rust, which ships the matching source of `core`, so the target is built on the spot.
//! `STILLPOINT_TOOLCHAIN=rustup|debian` forces one.
mod debian;

use std::path::PathBuf;
use std::process::Command;

use crate::command::{self, CommandError};
use crate::packages::InstallError;
use crate::say::say;
use crate::workspace;

/// Cortex-M33, soft float: core 0 of the reference board has no FPU.
pub const CORTEX_M33: &str = "thumbv8m.main-none-eabi";
/// Cortex-M0+: the smallest chip the kit has in mind, without compare-and-swap.
pub const CORTEX_M0: &str = "thumbv6m-none-eabi";

const VARIABLE: &str = "STILLPOINT_TOOLCHAIN";

/// A way to build firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The Rust on the PATH, which has the targets.
    Rustup,
    /// Debian's, which builds `core` for the target itself.
    Debian,
}

/// Why firmware cannot be built here.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// A typing mistake in the variable.
    #[error("{VARIABLE}={0:?} is no toolchain; say rustup, debian, or leave it unset")]
    Unknown(String),
    /// rustup was asked and refused.
    #[error("the Rust target for the firmware is missing and rustup could not add it (no network?): {0}")]
    Rustup(CommandError),
    /// Debian's packages are missing and cannot be had.
    #[error("Debian's Rust toolchain is missing: {0}")]
    Debian(#[from] InstallError),
    /// Debian's packages are installed, but not what the project needs.
    #[error("apt installed {packages:?} from fresh package lists, but {0} is not there; remove them and use rustup", packages = debian::PACKAGES)]
    Incomplete(&'static str),
    /// Neither way works.
    #[error("no compiler for {targets}:\n  by rustup: {rustup}\n  by Debian's toolchain: {debian}")]
    Neither {
        /// What was to be built.
        targets: String,
        /// Why not by rustup.
        rustup: Box<CommandError>,
        /// Why not by Debian.
        debian: Box<InstallError>,
    },
}

/// What was found on this machine, before anything is installed.
#[derive(Clone, Copy, Debug)]
struct Found {
    forced: Option<Toolchain>,
    rustc_has: Has,
    debian_is_complete: bool,
}

/// How many of the targets rustc can build for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    All,
    Some,
    None,
}

/// What to do about it.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Use(Toolchain),
    AddTargets { or_debian: bool },
    InstallDebian,
}

/// Nothing is downloaded while there is a way that needs no download.
fn plan(found: Found) -> Plan {
    match found {
        Found { forced: Some(Toolchain::Debian), debian_is_complete: false, .. } => Plan::InstallDebian,
        Found { forced: Some(Toolchain::Debian), .. } => Plan::Use(Toolchain::Debian),
        Found { rustc_has: Has::All, .. } => Plan::Use(Toolchain::Rustup),
        Found { forced: Some(Toolchain::Rustup), .. } => Plan::AddTargets { or_debian: false },
        // With some targets there already, rustup worked here once; with none, Debian's are here because it did not.
        Found { rustc_has: Has::None, debian_is_complete: true, .. } => Plan::Use(Toolchain::Debian),
        Found { .. } => Plan::AddTargets { or_debian: true },
    }
}

impl Toolchain {
    /// Makes sure that firmware can be built for `targets`, installing what is missing.
    pub fn ready(targets: &[&str]) -> Result<Self, ToolchainError> {
        let forced = Self::parse(std::env::var(VARIABLE).unwrap_or_default().as_str())?;
        let found = Found {
            forced,
            rustc_has: match targets.iter().filter(|target| rustc_has(target)).count() {
                0 => Has::None,
                some if some < targets.len() => Has::Some,
                _ => Has::All,
            },
            debian_is_complete: debian::missing().is_none(),
        };
        match plan(found) {
            Plan::Use(toolchain) => Ok(toolchain),
            Plan::InstallDebian => debian::install(),
            Plan::AddTargets { or_debian } => match (add_targets(targets), or_debian) {
                (Ok(()), _) => Ok(Self::Rustup),
                (Err(cause), false) => Err(ToolchainError::Rustup(cause)),
                (Err(rustup), true) => {
                    say("skip", "rustup cannot add the target; trying Debian's toolchain");
                    debian::install().map_err(|error| match error {
                        ToolchainError::Debian(debian) => ToolchainError::Neither {
                            targets: targets.join(", "),
                            rustup: Box::new(rustup),
                            debian: Box::new(debian),
                        },
                        other => other,
                    })
                }
            },
        }
    }

    fn parse(name: &str) -> Result<Option<Self>, ToolchainError> {
        match name {
            "" => Ok(None),
            "rustup" => Ok(Some(Self::Rustup)),
            "debian" => Ok(Some(Self::Debian)),
            other => Err(ToolchainError::Unknown(other.to_owned())),
        }
    }

    /// The word for it, as in the variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }

    /// Where it builds: each compiler has its own directory, so that changing between them rebuilds nothing.
    pub fn target_dir(self) -> PathBuf {
        match self {
            Self::Rustup => workspace::target_dir(),
            Self::Debian => workspace::target_dir().join("debian"),
        }
    }

    /// This toolchain's cargo, in the root of the workspace.
    pub fn cargo(self) -> Command {
        let Self::Debian = self else { return cargo() };
        let mut cargo = Command::new(debian::CARGO);
        cargo.current_dir(workspace::root());
        for (name, value) in debian::environment() {
            match value {
                Some(value) => cargo.env(name, value),
                None => cargo.env_remove(name),
            };
        }
        cargo
    }

    /// Lets the tests that `cargo_test` runs build firmware with this toolchain, though cargo itself is the host's.
    pub fn lend_to_tests(self, cargo_test: &mut Command) -> Result<(), CommandError> {
        if self == Self::Rustup {
            return Ok(());
        }
        let host = command::output(Command::new("rustc").args(["--print", "host-tuple"]))?;
        // Cargo starts each test program through a runner if there is one; this one changes its environment.
        let changes = debian::environment().into_iter().map(|(name, value)| match value {
            Some(value) => format!("{name}={}", value.to_string_lossy()),
            None => format!("--unset={name}"),
        });
        // `env` wants what is to be removed before what is to be set.
        let (unset, set): (Vec<_>, Vec<_>) = changes.partition(|change| change.starts_with("--unset"));
        let runner = format!("env {} {}", unset.join(" "), set.join(" "));
        cargo_test.env(format!("CARGO_TARGET_{}_RUNNER", debian::in_capitals(&host)), runner);
        Ok(())
    }
}

/// The cargo that runs this program, for everything that is not firmware.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace::root());
    cargo
}

fn rustc_has(target: &str) -> bool {
    let library = command::output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]));
    let Ok(files) = library.map_err(drop).and_then(|dir| std::fs::read_dir(dir).map_err(drop)) else { return false };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
}

fn add_targets(targets: &[&str]) -> Result<(), CommandError> {
    let missing: Vec<&str> = targets.iter().copied().filter(|target| !rustc_has(target)).collect();
    say("install", format_args!("{} (rustup)", missing.join(" ")));
    command::output(Command::new("rustup").args(["target", "add"]).args(missing)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Found = Found { forced: None, rustc_has: Has::None, debian_is_complete: false };

    #[test]
    fn the_variable_takes_two_names_and_refuses_others() {
        assert_eq!(Toolchain::parse("").unwrap(), None);
        assert_eq!(Toolchain::parse("rustup").unwrap(), Some(Toolchain::Rustup));
        assert_eq!(Toolchain::parse("debian").unwrap(), Some(Toolchain::Debian));
        let error = Toolchain::parse("nix").unwrap_err().to_string();
        assert!(error.contains("nix") && error.contains("rustup") && error.contains("debian"), "{error}");
    }

    #[test]
    fn what_is_there_is_used_without_a_download() {
        let rustup = Found { rustc_has: Has::All, ..NOTHING };
        let debian = Found { debian_is_complete: true, ..NOTHING };
        assert_eq!(plan(rustup), Plan::Use(Toolchain::Rustup));
        assert_eq!(plan(debian), Plan::Use(Toolchain::Debian));
        assert_eq!(plan(Found { rustc_has: Has::All, ..debian }), Plan::Use(Toolchain::Rustup));
    }

    #[test]
    fn rustup_is_tried_before_debian() {
        assert_eq!(plan(NOTHING), Plan::AddTargets { or_debian: true });
        let one_more = Found { rustc_has: Has::Some, debian_is_complete: true, ..NOTHING };
        assert_eq!(plan(one_more), Plan::AddTargets { or_debian: true });
    }

    #[test]
    fn a_forced_toolchain_is_never_replaced_by_the_other() {
        let debian = Some(Toolchain::Debian);
        let rustup = Some(Toolchain::Rustup);
        assert_eq!(plan(Found { forced: debian, rustc_has: Has::All, ..NOTHING }), Plan::InstallDebian);
        assert_eq!(plan(Found { forced: debian, debian_is_complete: true, ..NOTHING }), Plan::Use(Toolchain::Debian));
        let only_debian = Found { forced: rustup, debian_is_complete: true, ..NOTHING };
        assert_eq!(plan(only_debian), Plan::AddTargets { or_debian: false });
    }

    #[test]
    fn each_toolchain_builds_in_its_own_directory_with_its_own_cargo() {
        assert_ne!(Toolchain::Debian.target_dir(), Toolchain::Rustup.target_dir());
        let cargo = Toolchain::Debian.cargo();
        assert_eq!(cargo.get_program(), debian::CARGO);
        assert!(cargo.get_envs().any(|(name, value)| name == "RUSTUP_TOOLCHAIN" && value.is_none()));
    }

    #[test]
    fn tests_that_build_firmware_get_debians_environment_through_a_runner() {
        let mut test = Command::new("cargo");
        Toolchain::Rustup.lend_to_tests(&mut test).unwrap();
        assert_eq!(test.get_envs().count(), 0);
        Toolchain::Debian.lend_to_tests(&mut test).unwrap();
        let (name, value) = test.get_envs().next().unwrap();
        assert!(name.to_string_lossy().ends_with("_RUNNER"));
        let runner = value.unwrap().to_string_lossy().into_owned();
        assert!(runner.starts_with("env --unset=") && runner.contains(" CARGO=/usr/bin/cargo "), "{runner}");
    }
}
