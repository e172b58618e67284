//! Builds the test firmware, once per test program and machine.
#![allow(dead_code, reason = "each test program uses a part of this")]

#[cfg(feature = "probe")]
pub mod bench;

use qemu_probe::{Machine, MachineError, MachineKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The path of one program of `tests/firmware`, built for `kind`.
pub fn firmware(kind: MachineKind, program: &str) -> PathBuf {
    static BUILT: Mutex<Vec<MachineKind>> = Mutex::new(Vec::new());
    let target_dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(kind.name());
    let mut built = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !built.contains(&kind) {
        build(kind, &target_dir);
        built.push(kind);
    }
    target_dir.join("thumbv8m.main-none-eabi/debug").join(program)
}

/// Fails a test with the sentence of the error instead of its debug form.
pub trait OrSay<T> {
    fn or_say(self) -> T;
}

impl<T> OrSay<T> for Result<T, MachineError> {
    fn or_say(self) -> T {
        self.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Stops the detached machine of a run directory, also when the test fails.
pub struct StopOnDrop<'a>(pub &'a Path);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Ok(machine) = Machine::attach(self.0) {
            let _ = machine.stop();
        }
    }
}

fn build(kind: MachineKind, target_dir: &Path) {
    // The caller's environment chooses the toolchain; nothing of it is changed here.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--target", "thumbv8m.main-none-eabi", "--target-dir"]).arg(target_dir);
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/firmware"));
    if kind == MachineKind::Mps3An524 {
        cargo.args(["--features", "an524"]);
    }
    let output =
        cargo.output().unwrap_or_else(|error| panic!("cargo cannot be run ({error}), it builds the test firmware"));
    assert!(
        output.status.success(),
        "the test firmware cannot be built; run `rustup target add thumbv8m.main-none-eabi` (or set up a toolchain for that \
         target). Cargo said:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
