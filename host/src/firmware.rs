//! What the ELF file of a firmware says: where its control blocks are, and what its names are.
use crate::Image;
use crate::dwarf::{DebugTypes, Type};
use crate::input_file::{MAX_BINARY, read_bytes};
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use stillpoint_core::control::{self, VERSION_SYMBOL};
use stillpoint_core::time::{CounterRate, TickRate};

/// The symbol under which an instrumented firmware keeps its control blocks.
const SHARED: &str = "STILLPOINT_SHARED";

/// The symbol of the rate of the chip's counter.
const COUNTER_HZ: &str = "STILLPOINT_COUNTER_HZ";

/// The symbol of the rate of recorded ticks.
const TICK_HZ: &str = "STILLPOINT_TICK_HZ";

/// The symbols between which its vectors and its code are.
const CODE: [&str; 2] = ["__vector_table", "__etext"];

/// Why a file is not a firmware that can be debugged.
#[derive(Debug, thiserror::Error)]
pub enum FirmwareError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no ELF file.
    #[error("{path} is no ELF file: {source}")]
    NotElf {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: object::Error,
    },
    /// It is instrumented for another version of the wire form.
    #[error("{path} speaks another version than this tool: it has no symbol {symbol}; build both from one release")]
    OtherVersion {
        /// Which file.
        path: PathBuf,
        /// What it lacks.
        symbol: &'static str,
    },
    /// It is for another kind of processor.
    #[error(
        "{path} is built for {architecture}, and the kit runs on Arm Cortex-M: build it for the board, with `--target`"
    )]
    OtherArchitecture {
        /// Which file.
        path: PathBuf,
        /// What it is built for.
        architecture: String,
    },
    /// Its symbols were removed.
    #[error(
        "{0} has no symbols, so nothing can be found in it: build it without `strip`, and name the file that cargo wrote"
    )]
    NoSymbols(PathBuf),
    /// It has no control blocks.
    #[error("{0} is not instrumented: it has no symbol STILLPOINT_SHARED; add `stillpoint_agent::system!` to it")]
    NotInstrumented(PathBuf),
}

/// The symbols of a firmware that the host needs.
#[derive(Clone, Debug)]
pub struct Firmware {
    /// Address of the first control block.
    pub shared: u32,
    /// What is loaded.
    pub image: Image,
    /// What its agents say of the image they are in, if the file has what that is computed from.
    pub(crate) image_id: Option<u32>,
    /// Its ELF file, in which the debug information is.
    pub path: PathBuf,
    /// The rate of the chip's counter, if the firmware says so.
    pub counter_rate: Option<CounterRate>,
    /// The rate of recorded ticks, if the firmware says so.
    pub tick_rate: Option<TickRate>,
    /// Texts of ports, watches and tracepoints, by kind and number.
    names: BTreeMap<(String, u16), Name>,
}

/// A name, and the place in the source where it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    text: String,
    place: String,
}

impl Firmware {
    /// Reads the symbols of an ELF file.
    pub fn read(path: &Path) -> Result<Self, FirmwareError> {
        let bytes =
            read_bytes(path, MAX_BINARY).map_err(|source| FirmwareError::Read { path: path.to_owned(), source })?;
        let not_elf = |source| FirmwareError::NotElf { path: path.to_owned(), source };
        let file = object::File::parse(&*bytes).map_err(not_elf)?;
        if file.architecture() != object::Architecture::Arm {
            let architecture = format!("{:?}", file.architecture());
            return Err(FirmwareError::OtherArchitecture { path: path.to_owned(), architecture });
        }
        if file.symbols().all(|symbol| symbol.name().is_ok_and(str::is_empty)) {
            return Err(FirmwareError::NoSymbols(path.to_owned()));
        }
        let (mut shared, mut speaks_our_version, mut counter_rate, mut tick_rate) = (None, false, None, None);
        let (mut names, mut code) = (BTreeMap::new(), [None; 2]);
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            speaks_our_version |= name == VERSION_SYMBOL;
            if name == SHARED {
                shared = Some(symbol.address() as u32);
            } else if name == COUNTER_HZ {
                counter_rate = read_word(&file, symbol.address()).map(CounterRate);
            } else if name == CODE[0] {
                code[0] = Some(symbol.address() as u32);
            } else if name == CODE[1] {
                code[1] = Some(symbol.address() as u32);
            } else if name == TICK_HZ {
                tick_rate = read_word(&file, symbol.address()).map(TickRate);
            } else if let Some((kind, name)) = split_name(name) {
                names.insert((kind.to_owned(), symbol.address() as u16), name);
            }
        }
        let shared = shared.ok_or_else(|| FirmwareError::NotInstrumented(path.to_owned()))?;
        if !speaks_our_version {
            return Err(FirmwareError::OtherVersion { path: path.to_owned(), symbol: VERSION_SYMBOL });
        }
        let image = Image::of(&file);
        let image_id = match code {
            [Some(start), Some(end)] => image_id(&image, start..end),
            _ => None,
        };
        Ok(Self { shared, image, image_id, path: path.to_owned(), counter_rate, tick_rate, names })
    }

    /// The wire version that an ELF file says it speaks, whichever it is.
    #[must_use]
    pub fn wire_version(path: &Path) -> Option<u32> {
        let bytes = read_bytes(path, MAX_BINARY).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        // The version is what the symbol of every version ends in.
        let stem = VERSION_SYMBOL.trim_end_matches(|letter: char| letter.is_ascii_digit());
        file.symbols().find_map(|symbol| symbol.name().ok()?.strip_prefix(stem)?.parse().ok())
    }

    /// The memory that it occupies while it runs, as its ELF file says; nothing if that is gone.
    pub(crate) fn occupied(&self) -> Vec<Range<u64>> {
        let bytes = read_bytes(&self.path, MAX_BINARY).unwrap_or_default();
        let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
        let segments = file.segments().map(|segment| segment.address()..segment.address() + segment.size());
        segments.filter(|memory| !memory.is_empty()).collect()
    }

    /// Every name of a kind, by number. A text may have several numbers: one for each place that uses it.
    pub fn names(&self, kind: &str) -> impl Iterator<Item = (u16, &str)> {
        let names = self.names.iter().filter(move |((of, _), _)| of == kind);
        names.map(|((_, number), name)| (*number, name.text.as_str()))
    }

    /// The text of a name, if the firmware has it.
    #[must_use]
    pub fn name(&self, kind: &str, number: u16) -> Option<&str> {
        self.names.get(&(kind.to_owned(), number)).map(|name| name.text.as_str())
    }

    /// Where in the source a name is given: `src/main.rs:41`.
    #[must_use]
    pub fn place(&self, kind: &str, number: u16) -> Option<&str> {
        self.names.get(&(kind.to_owned(), number)).map(|name| name.place.as_str())
    }
}

/// What tells one build of a firmware from another: CRC-64/XZ of its ELF file, in hexadecimal.
pub(crate) fn identity(elf: &[u8]) -> String {
    const CRC: crc::Crc<u64, crc::Table<16>> = crc::Crc::<u64, crc::Table<16>>::new(&crc::CRC_64_XZ);
    format!("{:016x}", CRC.checksum(elf))
}

/// What tells an image from others, from its code.
fn image_id(image: &Image, code: Range<u32>) -> Option<u32> {
    let length = code.end.checked_sub(code.start)? as usize;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let piece = image.bytes_at(code.start + bytes.len() as u32).filter(|piece| !piece.is_empty())?;
        bytes.extend_from_slice(&piece[..piece.len().min(length - bytes.len())]);
    }
    let words = bytes.as_chunks().0;
    Some(control::image_id(words.len(), |at| u32::from_le_bytes(words[at])))
}

/// A word of the image.
fn read_word(file: &object::File<'_>, address: u64) -> Option<u32> {
    let word = file.sections().find_map(|section| section.data_range(address, 4).ok().flatten())?;
    word.try_into().ok().map(u32::from_le_bytes)
}

/// Kind, text and place of a symbol that is a name: `stillpoint|kind|text|file|line|column`.
fn split_name(symbol: &str) -> Option<(&str, Name)> {
    let (kind, rest) = symbol.strip_prefix("stillpoint|")?.split_once('|')?;
    // The text may contain bars itself; what follows it does not.
    let mut from_behind = rest.rsplitn(4, '|');
    let (_column, line, file) = (from_behind.next()?, from_behind.next()?, from_behind.next()?);
    Some((kind, Name { text: from_behind.next()?.to_owned(), place: format!("{file}:{line}") }))
}

/// Whether firmware was built without the feature `predicates`, as far as its debug information tells: then its table of
/// breakpoints has no room, and it refuses each.
pub(crate) fn lacks_breakpoints(path: &Path) -> bool {
    DebugTypes::read(path).is_ok_and(|types| lacks_predicates(&types))
}

fn lacks_predicates(types: &DebugTypes) -> bool {
    let mut tables = types.types_at("stillpoint_core::predicate::table::Predicates").into_iter();
    tables.any(|table| {
        let Type::Struct { members, .. } = types.get(table) else { return false };
        let slots = members.into_iter().find(|member| member.name == "slots");
        slots.is_some_and(|slots| matches!(types.get(slots.ty), Type::Array { count: 0, .. }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_without_room_for_breakpoints_is_told_apart() {
        let of = |slots: usize| {
            let table = format!(
                "#![no_std] pub mod predicate {{ pub mod table {{ pub struct Predicates {{ pub slots: [u32; {slots}], pub live: u8 }} }} }}"
            );
            let source = format!(
                "#[unsafe(no_mangle)] pub static TABLE: stillpoint_core::predicate::table::Predicates =
                    stillpoint_core::predicate::table::Predicates {{ slots: [0; {slots}], live: 0 }};"
            );
            lacks_predicates(&crate::dwarf::compiled::library(&source, &[("stillpoint_core", &table)]).types)
        };
        assert!(of(0) && !of(4));
    }

    #[test]
    fn a_name_is_what_stands_between_its_kind_and_its_place() {
        let name = |text: &str, place: &str| Name { text: text.into(), place: place.into() };
        let holding = split_name("stillpoint|watch|holding|a/b.rs|30|31");
        assert_eq!(holding, Some(("watch", name("holding", "a/b.rs:30"))));
        assert_eq!(split_name("stillpoint|trace|a|b|x.rs|1|2"), Some(("trace", name("a|b", "x.rs:1"))));
        assert_eq!(split_name("stillpoint|place||x.rs|7|2"), Some(("place", name("", "x.rs:7"))));
        assert_eq!(split_name("main"), None);
    }

    #[test]
    fn a_file_that_is_no_firmware_is_refused_with_what_to_do() {
        let missing = Firmware::read(Path::new("no/such/file")).unwrap_err();
        assert!(missing.to_string().contains("no/such/file"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(matches!(Firmware::read(&source), Err(FirmwareError::NotElf { .. })));
    }

    /// This very program, as it is and as if it were for Arm.
    #[test]
    fn an_elf_file_that_cannot_be_firmware_is_not_told_to_add_the_kit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("firmware.elf");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Firmware::read(&path).unwrap_err().to_string()
        };
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let other = read(&bytes);
        assert!(other.contains("is built for") && other.contains("--target") && !other.contains("system!"), "{other}");
        // `e_machine` of Arm.
        bytes[18..20].copy_from_slice(&40u16.to_le_bytes());
        let not_instrumented = read(&bytes);
        assert!(not_instrumented.contains("system!"), "{not_instrumented}");
        // No section is a table of symbols any more: all have type 0.
        let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).unwrap();
        let (start, count) =
            (file.elf_header().e_shoff.get(file.endian()), file.elf_header().e_shnum.get(file.endian()));
        for section in 0..usize::from(count) {
            let at = start as usize + 64 * section + 4;
            bytes[at..at + 4].copy_from_slice(&[0; 4]);
        }
        let stripped = read(&bytes);
        assert!(stripped.contains("has no symbols") && stripped.contains("strip"), "{stripped}");
    }
}
