//! The source files of a firmware.
use super::DebugTypes;
use gimli::Reader as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A crate that a firmware is built of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrateSources {
    /// Its name.
    pub name: String,
    /// Its first file, with its path as the compiler had it.
    pub root: PathBuf,
    /// The files whose code is in it, its own and others, and the last line of each that has code.
    pub files: BTreeMap<PathBuf, u64>,
}

impl DebugTypes {
    /// The crates of the firmware.
    #[must_use]
    pub fn crates(&self) -> Vec<CrateSources> {
        let mut all: BTreeMap<PathBuf, CrateSources> = BTreeMap::new();
        for unit in &self.units {
            let text = |slice: super::Slice| slice.to_string_lossy().ok().map(std::borrow::Cow::into_owned);
            let folder = unit.comp_dir.clone().and_then(text).unwrap_or_default();
            // `src/main.rs/@/name.1234-cgu.0`, as rustc writes it.
            let Some(name) = unit.name.clone().and_then(text) else { continue };
            let Some((root, rest)) = name.split_once("/@/") else { continue };
            let root = Path::new(&folder).join(root);
            let name = rest.split('.').next().unwrap_or_default().to_owned();
            let found = all.entry(root.clone()).or_insert(CrateSources { name, root, files: BTreeMap::new() });
            for (file, line) in self.last_lines(unit) {
                let last = found.files.entry(Path::new(&folder).join(file)).or_default();
                *last = line.max(*last);
            }
        }
        all.into_values().collect()
    }

    /// The files of a unit's line table, and the last line of each.
    fn last_lines(&self, unit: &gimli::Unit<super::Slice>) -> BTreeMap<PathBuf, u64> {
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        let Some(program) = unit.line_program.clone() else { return BTreeMap::new() };
        let mut rows = program.clone().rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            let line = row.line().map_or(0, std::num::NonZero::get);
            let known = last.entry(row.file_index()).or_default();
            *known = line.max(*known);
        }
        let file = |index: u64| {
            let entry = program.header().file(index)?;
            let text = |value| Some(self.dwarf.attr_string(unit, value).ok()?.to_string_lossy().ok()?.into_owned());
            let folder = entry.directory(program.header()).and_then(text).unwrap_or_default();
            Some(Path::new(&folder).join(text(entry.path_name())?))
        };
        last.into_iter().filter_map(|(index, line)| Some((file(index)?, line))).collect()
    }
}
