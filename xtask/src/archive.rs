//! Looks inside a compiled library for what must not be there: an allocator, a way to panic, a panic's text.
use std::path::Path;

use anyhow::Context as _;
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

/// What a library links and holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many functions it defines; none would make the rest worthless.
    pub functions: usize,
    /// What must not be there, one line each.
    pub complaints: Vec<String>,
}

/// Parts of mangled names that betray an allocator or a panic.
const UNWANTED: [(&str, &str); 6] = [
    ("__rust_alloc", "an allocator"),
    ("__rust_realloc", "an allocator"),
    ("__rust_dealloc", "an allocator"),
    ("9panicking", "a panic"),
    ("unwrap_failed", "a panic"),
    ("index_fail", "a panic"),
];

impl Report {
    /// Reads every object of the archive `library`.
    pub fn of(library: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(library).with_context(|| format!("cannot read {}", library.display()))?;
        let archive = ArchiveFile::parse(&*bytes).with_context(|| format!("{} is no library", library.display()))?;
        let mut report = Self::default();
        for member in archive.members() {
            let member = member?;
            // The compiler's own metadata is a member too, and no object.
            if let Ok(file) = object::File::parse(member.data(&*bytes)?) {
                report.look_at(&file)?;
            }
        }
        anyhow::ensure!(report.functions > 0, "{} defines no function: nothing was checked", library.display());
        Ok(report)
    }

    fn look_at(&mut self, file: &object::File<'_>) -> anyhow::Result<()> {
        for symbol in file.symbols() {
            let name = symbol.name().unwrap_or_default();
            self.functions += usize::from(symbol.is_definition() && symbol.kind() == object::SymbolKind::Text);
            let unwanted = UNWANTED.iter().find(|(part, _)| symbol.is_undefined() && name.contains(part));
            self.complaints.extend(unwanted.map(|(_, what)| format!("  it calls {what}: {name}")));
        }
        // Every panic carries the path of its source file.
        for section in file.sections().filter(|section| holds_data(section.kind())) {
            let text = String::from_utf8_lossy(section.data()?).into_owned();
            let path = text.match_indices("core/src/").find(|(at, _)| !text[..*at].ends_with("library/"));
            self.complaints.extend(path.map(|(at, _)| {
                let path: String = text[at..].chars().take_while(|c| c.is_ascii_graphic()).take(40).collect();
                format!("  it holds the text of a panic in {path}")
            }));
        }
        Ok(())
    }
}

/// Whether the bytes of such a section reach the target as constants.
fn holds_data(kind: SectionKind) -> bool {
    use SectionKind::{Data, ReadOnlyData, ReadOnlyDataWithRel, ReadOnlyString};
    matches!(kind, Data | ReadOnlyData | ReadOnlyDataWithRel | ReadOnlyString)
}
