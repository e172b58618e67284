//! A front end for stock tools: the probe-rs applet of a Glasgow, over TCP.
//!
//! probe-rs has a driver for the Glasgow that can talk over a network. This module is the other end of that wire: frames
//! ([`frame`]), the probe's own commands, and an ADIv5 debug port with one memory access port per core ([`port`]).

mod frame;
mod port;
mod slot;
mod target;

use crate::board::BoardError;
use crate::group::GroupHandle;
use crate::machine::{Machine, MachineError};
use frame::{Endpoint, Frames};
use port::DebugPort;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use slot::Slot;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use target::Target;

const IDENTIFIER: &[u8; 12] = b"probe-rs,v01";
/// What a client that cannot be served is told in the place of the identifier.
const BUSY: &[u8; 12] = b"busy: in use";
const REFERENCE_CLOCK: u32 = 48_000_000;

/// How long a client waits for the one before it to leave.
const BUSY_PATIENCE: Duration = Duration::from_millis(500);
/// How often the server looks whether its machine is still there.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Why a [`Server`] ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket failed.
    #[error("waiting for tools: {0}")]
    Listen(#[from] io::Error),
    /// The machine is gone.
    #[error(transparent)]
    Machine(#[from] BoardError),
}

type Report = Arc<dyn Fn(fmt::Arguments<'_>) + Send + Sync>;

/// Serves a machine to stock probe-rs tools, one client at a time.
///
/// ```no_run
/// use qemu_probe::{Machine, MachineKind, Server};
/// use std::sync::atomic::AtomicBool;
/// let machine = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").start()?;
/// let server = Server::bind("127.0.0.1:0", &machine)?;
/// println!("probe-rs ... --probe 20b7:9db1:tcp:{}", server.address());
/// server.run(&AtomicBool::new(false))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    target: Arc<Target>,
    slot: Arc<Slot>,
    report: Report,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens for tools.
    ///
    /// The machine runs on undisturbed until a tool asks for more than memory, doorbells and the state of the cores: then a
    /// debugger is attached to it.
    pub fn bind(address: impl ToSocketAddrs, machine: &Machine) -> Result<Self, MachineError> {
        let listener = TcpListener::bind(address).map_err(MachineError::io("listening for tools"))?;
        let address = listener.local_addr().map_err(MachineError::io("listening for tools"))?;
        let target = Arc::new(Target::of(machine)?);
        Ok(Self { listener, address, target, slot: Arc::default(), report: Arc::new(|_| {}) })
    }

    /// Calls `report` with a line for each client that is turned away or that breaks the protocol.
    #[must_use]
    pub fn reporting(mut self, report: impl Fn(fmt::Arguments<'_>) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The cores as a group, beside whatever a tool does. A debugger is attached if there is none yet.
    ///
    /// # Errors
    /// No debugger can be attached.
    pub fn cores(&self) -> Result<GroupHandle, MachineError> {
        self.target.board().map(GroupHandle::new)
    }

    /// Serves clients until `stop` is set; returns an error when the machine ends before that.
    pub fn run(&self, stop: &AtomicBool) -> Result<(), ServeError> {
        while !stop.load(Ordering::Relaxed) {
            self.target.check()?;
            let waiting = match poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&LOOK)) {
                Ok(ready) => ready > 0,
                Err(rustix::io::Errno::INTR) => false,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            if waiting {
                self.serve_next()?;
            }
        }
        Ok(())
    }

    /// Accepts one client, and serves it in a thread of its own.
    ///
    /// A client that comes while another is served is told that the probe is busy: two tools that halt and run the same
    /// cores would only confuse each other. When a client leaves, cores that it halted run on, as on silicon, whether it
    /// left in an orderly way or was killed.
    pub fn serve_next(&self) -> io::Result<()> {
        let (stream, peer) = self.listener.accept()?;
        let (target, slot, report) = (self.target.clone(), self.slot.clone(), self.report.clone());
        std::thread::Builder::new().name("qemu-probe-client".into()).spawn(move || {
            let _place = match slot.take(peer, BUSY_PATIENCE) {
                Ok(place) => place,
                Err(other) => {
                    report(format_args!("busy: turned away {peer}, as {other} is connected"));
                    // A client that does not listen has only itself to blame.
                    let _ = turn_away(stream);
                    return;
                }
            };
            // A client that breaks the connection off or sends nonsense ends its own session only.
            if let Err(error) = serve_client(stream, DebugPort::new(target.clone())) {
                report(format_args!("the connection of {peer} ended: {error}"));
            }
            // A failure means that the machine is gone, which the server notices by itself.
            let _ = target.release();
        })?;
        Ok(())
    }
}

/// Answers a client's first words, so that it knows why the connection is closed.
fn turn_away(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(BUSY_PATIENCE))?;
    let _ = stream.read(&mut [0; 64])?;
    stream.write_all(&frame::encode(Endpoint::Root, BUSY))
}

fn serve_client(mut stream: TcpStream, mut port: DebugPort) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut frames = Frames::default();
    let mut root = Vec::new();
    let mut chunk = vec![0; 65536];
    loop {
        let len = stream.read(&mut chunk)?;
        if len == 0 {
            return Ok(());
        }
        frames.push(&chunk[..len]);
        let mut out = Vec::new();
        while let Some((endpoint, data)) = frames.next().map_err(io::Error::other)? {
            let reply = match endpoint {
                Endpoint::Root => {
                    root.extend_from_slice(&data);
                    serve_root(&mut root)
                }
                Endpoint::Swd => port.transfer(&data),
            };
            if !reply.is_empty() {
                out.extend(frame::encode(endpoint, &reply));
            }
        }
        stream.write_all(&out)?;
    }
}

/// The commands of the probe itself. What is incomplete stays in `input`.
fn serve_root(input: &mut Vec<u8>) -> Vec<u8> {
    let mut reply = Vec::new();
    let mut used = 0;
    while let Some(command) = input.get(used) {
        let len = if *command == 0x12 { 3 } else { 1 };
        if used + len > input.len() {
            break;
        }
        match command {
            0x00 => reply.extend_from_slice(IDENTIFIER),
            0x10 => reply.extend_from_slice(&REFERENCE_CLOCK.to_le_bytes()),
            0x11 => reply.extend_from_slice(&[0, 0]),
            // Setting the speed and pulling the reset pin: neither has a reply, and there is neither.
            _ => {}
        }
        used += len;
    }
    input.drain(..used);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_split_over_two_packets_is_served_when_it_is_whole() {
        let mut input = vec![0x00, 0x12, 0x34];
        assert_eq!(serve_root(&mut input), IDENTIFIER);
        assert_eq!(input, [0x12, 0x34]);
        input.extend_from_slice(&[0x00, 0x11]);
        assert_eq!(serve_root(&mut input), [0, 0]);
        assert!(input.is_empty());
    }
}
