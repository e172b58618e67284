//! What a demo occupies and for whom: code by the file it was written in, statics by what they are for.
//!
//! Everything comes from the image itself: the line table says for every instruction which function, inlined or not, of
//! which file it belongs to; the debug information says of which type every static is.
mod code;
mod dwarf;
mod kit;
mod pair;
mod statics;

pub use code::{Code, Origin};
pub use kit::kit_in;
pub use pair::{LEAST, PURPOSES, Pair, Part};
pub use statics::{Purpose, Static};

use std::path::Path;

use anyhow::Context as _;

use crate::elf::{self, Memory};

/// An image, taken apart.
pub struct Footprint {
    /// Bytes of flash, initial values of RAM included.
    pub flash: u64,
    /// Bytes of flash that are initial values of RAM.
    pub initial: u64,
    /// Bytes of RAM, the part that the host can reach included.
    pub ram: u64,
    /// Where the code comes from.
    pub code: Code,
    /// Every static in RAM.
    pub statics: Vec<Static>,
}

impl Footprint {
    /// Takes `elf` apart.
    pub fn of(elf: &Path) -> anyhow::Result<Self> {
        let sections = elf::sections(elf)?;
        let total = |memory| sections.iter().map(|section| section.occupies(memory)).sum::<u64>();
        let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
        let file = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", elf.display()))?;
        let debug = dwarf::load(&file).with_context(|| format!("{} has no debug information", elf.display()))?;
        Ok(Self {
            flash: total(Memory::Flash),
            initial: sections.iter().map(|section| section.initial).sum(),
            ram: total(Memory::Ram) + total(Memory::Shared),
            statics: statics::find(&file, &debug)?,
            code: Code::of(&file, debug)?,
        })
    }

    /// Bytes of RAM that serve a purpose.
    pub fn serving(&self, purpose: Purpose) -> u64 {
        self.statics.iter().filter(|it| it.purpose == purpose).map(|it| it.size).sum()
    }
}
