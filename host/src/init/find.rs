//! Finding firmware that carries the kit, in the target folders of the workspace.
use crate::doctor::{Answer, Surroundings};
use crate::{Firmware, FirmwareError};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A firmware that can be debugged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFirmware {
    /// Its ELF file.
    pub path: PathBuf,
    /// The names of the nodes in it.
    pub nodes: Vec<String>,
    /// The emulated chip it was linked for, if it fits one.
    pub chip: Option<&'static str>,
    modified: SystemTime,
}

#[cfg(test)]
impl FoundFirmware {
    pub(super) fn for_tests(path: PathBuf, nodes: &[&str]) -> Self {
        let nodes = nodes.iter().map(|name| (*name).to_owned()).collect();
        Self { path, nodes, chip: None, modified: SystemTime::UNIX_EPOCH }
    }
}

impl FoundFirmware {
    /// What an ELF file says, if it carries the kit.
    pub fn read(path: &Path) -> Result<Self, FirmwareError> {
        Firmware::read(path).map(|firmware| describe(path.to_owned(), &firmware))
    }

    /// Whether it was built without breakpoints. Reads its debug information.
    #[must_use]
    pub fn lacks_breakpoints(&self) -> bool {
        crate::firmware::lacks_breakpoints(&self.path)
    }
}

/// How deep below the target folder programs lie: `debian/TARGET/PROFILE/examples/NAME`.
const DEPTH: usize = 5;
/// Folders of cargo that hold no programs for people, or a second copy of them.
const NOT_HERE: [&str; 6] = ["deps", "build", "incremental", ".fingerprint", "doc", "tmp"];
/// `e_ident` of a 32-bit little-endian ELF file, and `e_machine` of Arm.
const ELF32_LE: &[u8] = b"\x7fELF\x01\x01";
const ARM: [u8; 2] = [40, 0];

/// The instrumented firmware of the workspace around `folder`, the newest first; and what was passed over, with the reason.
#[must_use]
pub fn find_firmware(around: &Surroundings, folder: &Path) -> (Vec<FoundFirmware>, Vec<String>) {
    let (mut found, mut passed_over) = (Vec::new(), Vec::new());
    for path in target_folders(around, folder).iter().flat_map(|target| elf_files(target, DEPTH)) {
        match Firmware::read(&path) {
            Ok(_) if path.to_str().is_none() => {
                passed_over
                    .push(format!("{}: a system file can only name files whose names are UTF-8", path.display()));
            }
            Ok(firmware) => found.push(describe(path, &firmware)),
            // Firmware without the kit is nothing to speak of.
            Err(FirmwareError::NotInstrumented(_) | FirmwareError::NotElf { .. }) => {}
            Err(error) => passed_over.push(error.to_string()),
        }
    }
    found.sort_by(|one, other| (other.modified, &one.path).cmp(&(one.modified, &other.path)));
    (found, passed_over)
}

fn describe(path: PathBuf, firmware: &Firmware) -> FoundFirmware {
    let nodes: BTreeSet<&str> = firmware.names("node").map(|(_, name)| name).collect();
    let occupied = firmware.occupied();
    let fits =
        |chip: &&str| crate::emulated::chip(chip).is_ok_and(|chip| occupied.iter().all(|memory| chip.holds(memory)));
    let modified = path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let nodes = nodes.into_iter().map(str::to_owned).collect();
    FoundFirmware { chip: crate::emulated::chips().find(fits), nodes, path, modified }
}

/// The folders into which cargo builds around here.
fn target_folders(around: &Surroundings, folder: &Path) -> Vec<PathBuf> {
    let manifest = folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|path| path.is_file());
    // Only cargo knows every place where a target folder can be set.
    let asked = manifest.and_then(|manifest| {
        let mut words: Vec<std::ffi::OsString> =
            ["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"].map(Into::into).to_vec();
        words.push(manifest.into());
        let Answer::Said(said) = around.ask("cargo", words) else { return None };
        let said: serde_json::Value = serde_json::from_str(&said).ok()?;
        Some(PathBuf::from(said["target_directory"].as_str()?))
    });
    match asked {
        Some(target) => vec![target],
        None => {
            folder.ancestors().map(|folder| folder.join("target")).filter(|target| target.is_dir()).take(1).collect()
        }
    }
}

/// ELF files for Arm below a folder.
fn elf_files(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 && !NOT_HERE.iter().any(|folder| name == *folder) => {
                found.extend(elf_files(&path, depth - 1));
            }
            // Cargo gives its programs a second name with a number, `ring-0123456789abcdef`.
            Ok(kind) if kind.is_file() && !has_hash(&name.to_string_lossy()) && is_arm_elf(&path) => found.push(path),
            _ => {}
        }
    }
    found
}

fn has_hash(name: &str) -> bool {
    name.rsplit_once('-')
        .is_some_and(|(_, hash)| hash.len() == 16 && hash.chars().all(|letter| letter.is_ascii_hexdigit()))
}

fn is_arm_elf(path: &Path) -> bool {
    let mut start = [0; 20];
    // A FIFO in a target folder must not keep `init` waiting.
    if !path.is_file() {
        return false;
    }
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start.starts_with(ELF32_LE) && start[18..] == ARM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elf_files_for_arm_are_looked_at_and_cargos_second_copies_are_not() {
        let top = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = top.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        let mut elf = [0; 64];
        elf[..6].copy_from_slice(ELF32_LE);
        elf[18] = 40;
        let folder = "thumbv8m.main-none-eabi/firmware/examples";
        write(&format!("{folder}/ring"), &elf);
        write(&format!("{folder}/ring-0123456789abcdef"), &elf);
        write(&format!("{folder}/ring.d"), b"ring: ring.rs");
        write("thumbv8m.main-none-eabi/firmware/deps/ring", &elf);
        elf[18] = 62;
        write("debug/x86", &elf);
        let found = elf_files(top.path(), DEPTH);
        assert_eq!(found, [top.path().join(folder).join("ring")]);
    }
}
