//! What a check may look at: programs, devices, folders, probes and the system file, any of which a test can put in place.
use crate::config::{BoardConfig, ConfigError, ProbeConfig, SystemFile, find_system_file};
use crate::{ProbeSeen, StateDir};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The machine this runs on, as far as the boards depend on it.
#[derive(Debug)]
pub struct Surroundings {
    /// Where programs are looked for, as in `PATH`.
    pub path: OsString,
    /// The root of the file system, below which devices and packages are looked for.
    pub root: PathBuf,
    /// The folder of machines and locks.
    pub state: PathBuf,
    /// The debug probes that are plugged in.
    pub probes: Vec<ProbeSeen>,
    /// The system file, or why there is none.
    pub system: Result<SystemFile, ConfigError>,
}

/// What came of asking a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It said this on standard output.
    Said(String),
    /// It is not on the search path.
    Missing,
    /// It is there and failed, with these words.
    Failed(String),
}

/// How long a program may take to say its version. A proxy such as rustup's may look around first.
const LIMIT: Duration = Duration::from_secs(20);

impl Surroundings {
    /// Those of this process. `system` names the system file; without it the nearest one counts.
    #[must_use]
    pub fn of_this_machine(system: Option<&Path>) -> Self {
        let system = match system {
            Some(path) => SystemFile::read(path),
            None => std::env::current_dir()
                .map_err(|source| ConfigError::Read { path: ".".into(), source })
                .and_then(|here| find_system_file(&here))
                .and_then(|path| SystemFile::read(&path)),
        };
        Self {
            path: std::env::var_os("PATH").unwrap_or_default(),
            root: "/".into(),
            state: StateDir::root(),
            probes: crate::connected_probes(),
            system,
        }
    }

    /// The boards of the system file; none if there is no file.
    pub fn boards(&self) -> &[BoardConfig] {
        self.system.as_ref().map_or(&[], |file| &file.boards)
    }

    /// Whether a board of the system is emulated.
    pub(super) fn emulates(&self) -> bool {
        self.boards().iter().any(|board| board.probe == ProbeConfig::Qemu)
    }

    /// Where a program is.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        use std::os::unix::fs::PermissionsExt as _;
        let runs =
            |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        std::env::split_paths(&self.path).map(|folder| folder.join(program)).find(runs)
    }

    /// Runs a program and returns what it said.
    pub fn ask<A: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = A>) -> Answer {
        let Some(path) = self.find(program) else { return Answer::Missing };
        let mut command = Command::new(path);
        command.args(arguments).env("PATH", &self.path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Answer::Failed(error.to_string()),
        };
        let began = Instant::now();
        while let Ok(None) = child.try_wait() {
            if began.elapsed() > LIMIT {
                // What is killed here is what was started here.
                let _ = child.kill();
                let _ = child.wait();
                return Answer::Failed(format!("it said nothing for {} s", LIMIT.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        match child.wait_with_output() {
            Ok(done) if done.status.success() => {
                Answer::Said(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
            }
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr);
                let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed without a word");
                Answer::Failed(last.trim().to_owned())
            }
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    /// The command that installs a package on this machine.
    pub(super) fn install(&self, package: &str) -> String {
        let managers = [
            ("apt-get", "sudo apt-get install"),
            ("dnf", "sudo dnf install"),
            ("pacman", "sudo pacman -S"),
            ("brew", "brew install"),
        ];
        let found = managers.iter().find(|(program, _)| self.find(program).is_some());
        let (_, command) = found.unwrap_or(&managers[0]);
        // Homebrew has one package for all machines that QEMU knows.
        let package = if command.starts_with("brew") { package.split('-').next().unwrap_or(package) } else { package };
        format!("{command} {package}")
    }
}

#[cfg(test)]
pub(super) use fake::Fake;

/// A machine made of stub programs and folders.
#[cfg(test)]
mod fake {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use tempfile::TempDir;

    /// A machine on which nothing is, until a test puts it there.
    pub struct Fake {
        folder: TempDir,
        probes: Vec<ProbeSeen>,
    }

    impl Fake {
        pub fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("bin")).unwrap();
            Self { folder, probes: Vec::new() }
        }

        pub fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// With this program, a shell script.
        pub fn program(self, name: &str, script: &str) -> Self {
            let path = self.path("bin").join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            self
        }

        /// With this file.
        pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
            std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            std::fs::write(self.path(name), text).unwrap();
            self
        }

        pub fn probe(mut self, name: &str, selector: &str) -> Self {
            self.probes.push(ProbeSeen { name: name.into(), selector: selector.into() });
            self
        }

        /// With a board behind this probe, whose firmware is `firmware.elf`.
        pub fn board(self, name: &str, chip: &str, probe: &str) -> Self {
            let path = self.path("stillpoint.toml");
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            let board = format!(
                "[[board]]\nname = {name:?}\nchip = {chip:?}\nprobe = {probe:?}\nfirmware = \"firmware.elf\"\n"
            );
            std::fs::write(path, before + &board).unwrap();
            self
        }

        pub fn around(&self) -> Surroundings {
            Surroundings {
                path: self.path("bin").into(),
                root: self.folder.path().to_owned(),
                state: self.path("state"),
                probes: self.probes.clone(),
                system: find_system_file(self.folder.path()).and_then(|path| SystemFile::read(&path)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_asked_and_its_failure_told_apart_from_its_absence() {
        let fake = Fake::new().program("good", "echo version 1").program("bad", "echo why >&2; exit 3");
        let around = fake.around();
        assert_eq!(around.ask("good", ["--version"]), Answer::Said("version 1".into()));
        assert_eq!(around.ask("bad", ["--version"]), Answer::Failed("why".into()));
        assert_eq!(around.ask("sh", ["-c", "true"]), Answer::Missing, "only the faked search path counts");
    }

    #[test]
    fn the_command_that_installs_is_that_of_the_machine() {
        assert_eq!(Fake::new().around().install("qemu-system-arm"), "sudo apt-get install qemu-system-arm");
        let fedora = Fake::new().program("dnf", "");
        assert_eq!(fedora.around().install("qemu-system-arm"), "sudo dnf install qemu-system-arm");
        assert_eq!(Fake::new().program("brew", "").around().install("qemu-system-arm"), "brew install qemu");
    }
}
