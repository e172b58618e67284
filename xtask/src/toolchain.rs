//! Which compiler builds the firmware, and making sure it can.
//!
//! Two ways. The ordinary one: the Rust that runs this program, with the thumb targets added by `rustup`. Where rustup
//! cannot download: Debian's own Rust, which ships the matching source of `core`, so the target is built on the spot.
//! `STILLPOINT_TOOLCHAIN=rustup|debian` forces one.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, CommandError};
use crate::packages::{Apt, InstallError, Package};
use crate::say::say;
use crate::workspace;

/// Cortex-M33, soft float: core 0 of the reference board has no FPU.
pub const CORTEX_M33: &str = "thumbv8m.main-none-eabi";
/// Cortex-M0+: the smallest chip the kit has in mind, without compare-and-swap.
pub const CORTEX_M0: &str = "thumbv6m-none-eabi";

const VARIABLE: &str = "STILLPOINT_TOOLCHAIN";
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const DEBIAN_FILES: [&str; 4] = ["/usr/bin/rustc", "/usr/bin/cargo", "/usr/bin/ld.lld-19", DEBIAN_CORE];
const DEBIAN_CORE: &str = "/usr/lib/rustlib/src/rust/library/core/Cargo.toml";

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
    #[error("apt installed {DEBIAN_PACKAGES:?}, but {0} is not there; remove them and use rustup")]
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
            debian_is_complete: missing_debian_file().is_none(),
        };
        match plan(found) {
            Plan::Use(toolchain) => Ok(toolchain),
            Plan::InstallDebian => install_debian(),
            Plan::AddTargets { or_debian } => match (add_targets(targets), or_debian) {
                (Ok(()), _) => Ok(Self::Rustup),
                (Err(cause), false) => Err(ToolchainError::Rustup(cause)),
                (Err(rustup), true) => {
                    say("skip", "rustup cannot add the target; trying Debian's toolchain");
                    install_debian().map_err(|error| match error {
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
        let mut cargo = Command::new("/usr/bin/cargo");
        cargo.current_dir(workspace::root());
        // What rustup's proxies and the outer cargo left in the environment belongs to another compiler.
        for leaked in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC", "RUSTC_WRAPPER", "LD_LIBRARY_PATH"] {
            cargo.env_remove(leaked);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(PathBuf::from("/usr/bin")).chain(std::env::split_paths(&path));
        cargo.env("PATH", std::env::join_paths(path).unwrap_or_else(|_| "/usr/bin:/bin".into()));
        // Building `core` is an unstable feature of cargo; Debian's is otherwise the stable one.
        cargo.env("RUSTC_BOOTSTRAP", "1").env("CARGO_UNSTABLE_BUILD_STD", "core");
        for target in [CORTEX_M33, CORTEX_M0] {
            let target = target.to_uppercase().replace(['-', '.'], "_");
            cargo.env(format!("CARGO_TARGET_{target}_LINKER"), "ld.lld-19");
        }
        cargo
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

fn missing_debian_file() -> Option<&'static str> {
    DEBIAN_FILES.into_iter().find(|file| !Path::new(file).exists())
}

fn install_debian() -> Result<Toolchain, ToolchainError> {
    // Only Debian has these; everybody else needs rustup, by whichever way it comes.
    let elsewhere = Package { apt: "rustup", dnf: "rustup", pacman: "rustup", brew: "rustup" };
    Apt::find().install(&DEBIAN_PACKAGES, &elsewhere)?;
    missing_debian_file().map_or(Ok(Toolchain::Debian), |file| Err(ToolchainError::Incomplete(file)))
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
    fn debians_cargo_sees_nothing_of_the_outer_compiler() {
        let cargo = Toolchain::Debian.cargo();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for leaked in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC"] {
            assert!(removed.contains(&leaked.as_ref()), "{leaked}");
        }
        let linker = "CARGO_TARGET_THUMBV8M_MAIN_NONE_EABI_LINKER";
        assert!(cargo.get_envs().any(|(name, value)| name == linker && value == Some("ld.lld-19".as_ref())));
        assert_ne!(Toolchain::Debian.target_dir(), Toolchain::Rustup.target_dir());
    }
}
