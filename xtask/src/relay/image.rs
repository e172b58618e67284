//! The demo's firmware as the host sees it: where its structures are, and how to read its logs.
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSymbol as _};

/// Why an image cannot be the demo's.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// The file is no ELF file.
    #[error("{0} is no ELF file: {1}")]
    NotElf(PathBuf, object::Error),
    /// A symbol the host needs is not there.
    #[error("{0} has no symbol {1}: it is not the relay demo, or was built for another host; rebuild it")]
    NoSymbol(PathBuf, &'static str),
    /// The logs of this image cannot be decoded.
    #[error("{0} holds no defmt log table that this program can read: {1}")]
    NoLogs(PathBuf, String),
}

/// Where something is in the board's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address.
    pub address: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// The demo's firmware.
pub struct Image {
    /// The ELF file.
    pub path: PathBuf,
    /// One log ring per core.
    pub rings: Place,
    /// How far each core has come.
    pub status: Place,
    /// What turns the bytes of a ring into lines.
    pub logs: defmt_decoder::Table,
}

impl Image {
    /// Reads what the host needs from `path`.
    pub fn read(path: &Path) -> Result<Self, ImageError> {
        let at = || path.to_owned();
        let bytes = std::fs::read(path).map_err(|error| ImageError::Read(at(), error))?;
        let elf = object::File::parse(&*bytes).map_err(|error| ImageError::NotElf(at(), error))?;
        let place = |name: &'static str| {
            let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name));
            let place = symbol.and_then(|symbol| {
                Some(Place { address: symbol.address().try_into().ok()?, size: symbol.size().try_into().ok()? })
            });
            place.ok_or(ImageError::NoSymbol(at(), name))
        };
        let (rings, status) = (place("STILLPOINT_DEFMT_RINGS")?, place("STILLPOINT_DEMO_STATUS")?);
        let logs = match defmt_decoder::Table::parse(&bytes) {
            Ok(Some(table)) => table,
            Ok(None) => return Err(ImageError::NoLogs(at(), "there is no .defmt section".into())),
            Err(error) => return Err(ImageError::NoLogs(at(), error.to_string())),
        };
        Ok(Self { path: at(), rings, status, logs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: impl AsRef<Path>) -> ImageError {
        Image::read(path.as_ref()).err().expect("not a demo")
    }

    #[test]
    fn a_file_that_is_not_the_demo_is_refused_with_the_reason() {
        assert!(matches!(refused("/no/such/file"), ImageError::Read(..)));
        assert!(matches!(refused(crate::workspace::root().join("Cargo.toml")), ImageError::NotElf(..)));
        let not_firmware = std::env::current_exe().unwrap();
        let error = refused(not_firmware);
        assert!(matches!(error, ImageError::NoSymbol(_, "STILLPOINT_DEFMT_RINGS")), "{error}");
    }
}
