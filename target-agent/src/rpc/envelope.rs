//! What travels through the ports of a call.
use serde::{Deserialize, Serialize};
use stillpoint_core::delay::Passage;

/// Bytes in front of a request or reply: the passage of its thread and the number of the call.
pub(super) const HEADER: usize = Passage::BYTES + 2;

/// A request or reply with what the gate has to know of it in front: the type that the channels of a call carry.
///
/// Give their slots `15` bytes more than the request or reply takes, and room for the stamp.
///
/// # Example: the channels of a client on one core and a server on the other
/// ```
/// use stillpoint_agent::channel::Channel;
/// use stillpoint_agent::rpc::Envelope;
/// static REQUESTS: Channel<Envelope<u16>, 4, 96> = Channel::new();
/// static REPLIES: Channel<Envelope<i32>, 4, 96> = Channel::new();
/// ```
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Envelope<T> {
    // First, and as plain bytes: the gate reads it where the message lies, before anybody takes it.
    pub(super) header: [u8; HEADER],
    pub(super) body: T,
}

/// What the bytes in front of a message say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The thread that moves with the message; `None` if no gate follows this call.
    pub passage: Option<Passage>,
    /// Which call of its client.
    pub number: u16,
}

impl Header {
    pub fn to_bytes(self) -> [u8; HEADER] {
        let passage = self.passage.map_or([0xFF; Passage::BYTES], Passage::to_bytes);
        let all = passage.into_iter().chain(self.number.to_le_bytes());
        let mut bytes = [0; HEADER];
        bytes.iter_mut().zip(all).for_each(|(byte, value)| *byte = value);
        bytes
    }

    /// Bytes that are no passage mean that there is none: then the call goes its way without the gate.
    pub fn from_bytes(bytes: [u8; HEADER]) -> Self {
        let passage = bytes.first_chunk().and_then(|bytes| Passage::from_bytes(*bytes).ok());
        let number = bytes.last_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        Self { passage, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::delay::{Delay, Step, ThreadId};

    #[test]
    fn the_header_lies_in_front_as_it_is() {
        let passage = Passage { thread: ThreadId(2), step: Step::Return, delay: Delay { ticks: 30, turn: 2 } };
        for header in [Header { passage: Some(passage), number: 0x1234 }, Header { passage: None, number: 7 }] {
            let mut bytes = [0; 32];
            let written = postcard::to_slice(&Envelope { header: header.to_bytes(), body: 5_u8 }, &mut bytes).unwrap();
            assert_eq!(written.len(), HEADER + 1);
            assert_eq!(Header::from_bytes(*written.first_chunk().unwrap()), header);
        }
    }
}
