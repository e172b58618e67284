//! Whether firmware can be built here: compiler, target, linker.
use super::{Answer, Check, Finding, Surroundings};
use std::path::Path;

pub(super) struct ToolchainCheck;

/// Cortex-M33: the target of the reference board.
const USUAL_TARGET: &str = "thumbv8m.main-none-eabi";
/// As in the workspace's manifest.
const OLDEST: (u32, u32) = (1, 95);
/// Debian's own Rust builds `core` for the target from this source and links with this linker.
const DEBIAN: [&str; 4] =
    ["usr/bin/rustc", "usr/bin/cargo", "usr/bin/ld.lld-19", "usr/lib/rustlib/src/rust/library/core/Cargo.toml"];

impl Check for ToolchainCheck {
    fn name(&self) -> &'static str {
        "toolchain"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let name = self.name();
        // Firmware that is there can be debugged without a compiler.
        let needed = around.boards().iter().any(|board| !board.firmware.is_file());
        let missing = |what: String, fix: String| Finding::missing(name, needed, what, fix);
        let debian = DEBIAN.iter().all(|file| around.root.join(file).exists());
        let version = match around.ask("rustc", ["--version"]) {
            Answer::Said(version) => version,
            Answer::Missing if debian => return vec![Finding::ok(name, "Debian's Rust builds the firmware")],
            Answer::Missing => {
                let fix = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";
                return vec![missing("rustc is not on the PATH: firmware cannot be built here".into(), fix.into())];
            }
            Answer::Failed(why) => return vec![missing(format!("rustc does not run: {why}"), "rustup update".into())],
        };
        if numbers(&version).is_none_or(|found| found < OLDEST) {
            let what = format!("{version} is too old: the kit needs {}.{}", OLDEST.0, OLDEST.1);
            return vec![missing(what, "rustup update".into())];
        }
        let version = version.split(" (").next().unwrap_or(&version);
        let target = |target: &str| {
            if has_core(around, target) {
                return match linker(around) {
                    Some(linker) => Finding::ok(name, format!("{version} builds for {target}, linked by {linker}")),
                    None => missing(
                        format!("{version} has no linker for {target}: rust-lld is missing"),
                        "rustup component add rust-std rustc".into(),
                    ),
                };
            }
            if debian {
                return Finding::ok(name, format!("Debian's Rust builds for {target}, linked by ld.lld-19"));
            }
            missing(format!("{version} cannot build for {target}"), format!("rustup target add {target}"))
        };
        targets(around).iter().map(|name| target(name)).collect()
    }
}

/// The targets of the system's firmware, by the folders it lies in.
fn targets(around: &Surroundings) -> Vec<String> {
    let parts = around.boards().iter().flat_map(|board| board.firmware.iter());
    let mut found: Vec<String> =
        parts.filter_map(|part| part.to_str()).filter(|part| part.starts_with("thumbv")).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    if found.is_empty() { vec![USUAL_TARGET.into()] } else { found }
}

/// Reads `rustc 1.95.0 (59807616e 2026-04-14)`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix("rustc ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn has_core(around: &Surroundings, target: &str) -> bool {
    let Answer::Said(folder) = around.ask("rustc", ["--print", "target-libdir", "--target", target]) else {
        return false;
    };
    let Ok(files) = std::fs::read_dir(folder) else { return false };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
}

/// The linker of bare-metal targets: it comes with the compiler, or lies on the PATH.
fn linker(around: &Surroundings) -> Option<&'static str> {
    let beside = |sysroot: String| {
        let hosts = std::fs::read_dir(Path::new(&sysroot).join("lib/rustlib")).ok()?;
        hosts.flatten().find(|host| host.path().join("bin/rust-lld").exists()).map(|_| "rust-lld")
    };
    let own = match around.ask("rustc", ["--print", "sysroot"]) {
        Answer::Said(sysroot) => beside(sysroot),
        _ => None,
    };
    own.or_else(|| around.find("rust-lld").map(|_| "rust-lld"))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;

    /// A compiler of this version, whose files lie in the fake machine.
    fn rustc(fake: Fake, version: &str) -> Fake {
        let sysroot = fake.path("sysroot").display().to_string();
        let script = format!(
            "case \"$*\" in --version) echo 'rustc {version} (abc 2026-01-01)';; *target-libdir*) echo {sysroot}/$4;; *) echo {sysroot};; esac"
        );
        fake.program("rustc", &script)
    }

    fn one(fake: &Fake) -> Finding {
        ToolchainCheck.findings(&fake.around()).remove(0)
    }

    #[test]
    fn a_compiler_without_the_target_gets_the_command_that_adds_it() {
        let fake = rustc(Fake::new().board("A", "mps2-an521", "qemu"), "1.95.0");
        let found = one(&fake);
        assert_eq!(
            (found.verdict, found.fix.as_deref()),
            (Verdict::Wrong, Some("rustup target add thumbv8m.main-none-eabi"))
        );
        let fake = fake.file(&format!("sysroot/{USUAL_TARGET}/libcore-1.rlib"), "");
        assert!(one(&fake).what.contains("no linker"), "{:?}", one(&fake));
        let fake = fake.file("sysroot/lib/rustlib/x86/bin/rust-lld", "");
        assert_eq!(one(&fake).what, "rustc 1.95.0 builds for thumbv8m.main-none-eabi, linked by rust-lld");
    }

    #[test]
    fn firmware_that_is_built_already_needs_no_compiler() {
        let fake = Fake::new().board("A", "mps2-an521", "qemu");
        assert_eq!(one(&fake).verdict, Verdict::Wrong);
        assert_eq!(one(&fake.file("firmware.elf", "")).verdict, Verdict::Note);
    }

    #[test]
    fn an_old_compiler_is_wrong_and_debians_own_will_do() {
        let board = || Fake::new().board("A", "mps2-an521", "qemu");
        assert!(one(&rustc(board(), "1.80.1")).what.contains("1.80.1 (abc 2026-01-01) is too old"));
        let debian = DEBIAN.iter().fold(rustc(board(), "1.96.0"), |fake, file| fake.file(file, ""));
        assert_eq!(one(&debian).verdict, Verdict::Ok);
    }

    #[test]
    fn the_target_is_that_of_the_firmwares_folder() {
        let text = "[[board]]\nname = \"A\"\nchip = \"c\"\nprobe = \"qemu\"\nfirmware = \"target/thumbv6m-none-eabi/release/x\"\n";
        let fake = rustc(Fake::new().file("stillpoint.toml", text), "1.95.0");
        assert_eq!(one(&fake).fix.as_deref(), Some("rustup target add thumbv6m-none-eabi"));
    }
}
