//! A front end for stock tools: the probe-rs applet of a Glasgow, over TCP.
//!
//! probe-rs has a driver for the Glasgow that can talk over a network. This module is the other end of that wire: frames
//! ([`frame`]), the probe's own commands, and an ADIv5 debug port with one memory access port per core ([`port`]).

mod frame;
mod port;

use crate::board::BoardHandle;
use crate::group::GroupHandle;
use crate::machine::{Machine, MachineError, SharedRam};
use frame::{Endpoint, Frames};
use port::DebugPort;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const IDENTIFIER: &[u8; 12] = b"probe-rs,v01";
const REFERENCE_CLOCK: u32 = 48_000_000;

/// Serves a machine to stock probe-rs tools, one client at a time.
///
/// ```no_run
/// use qemu_probe::{Machine, MachineKind, Server};
/// let machine = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").start()?;
/// let server = Server::bind("127.0.0.1:0", &machine)?;
/// println!("probe-rs ... --probe 20b7:9db1:tcp:{}", server.address());
/// server.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    board: BoardHandle,
    shared_ram: Option<SharedRam>,
    busy: Arc<AtomicBool>,
}

impl Server {
    /// Attaches to the machine and listens.
    pub fn bind(address: impl ToSocketAddrs, machine: &Machine) -> Result<Self, MachineError> {
        let listener = TcpListener::bind(address).map_err(MachineError::io("listening for tools"))?;
        let address = listener.local_addr().map_err(MachineError::io("listening for tools"))?;
        let (board, shared_ram) = (BoardHandle::attach(machine)?, machine.shared_ram().cloned());
        Ok(Self { listener, address, board, shared_ram, busy: Arc::default() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The cores as a group, beside whatever a tool does.
    pub fn cores(&self) -> GroupHandle {
        GroupHandle::new(self.board.clone())
    }

    /// Serves clients for ever. A client that comes while another is served is turned away at once: two tools that halt
    /// and run the same cores would only confuse each other.
    pub fn run(&self) -> io::Result<()> {
        loop {
            self.serve_next()?;
        }
    }

    /// Accepts one client, and serves it in a thread of its own.
    pub fn serve_next(&self) -> io::Result<()> {
        let (stream, _) = self.listener.accept()?;
        if self.busy.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let (board, shared_ram, busy) = (self.board.clone(), self.shared_ram.clone(), self.busy.clone());
        std::thread::Builder::new().name("qemu-probe-client".into()).spawn(move || {
            // A client that breaks the connection off or sends nonsense ends its own session only.
            let _ = serve_client(stream, DebugPort::new(board, shared_ram));
            busy.store(false, Ordering::Release);
        })?;
        Ok(())
    }
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
