//! The debug information of the firmwares that were looked at, read once each.
use crate::backtrace::Unwinder;
use crate::dwarf::{DebugTypes, FutureIndex};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Debug information of several firmwares, read when it is first asked for.
#[derive(Default)]
pub struct DebugInfo {
    types: HashMap<PathBuf, Option<DebugTypes>>,
    futures: HashMap<PathBuf, FutureIndex>,
    unwinders: HashMap<PathBuf, Result<Unwinder, String>>,
}

impl DebugInfo {
    /// The types of a firmware, if it says anything of them.
    pub fn types(&mut self, path: &Path) -> Option<&DebugTypes> {
        self.types.entry(path.to_owned()).or_insert_with(|| DebugTypes::read(path).ok()).as_ref()
    }

    /// The same, of a firmware that was asked for before.
    pub(crate) fn types_read(&self, path: &Path) -> Option<&DebugTypes> {
        self.types.get(path)?.as_ref()
    }

    /// What unwinds its stacks, or why nothing does.
    pub(crate) fn unwinder(&mut self, path: &Path) -> Result<&Unwinder, &str> {
        let read = || Unwinder::read(path).map_err(|error| error.to_string());
        self.unwinders.entry(path.to_owned()).or_insert_with(read).as_ref().map_err(String::as_str)
    }

    /// Its types and its async code.
    pub(crate) fn async_code(&mut self, path: &Path) -> Option<(&DebugTypes, &FutureIndex)> {
        self.types(path)?;
        let types = self.types.get(path)?.as_ref()?;
        let index = self.futures.entry(path.to_owned()).or_insert_with(|| types.futures());
        Some((types, index))
    }
}
