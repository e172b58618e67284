//! Files that the tool writes: whole or not at all, and never in the place of something that is no file.
mod aside;
mod stream;

pub(crate) use aside::Aside;

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use stream::Stream;

/// Links that lead to each other are given up after so many, as the operating system does.
const MAX_LINKS: usize = 40;

/// A file to write.
///
/// A regular file gets its new content at once, when all of it is written; until then, and if writing fails, the old one
/// stays. It keeps its permissions. Symbolic links are followed. A device, a FIFO or a socket is written to.
#[derive(Clone, Copy, Debug)]
pub struct OutputFile<'a> {
    path: &'a Path,
    cancelled: Option<&'a AtomicBool>,
    is_new: bool,
}

impl<'a> OutputFile<'a> {
    /// The file at a path, which need not exist.
    #[must_use]
    pub fn at(path: &'a Path) -> Self {
        Self { path, cancelled: None, is_new: false }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// Fails if there is something at the path, also if it came while this was written.
    #[must_use]
    pub fn new_only(self) -> Self {
        Self { is_new: true, ..self }
    }

    /// Fails once this is true. Nothing of the new content is left then.
    #[must_use]
    pub fn cancelled_by(self, cancelled: &'a AtomicBool) -> Self {
        Self { cancelled: Some(cancelled), ..self }
    }

    /// Writes it. Returns how many bytes were written.
    ///
    /// # Errors
    /// The file cannot be written, `work` fails, or it was cancelled. A temporary file beside it is removed.
    pub fn write(self, work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<u64> {
        let found = match self.path.metadata() {
            _ if self.is_new => None,
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(found) = &found
            && !found.is_file()
        {
            let stream = Stream::open(self.path, self.cancelled)?;
            return self.fill(stream, work).map(|(bytes, _)| bytes);
        }
        let place = if self.is_new { self.path.to_owned() } else { followed(self.path)? };
        let aside = Aside::beside(&place)?;
        if let Some(found) = &found {
            take_over(&place, found, aside.file())?;
        }
        let (bytes, aside) = self.fill(aside, work)?;
        if self.is_new { aside.finish_new(&place) } else { aside.replace(&place) }.map(|()| bytes)
    }

    fn fill<W: Write + Send>(
        self,
        to: W,
        work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> io::Result<(u64, W)> {
        let counted = Counted { to, bytes: 0, cancelled: self.cancelled };
        let mut buffer = BufWriter::with_capacity(1 << 16, counted);
        let done = work(&mut buffer).and_then(|()| buffer.flush());
        // What is in the buffer of a failed one is not written.
        let (Counted { to, bytes, .. }, _) = buffer.into_parts();
        done.map(|()| (bytes, to))
    }
}

/// Where the file is that a path leads to, through symbolic links; also one that does not exist yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&place) {
            Ok(link) => place = place.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Gives the new file the permissions of the old one, which must be writable.
fn take_over(place: &Path, old: &Metadata, new: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    drop(File::options().write(true).custom_flags(nix::libc::O_NONBLOCK).open(place)?);
    // Only root can give a file away; a file of this user needs no change.
    let _ = std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()));
    new.set_permissions(old.permissions())
}

/// A writer that counts bytes and can be cancelled.
struct Counted<'a, W> {
    to: W,
    bytes: u64,
    cancelled: Option<&'a AtomicBool>,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check(self.cancelled)?;
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        check(self.cancelled)?;
        self.to.flush()
    }
}

/// Fails if it was cancelled. The kind of error is none that is tried again.
fn check(cancelled: Option<&AtomicBool>) -> io::Result<()> {
    let is_so = cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed));
    if is_so { Err(io::Error::other("cancelled")) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
