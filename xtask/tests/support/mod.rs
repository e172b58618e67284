//! What the tests share: a machine made of stub programs, the demo's image with one instruction replaced, processes.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

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

    /// Runs this program on that machine.
    pub fn run(&self, arguments: &[&str]) -> Output {
        xtask(arguments).env("PATH", &self.0).stdin(Stdio::null()).output().unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The demo's image, built as a user's is.
pub fn relay() -> Vec<u8> {
    let built = xtask(&["relay", "--build"]).stderr(Stdio::inherit()).output().unwrap();
    let path = String::from_utf8(built.stdout).expect("`xtask relay --build` prints a path");
    fs::read(path.trim_end()).expect("there is a relay demo")
}

/// `b .`: the core stays where it is for ever.
pub const LOOP_FOR_EVER: u16 = 0xE7FE;
/// `udf #0`: no core knows this instruction.
pub const UNDEFINED: u16 = 0xDE00;

/// The demo's image, as a file, with the first instruction of a function replaced: the first of `functions` that the
/// optimiser has left in the image.
pub fn spoiled_relay(dir: &Dir, functions: &[&str], instruction: u16) -> PathBuf {
    let mut image = relay();
    let at = {
        let elf = object::File::parse(&*image).unwrap();
        let named = |function: &&str| elf.symbols().find(|symbol| symbol.name() == Ok(*function));
        let symbol = functions.iter().find_map(named).expect("one of the functions exists");
        let address = symbol.address() & !1;
        let holds = |section: &object::Section<'_, '_>| {
            section.file_range().is_some() && (section.address()..section.address() + section.size()).contains(&address)
        };
        let section = elf.sections().find(holds).expect("the function has bytes");
        (section.file_range().unwrap().0 + address - section.address()) as usize
    };
    image[at..at + 2].copy_from_slice(&instruction.to_le_bytes());
    let path = dir.path("relay.elf");
    fs::write(&path, image).unwrap();
    path
}

/// The QEMU processes that are children of `parent`.
pub fn qemus_of(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim);
        field("PPid:") == parent.to_string() && field("Name:").starts_with("qemu-system")
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
