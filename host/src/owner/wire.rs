//! What an owner and its clients say to each other over their socket.
//!
//! A connection begins with [`MAGIC`] and the version of each side, client first. A client of another version may only ask the
//! owner to end, by [`END`]; these parts never change. Then every message is a frame: the length of a head and of a body, both
//! as little-endian `u32`, the head in postcard, and the body, which is words of memory.
use crate::config::ProbeConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// The first bytes of a connection, from both sides.
pub(super) const MAGIC: [u8; 8] = *b"stillpt\n";
/// Asks an owner of another version to end.
pub(super) const END: [u8; 8] = *b"ends:now";
/// The version of everything after the first bytes.
pub(super) const VERSION: u32 = 1;

const LONGEST_HEAD: u32 = 1 << 16;
const LONGEST_BODY: u32 = 1 << 26;

/// A process, as it is shown to users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub process: u32,
    /// The command that it runs.
    pub command: String,
}

/// A board as far as its owner has to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BoardName {
    pub name: String,
    pub chip: String,
    pub probe: ProbeConfig,
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Opens a board, which the other requests of this connection are about.
    Open(BoardName),
    /// Reads so many words.
    Read { address: u32, words: u32 },
    /// Writes the words of the body.
    Write { address: u32 },
    /// Whether a debugger has halted each core.
    Halted,
    /// Keeps other processes from commanding nodes until [`Request::Commanded`] or the end of this connection.
    Command,
    /// The command was answered. There is no reply.
    Commanded,
    /// Closes the board and keeps its lock free for this client until the end of this connection.
    HandOver(BoardName),
    /// Takes control until the end of this connection.
    Control {
        /// It is given up in a moment: others wait for that.
        brief: bool,
    },
    /// Ends the owner.
    End,
}

/// What the owner answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Opened {
        cores: u32,
        halted: Vec<bool>,
        /// The cores that a killed debugger had left stopped and that run again.
        released: Vec<u32>,
    },
    /// The board is closed for this client.
    HandedOver {
        /// The cores that a killed debugger had left stopped and that run again, as far as no client was told of them.
        released: Vec<u32>,
    },
    /// The board has no memory that can be read without a debugger, which a client attaches by itself.
    NeedsDebugger,
    /// The words are the body.
    Words,
    Halted(Option<Vec<bool>>),
    /// Another process has it.
    Busy(Holder),
    Failed(Failure),
}

/// Who has a board or the control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    pub hello: Hello,
    pub milliseconds: u64,
}

/// Why the owner could not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Failure {
    /// A process that does not ask owners has the board.
    InUse(String),
    Down(String),
    Ended(String),
    Chip(String),
    NoProbe {
        selector: String,
        found: String,
    },
    Other(String),
}

/// Sends a frame.
pub(super) fn send<M: Serialize>(to: &mut impl Write, message: &M, body: &[u32]) -> io::Result<()> {
    let head = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(8 + head.len() + 4 * body.len());
    frame.extend_from_slice(&(head.len() as u32).to_le_bytes());
    frame.extend_from_slice(&(4 * body.len() as u32).to_le_bytes());
    frame.extend_from_slice(&head);
    body.iter().for_each(|word| frame.extend_from_slice(&word.to_le_bytes()));
    to.write_all(&frame)
}

/// Receives a frame.
pub(super) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<(M, Vec<u32>)> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths)?;
    let [head, body] = [0, 4].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| lengths[at + byte])));
    if head > LONGEST_HEAD || body > LONGEST_BODY || body % 4 != 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    let mut bytes = vec![0; (head + body) as usize];
    from.read_exact(&mut bytes)?;
    let (head, body) = bytes.split_at(head as usize);
    let message = postcard::from_bytes(head).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((message, body.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_arrives_as_it_was_sent_and_a_damaged_one_is_an_error() {
        let mut bytes = Vec::new();
        let request = Request::Write { address: 0x2000_0004 };
        send(&mut bytes, &request, &[1, 0xFFFF_FFFF]).unwrap();
        let (received, words): (Request, _) = receive(&mut bytes.as_slice()).unwrap();
        assert_eq!((received, words), (request, vec![1, 0xFFFF_FFFF]));
        for length in 0..bytes.len() {
            receive::<Request>(&mut &bytes[..length]).unwrap_err();
        }
        for (at, value) in [(3, 0xFF), (7, 0xFF), (4, 3), (8, 0x7F)] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            receive::<Request>(&mut damaged.as_slice()).unwrap_err();
        }
    }
}
