//! Whose every instruction is.
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use addr2line::{Context, LookupResult};
use object::{Object as _, ObjectSection as _, SectionKind};

use super::dwarf::{Debug, Reader};

/// Where a piece of code was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A file of this workspace, from its root.
    Here(String),
    /// A crate from elsewhere, or of the language.
    Crate(String),
    /// The line table does not say: constants between functions, assembly.
    Unknown,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(file) => f.write_str(file),
            Self::Crate(name) => write!(f, "crate {name}"),
            Self::Unknown => f.write_str("(no line)"),
        }
    }
}

/// The code of an image by origin.
pub struct Code {
    /// Bytes of code, each counted for the file of this workspace that asked for it most directly.
    pub bytes: BTreeMap<Origin, u64>,
    /// Bytes in which a file has part at all, inlined or as the caller of what was inlined.
    pub touched: BTreeMap<Origin, u64>,
}

/// An instruction is at least this long.
const STEP: u64 = 2;

impl Code {
    pub(super) fn of(file: &object::File<'_>, debug: Debug<'_>) -> anyhow::Result<Self> {
        let context = Context::from_dwarf(debug)?;
        let root = crate::workspace::root();
        let (mut bytes, mut touched) = (BTreeMap::new(), BTreeMap::new());
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let end = section.address() + section.size();
            for address in (section.address()..end).step_by(STEP as usize) {
                let mut origins = frames(&context, address, &root)?;
                *bytes.entry(blamed(&origins)).or_default() += STEP.min(end - address);
                origins.sort();
                origins.dedup();
                for origin in origins {
                    *touched.entry(origin).or_default() += STEP.min(end - address);
                }
            }
        }
        Ok(Self { bytes, touched })
    }
}

/// The innermost file of this workspace; what it inlined of the language serves it. Else the innermost of all.
fn blamed(origins: &[Origin]) -> Origin {
    let here = origins.iter().find(|origin| matches!(origin, Origin::Here(_)));
    here.or(origins.first()).cloned().unwrap_or(Origin::Unknown)
}

/// Where the instruction at `address` was written: the function inlined last comes first.
fn frames(context: &Context<Reader<'_>>, address: u64, root: &Path) -> anyhow::Result<Vec<Origin>> {
    let mut frames = match context.find_frames(address) {
        LookupResult::Output(frames) => frames?,
        // Debug information that lies in another file; firmware has none.
        LookupResult::Load { .. } => return Ok(Vec::new()),
    };
    let mut origins = Vec::new();
    while let Some(frame) = frames.next()? {
        let file = frame.location.and_then(|location| location.file);
        origins.push(file.map_or(Origin::Unknown, |file| origin(file, root)));
    }
    Ok(origins)
}

/// What a path of the line table names.
fn origin(path: &str, root: &Path) -> Origin {
    if let Ok(file) = Path::new(path).strip_prefix(root) {
        return Origin::Here(file.display().to_string());
    }
    let parts: Vec<&str> = path.split('/').collect();
    let after = |name: &str, skip: usize| {
        let at = parts.iter().rposition(|part| *part == name)?;
        parts.get(at + skip).map(|part| (*part).to_owned())
    };
    // `registry/src/<where from>/<crate>-<version>/...`; `library/<crate>/...` for those of the language.
    let foreign = after("registry", 3).map(|name| match name.rsplit_once('-') {
        Some((name, _)) => name.to_owned(),
        None => name,
    });
    foreign.or_else(|| after("library", 1)).map_or(Origin::Unknown, Origin::Crate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_file_of_ours_or_a_crate_of_others() {
        let root = Path::new("/w");
        let here = |file: &str| Origin::Here(file.into());
        let foreign = |name: &str| Origin::Crate(name.into());
        for (path, expected) in [
            ("/w/core/src/clock.rs", here("core/src/clock.rs")),
            ("/home/x/.cargo/registry/src/index-1f/cortex-m-rt-0.7.5/src/lib.rs", foreign("cortex-m-rt")),
            ("/rustc/59807616e/library/core/src/fmt/mod.rs", foreign("core")),
            ("/usr/src/rustc-1.96.0/library/compiler-builtins/x.rs", foreign("compiler-builtins")),
            ("asm.s", Origin::Unknown),
        ] {
            assert_eq!(origin(path, root), expected, "{path}");
        }
    }

    #[test]
    fn what_is_inlined_from_the_language_counts_for_who_asked_for_it() {
        let (ours, core) = (Origin::Here("a.rs".into()), Origin::Crate("core".into()));
        assert_eq!(blamed(&[core.clone(), ours.clone()]), ours);
        assert_eq!(blamed(&[core.clone(), core.clone()]), core);
        assert_eq!(blamed(&[]), Origin::Unknown);
    }
}
