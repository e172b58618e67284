//! A temporary file beside the one that is wanted.
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const PREFIX: &str = ".stillpoint-";
const SUFFIX: &str = ".part";

/// A temporary file beside the one that is wanted, which takes its name when it is whole. Dropped, it is removed.
///
/// It is locked while it is written, and so can be told from one that a killed process left: the next one in the same folder
/// removes that.
#[derive(Debug)]
pub(crate) struct Aside {
    file: NamedTempFile,
}

impl Aside {
    /// Makes one in the folder of `path`, with the permissions of any new file of this user.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        remove_left(folder);
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(PREFIX).suffix(SUFFIX).permissions(std::fs::Permissions::from_mode(0o666));
        loop {
            let file = builder.tempfile_in(folder)?;
            // A file system without locks has none that could be taken for a leftover either.
            let _ = file.as_file().try_lock();
            // Another process may have seen it before it was locked.
            if is_at(file.as_file(), file.path()) {
                return Ok(Self { file });
            }
        }
    }

    /// One beside `path` over a file that is open already.
    #[cfg(test)]
    pub(crate) fn over(path: &Path, file: File) -> Self {
        let named = Self::beside(path).unwrap().file.into_temp_path();
        Self { file: NamedTempFile::from_parts(file, named) }
    }

    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name, in place of the file that has it.
    pub(super) fn replace(self, place: &Path) -> io::Result<()> {
        self.file.persist(place).map(drop).map_err(|error| error.error)
    }

    /// Gives it its name, if nothing has it.
    pub(crate) fn finish_new(self, place: &Path) -> io::Result<()> {
        self.file.persist_noclobber(place).map(drop).map_err(|error| error.error)
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether this open file is the one that has this name.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |meta: &std::fs::Metadata| (meta.dev(), meta.ino());
    matches!((file.metadata(), path.symlink_metadata()), (Ok(one), Ok(other)) if number(&one) == number(&other))
}

/// Removes temporary files that killed processes of this user left in a folder.
fn remove_left(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let is_named_so = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)).is_some_and(|random| random.len() == 6)
    };
    for path in entries.flatten().map(|entry| entry.path()).filter(is_named_so) {
        // Not through a link, and without waiting for the other end of a FIFO.
        let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
        let Ok(file) = File::options().write(true).custom_flags(flags).open(&path) else { continue };
        let is_ours = file.metadata().is_ok_and(|meta| meta.is_file() && meta.uid() == crate::state::user());
        match file.try_lock() {
            // It may have got its real name between the look and the lock; then this name is another file's, or none's.
            Ok(()) if is_ours && is_at(&file, &path) => drop(std::fs::remove_file(&path)),
            Ok(()) | Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}
