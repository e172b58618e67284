//! Finds every panic that a firmware image can reach in the source of `stillpoint-core`.
//!
//! Whatever panics in Rust, an index or a division as well as an `unwrap`, leaves a `core::panic::Location` in the image:
//! the address and length of a file name, a line, a column. The linker has thrown away what cannot be reached, so the
//! locations that are left are the panics that are left.
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, ensure};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// A place in the source that may panic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Panic {
    /// The file, from the root of the workspace.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where the source of `stillpoint-core` is; the standard library's `core` is elsewhere.
const SOURCE: &str = "core/src/";

/// Every place in `core/src` where `elf` may panic.
pub fn reachable(elf: &Path) -> anyhow::Result<BTreeSet<Panic>> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", elf.display()))?;
    let allocator = file.symbols().any(|symbol| symbol.name().is_ok_and(|name| name.contains("__rust_alloc")));
    ensure!(!allocator, "{} links an allocator", elf.display());
    let constants = file.section_by_name(".rodata").context("the image has no .rodata")?;
    Ok(locations(constants.data()?, constants.address()))
}

/// The locations among these constants, which lie at `base` on the target.
fn locations(constants: &[u8], base: u64) -> BTreeSet<Panic> {
    let word = |at: usize| Some(u32::from_le_bytes(constants.get(at..at + 4)?.try_into().ok()?));
    let text = |address: u32, len: u32| {
        let start = usize::try_from(u64::from(address).checked_sub(base)?).ok()?;
        std::str::from_utf8(constants.get(start..start.checked_add(len as usize)?)?).ok()
    };
    let location = |at| {
        let file = text(word(at)?, word(at + 4)?)?;
        let (line, column) = (word(at + 8)?, word(at + 12)?);
        let is_ours = file.starts_with(SOURCE) && file.ends_with(".rs") && line > 0 && column > 0;
        is_ours.then(|| Panic { file: file.to_owned(), line })
    };
    (0..constants.len()).step_by(4).filter_map(location).collect()
}

/// Whether a place belongs to a unit test, which panics when it fails.
pub fn is_in_test(panic: &Panic, root: &Path) -> anyhow::Result<bool> {
    if panic.file.ends_with("tests.rs") {
        return Ok(true);
    }
    let source =
        std::fs::read_to_string(root.join(&panic.file)).with_context(|| format!("cannot read {}", panic.file))?;
    Ok(first_line_of_tests(&source).is_some_and(|first| panic.line >= first))
}

/// Where the module of unit tests at the end of a file begins.
fn first_line_of_tests(source: &str) -> Option<u32> {
    source.lines().position(|line| line.starts_with("mod tests {")).and_then(|line| u32::try_from(line + 1).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u32 = 0x1000_0400;

    /// Constants as rustc lays them out: names, and locations that point to them.
    fn constants(name: &str, line: u32, column: u32) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(name.len().next_multiple_of(4), 0);
        for word in [0xFFFF_FFFF, BASE, name.len() as u32, line, column] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn found(bytes: &[u8]) -> Vec<String> {
        locations(bytes, BASE.into()).iter().map(Panic::to_string).collect()
    }

    #[test]
    fn a_location_in_our_source_is_found_with_its_line() {
        assert_eq!(found(&constants("core/src/clock.rs", 97, 13)), ["core/src/clock.rs:97"]);
    }

    #[test]
    fn the_standard_library_and_other_constants_are_not_ours() {
        assert!(found(&constants("/rustc/5980/library/core/src/option.rs", 97, 13)).is_empty());
        assert!(found(&constants("core/src/clock.rs", 0, 0)).is_empty(), "a mere text is no location");
        assert!(found(&constants("core/src/clock.rs", 97, 13)[..30]).is_empty(), "cut off");
        assert!(found(&[0xFF; 64]).is_empty());
    }

    #[test]
    fn the_module_at_the_end_of_a_file_is_where_its_tests_begin() {
        let source = "fn f() {}\n#[cfg(any(test, on_target))]\nmod tests {\n}\n";
        assert_eq!(first_line_of_tests(source), Some(3));
        assert_eq!(first_line_of_tests("fn f() {}\n"), None);
    }
}
