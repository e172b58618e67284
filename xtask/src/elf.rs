//! What a firmware image occupies: its sections, and in which memory of the board they end up.
use std::path::Path;

use anyhow::Context as _;
use object::{Object as _, ObjectSection as _, SectionFlags, SectionKind};

/// The memories of the reference board, as in `memory.x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    /// Code and constants; also the initial values of what lies in RAM.
    Flash,
    /// What both cores work in.
    Ram,
    /// What the host can read while the board runs.
    Shared,
}

impl Memory {
    /// Which memory an address lies in.
    pub fn at(address: u64) -> Option<Self> {
        match address {
            0x1000_0000..0x1040_0000 => Some(Self::Flash),
            0x3800_0000..0x3820_0000 => Some(Self::Ram),
            0x8000_0000..0x8100_0000 => Some(Self::Shared),
            _ => None,
        }
    }
}

/// One section that takes room on the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name in the ELF file.
    pub name: String,
    /// Where it is at run time.
    pub memory: Memory,
    /// Bytes at run time.
    pub size: u64,
    /// Bytes of initial values kept in flash beside it.
    pub initial: u64,
}

impl Section {
    /// The bytes it takes in `memory`.
    pub fn occupies(&self, memory: Memory) -> u64 {
        let there = if self.memory == memory { self.size } else { 0 };
        there + if memory == Memory::Flash { self.initial } else { 0 }
    }
}

/// The sections of `elf` that take room on the target, by address.
pub fn sections(elf: &Path) -> anyhow::Result<Vec<Section>> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", elf.display()))?;
    let mut found: Vec<(u64, Section)> = Vec::new();
    for section in file.sections().filter(|section| section.size() > 0 && is_allocated(section.flags())) {
        let name = section.name().context("a section has no readable name")?.to_owned();
        let address = section.address();
        let memory = Memory::at(address)
            .with_context(|| format!("section {name} lies at {address:#010x}, in no memory of the board"))?;
        let has_bytes = section.kind() != SectionKind::UninitializedData;
        let initial = if memory != Memory::Flash && has_bytes { section.size() } else { 0 };
        found.push((address, Section { name, memory, size: section.size(), initial }));
    }
    found.sort_by_key(|(address, _)| *address);
    Ok(found.into_iter().map(|(_, section)| section).collect())
}

fn is_allocated(flags: SectionFlags) -> bool {
    matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(object::elf::SHF_ALLOC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_values_take_room_in_ram_and_in_flash() {
        let data = Section { name: ".data".into(), memory: Memory::Ram, size: 24, initial: 24 };
        assert_eq!((data.occupies(Memory::Ram), data.occupies(Memory::Flash)), (24, 24));
        let bss = Section { name: ".bss".into(), initial: 0, ..data };
        assert_eq!((bss.occupies(Memory::Ram), bss.occupies(Memory::Flash)), (24, 0));
    }

    #[test]
    fn a_file_that_is_no_elf_is_refused_by_name() {
        let error = sections(Path::new(file!()).file_name().unwrap().as_ref()).unwrap_err();
        assert!(error.to_string().contains("elf.rs"), "{error:#}");
        let manifest = crate::workspace::root().join("Cargo.toml");
        assert!(sections(&manifest).unwrap_err().to_string().contains("no ELF file"));
    }

    #[test]
    fn addresses_outside_the_board_belong_to_no_memory() {
        assert_eq!(Memory::at(0x1000_0000), Some(Memory::Flash));
        assert_eq!(Memory::at(0x1040_0000), None);
        assert_eq!(Memory::at(0), None);
    }
}
