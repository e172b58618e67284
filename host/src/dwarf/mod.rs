//! What the debug information of a firmware says of its statics and their types.
//!
//! Types are read when asked for: a firmware has tens of thousands of them, and a cut looks at a dozen.
#[cfg(test)]
pub(crate) mod compiled;
mod futures;
mod lines;
mod locals;
mod parse;
mod paths;
mod place;
mod sources;
mod types;

pub(crate) use futures::without_parameters;
pub use futures::{FutureIndex, Poller};
pub use lines::Line;
pub use locals::{Local, Registers, Whereabouts};
pub use place::Place;
pub use sources::CrateSources;
pub use types::{Choice, Member, Type, TypeId, Variant};

use crate::input_file::{MAX_BINARY, read_bytes};
use gimli::{AttributeValue, LittleEndian, Reader as _};
use object::{Object as _, ObjectSection as _};
use paths::{Around, Paths};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

pub(crate) type Slice = gimli::EndianArcSlice<LittleEndian>;
type Entry = gimli::DebuggingInformationEntry<Slice>;

/// Why there is no debug information.
#[derive(Debug, thiserror::Error)]
pub enum DwarfError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(String, std::io::Error),
    /// It is no ELF file.
    #[error("{0} is no ELF file: {1}")]
    NotElf(String, object::Error),
    /// The debug information is damaged.
    #[error("the debug information of {0} cannot be read: {1}; build the firmware with `debug = 2`")]
    Damaged(String, gimli::Error),
}

/// A variable that is there for as long as the firmware runs.
#[derive(Clone, Debug)]
pub struct Static {
    /// Its name.
    pub name: String,
    /// Its name with the modules and functions that it is in, as in `token_ring::main::EXECUTOR`.
    pub path: String,
    /// Where it lies, and as what.
    pub place: Place,
}

/// A variable that the source has and the firmware has not.
#[derive(Clone, Debug)]
pub struct Gone {
    /// Its name with the modules that it is in.
    pub path: String,
    /// Its type.
    pub ty: TypeId,
}

/// The types and statics of a firmware.
pub struct DebugTypes {
    dwarf: gimli::Dwarf<Slice>,
    units: Vec<gimli::Unit<Slice>>,
    statics: Vec<Static>,
    gone: Vec<Gone>,
    paths: Paths,
}

impl DebugTypes {
    /// Reads the debug information of an ELF file.
    pub fn read(path: &Path) -> Result<Self, DwarfError> {
        let name = || path.display().to_string();
        let bytes = read_bytes(path, MAX_BINARY).map_err(|error| DwarfError::Read(name(), error))?;
        let file = object::File::parse(&*bytes).map_err(|error| DwarfError::NotElf(name(), error))?;
        let section = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let found = file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
            Ok(Slice::new(Arc::from(&*found.unwrap_or(Cow::Borrowed(&[]))), LittleEndian))
        };
        Self::load(section).map_err(|error| DwarfError::Damaged(name(), error))
    }

    fn load(section: impl FnMut(gimli::SectionId) -> Result<Slice, gimli::Error>) -> Result<Self, gimli::Error> {
        let dwarf = gimli::Dwarf::load(section)?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        let mut types = Self { dwarf, units, statics: Vec::new(), gone: Vec::new(), paths: Paths::default() };
        for unit in 0..types.units.len() {
            types.collect_statics(unit)?;
        }
        Ok(types)
    }

    /// Every static that has an address.
    #[must_use]
    pub fn statics(&self) -> &[Static] {
        &self.statics
    }

    /// Every variable of a module that was optimized out.
    #[must_use]
    pub fn gone(&self) -> &[Gone] {
        &self.gone
    }

    fn collect_statics(&mut self, unit: usize) -> Result<(), gimli::Error> {
        let (mut found, mut gone, mut paths) = (Vec::new(), Vec::new(), Paths::default());
        // The name of the entry at each depth, and whether it is a module.
        let mut around: Around = Vec::new();
        let mut entries = self.units[unit].entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = usize::try_from(entry.depth()).unwrap_or(0);
            around.truncate(depth);
            paths.note(self, unit, entry, &around);
            if entry.tag() == gimli::DW_TAG_variable
                && let Some(ty) = self.type_of(unit, entry)
            {
                let name = self.name(unit, entry).unwrap_or_default();
                let outer = around.iter().filter_map(|(name, _)| name.as_deref());
                let path = outer.chain([name.as_str()]).collect::<Vec<_>>().join("::");
                // What the linker has left out is said to be at the beginning of memory, or nowhere.
                match self.address(unit, entry).filter(|address| *address != 0) {
                    Some(address) => found.push(Static { name, path, place: Place { address, ty } }),
                    None if around.last().is_some_and(|(_, is_module)| *is_module) => gone.push(Gone { path, ty }),
                    None => {}
                }
            }
            let is_module = entry.tag() == gimli::DW_TAG_namespace;
            let names = is_module || entry.tag() == gimli::DW_TAG_subprogram;
            around.resize(depth, (None, false));
            around.push((if names { self.name(unit, entry) } else { None }, is_module));
        }
        paths.finish(self);
        self.statics.extend(found);
        self.gone.extend(gone);
        self.paths.extend(paths);
        Ok(())
    }

    /// The address of a variable that has a fixed one: an address, and perhaps something to add to it.
    fn address(&self, unit: usize, entry: &Entry) -> Option<u64> {
        let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
        let mut operations = expression.operations(self.units[unit].encoding());
        let gimli::Operation::Address { address } = operations.next().ok()?? else { return None };
        match operations.next().ok()? {
            None => Some(address),
            Some(gimli::Operation::PlusConstant { value }) => Some(address + value),
            Some(_) => None,
        }
    }

    fn name(&self, unit: usize, entry: &Entry) -> Option<String> {
        self.text(unit, entry, gimli::DW_AT_name)
    }

    fn text(&self, unit: usize, entry: &Entry, attribute: gimli::DwAt) -> Option<String> {
        let value = entry.attr_value(attribute)?;
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        text.to_string_lossy().ok().map(Cow::into_owned)
    }

    /// The type that an entry refers to, in its own unit or another.
    fn type_of(&self, unit: usize, entry: &Entry) -> Option<TypeId> {
        self.reference(unit, entry, gimli::DW_AT_type)
    }

    /// The entry that an attribute refers to, in its own unit or another.
    fn reference(&self, unit: usize, entry: &Entry, attribute: gimli::DwAt) -> Option<TypeId> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some(TypeId { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let find = |(unit, of): (usize, &gimli::Unit<Slice>)| {
                    offset.to_unit_offset(&of.header).map(|offset| TypeId { unit, offset })
                };
                self.units.iter().enumerate().find_map(find)
            }
            _ => None,
        }
    }
}
