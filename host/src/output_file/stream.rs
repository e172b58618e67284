//! Writing to a device, a FIFO or a socket, without getting stuck there.
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How often a wait looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A device, a FIFO or a socket.
pub(super) struct Stream<'a> {
    file: File,
    cancelled: Option<&'a AtomicBool>,
}

impl<'a> Stream<'a> {
    /// Opens it; waits for the reader of a FIFO.
    pub(super) fn open(path: &Path, cancelled: Option<&'a AtomicBool>) -> io::Result<Self> {
        // Blocking calls are restarted after a signal, so they could not be cancelled.
        let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
        loop {
            super::check(cancelled)?;
            match File::options().write(true).custom_flags(flags).open(path) {
                Ok(file) => return Ok(Self { file, cancelled }),
                Err(error) if error.raw_os_error() == Some(nix::libc::ENXIO) && is_fifo(path) => {
                    std::thread::sleep(LOOK_EVERY);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            super::check(self.cancelled)?;
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut asked = [PollFd::new(self.file.as_fd(), PollFlags::POLLOUT)];
                    let limit = PollTimeout::from(LOOK_EVERY.as_millis() as u8);
                    poll(&mut asked, limit)
                        .or_else(|error| if error == nix::Error::EINTR { Ok(0) } else { Err(error) })?;
                }
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
