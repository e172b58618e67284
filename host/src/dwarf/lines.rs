//! Lines of the source that the debug information names.
use super::{DebugTypes, Slice, TypeId, Variant};
use gimli::Reader as _;
use serde::Serialize;
use std::fmt;

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Line {
    /// The file, with its path as the compiler had it.
    pub file: String,
    /// The line in it.
    pub line: u32,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", crate::backtrace::short(&self.file), self.line)
    }
}

impl DebugTypes {
    /// The line of the source that a variant of this enum stands for. For a state of an async function it is the line of the
    /// `.await` at which it is suspended.
    #[must_use]
    pub fn line_of(&self, of: TypeId, variant: &Variant) -> Option<Line> {
        self.line(of.unit, variant.declared?)
    }

    /// A file of a unit by its number, and a line in it.
    pub(super) fn line(&self, unit: usize, (file, line): (u64, u32)) -> Option<Line> {
        let unit = &self.units[unit];
        let program = unit.line_program.as_ref()?;
        let entry = program.header().file(file)?;
        let text = |value| -> Option<String> {
            let text: Slice = self.dwarf.attr_string(unit, value).ok()?;
            Some(text.to_string_lossy().ok()?.into_owned())
        };
        let name = text(entry.path_name())?;
        let folder = entry.directory(program.header()).and_then(text).unwrap_or_default();
        let file = if name.starts_with('/') || folder.is_empty() { name } else { format!("{folder}/{name}") };
        Some(Line { file, line })
    }
}
