use super::packet::{Decoder, encode, hex, unhex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Why an exchange with the gdbstub failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GdbError {
    /// The socket is closed: QEMU has ended.
    #[error("QEMU closed its debug socket")]
    Closed,
    /// No answer before the deadline.
    #[error("no answer in time")]
    Silent,
    /// The stub understood and refused, or did not understand.
    #[error("`{packet}` was answered `{reply}`")]
    Refused { packet: String, reply: String },
}

/// QEMU caps `m` at 2048 bytes, and its packet buffer at 4096.
const MAX_READ: usize = 2040;
const MAX_WRITE: usize = 2000;

/// The client's end of the debug socket.
///
/// While the machine runs, the stub understands nothing: the first byte it receives stops the machine and is lost. So
/// commands may only be sent to a stopped machine; [`Gdb::interrupt`] stops it.
#[derive(Debug)]
pub(crate) struct Gdb {
    stream: UnixStream,
    decoder: Decoder,
    /// Until when the current operation must be done.
    pub(crate) deadline: Instant,
}

impl Gdb {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, decoder: Decoder::default(), deadline: Instant::now() }
    }

    pub(crate) fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Sends a packet without waiting for an answer.
    pub(crate) fn send(&mut self, payload: &[u8]) -> Result<(), GdbError> {
        self.stream.write_all(&encode(payload)).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => GdbError::Silent,
            _ => GdbError::Closed,
        })
    }

    /// Stops a running machine; a stop reply follows. A stopped machine ignores it.
    pub(crate) fn interrupt(&mut self) -> Result<(), GdbError> {
        self.stream.write_all(&[3]).map_err(|_| GdbError::Closed)
    }

    /// The next packet, waiting until the deadline.
    pub(crate) fn receive(&mut self) -> Result<Vec<u8>, GdbError> {
        self.next_until(self.deadline)?.ok_or(GdbError::Silent)
    }

    /// The next packet if it has arrived already.
    pub(crate) fn try_receive(&mut self) -> Result<Option<Vec<u8>>, GdbError> {
        self.next_until(Instant::now())
    }

    fn next_until(&mut self, end: Instant) -> Result<Option<Vec<u8>>, GdbError> {
        loop {
            if let Some(payload) = self.decoder.next() {
                self.stream.write_all(b"+").map_err(|_| GdbError::Closed)?;
                return Ok(Some(payload));
            }
            let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).unwrap_or_default();
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(GdbError::Closed),
            }
            let mut chunk = [0; 8192];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(GdbError::Closed),
                Ok(len) => self.decoder.push(&chunk[..len]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(GdbError::Closed),
            }
        }
    }

    /// Sends a command and returns its answer.
    pub(crate) fn ask(&mut self, packet: &str) -> Result<Vec<u8>, GdbError> {
        self.send(packet.as_bytes())?;
        self.receive()
    }

    /// Sends a command that is answered `OK`.
    pub(crate) fn order(&mut self, packet: &str) -> Result<(), GdbError> {
        let reply = self.ask(packet)?;
        if reply == b"OK" { Ok(()) } else { Err(refused(packet, &reply)) }
    }

    /// One register of the selected core, at most 8 bytes.
    pub(crate) fn register(&mut self, number: u32) -> Result<u64, GdbError> {
        let packet = format!("p{number:x}");
        let reply = self.ask(&packet)?;
        let bytes = unhex(&reply).filter(|bytes| matches!(bytes.len(), 1..=8));
        let bytes = bytes.ok_or_else(|| refused(&packet, &reply))?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(crate) fn set_register(&mut self, number: u32, bytes: &[u8]) -> Result<(), GdbError> {
        self.order(&format!("P{number:x}={}", hex(bytes)))
    }

    /// Memory as the selected core sees it.
    pub(crate) fn read(&mut self, address: u32, into: &mut [u8]) -> Result<(), GdbError> {
        let mut address = address;
        for part in into.chunks_mut(MAX_READ) {
            let packet = format!("m{address:x},{:x}", part.len());
            let reply = self.ask(&packet)?;
            let bytes = unhex(&reply).filter(|bytes| bytes.len() == part.len());
            part.copy_from_slice(&bytes.ok_or_else(|| refused(&packet, &reply))?);
            address = address.wrapping_add(part.len() as u32);
        }
        Ok(())
    }

    /// Memory, never devices: the stub answers OK to a write to a device and does nothing.
    pub(crate) fn write(&mut self, address: u32, from: &[u8]) -> Result<(), GdbError> {
        let mut address = address;
        for part in from.chunks(MAX_WRITE) {
            self.order(&format!("M{address:x},{:x}:{}", part.len(), hex(part)))?;
            address = address.wrapping_add(part.len() as u32);
        }
        Ok(())
    }
}

impl AsFd for Gdb {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn refused(packet: &str, reply: &[u8]) -> GdbError {
    let packet = packet.split(':').next().unwrap_or(packet).to_owned();
    GdbError::Refused { packet, reply: String::from_utf8_lossy(reply).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn pair() -> (Gdb, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut gdb = Gdb::new(ours);
        gdb.deadline = Instant::now() + Duration::from_secs(2);
        (gdb, theirs)
    }

    #[test]
    fn registers_are_little_endian_of_any_width() {
        let (mut gdb, mut stub) = pair();
        stub.write_all(&[encode(b"78563412"), encode(b"0000000000000080")].concat()).unwrap();
        assert_eq!(gdb.register(15), Ok(0x1234_5678));
        assert_eq!(gdb.register(26), Ok(1 << 63));
    }

    #[test]
    fn a_short_answer_to_a_read_is_a_refusal_and_not_data() {
        let (mut gdb, mut stub) = pair();
        stub.write_all(&encode(b"E14")).unwrap();
        let error = gdb.read(0x10, &mut [0; 4]).unwrap_err();
        assert_eq!(error, GdbError::Refused { packet: "m10,4".into(), reply: "E14".into() });
    }

    #[test]
    fn silence_and_a_closed_socket_are_told_apart() {
        let (mut gdb, stub) = pair();
        gdb.deadline = Instant::now() + Duration::from_millis(5);
        assert_eq!(gdb.ask("?"), Err(GdbError::Silent));
        drop(stub);
        gdb.deadline = Instant::now() + Duration::from_secs(2);
        assert_eq!(gdb.receive(), Err(GdbError::Closed));
    }
}
