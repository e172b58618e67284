//! Whether the firmware of each board can be debugged by this tool, and fits its chip.
use super::{Check, Finding, Surroundings};
use crate::chip::Chip;
use crate::config::BoardConfig;
use crate::firmware::lacks_breakpoints;
use crate::{Firmware, FirmwareError};
use std::collections::BTreeSet;
use std::path::Path;
use stillpoint_core::control::VERSION;

pub(super) struct FirmwareCheck;

impl Check for FirmwareCheck {
    fn name(&self) -> &'static str {
        "firmware"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        around.boards().iter().map(|board| self.of(board)).collect()
    }
}

impl FirmwareCheck {
    fn of(&self, board: &BoardConfig) -> Finding {
        let about = |what: String| format!("board {}: {what}", board.name);
        let firmware = match Firmware::read(&board.firmware) {
            Ok(firmware) => firmware,
            Err(error) => {
                let fix = match &error {
                    FirmwareError::Read { .. } => build_command(&board.firmware),
                    FirmwareError::NotElf { .. } => format!("name the ELF file in `firmware` of board {}", board.name),
                    FirmwareError::OtherVersion { .. } => {
                        let theirs = Firmware::wire_version(&board.firmware);
                        let theirs =
                            theirs.map_or("another wire version".into(), |version| format!("wire version {version}"));
                        let what = about(format!("{} speaks {theirs}, this tool {VERSION}", board.firmware.display()));
                        let fix = format!("cargo update -p stillpoint-agent && {}", build_command(&board.firmware));
                        return Finding::wrong(self.name(), what, fix);
                    }
                    FirmwareError::OtherArchitecture { .. } => build_command(&board.firmware),
                    FirmwareError::NoSymbols(_) => {
                        "set `strip = false` in the profile of the firmware and build it".into()
                    }
                    FirmwareError::NotInstrumented(_) => {
                        "add `stillpoint_agent::system!` to it: docs/INSTRUMENT.md has the ten steps".into()
                    }
                };
                return Finding::wrong(self.name(), about(error.to_string()), fix);
            }
        };
        let path = board.firmware.display();
        if let Ok(chip) = Chip::of(board)
            && let Some(memory) = firmware.occupied().into_iter().find(|memory| !chip.holds(memory))
        {
            let what = about(format!(
                "{path} uses {:#010x}..{:#010x}, where {} has no memory: it was linked for another chip",
                memory.start, memory.end, board.chip
            ));
            return Finding::wrong(
                self.name(),
                what,
                format!("change `chip` of board {}, or the memory.x it is linked with", board.name),
            );
        }
        if lacks_breakpoints(&board.firmware) {
            let what = about(format!("{path} is built without the feature `predicates`: it refuses every breakpoint"));
            let fix = "build it with the feature `predicates` of stillpoint-agent";
            return Finding::wrong(self.name(), what, fix);
        }
        let nodes: BTreeSet<&str> = firmware.names("node").map(|(_, name)| name).collect();
        let nodes = nodes.into_iter().collect::<Vec<_>>().join(", ");
        Finding::ok(
            self.name(),
            about(format!("{path}, {} bytes, wire version {VERSION}, nodes {nodes}", firmware.image.len())),
        )
    }
}

/// The command that builds a file of cargo's target folder, as far as its path tells.
fn build_command(path: &Path) -> String {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let Some(at) = parts.iter().position(|part| part.starts_with("thumbv")) else { return "cargo build".into() };
    let (target, behind) = (parts[at], &parts[at + 1..]);
    let profile = match behind.first() {
        Some(&"debug") | None => String::new(),
        Some(&"release") => " --release".into(),
        Some(other) => format!(" --profile {other}"),
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let kind = if behind.get(1) == Some(&"examples") { "--example" } else { "--bin" };
    format!("cargo build --target {target}{profile} {kind} {name}")
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;

    fn one(fake: &Fake) -> Finding {
        FirmwareCheck.findings(&fake.around()).remove(0)
    }

    #[test]
    fn firmware_that_is_missing_or_no_elf_or_not_instrumented_says_what_to_do() {
        let fake = Fake::new().board("A", "mps2-an521", "qemu");
        let found = one(&fake);
        assert_eq!((found.verdict, found.fix.as_deref()), (Verdict::Wrong, Some("cargo build")));
        let found = one(&fake.file("firmware.elf", "no ELF"));
        assert!(found.what.contains("board A:") && found.what.contains("is no ELF file"), "{found:?}");
        let mut this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = one(&Fake::new().board("A", "mps2-an521", "qemu").file("firmware.elf", this.clone()));
        assert!(found.what.contains("is built for") && found.fix.unwrap().starts_with("cargo build"));
        // `e_machine` of Arm.
        this[18..20].copy_from_slice(&40u16.to_le_bytes());
        let found = one(&Fake::new().board("A", "mps2-an521", "qemu").file("firmware.elf", this));
        assert!(found.fix.unwrap().contains("INSTRUMENT.md"));
    }

    #[test]
    fn the_path_of_a_missing_file_tells_how_it_is_built() {
        let told = |path: &str| build_command(Path::new(path));
        let built = "cargo build --target thumbv8m.main-none-eabi";
        assert_eq!(
            told("/w/target/thumbv8m.main-none-eabi/firmware/examples/ring"),
            format!("{built} --profile firmware --example ring")
        );
        assert_eq!(told("target/thumbv8m.main-none-eabi/release/ring.elf"), format!("{built} --release --bin ring"));
        assert_eq!(told("target/thumbv8m.main-none-eabi/debug/ring"), format!("{built} --bin ring"));
        assert_eq!(told("firmware.elf"), "cargo build");
    }
}
