//! Frames to a file: all of them or nothing.
use super::DumpError;
use super::frame::{Body, MAGIC, MAX_BODY};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Frames to a file beside the one that is wanted, which takes its name when it is whole.
pub(super) struct Writer {
    file: NamedTempFile,
    path: PathBuf,
    /// How many frames are written.
    pub frames: u32,
    /// How many bytes are.
    pub bytes: u64,
}

impl Writer {
    pub fn create(path: &Path) -> Result<Self, DumpError> {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        // As any other file of this user: it is made to be given to others.
        let builder = builder.prefix(".stillpoint-").permissions(std::fs::Permissions::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(|source| failed(path, source))?;
        let mut writer = Self { file, path: path.to_owned(), frames: 0, bytes: 0 };
        writer.write(&MAGIC)?;
        Ok(writer)
    }

    /// A writer over a file that is open already.
    #[cfg(test)]
    pub fn over(path: &Path, file: std::fs::File) -> Self {
        let folder = path.parent().unwrap();
        let named = tempfile::Builder::new().tempfile_in(folder).unwrap().into_temp_path();
        Self { file: NamedTempFile::from_parts(file, named), path: path.to_owned(), frames: 0, bytes: 0 }
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
        self.file.as_file().sync_all().map_err(|source| failed(path, source))?;
        self.file.persist_noclobber(path).map(drop).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => DumpError::Exists(path.to_owned()),
            _ => failed(path, error.error),
        })
    }
}

fn failed(path: &Path, source: io::Error) -> DumpError {
    DumpError::Write { path: path.to_owned(), source }
}
