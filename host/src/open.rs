//! From a system file to attached boards, all at once.
use crate::config::{BoardConfig, ConfigError, Part, SystemFile};
use crate::{Board, BoardError, Firmware, FirmwareError, Session, SessionError, System};
use std::time::Duration;

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
}

/// How long firmware that has only just started may take to make its control blocks.
const START_LIMIT: Duration = Duration::from_secs(5);

impl System {
    /// Attaches to every board of a system file, in parallel. The first that fails, in the order of the file, is the error.
    pub fn open(file: &SystemFile) -> Result<Self, OpenError> {
        let boards = Self::open_each(file).into_iter().collect::<Result<_, _>>()?;
        Ok(Self::new(boards))
    }

    /// Attaches to every board of a system file, in parallel, whatever becomes of the others.
    #[must_use]
    pub fn open_each(file: &SystemFile) -> Vec<Result<Board, OpenError>> {
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
        let session = open_session(file, config)?;
        let board = Board::open(session, firmware, START_LIMIT)?;
        Ok(board.named(&config.name, config.nodes.clone()))
    };
    open().map_err(|cause| OpenError { board: config.name.clone(), cause })
}

/// Opens the probe of a board; a chip that is not known is blamed on its line.
pub(crate) fn open_session(file: &SystemFile, config: &BoardConfig) -> Result<Session, OpenCause> {
    Session::open(file, config).map_err(|error| match error {
        SessionError::Chip(message) => file.blame(config, Part::Chip, message).into(),
        SessionError::NoProbe { .. } => file.blame(config, Part::Probe, error.to_string()).into(),
        other => other.into(),
    })
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
