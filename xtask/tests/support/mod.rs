//! What the tests share: a machine made of stub programs, and processes.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// This program, as a user runs it.
pub fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).env_remove("STILLPOINT_TOOLCHAIN");
    command
}

/// Everything it said on standard error.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that a command failed with one sentence that holds all of `parts`, and printed no result.
pub fn assert_refused(output: &Output, parts: &[&str]) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty(), "a failure has no result");
    assert_eq!(said.lines().filter(|line| line.starts_with("error:")).count(), 1, "{said}");
    for part in parts {
        assert!(said.contains(part), "expected {part:?} in: {said}");
    }
}

/// A directory of its own for one test, removed at the end.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(test: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A machine on which only the given programs exist, each a shell script.
    pub fn with_programs(self, programs: &[(&str, &str)]) -> Self {
        for (name, script) in programs {
            let path = self.path(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        self
    }

    /// Runs this program on that machine; it has no other way to get the target for the firmware than rustup.
    pub fn run(&self, arguments: &[&str]) -> Output {
        xtask(arguments)
            .env("PATH", &self.0)
            .env("STILLPOINT_TOOLCHAIN", "rustup")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The QEMU processes that were started in the folder of the demo.
pub fn demo_machines() -> Vec<u32> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("demo");
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let is_in_folder = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
        name.starts_with("qemu-system") && is_in_folder && is_alive(*pid)
    })
    .collect()
}

/// Whether a process exists and is not merely waiting to be collected.
pub fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// Waits for a condition, at most `seconds`.
pub fn wait_until(seconds: u64, what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while !condition() {
        assert!(Instant::now() < end, "{what} did not happen within {seconds} s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal by its name.
pub fn signal(name: &str, child: &Child) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
    assert!(status.success());
}
