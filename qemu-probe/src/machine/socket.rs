//! Connecting to QEMU's sockets, and only for a limited time.
//!
//! QEMU serves one client per socket. Further ones wait in its queue, unanswered; when that is full, an ordinary `connect`
//! blocks, and no signal ends it.

use super::MachineError;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long a write may take. A QEMU that is stopped reads nothing.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// How long to wait before a full queue is tried again, or the flag of [`interrupt_connecting_by`] is looked at.
pub(super) const AGAIN: Duration = Duration::from_millis(20);

static INTERRUPT: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Gives up waiting for a machine's sockets, in this process, as soon as `flag` is set. Only the first call has an effect.
///
/// For programs that handle Ctrl-C themselves. A debugger that is connected is not interrupted: it may have stopped the
/// machine for one access.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
/// let interrupted = Arc::new(AtomicBool::new(false));
/// qemu_probe::interrupt_connecting_by(interrupted.clone());
/// ```
pub fn interrupt_connecting_by(flag: Arc<AtomicBool>) {
    let _ = INTERRUPT.set(flag);
}

/// Whether waiting is to be given up.
pub(super) fn is_interrupted() -> bool {
    INTERRUPT.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Connects once; `WouldBlock` if QEMU's queue is full.
pub(super) fn try_connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) => {}
        Err(Errno::INTR) => return Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => return Err(error.into()),
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    Ok(stream)
}

/// Connects within `limit`.
pub(super) fn connect_within(path: &Path, what: &str, limit: Duration) -> Result<UnixStream, MachineError> {
    let end = Instant::now() + limit;
    loop {
        match try_connect(path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if is_interrupted() {
                    return Err(MachineError::Interrupted);
                }
                if Instant::now() >= end {
                    return Err(MachineError::Silent { what: format!("connect to {what}"), limit });
                }
                std::thread::sleep(AGAIN);
            }
            Err(error) => return Err(MachineError::io(format!("connecting to {what}"))(error)),
            Ok(stream) => return Ok(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_full_queue_is_waited_for_within_the_limit_and_no_longer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = try_connect(&path) {
            waiting.push(stream);
        }
        let limit = Duration::from_millis(50);
        let full = connect_within(&path, "a socket", limit);
        assert!(matches!(full, Err(MachineError::Silent { .. })), "{full:?}");
        let accepted = listener.accept().unwrap();
        assert!(connect_within(&path, "a socket", limit).is_ok(), "there is room again");
        drop(accepted);
    }
}
