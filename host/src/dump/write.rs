//! Saving a halted system to one file, all of it or nothing.
use super::frame::{Body, PIECE};
use super::writer::Writer;
use super::{DumpError, Header, Registers, SavedBoard, SavedFirmware, regions};
use crate::config::SystemFile;
use crate::input_file::{MAX_BINARY, read_bytes};
use crate::{Board, CutReport, SessionError, System, SystemError};
use serde::Serialize;
use std::ops::Range;
use std::path::Path;
use stillpoint_core::control::StateCode;

/// How often cores that run are stopped until none of them is in the middle of writing its control block.
const STEADY_TRIES: usize = 100;

/// How a system is saved.
#[derive(Clone, Copy, Debug)]
pub struct DumpOptions {
    /// Whether the ELF files go into the dump, so that it can be read where they are not.
    pub with_elf: bool,
    /// Whether a system is saved that is not halted, or of which boards are missing.
    pub force: bool,
}

/// What [`System::dump`] is at.
#[derive(Clone, Copy, Debug)]
pub enum DumpStep {
    /// So many more bytes are to be read.
    Ahead(u64),
    /// So many bytes are read and written.
    Done(u64),
}

/// What was saved.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// How long the file is.
    pub bytes: u64,
    /// How many bytes of memory are in it, before they were packed.
    pub memory: u64,
    /// How many cores.
    pub cores: usize,
    /// The cut as it was saved.
    pub report: CutReport,
}

impl System {
    /// Saves a halted system to a new file. Boards stay as they are; their cores stand still while they are read.
    ///
    /// `breakpoints` is what the host knows of breakpoints and the boards do not. A file that cannot be finished is
    /// removed.
    pub fn dump(
        &mut self,
        file: &SystemFile,
        breakpoints: &serde_json::Value,
        path: &Path,
        options: DumpOptions,
        mut progress: impl FnMut(DumpStep),
    ) -> Result<Written, DumpError> {
        if path.symlink_metadata().is_ok() {
            return Err(DumpError::Exists(path.to_owned()));
        }
        let stand = self.check_halted(options.force)?;
        let mut writer = Writer::create(path)?;
        let mut save = |system: &mut Self, report: CutReport| {
            let what = What { file, breakpoints, options, stand: &stand, report };
            save(system, what, &mut writer, &mut progress)
        };
        // What cannot be written is no fault of a board: its cores are let go in any case.
        let written = if stand.parked {
            self.at_rest(|system, cut| {
                let report = system.describe(cut, true)?;
                Ok(save(system, report))
            })?
        } else {
            // Cores that run are stopped wherever they are, and that may be half-way through what is to be read.
            let mut tries = 0..STEADY_TRIES;
            loop {
                let last = tries.next().is_none();
                let look = |system: &mut Self| {
                    if !last && !system.is_steady()? {
                        return Ok(None);
                    }
                    let cut = system.read_cut()?;
                    let report = system.describe(&cut, true)?;
                    Ok(Some(save(system, report)))
                };
                if let Some(written) = self.while_frozen(look)? {
                    break written;
                }
            }
        };
        let written = written?;
        writer.finish()?;
        Ok(written)
    }

    /// How every core stands; an error if one runs, or a board is missing, and nobody insists.
    fn check_halted(&mut self, force: bool) -> Result<Stand, DumpError> {
        let lost = |lost: &crate::Lost| format!("board {} is missing: {}", lost.board, lost.why);
        let missing: Vec<String> = self.missing.iter().map(lost).collect();
        let (mut parked, mut stopped, mut running) = (true, Vec::new(), Vec::new());
        for board in self.boards() {
            let name = board.name().to_owned();
            let by_probe = board.halted().map_err(|source| in_session(&name, source))?;
            stopped.push(by_probe);
        }
        for at in self.addresses() {
            let node = self.node(at)?;
            parked &= node.is_parked();
            let stands = matches!(node.state, Some(StateCode::Parked | StateCode::Faulted));
            if !stands && stopped[at.board].get(at.core) != Some(&true) {
                running.push(self.node_name(at));
            }
        }
        match (force, missing.is_empty(), running.is_empty()) {
            (false, false, _) => Err(DumpError::Missing(missing)),
            (false, true, false) => Err(DumpError::Running(running)),
            _ => Ok(Stand { parked, stopped }),
        }
    }
}

/// How the cores stood before anybody stopped them for the look.
struct Stand {
    /// Whether every node is parked in a consistent halt.
    parked: bool,
    /// For each core of each board whether the probe had stopped it.
    stopped: Vec<Vec<bool>>,
}

/// What goes into the file besides memory.
struct What<'a> {
    file: &'a SystemFile,
    breakpoints: &'a serde_json::Value,
    options: DumpOptions,
    stand: &'a Stand,
    report: CutReport,
}

fn save(
    system: &mut System,
    what: What<'_>,
    writer: &mut Writer,
    progress: &mut impl FnMut(DumpStep),
) -> Result<Written, DumpError> {
    let What { file, breakpoints, options, stand, report } = what;
    let (mut firmware, mut elfs) = (Vec::<SavedFirmware>::new(), Vec::new());
    let (mut boards, mut registers) = (Vec::new(), Vec::new());
    let names: Vec<String> = system.boards().iter().map(|board| board.name().to_owned()).collect();
    for (index, board) in system.boards().iter_mut().enumerate() {
        let path = board.firmware().path.clone();
        let elf = read_bytes(&path, MAX_BINARY).map_err(|source| DumpError::Firmware { path: path.clone(), source })?;
        let identity = crate::firmware::identity(&elf);
        let place = firmware.iter().position(|of| of.identity == identity);
        let of_board = capture(board)?;
        let memory = spans(board, &elf, &of_board);
        boards.push(SavedBoard {
            name: names[index].clone(),
            firmware: place.unwrap_or(firmware.len()),
            stopped: stand.stopped[index].clone(),
            memory: memory.into_iter().map(as_words).collect(),
        });
        registers.push(of_board);
        if place.is_none() {
            let length = elf.len() as u32;
            firmware.push(SavedFirmware {
                path: path.display().to_string(),
                identity,
                length,
                inside: options.with_elf,
            });
            elfs.push(elf);
        }
    }
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let header = Header {
        tool: format!("stillpoint {}", env!("CARGO_PKG_VERSION")),
        saved: since.as_micros() as u64,
        halted: stand.parked,
        system: file.path.display().to_string(),
        system_text: file.text().to_owned(),
        firmware,
        boards,
        missing: system.missing().iter().map(Into::into).collect(),
    };
    let memory: u64 = header.boards.iter().flat_map(|board| &board.memory).map(|(_, length)| u64::from(*length)).sum();
    progress(DumpStep::Ahead(memory));
    writer.put(&Body::Header(Box::new(header.clone())))?;
    let cores = registers.iter().map(Vec::len).sum();
    for (board, of_board) in registers.into_iter().enumerate() {
        for (core, registers) in of_board.into_iter().enumerate() {
            writer.put(&Body::Registers { board: board as u8, core: core as u8, registers })?;
        }
    }
    writer.put(&Body::Report(serde_json::to_value(&report).unwrap_or_default()))?;
    writer.put(&Body::Breakpoints(breakpoints.clone()))?;
    for (index, of_board) in header.boards.iter().enumerate() {
        for (start, length) in &of_board.memory {
            save_memory(system, index, (*start, *length), writer, progress)?;
        }
    }
    if options.with_elf {
        for (file, elf) in elfs.iter().enumerate() {
            for (piece, bytes) in elf.chunks(PIECE).enumerate() {
                let offset = (piece * PIECE) as u32;
                writer.put(&Body::Elf { file: file as u8, offset, bytes: bytes.to_vec() })?;
            }
        }
    }
    // Once more: the first copy may be damaged.
    writer.put(&Body::Header(Box::new(header)))?;
    writer.put(&Body::End(writer.frames))?;
    Ok(Written { bytes: writer.bytes, memory, cores, report })
}

fn save_memory(
    system: &mut System,
    board: usize,
    (start, length): (u32, u32),
    writer: &mut Writer,
    progress: &mut impl FnMut(DumpStep),
) -> Result<(), DumpError> {
    for offset in (0..length).step_by(PIECE) {
        system.check_interrupt("the dump")?;
        let (address, size) = (start + offset, (length - offset).min(PIECE as u32));
        let read = |board: &mut Board| Ok(crate::memory::read_bytes(board.memory(), address, size as usize)?);
        let bytes = system.on(board, read)?;
        writer.put(&Body::Memory { board: board as u8, address, bytes })?;
        progress(DumpStep::Done(u64::from(size)));
    }
    Ok(())
}

/// The registers of every core: those that its agent has saved; otherwise the core is halted for the look.
fn capture(board: &mut Board) -> Result<Vec<Registers>, SystemError> {
    let name = board.name().to_owned();
    let of_core = |board: &mut Board, core| match board.saved_registers(core) {
        Ok(Some(saved)) => Ok(saved),
        Ok(None) => board
            .session()
            .and_then(|session| Registers::capture(session, core))
            .map_err(|source| SystemError::Session { board: name.clone(), source }),
        Err(source) => Err(SystemError::Board { board: name.clone(), source }),
    };
    (0..board.cores()).map(|core| of_core(board, core)).collect()
}

fn spans(board: &mut Board, elf: &[u8], registers: &[Registers]) -> Vec<Range<u64>> {
    let variables = object::File::parse(elf).map(|elf| regions::variables(&elf)).unwrap_or_default();
    let ram = board.ram().unwrap_or_default();
    let stacks: Vec<u64> = registers.iter().flat_map(Registers::stack_pointers).collect();
    regions::worth_saving(&ram, &variables, &stacks)
}

fn as_words(span: Range<u64>) -> (u32, u32) {
    (span.start as u32, (span.end - span.start) as u32)
}

fn in_session(board: &str, source: SessionError) -> DumpError {
    DumpError::System(SystemError::Session { board: board.to_owned(), source })
}
