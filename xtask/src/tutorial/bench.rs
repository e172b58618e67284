//! Where the tutorial is played: a folder of its own with the firmware in it, the program on the PATH, two boards.
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::toolchain::CORTEX_M33;

/// How long one command may take. The longest waits for the bug to happen.
const LIMIT: Duration = Duration::from_secs(300);

/// The folder, and how its commands are run. Boards that are up are stopped when it is dropped.
pub struct Bench {
    folder: PathBuf,
    path: OsString,
}

impl Bench {
    /// Makes the folder, with this firmware where cargo would have built it.
    pub fn new(firmware: &Path, stillpoint: &Path) -> anyhow::Result<Self> {
        // Its path must be short: there are sockets in it.
        let folder = std::env::temp_dir().join(format!("tutorial-{}", std::process::id()));
        let examples = folder.join("target").join(CORTEX_M33).join("firmware/examples");
        fs::create_dir_all(&examples)?;
        fs::copy(firmware, examples.join(firmware.file_name().context("firmware has a name")?))?;
        let program = stillpoint.parent().context("the program is in a folder")?.to_owned();
        let old = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&old)))?;
        Ok(Self { folder, path })
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
        let mut shell = Command::new("bash");
        // A command that fails in front of a pipe is a failure, too.
        shell.args(["-o", "pipefail", "-c", command]).current_dir(&self.folder).process_group(0);
        shell.env("PATH", &self.path).env("STILLPOINT_STATE", self.folder.join("state"));
        for variable in ["CLICOLOR_FORCE", "RUST_LOG", "CARGO_TARGET_DIR"] {
            shell.env_remove(variable);
        }
        shell.stdin(Stdio::null()).stderr(screen.try_clone()?).stdout(screen).spawn()
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
