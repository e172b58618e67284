//! Writing firmware to a board.
use crate::config::{BoardConfig, SystemFile};
use crate::open::{open_session, read_firmware};
use crate::{Memory as _, OpenError, Session, SessionError};
use probe_rs::flashing::{DownloadOptions, ElfLoader, FlashProgress, ProgressEvent, download_file_with_options};

/// How far the writing of a board is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashStep {
    /// An operation with this many bytes lies ahead.
    Ahead(u64),
    /// This many more bytes are done.
    Done(u64),
}

/// Opens a board and writes its firmware to it. Returns the session and the number of bytes written. The cores stay halted until
/// [`start_together`](crate::start_together).
///
/// The ELF file is checked first: a board keeps what it has when the file is not usable.
pub fn flash(
    file: &SystemFile,
    board: &BoardConfig,
    mut tell: impl FnMut(FlashStep),
) -> Result<(Session, usize), OpenError> {
    let fail = |cause| OpenError { board: board.name.clone(), cause };
    let firmware = read_firmware(file, board).map_err(fail)?;
    let mut session = open_session(file, board).map_err(fail)?;
    let mut options = DownloadOptions::default();
    options.verify = true;
    options.progress = FlashProgress::new(move |event| match event {
        ProgressEvent::AddProgressBar { total: Some(total), .. } => tell(FlashStep::Ahead(total)),
        ProgressEvent::Progress { size, .. } => tell(FlashStep::Done(size)),
        _ => {}
    });
    download_file_with_options(session.probe(), &board.firmware, ElfLoader(Default::default()), options)
        .map_err(|error| fail(SessionError::Flash(with_causes(&error)).into()))?;
    // What the former firmware left there is not the new one's, which may take a while to make its own.
    let forgotten = session.write(firmware.shared, &[0]);
    forgotten.map_err(|error| fail(crate::BoardError::from(error).into()))?;
    Ok((session, firmware.image.len()))
}

/// An error and its causes in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
