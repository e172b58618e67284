//! From a system file to attached boards, all at once.
use crate::config::{BoardConfig, ConfigError, Part, SystemFile};
use crate::lock::LockError;
use crate::session::Attached;
use crate::{Board, BoardError, Firmware, FirmwareError, Likeness, Lost, Memory, Session, SessionError, System};
use std::path::PathBuf;
use std::time::Duration;
use stillpoint_core::control::HeaderError;

/// Why a board of a system file could not be attached to.
#[derive(Debug, thiserror::Error)]
#[error("board {board}: {cause}")]
pub struct OpenError {
    /// Which board.
    pub board: String,
    /// Why.
    pub cause: OpenCause,
}

/// What kept a board from being attached to.
#[derive(Debug, thiserror::Error)]
pub enum OpenCause {
    /// The system file is wrong about it.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its probe or machine could not be reached.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its ELF file is not usable.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// What runs on it is not usable.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// What is on it is not what the system file says.
    #[error("what is on it is not {}; write it with `stillpoint flash`, or name the ELF file of what is there", .0.display())]
    OtherImage(PathBuf),
    /// There is nothing on it.
    #[error("it is empty; write its firmware with `stillpoint flash`")]
    Blank,
    /// Its cores do not run, and did not get far enough to have a node.
    #[error("its cores are stopped before its firmware has started; let them go with `stillpoint run`")]
    Stopped,
}

impl OpenError {
    /// Whether the board is there, but its cores do not run.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.cause, OpenCause::Stopped)
    }
}

impl OpenError {
    /// Whether the board is there, but another process uses it.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        matches!(self.cause, OpenCause::Session(SessionError::Lock(LockError::InUse { .. })))
    }
}

/// How long firmware that has only just started may take to make its control blocks.
const START_LIMIT: Duration = Duration::from_secs(5);

impl System {
    /// Attaches to every board of a system file, in parallel. The first that fails, in the order of the file, is the error.
    pub fn open(file: &SystemFile) -> Result<Self, OpenError> {
        let boards = Self::open_each(file).into_iter().collect::<Result<_, _>>()?;
        Ok(Self::new(boards))
    }

    /// Attaches to the boards of a system file that are there; [`System::missing`] tells of the others. An error if none is.
    pub fn open_some(file: &SystemFile) -> Result<Self, OpenError> {
        let (mut boards, mut missing, mut first) = (Vec::new(), Vec::new(), None);
        for (config, opened) in file.boards.iter().zip(Self::open_each(file)) {
            match opened {
                Ok(board) => boards.push(board),
                Err(error) => {
                    let (board, why) = (config.name.clone(), error.cause.to_string());
                    missing.push(Lost { board, nodes: names_of_missing(config), why });
                    first = first.or(Some(error));
                }
            }
        }
        match first {
            Some(error) if boards.is_empty() => Err(error),
            _ => {
                let mut system = Self::new(boards);
                system.missing = missing;
                Ok(system)
            }
        }
    }

    /// Attaches to every board of a system file, in parallel, whatever becomes of the others.
    #[must_use]
    pub fn open_each(file: &SystemFile) -> Vec<Result<Board, OpenError>> {
        // An owner starts while the ELF files are read. What is wrong with the folder is said where it is needed.
        if let Ok(state) = crate::StateDir::of(file) {
            crate::owner::ensure(&state);
        }
        std::thread::scope(|scope| {
            let open = |board| scope.spawn(move || open_board(file, board));
            let threads: Vec<_> = file.boards.iter().map(open).collect();
            threads.into_iter().map(|thread| thread.join().expect("attaching does not panic")).collect()
        })
    }
}

fn open_board(file: &SystemFile, config: &BoardConfig) -> Result<Board, OpenError> {
    let open = || {
        let firmware = read_firmware(file, config)?;
        let check = |memory: &mut dyn Memory| match firmware.image.glance(memory).map_err(BoardError::from)? {
            Likeness::Same => Ok(()),
            Likeness::Other => Err(OpenCause::OtherImage(config.firmware.clone())),
            Likeness::Blank => Err(OpenCause::Blank),
        };
        // Agents that run say which image they are in. What stopped ones say may be older than what is on the board.
        let says = |memory: &mut dyn Memory, halted: &[bool]| {
            Ok::<_, BoardError>(!halted.contains(&true) && Board::is_running(memory, &firmware)?)
        };
        // Firmware that does not run will not start while it is waited for.
        let is_stopped = |halted: Vec<bool>| halted.into_iter().all(|halted| halted);
        let limit = |stopped| if stopped { Duration::ZERO } else { START_LIMIT };
        let (opened, stopped) = match Session::open_quietly(file, config).map_err(|error| blame(file, config, error))? {
            Attached::Quiet(mut quiet, halted) => {
                if !says(&mut quiet, &halted)? {
                    check(&mut quiet)?;
                }
                let stopped = is_stopped(halted);
                (Board::open_quietly(quiet, firmware, limit(stopped)), stopped)
            }
            Attached::Session(mut session) => {
                check(&mut session)?;
                let stopped = is_stopped(session.halted()?);
                (Board::open(session, firmware, limit(stopped)), stopped)
            }
        };
        let board = opened.map_err(|error| match error {
            BoardError::Header { source: HeaderError::NotAControlBlock(_), .. } if stopped => OpenCause::Stopped,
            other => other.into(),
        })?;
        Ok(board.named(&config.name, config.nodes.clone()))
    };
    open().map_err(|cause| OpenError { board: config.name.clone(), cause })
}

/// What the nodes of a board are called that cannot be asked.
pub(crate) fn names_of_missing(config: &BoardConfig) -> Vec<String> {
    let cores = crate::session::cores_of(config).unwrap_or(config.nodes.len());
    let name = |core| config.nodes.get(core).cloned().unwrap_or_else(|| format!("{}.{core}", config.name));
    (0..cores.max(1)).map(name).collect()
}

/// Opens the probe of a board; a chip that is not known is blamed on its line.
pub(crate) fn open_session(file: &SystemFile, config: &BoardConfig) -> Result<Session, OpenCause> {
    Session::open(file, config).map_err(|error| blame(file, config, error))
}

fn blame(file: &SystemFile, config: &BoardConfig, error: SessionError) -> OpenCause {
    match error {
        SessionError::Chip(message) => file.blame(config, Part::Chip, message).into(),
        SessionError::NoProbe { .. } => file.blame(config, Part::Probe, error.to_string()).into(),
        other => other.into(),
    }
}

/// Reads the ELF file of a board; one that is not there is blamed on its line.
pub(crate) fn read_firmware(file: &SystemFile, config: &BoardConfig) -> Result<Firmware, OpenCause> {
    Firmware::read(&config.firmware).map_err(|error| match error {
        FirmwareError::Read { .. } => {
            file.blame(config, Part::Firmware, format!("{error}; build the firmware first")).into()
        }
        other => other.into(),
    })
}
