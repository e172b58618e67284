//! QEMU's test socket: interrupt lines of the cores, moved by the host, and memory read by it, while the machine runs.

use super::{MachineError, MachineKind, socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long QEMU may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

/// How much memory one command reads.
const PIECE: usize = 0x8000;

/// QEMU's test socket, which can move interrupt lines and read memory while the machine runs.
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
        let level = |level: u8| format!("set_irq_in {path} unnamed-gpio-in {irq} {level}\n");
        // At once: a process that is killed in between would leave the line raised, and one answer is waited for, not two.
        let both = level(1) + &level(0);
        self.with(|stream| {
            stream.write_all(both.as_bytes()).map_err(lost())?;
            let mut replies = Vec::new();
            receive_lines(stream, 2, &mut replies, &both)?;
            String::from_utf8_lossy(&replies).lines().try_for_each(|reply| check(&both, reply).map(drop))
        })
    }

    /// Reads memory as the first core sees it.
    pub(crate) fn read(&self, address: u32, into: &mut [u8]) -> Result<(), MachineError> {
        self.with(|stream| {
            for (index, piece) in into.chunks_mut(PIECE).enumerate() {
                let from = address as usize + index * PIECE;
                let order = format!("read {from:#x} {:#x}", piece.len());
                let reply = command(stream, &order)?;
                let wrong = || MachineError::Refused { what: order.clone(), reason: "the answer is too short".into() };
                let digits = reply.strip_prefix("OK 0x").filter(|digits| digits.len() == 2 * piece.len());
                let digits = digits.ok_or_else(wrong)?;
                for (place, byte) in piece.iter_mut().enumerate() {
                    let pair = digits.get(2 * place..2 * place + 2).ok_or_else(wrong)?;
                    *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
                }
            }
            Ok(())
        })
    }

    fn with<R>(&self, work: impl FnOnce(&mut UnixStream) -> Result<R, MachineError>) -> Result<R, MachineError> {
        match self {
            Self::None => Err(MachineError::NoDebugPort),
            Self::Here(stream) => work(&mut stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner())),
            Self::At(path) => work(&mut socket::connect_within(path, "the interrupt socket", LIMIT)?),
        }
    }
}

fn lost() -> impl FnOnce(std::io::Error) -> MachineError {
    MachineError::io("QEMU's interrupt socket was lost")
}

/// Gives a command and returns the answer, which begins with `OK`.
fn command(stream: &mut UnixStream, command: &str) -> Result<String, MachineError> {
    stream.write_all(format!("{command}\n").as_bytes()).map_err(lost())?;
    let mut reply = Vec::new();
    receive_lines(stream, 1, &mut reply, command)?;
    check(command, String::from_utf8_lossy(&reply).trim())
}

/// Receives so many lines.
fn receive_lines(stream: &mut UnixStream, lines: usize, into: &mut Vec<u8>, command: &str) -> Result<(), MachineError> {
    let (mut found, end) = (0, Instant::now() + LIMIT);
    while found < lines {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).unwrap_or_default();
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&left)) {
            Ok(0) => return Err(MachineError::Silent { what: command.trim().into(), limit: LIMIT }),
            Ok(_) => {}
            // A signal. QEMU has the command, so its answer is waited for all the same.
            Err(Errno::INTR) => continue,
            Err(error) => return Err(lost()(error.into())),
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) => return Err(lost()(ErrorKind::UnexpectedEof.into())),
            Ok(len) => {
                found += chunk[..len].iter().filter(|byte| **byte == b'\n').count();
                into.extend_from_slice(&chunk[..len]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(lost()(error)),
        }
    }
    Ok(())
}

/// The answer, if it is that the command was done.
fn check(command: &str, reply: &str) -> Result<String, MachineError> {
    let refused = || MachineError::Refused { what: command.trim().into(), reason: reply.into() };
    if reply.starts_with("OK") { Ok(reply.into()) } else { Err(refused()) }
}
