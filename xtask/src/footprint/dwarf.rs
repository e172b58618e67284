//! The debug information of an image, ready to be read.
use addr2line::gimli::{Dwarf, EndianSlice, Error, LittleEndian, SectionId};
use anyhow::ensure;
use object::{Object as _, ObjectSection as _};

pub type Reader<'a> = EndianSlice<'a, LittleEndian>;
pub type Debug<'a> = Dwarf<Reader<'a>>;

/// Loads the debug information of `file`, which is not compressed.
pub fn load<'a>(file: &object::File<'a>) -> anyhow::Result<Debug<'a>> {
    ensure!(file.section_by_name(".debug_info").is_some(), "build it with the profile `firmware`");
    let section = |id: SectionId| -> Result<Reader<'a>, Error> {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(EndianSlice::new(data, LittleEndian))
    };
    Ok(Dwarf::load(section)?)
}
