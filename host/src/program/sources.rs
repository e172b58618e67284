//! The source files of the firmwares of a system: found by the debug information, and checked against it.
use super::ProgramError;
use crate::dwarf::{CrateSources, DebugTypes};
use crate::input_file::{MAX_BINARY, read_bytes};
use crate::trace::BoardInfo;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use stillpoint_analysis::Source;

/// The sources of a firmware: those of its own crates, not of the kit and of registries.
pub fn sources_of(board: &BoardInfo, chosen: Option<&Path>) -> Result<Vec<Source>, ProgramError> {
    let firmware = Path::new(&board.firmware);
    if let Some(file) = chosen.filter(|path| path.is_file()) {
        let mut found = Found::default();
        found.module(file, file.parent().unwrap_or(Path::new("")))?;
        return found.checked(board);
    }
    let unread =
        |error: std::io::Error| ProgramError::NoDebugInfo(format!("cannot read {}: {error}", firmware.display()));
    let bytes = read_bytes(firmware, MAX_BINARY).map_err(unread)?;
    if !["", "unknown"].contains(&board.identity.as_str()) && crate::firmware::identity(&bytes) != board.identity {
        return Err(ProgramError::OtherBuild(firmware.to_owned()));
    }
    let types = DebugTypes::read(firmware).map_err(|error| ProgramError::NoDebugInfo(error.to_string()))?;
    let crates = types.crates();
    let own: Vec<_> = crates.iter().filter(|one| is_own(one)).collect();
    let others: Vec<_> =
        crates.iter().filter(|one| !is_own(one)).filter_map(|one| Some(one.root.parent()?.to_owned())).collect();
    let mut found = Found::default();
    for one in &own {
        let root = locate(&one.root, chosen)?;
        found.module(&root, root.parent().unwrap_or(Path::new("")))?;
    }
    for (file, last) in own.iter().flat_map(|one| &one.files) {
        let is_other = is_foreign(file) || others.iter().any(|folder| file.starts_with(folder));
        if is_other || file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        // Code of a crate that has none of its own: all of it is generic or inlined here.
        let file = locate(file, chosen)?;
        found.add(&file)?;
        let lines = found.text(&file).lines().count() as u64;
        if lines < *last {
            return Err(ProgramError::Shorter { file, lines, last: *last, firmware: firmware.to_owned() });
        }
    }
    if found.files.is_empty() {
        return Err(ProgramError::NoSources(firmware.to_owned()));
    }
    found.checked(board)
}

/// Whether a crate is neither of a registry nor of the toolchain nor of the kit.
fn is_own(one: &CrateSources) -> bool {
    !is_foreign(&one.root) && !one.name.starts_with("stillpoint")
}

fn is_foreign(path: &Path) -> bool {
    let text = path.to_string_lossy();
    ["/registry/src/", "/git/checkouts/", "/rustc/", "/rust/library/", "/lib/rustlib/"]
        .iter()
        .any(|part| text.contains(part))
}

/// Where a file is: at its own path, or in the chosen folder by as much of its path as there is.
fn locate(path: &Path, chosen: Option<&Path>) -> Result<PathBuf, ProgramError> {
    let Some(folder) = chosen else {
        return if path.is_file() { Ok(path.to_owned()) } else { Err(ProgramError::Missing(path.to_owned())) };
    };
    let parts: Vec<_> = path.components().collect();
    let mut shorter = (0..parts.len()).map(|at| folder.join(parts[at..].iter().collect::<PathBuf>()));
    let inside = |file: &PathBuf| file.starts_with(folder) && file.is_file();
    let missing = || ProgramError::MissingIn { file: path.to_owned(), folder: folder.to_owned() };
    shorter.find(inside).ok_or_else(missing)
}

/// The files that were found, in their order.
#[derive(Default)]
struct Found {
    files: Vec<(PathBuf, String)>,
    seen: BTreeSet<PathBuf>,
}

impl Found {
    fn add(&mut self, file: &Path) -> Result<bool, ProgramError> {
        let file = file.to_owned();
        if !self.seen.insert(file.clone()) {
            return Ok(false);
        }
        let text =
            std::fs::read_to_string(&file).map_err(|source| ProgramError::Read { path: file.clone(), source })?;
        self.files.push((file, text));
        Ok(true)
    }

    fn text(&self, file: &Path) -> &str {
        self.files.iter().find(|(name, _)| name == file).map_or("", |(_, text)| text)
    }

    /// A file, and those of the modules that it declares; `folder` is where they are.
    fn module(&mut self, file: &Path, folder: &Path) -> Result<(), ProgramError> {
        if !self.add(file)? {
            return Ok(());
        }
        // A file that does not parse is told with its line when it is read.
        for (name, path) in stillpoint_analysis::modules(self.text(file)) {
            let own = file.parent().unwrap_or(Path::new(""));
            let inner = folder.join(&name);
            let candidates = match path {
                Some(path) => vec![own.join(path)],
                None => vec![folder.join(format!("{name}.rs")), inner.join("mod.rs")],
            };
            if let Some(next) = candidates.into_iter().find(|path| path.is_file()) {
                self.module(&next, &inner)?;
            }
        }
        Ok(())
    }

    /// Checks that names of watches are given on the lines that the firmware says.
    fn checked(self, board: &BoardInfo) -> Result<Vec<Source>, ProgramError> {
        for name in board.names.iter().filter(|name| name.kind == "watch") {
            let Some((file, line)) = name.place.as_deref().and_then(|place| place.rsplit_once(':')) else { continue };
            let Ok(line) = line.parse::<usize>() else { continue };
            // A copy in another folder shares the end of its path only; a file of the kit is not here.
            let shared = |path: &Path| common_end(path, Path::new(file));
            let Some((path, text)) =
                self.files.iter().filter(|(path, _)| shared(path) > 0).max_by_key(|one| shared(&one.0))
            else {
                continue;
            };
            // The name stands on the line of its macro, or on one of the next if that is long.
            let quoted = format!("\"{}\"", name.text);
            if !text.lines().skip(line - 1).take(4).any(|line| line.contains(&quoted)) {
                let (file, name) = (path.clone(), name.text.clone());
                return Err(ProgramError::Other { file, line, name, firmware: PathBuf::from(&board.firmware) });
            }
        }
        let short = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let all = self.files.iter();
        let name = |path: &Path| {
            // Two files of one name keep their folders.
            let is_alone = all.clone().filter(|(other, _)| short(other) == short(path)).count() == 1;
            if is_alone { short(path) } else { path.display().to_string() }
        };
        Ok(self.files.iter().map(|(path, text)| Source { file: name(path), text: text.clone() }).collect())
    }
}

/// How many parts the ends of two paths share.
fn common_end(one: &Path, other: &Path) -> usize {
    one.components().rev().zip(other.components().rev()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::NameInfo;

    /// A watch on line 2 of a file that is found in another folder than the firmware was built in.
    fn check(text: &str) -> Result<Vec<Source>, ProgramError> {
        let place = Some("firmware/src/main.rs:2".into());
        let name = NameInfo { kind: "watch".into(), number: 1, text: "lap".into(), place };
        let board = BoardInfo { names: vec![name], ..BoardInfo::default() };
        let files =
            vec![("elsewhere/src/main.rs".into(), text.to_owned()), ("elsewhere/src/other.rs".into(), "".into())];
        Found { files, ..Found::default() }.checked(&board)
    }

    #[test]
    fn sources_whose_watches_are_on_other_lines_are_not_those_of_the_firmware() {
        let sources = check("fn main() {\n  let lap = watch!(agent, \"lap\");\n}").unwrap();
        assert_eq!(sources.iter().map(|source| source.file.as_str()).collect::<Vec<_>>(), ["main.rs", "other.rs"]);
        let error = check("\n\n\n\n\n\nfn main() {\n  let lap = watch!(agent, \"lap\");\n}").unwrap_err();
        let expected = "elsewhere/src/main.rs is not the source of ";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
