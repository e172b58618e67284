//! System packages: apt where we may use it, and the exact commands for everybody else.
use std::io::IsTerminal;
use std::process::Command;

use crate::command::{self, CommandError};
use crate::say::say;

/// Something to install, under the name each package manager knows it by.
pub struct Package {
    /// Debian, Ubuntu.
    pub apt: &'static str,
    /// Fedora.
    pub dnf: &'static str,
    /// Arch.
    pub pacman: &'static str,
    /// macOS.
    pub brew: &'static str,
}

/// Why a package is still missing.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is no apt here, or no right to use it.
    #[error("{why}; install it by hand and repeat the command:\n{commands}")]
    ByHand {
        /// What stands in the way.
        why: &'static str,
        /// One line per package manager.
        commands: String,
    },
    /// apt was asked and refused, even after fetching its lists anew.
    #[error("apt could not install {packages} (no network?): {cause}")]
    Apt {
        /// The packages asked for.
        packages: String,
        /// What apt said.
        cause: CommandError,
    },
}

/// How apt may be called here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apt {
    /// We are root.
    Root,
    /// Through sudo.
    Sudo,
    /// There is apt, but we are neither root nor may we become root.
    Forbidden,
    /// Another system.
    Absent,
}

impl Apt {
    /// Looks at this machine.
    pub fn find() -> Self {
        let runs = |program: &str, argument: &str| command::output(Command::new(program).arg(argument)).is_ok();
        if !runs("apt-get", "--version") {
            return Self::Absent;
        }
        if command::output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0") {
            return Self::Root;
        }
        let without_password = command::output(Command::new("sudo").args(["-n", "true"])).is_ok();
        // With somebody there to type the password, sudo may ask for it.
        let with_password = || std::io::stdin().is_terminal() && runs("sudo", "--version");
        if without_password || with_password() { Self::Sudo } else { Self::Forbidden }
    }

    /// Installs `packages`; `by_hand` is what users of other systems install instead.
    ///
    /// Package lists may be old. They are fetched anew, and the packages installed once more, if apt cannot install them or
    /// if `is_enough` says that what apt installed is not what is needed.
    pub fn install(
        self,
        packages: &[&str],
        by_hand: &Package,
        is_enough: impl Fn() -> bool,
    ) -> Result<(), InstallError> {
        let why = match self {
            Self::Absent => "this machine has no apt",
            Self::Forbidden => "installing needs root, and there is no sudo without a password",
            Self::Root | Self::Sudo => {
                say("install", format_args!("{} (apt)", packages.join(" ")));
                return self.apt_install(packages, is_enough);
            }
        };
        Err(InstallError::ByHand { why, commands: commands(by_hand) })
    }

    fn apt_install(self, packages: &[&str], is_enough: impl Fn() -> bool) -> Result<(), InstallError> {
        let install = || {
            let mut apt = self.apt_get();
            apt.args(["install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]).args(packages);
            command::output(&mut apt)
        };
        if install().is_ok() && is_enough() {
            return Ok(());
        }
        say("update", "the package lists (apt)");
        let done = command::output(self.apt_get().arg("update")).and_then(|_| install());
        done.map(drop).map_err(|cause| InstallError::Apt { packages: packages.join(" "), cause })
    }

    fn apt_get(self) -> Command {
        let mut command = Command::new(if self == Self::Sudo { "sudo" } else { "apt-get" });
        if self == Self::Sudo {
            command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        }
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

/// The command to type on each system, one per line.
fn commands(package: &Package) -> String {
    let Package { apt, dnf, pacman, brew } = package;
    let rows = [
        ("Debian, Ubuntu", format!("sudo apt-get install {apt}")),
        ("Fedora", format!("sudo dnf install {dnf}")),
        ("Arch", format!("sudo pacman -S {pacman}")),
        ("macOS", format!("brew install {brew}")),
    ];
    rows.iter().map(|(system, line)| format!("    {system:<16}{line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: Package = Package { apt: "tool-apt", dnf: "tool-dnf", pacman: "tool-pacman", brew: "tool-brew" };

    #[test]
    fn without_root_the_error_names_the_command_of_every_package_manager() {
        for apt in [Apt::Forbidden, Apt::Absent] {
            let error = apt.install(&["tool-apt"], &PACKAGE, || true).unwrap_err().to_string();
            for line in
                ["apt-get install tool-apt", "dnf install tool-dnf", "pacman -S tool-pacman", "brew install tool-brew"]
            {
                assert!(error.contains(line), "{error}");
            }
        }
    }
}
