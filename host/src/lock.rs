//! One host per board: a file that is locked while a board is in use.
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// Why a board cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("it is in use by {holder}; wait until that ends, or end it")]
    InUse {
        /// Which process, as far as known.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error("cannot lock {path}: {source}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A board that this process alone may use, until this is dropped (or the process ends, in whatever way).
#[derive(Debug)]
pub struct BoardLock {
    _file: File,
}

impl BoardLock {
    /// Takes the lock, or says who has it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let fail = |source| LockError::File { path: path.to_owned(), source };
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The name is a help, no more: the lock itself is what counts.
                let _ = file.read_to_string(&mut holder);
                let holder = if holder.is_empty() { "another process".into() } else { holder };
                return Err(LockError::InUse { holder });
            }
            Err(TryLockError::Error(source)) => return Err(fail(source)),
        }
        let command =
            std::env::args_os().take(3).map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        let holder = format!("process {} ({command})", std::process::id());
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes())).map_err(fail)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_host_is_told_who_has_the_board_until_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = BoardLock::take(&path).unwrap();
        let refused = BoardLock::take(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(lock);
        BoardLock::take(&path).unwrap();
    }
}
