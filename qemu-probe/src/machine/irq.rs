//! Interrupt lines of the cores, moved by the host.

use super::{MachineError, MachineKind, socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long QEMU may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

/// QEMU's test socket, which can move interrupt lines while the machine runs.
#[derive(Debug)]
pub(crate) enum IrqLines {
    /// The machine has none.
    None,
    /// A socket inherited by QEMU.
    Here(Mutex<UnixStream>),
    /// A socket to connect to.
    At(PathBuf),
}

impl IrqLines {
    /// Raises and lowers line `irq` of `core`.
    pub(crate) fn pulse(&self, kind: MachineKind, core: usize, irq: u16) -> Result<(), MachineError> {
        let path = kind.interrupt_controller(core);
        let order = |stream: &mut UnixStream| {
            for level in [1, 0] {
                command(stream, &format!("set_irq_in {path} unnamed-gpio-in {irq} {level}"))?;
            }
            Ok(())
        };
        match self {
            Self::None => Err(MachineError::NoDebugPort),
            Self::Here(stream) => order(&mut stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner())),
            Self::At(path) => order(&mut socket::connect_within(path, "the interrupt socket", LIMIT)?),
        }
    }
}

fn command(stream: &mut UnixStream, command: &str) -> Result<(), MachineError> {
    let lost = || MachineError::io("QEMU's interrupt socket was lost");
    stream.write_all(format!("{command}\n").as_bytes()).map_err(lost())?;
    let (mut reply, end) = (Vec::new(), Instant::now() + LIMIT);
    while !reply.ends_with(b"\n") {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).unwrap_or_default();
        let ready = poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&left)).map_err(|e| lost()(e.into()))?;
        if ready == 0 {
            return Err(MachineError::Silent { what: command.into(), limit: LIMIT });
        }
        let mut chunk = [0; 256];
        match stream.read(&mut chunk).map_err(lost())? {
            0 => return Err(lost()(std::io::ErrorKind::UnexpectedEof.into())),
            len => reply.extend_from_slice(&chunk[..len]),
        }
    }
    if reply.starts_with(b"OK") {
        Ok(())
    } else {
        Err(MachineError::Refused { what: command.into(), reason: String::from_utf8_lossy(&reply).trim().into() })
    }
}
