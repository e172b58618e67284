//! The texts of a firmware's lines, which are in its ELF file only.
use super::{Level, Line};
use crate::backtrace::{short, tidy};
use crate::input_file::{MAX_BINARY, read_bytes};
use defmt_decoder::{DecodeError, Locations, Table};
use std::path::{Path, PathBuf};

/// Why the lines of a firmware cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextsError {
    /// Its file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It has no texts.
    #[error("{0} has no defmt texts: link it with defmt.x, and do not strip it")]
    None(PathBuf),
    /// Its texts are of a version that is not known here.
    #[error("the defmt texts of {path} cannot be read: {why}")]
    Bad {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// What turns the lines of a firmware into text.
pub struct Texts {
    table: Table,
    locations: Locations,
}

impl Texts {
    /// Reads them out of an ELF file.
    pub fn read(path: &Path) -> Result<Self, TextsError> {
        let bytes =
            read_bytes(path, MAX_BINARY).map_err(|source| TextsError::Read { path: path.to_owned(), source })?;
        let table = Table::parse(&bytes)
            .map_err(|error| TextsError::Bad { path: path.to_owned(), why: format!("{error:#}") })?
            .ok_or_else(|| TextsError::None(path.to_owned()))?;
        // Firmware without debug information has texts all the same.
        let mut locations = table.get_locations(&bytes).unwrap_or_default();
        for location in locations.values_mut() {
            location.module = module(&location.module);
        }
        Ok(Self { table, locations })
    }

    /// The modules that log something.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.locations.values().map(|location| location.module.as_str())
    }

    /// The line in a frame that ends with its zero; not where it stands.
    pub(super) fn line(&self, frame: &[u8]) -> Result<Line, &'static str> {
        let mut decoder = self.table.new_stream_decoder();
        decoder.received(frame);
        let frame = decoder.decode().map_err(|error| match error {
            DecodeError::UnexpectedEof => "a line ends too early: is this the firmware that runs?",
            DecodeError::Malformed => "a line is in no table of texts: is this the firmware that runs?",
        })?;
        let location = self.locations.get(&frame.index());
        Ok(Line {
            text: frame.display_message().to_string(),
            level: frame.level().and_then(|level| Level::ALL.into_iter().find(|of| of.name() == level.as_str())),
            time: frame.display_timestamp().and_then(|time| micros(&time.to_string())),
            clock: None,
            event: None,
            module: location.map(|location| location.module.clone()).unwrap_or_default(),
            place: location.map(|location| (short(&location.file.display().to_string()).to_owned(), location.line)),
        })
    }
}

/// The path of what logs, as its author knows it: the function, and not the closure that the compiler made of it.
fn module(path: &str) -> String {
    let tidied = tidy(path);
    let parts: Vec<&str> = tidied.split("::").filter(|part| !part.starts_with('{')).collect();
    parts.join("::")
}

/// The agent's logger stamps lines with microseconds, which are shown as seconds.
fn micros(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let whole: u64 = seconds.parse().ok()?;
    (fraction.len() == 6).then(|| fraction.parse::<u64>().ok()).flatten()?.checked_add(whole.checked_mul(1_000_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_microseconds_and_another_form_is_none() {
        assert_eq!(micros("0.000042"), Some(42));
        assert_eq!(micros("12.345678"), Some(12_345_678));
        for other in ["", "12", "1.5", "a.000001", "99999999999999.000000"] {
            assert_eq!(micros(other), None, "{other}");
        }
    }

    #[test]
    fn a_module_is_what_its_author_calls_it() {
        assert_eq!(module("ring::__pass_task::__pass_task_inner_function::{async_fn#0}"), "ring::pass");
        assert_eq!(module("ring::link::{impl#2}::open"), "ring::link::open");
    }

    #[test]
    fn a_file_without_texts_is_refused_with_what_to_do() {
        assert!(matches!(Texts::read(Path::new("no/such/file")), Err(TextsError::Read { .. })));
        let this = std::env::current_exe().unwrap();
        let error = Texts::read(&this).err().unwrap().to_string();
        assert!(error.contains("defmt.x"), "{error}");
    }
}
