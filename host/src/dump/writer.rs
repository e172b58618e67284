//! Frames to a file: all of them or nothing.
use super::DumpError;
use super::frame::{Body, MAGIC, MAX_BODY};
use crate::output_file::Aside;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Frames to a file beside the one that is wanted, which takes its name when it is whole.
pub(super) struct Writer {
    file: Aside,
    path: PathBuf,
    /// How many frames are written.
    pub frames: u32,
    /// How many bytes are.
    pub bytes: u64,
}

impl Writer {
    pub fn create(path: &Path) -> Result<Self, DumpError> {
        let file = Aside::beside(path).map_err(|source| failed(path, source))?;
        let mut writer = Self { file, path: path.to_owned(), frames: 0, bytes: 0 };
        writer.write(&MAGIC)?;
        Ok(writer)
    }

    /// A writer over a file that is open already.
    #[cfg(test)]
    pub fn over(path: &Path, file: std::fs::File) -> Self {
        Self { file: Aside::over(path, file), path: path.to_owned(), frames: 0, bytes: 0 }
    }

    pub fn put(&mut self, body: &Body) -> Result<(), DumpError> {
        let frame = body.encode();
        match body {
            // Of a system with very many messages in flight. It can be made anew from what is saved.
            Body::Report(_) if frame.len() > MAX_BODY => return Ok(()),
            _ if frame.len() > MAX_BODY => {
                let why = "the system file or a name is too long for a dump";
                return Err(failed(&self.path, io::Error::new(io::ErrorKind::InvalidInput, why)));
            }
            _ => {}
        }
        self.frames += 1;
        self.write(&frame)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|source| failed(&self.path, source))
    }

    /// Everything is on the disk before the file has its name.
    pub fn finish(self) -> Result<(), DumpError> {
        let path = &self.path;
        self.file.file().sync_all().map_err(|source| failed(path, source))?;
        self.file.finish_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => DumpError::Exists(path.to_owned()),
            _ => failed(path, error),
        })
    }
}

fn failed(path: &Path, source: io::Error) -> DumpError {
    DumpError::Write { path: path.to_owned(), source }
}
