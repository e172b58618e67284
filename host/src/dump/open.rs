//! From a dump to boards that can be looked at.
use super::memory::DumpMemory;
use super::{Dump, DumpError, Registers, SavedFirmware};
use crate::config::{BoardConfig, SystemFile};
use crate::input_file::{MAX_BINARY, read_bytes};
use crate::{Board, Firmware, Lost, System};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

/// A board out of a dump.
pub struct Saved {
    pub(crate) memory: DumpMemory,
    /// Of each core, if they were saved and are not lost.
    pub(crate) registers: Vec<Option<Registers>>,
    /// For each core whether the probe had stopped it.
    pub(crate) stopped: Vec<bool>,
    /// The ELF file that was inside is there for as long as the board is.
    _elf: Option<Arc<TempPath>>,
}

impl Saved {
    /// The ranges of memory that were saved and are lost: first address and length.
    #[must_use]
    pub fn missing(&self) -> Vec<(u32, u32)> {
        self.memory.missing()
    }
}

/// The ELF file that a board is read with.
#[derive(Clone)]
struct Elf {
    path: PathBuf,
    unpacked: Option<Arc<TempPath>>,
}

impl Dump {
    /// The system file that was saved.
    pub fn system_file(&self) -> Result<SystemFile, crate::config::ConfigError> {
        SystemFile::parse(Path::new(&self.header.system), self.header.system_text.clone())
    }

    /// The saved system. With `chosen`, the ELF files that this system file names are used instead of those inside.
    ///
    /// Boards of which too little is left are in [`System::missing`].
    pub fn system(&self, chosen: Option<&SystemFile>) -> Result<System, DumpError> {
        let own = self.system_file().map_err(DumpError::SystemFile)?;
        let configs = &chosen.unwrap_or(&own).boards;
        let mut elfs: Vec<Option<Elf>> = vec![None; self.header.firmware.len()];
        let (mut boards, mut missing) = (Vec::new(), Vec::new());
        for (index, of) in self.header.boards.iter().enumerate() {
            let config = configs.iter().find(|config| config.name == of.name);
            let config = config.ok_or_else(|| DumpError::NoSuchBoard { board: of.name.clone() })?;
            let kept = self.header.firmware.get(of.firmware);
            let kept = kept.ok_or_else(|| DumpError::NoSuchBoard { board: of.name.clone() })?;
            let elf = match (chosen, &elfs[of.firmware]) {
                (Some(_), _) => self.named_elf(kept, &of.name, &config.firmware)?,
                (None, Some(elf)) => elf.clone(),
                (None, None) => self.elf_inside(of.firmware, &of.name)?,
            };
            elfs[of.firmware] = Some(elf.clone());
            match self.board(index, elf, config) {
                Ok(board) => boards.push(board),
                Err(why) => {
                    missing.push(Lost { board: of.name.clone(), nodes: crate::open::names_of_missing(config), why });
                }
            }
        }
        missing.extend(self.header.missing.iter().map(Lost::from));
        let mut system = System::new(boards);
        system.missing = missing;
        Ok(system)
    }

    fn board(&self, index: usize, elf: Elf, config: &BoardConfig) -> Result<Board, String> {
        let (of, parts) = (&self.header.boards[index], &self.boards[index]);
        let firmware = Firmware::read(&elf.path).map_err(|error| error.to_string())?;
        let memory = DumpMemory::new(parts.pieces.clone(), of.memory.clone(), firmware.image.clone());
        let saved =
            Saved { memory, registers: parts.registers.clone(), stopped: of.stopped.clone(), _elf: elf.unpacked };
        let board = Board::saved(saved, firmware).map_err(|error| error.to_string())?;
        Ok(board.named(&config.name, config.nodes.clone()))
    }

    /// The ELF file inside, put where it can be read; or the one outside, if it is the same.
    fn elf_inside(&self, index: usize, board: &str) -> Result<Elf, DumpError> {
        let kept = &self.header.firmware[index];
        let Some(bytes) = self.elfs.get(index).and_then(Option::as_ref) else {
            return self.named_elf(kept, board, Path::new(&kept.path));
        };
        let unpack = || {
            let mut file = tempfile::Builder::new().prefix("stillpoint-").suffix(".elf").tempfile()?;
            file.write_all(bytes)?;
            Ok(file.into_temp_path())
        };
        let unpacked = unpack().map_err(DumpError::Unpack)?;
        Ok(Elf { path: unpacked.to_path_buf(), unpacked: Some(Arc::new(unpacked)) })
    }

    /// An ELF file outside of the dump, if it is the one that ran.
    fn named_elf(&self, kept: &SavedFirmware, board: &str, path: &Path) -> Result<Elf, DumpError> {
        let bytes = read_bytes(path, MAX_BINARY).map_err(|source| DumpError::NoFirmware {
            board: board.to_owned(),
            identity: kept.identity.clone(),
            path: path.to_owned(),
            source,
        })?;
        let found = crate::firmware::identity(&bytes);
        if found == kept.identity {
            return Ok(Elf { path: path.to_owned(), unpacked: None });
        }
        Err(DumpError::OtherFirmware {
            board: board.to_owned(),
            saved: format!("{} ({})", kept.path, kept.identity),
            found: format!("{} ({found})", path.display()),
        })
    }
}
