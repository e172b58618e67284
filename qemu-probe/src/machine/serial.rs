use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Where one UART of a machine goes.
///
/// ```no_run
/// use qemu_probe::{Machine, MachineKind, Serial};
/// // One call per UART, in their order.
/// let builder = Machine::builder(MachineKind::Mps2An521).serial(Serial::Null).serial(Serial::File("uart1.log".into()));
/// # let _ = builder;
/// ```
#[derive(Debug)]
pub enum Serial {
    /// Nowhere.
    Null,
    /// What the firmware sends is written to this file.
    File(PathBuf),
    /// To the UART of another machine, or to the host: see [`Link`].
    Link(LinkEnd),
}

/// A wire between two UARTs.
///
/// The wire is a connected pair of sockets that the machines inherit, so it has no address that anybody else could take. It
/// is there until both [`Machine`](super::Machine)s are dropped: what one has sent can be read after it has ended.
///
/// ```
/// use qemu_probe::{Link, Serial};
/// let (a, b) = Link::pair().unwrap();
/// let (for_board_a, for_board_b) = (Serial::Link(a), Serial::Link(b));
/// # let _ = (for_board_a, for_board_b);
/// ```
#[derive(Debug)]
pub struct Link;

/// Holds some twenty bytes that are sent one by one, as a UART does; by default a socket holds nearly 300 of them. A real line
/// holds one or two: in a deep buffer what is urgent waits behind what is not, however its sender orders it.
const WIRE_BUFFER: usize = 8192;

impl Link {
    /// A new wire: its two ends.
    pub fn pair() -> io::Result<(LinkEnd, LinkEnd)> {
        let (a, b) = UnixStream::pair()?;
        for end in [&a, &b] {
            rustix::net::sockopt::set_socket_send_buffer_size(end, WIRE_BUFFER)?;
        }
        Ok((LinkEnd(a), LinkEnd(b)))
    }
}

/// One end of a [`Link`].
#[derive(Debug)]
pub struct LinkEnd(pub(crate) UnixStream);

impl LinkEnd {
    /// Keeps this end on the host: read what the UART at the other end sends, write what it shall receive.
    ///
    /// ```
    /// use qemu_probe::Link;
    /// use std::io::{Read, Write};
    /// let (a, b) = Link::pair().unwrap();
    /// a.into_stream().write_all(b"ping").unwrap();
    /// let mut got = String::new();
    /// b.into_stream().read_to_string(&mut got).unwrap();
    /// assert_eq!(got, "ping");
    /// ```
    pub fn into_stream(self) -> UnixStream {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_wire_holds_no_more_bytes_than_a_transmit_buffer_does() {
        for ends in [Link::pair().unwrap(), Link::pair().map(|(a, b)| (b, a)).unwrap()] {
            let (mut from, _to) = (ends.0.into_stream(), ends.1);
            from.set_nonblocking(true).unwrap();
            let held = (0..1000).take_while(|_| from.write(b"x").is_ok()).count();
            assert!((1..=32).contains(&held), "{held} bytes");
        }
    }
}
