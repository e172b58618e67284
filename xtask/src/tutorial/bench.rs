//! Where a document is played: a folder of its own with the firmware in it, and the programs on the PATH.
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::toolchain::CORTEX_M33;

/// How long one command may take. The longest waits for the bug to happen.
const LIMIT: Duration = Duration::from_secs(300);
/// How long a program in the background may take to be ready, and to end.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// The folder, and how its commands are run. Boards that are up are stopped when it is dropped.
pub struct Bench {
    folder: PathBuf,
    path: OsString,
    variables: Vec<(&'static str, String)>,
}

/// A program in the background. It is ended when this is dropped.
pub struct Background {
    child: Child,
    log: PathBuf,
}

impl Bench {
    /// Makes the folder, with this firmware where cargo would have built it; `programs` come first on the PATH.
    pub fn new(firmware: &Path, programs: &[&Path]) -> anyhow::Result<Self> {
        // Its path must be short: there are sockets in it.
        let folder = std::env::temp_dir().join(format!("tutorial-{}", std::process::id()));
        let examples = folder.join("target").join(CORTEX_M33).join("firmware/examples");
        fs::create_dir_all(&examples)?;
        fs::copy(firmware, examples.join(firmware.file_name().context("firmware has a name")?))?;
        let old = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(programs.iter().map(|path| path.to_path_buf()).chain(std::env::split_paths(&old)))?;
        Ok(Self { folder, path, variables: Vec::new() })
    }

    /// Where the commands run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets a variable of the environment for every later command.
    pub fn export(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.push((name, value.into()));
    }

    /// Starts a command in the background, and waits until it has printed `ready`.
    pub fn start(&self, command: &str, ready: &str) -> anyhow::Result<Background> {
        let log = self.folder.join("background.log");
        let file = fs::File::create(&log)?;
        let mut shell = self.command(&format!("exec {command}"));
        let child = shell.stderr(file.try_clone()?).stdout(file).spawn()?;
        let mut background = Background { child, log };
        let began = Instant::now();
        while !background.said().contains(ready) {
            if let Some(status) = background.child.try_wait()? {
                bail!("`{command}` ended with {status}:\n{}", background.said());
            }
            ensure!(began.elapsed() < READY_LIMIT, "`{command}` did not print {ready:?}:\n{}", background.said());
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(background)
    }

    /// Runs a command as a shell does and returns all that appears on the screen. It must end well.
    pub fn run(&self, command: &str) -> anyhow::Result<String> {
        let (mut screen, writer) = std::io::pipe()?;
        let mut child = self.shell(command, writer)?;
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            screen.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
        });
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if began.elapsed() > LIMIT {
                // It is the first of a group of its own, and leaves nobody behind.
                Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status()?;
                child.wait()?;
                bail!("`{command}` took longer than {} s", LIMIT.as_secs());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = reader.join().ok().context("reading does not panic")??;
        if !status.success() {
            bail!("`{command}` ended with {status}:\n{text}");
        }
        Ok(text)
    }

    fn shell(&self, command: &str, screen: std::io::PipeWriter) -> std::io::Result<Child> {
        self.command(command).stderr(screen.try_clone()?).stdout(screen).spawn()
    }

    fn command(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        // A command that fails in front of a pipe is a failure, too.
        shell.args(["-o", "pipefail", "-c", command]).current_dir(&self.folder).process_group(0);
        shell.env("PATH", &self.path).env("STILLPOINT_STATE", self.folder.join("state"));
        for variable in ["CLICOLOR_FORCE", "RUST_LOG", "CARGO_TARGET_DIR"] {
            shell.env_remove(variable);
        }
        shell.envs(self.variables.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
        shell
    }
}

impl Background {
    /// What it has printed so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it as Ctrl-C does.
    pub fn interrupt(mut self) -> anyhow::Result<()> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(began.elapsed() < READY_LIMIT, "a program in the background does not answer to Ctrl-C");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.folder.join("stillpoint.toml").exists() {
            let _ = self.run("stillpoint down");
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
