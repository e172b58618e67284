//! Frames to a file: appended whole, never changed.
use super::frame::{Body, MAGIC};
use super::{Chunk, Header};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often what was written is forced to the disk. A crash of this program loses nothing that was written; a crash of
/// the whole computer loses at most this much.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Why nothing more can be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot be made.
    #[error("cannot make {path}: {source}", path = path.display())]
    Make {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is one already.
    #[error("{path} exists; a trace is never written over: name another file", path = .0.display())]
    Exists(PathBuf),
    /// The disk is full, or something else kept the bytes from it.
    #[error(
        "cannot write to {path}: {source}; {saved} bytes in {frames} frames are saved there and can be read; the boards \
         run on",
        path = path.display()
    )]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
        /// How much of it is whole.
        saved: u64,
        /// How many frames that is.
        frames: u64,
    },
}

/// Appends frames to a trace.
pub struct Writer {
    path: PathBuf,
    file: File,
    /// The length of the whole frames.
    saved: u64,
    frames: u64,
    synced: Instant,
}

impl Writer {
    /// Makes a new file with this header.
    pub fn create(path: &Path, header: &Header) -> Result<Self, WriteError> {
        let file = File::options().append(true).create_new(true).open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists(path.to_owned()),
            _ => WriteError::Make { path: path.to_owned(), source },
        })?;
        let mut writer = Self { path: path.to_owned(), file, saved: 0, frames: 0, synced: Instant::now() };
        let first = [&MAGIC[..], &Body::Header(Box::new(header.clone())).encode()].concat();
        writer.append_bytes(&first)?;
        writer.sync()?;
        Ok(writer)
    }

    /// A writer that has saved so much to a file that is open already.
    #[cfg(test)]
    pub(super) fn over(path: &Path, file: File, saved: u64, frames: u64) -> Self {
        Self { path: path.to_owned(), file, saved, frames, synced: Instant::now() }
    }

    /// How many bytes are saved.
    #[must_use]
    pub fn saved(&self) -> u64 {
        self.saved
    }

    /// Appends a piece of a node's log. It is with the operating system when this returns.
    pub fn log(&mut self, chunk: &Chunk) -> Result<(), WriteError> {
        self.append_frame(&chunk.encode())
    }

    /// Ends the trace in order, so many microseconds after it began. Everything is on the disk when this returns.
    pub fn end(&mut self, wall: u64) -> Result<(), WriteError> {
        self.append_frame(&Body::End(wall).encode())?;
        self.sync()
    }

    fn append_frame(&mut self, frame: &[u8]) -> Result<(), WriteError> {
        self.append_bytes(frame)?;
        if self.synced.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    /// Forces what was written to the disk.
    fn sync(&mut self) -> Result<(), WriteError> {
        self.file.sync_data().map_err(|source| self.failed(source))?;
        self.synced = Instant::now();
        Ok(())
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        if let Err(source) = self.file.write_all(bytes) {
            // Half a frame at the end would be read as damage. If it cannot be taken back, it is.
            let _ = self.file.set_len(self.saved);
            return Err(self.failed(source));
        }
        self.saved += bytes.len() as u64;
        self.frames += 1;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Write { path: self.path.clone(), source, saved: self.saved, frames: self.frames }
    }
}
