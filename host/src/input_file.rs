//! Files that the tool reads whole: regular files of a sane size.
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// How long a file that people write can be: a system file, a model, a list of commands.
pub const MAX_TEXT: u64 = 16 << 20;
/// How long an ELF file or a dump can be.
pub const MAX_BINARY: u64 = 1 << 30;

/// Reads a regular file of at most `most` bytes.
///
/// A device has no end, and a FIFO may have no writer, so they are refused.
///
/// # Errors
/// The file cannot be read, is no regular file, or is longer.
pub fn read_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::options().read(true).custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(meta.len().min(most) as usize);
    // A file can grow while it is read.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it is longer than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads a regular file of UTF-8 text, of at most [`MAX_TEXT`] bytes.
///
/// # Errors
/// As [`read_bytes`], and if it is no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bytes(path, MAX_TEXT)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_bytes(&path, 5).unwrap(), b"12345");
        assert_eq!(read_bytes(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_bytes(folder.path(), 5).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        let refused = read_bytes(Path::new("/dev/zero"), MAX_BINARY).unwrap_err();
        assert_eq!(refused.to_string(), "it is not a regular file");
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        read_bytes(&fifo, 5).unwrap_err();
        // A sparse file of the forbidden length takes no room on the disk.
        File::create(&path).unwrap().set_len(MAX_TEXT + 1).unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "it is longer than 16 MiB");
    }
}
