//! What travels through the ports of a call.
use serde::{Deserialize, Serialize};
use stillpoint_core::delay::CallHeader;

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
    pub(super) header: [u8; CallHeader::BYTES],
    pub(super) body: T,
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::delay::{Delay, Passage, Step, ThreadId};

    #[test]
    fn the_header_lies_in_front_as_it_is() {
        let passage = Passage { thread: ThreadId(2), step: Step::Return, delay: Delay { ticks: 30, turn: 2 } };
        for header in [CallHeader { passage: Some(passage), number: 0x1234 }, CallHeader { passage: None, number: 7 }] {
            let mut bytes = [0; 32];
            let written = postcard::to_slice(&Envelope { header: header.to_bytes(), body: 5_u8 }, &mut bytes).unwrap();
            assert_eq!(written.len(), CallHeader::BYTES + 1);
            assert_eq!(CallHeader::from_bytes(*written.first_chunk().unwrap()), header);
        }
    }
}
