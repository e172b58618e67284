//! Files that commands write and read.
use super::{CliError, Context};
use std::io::{self, Write};
use std::path::Path;
use stillpoint::OutputFile;

/// Writes a file whole or not at all, until Ctrl-C. Returns how many bytes were written.
pub fn write(
    file: OutputFile<'_>,
    context: &Context,
    work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<u64, CliError> {
    let interrupted = context.interrupt_flag();
    let written = file.cancelled_by(&interrupted).write(work);
    if written.is_err() {
        context.check_interrupt("the file was not written")?;
    }
    written.map_err(|error| CliError::Usage(format!("cannot write {}: {error}", file.path().display())))
}

/// Fails if a file to write is the recording that is read.
pub fn check_is_other(path: &Path, trace: &Path) -> Result<(), CliError> {
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    match same(path) {
        Some(place) if Some(&place) == same(trace).as_ref() => {
            Err(CliError::Usage(format!("{} is the recording itself: name another file", path.display())))
        }
        _ => Ok(()),
    }
}
