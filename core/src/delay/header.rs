//! What is in front of every request and reply of a call.
use super::Passage;

/// The bytes in front of a request or reply: the passage of its thread and the number of the call.
///
/// # Example: over and back
/// ```
/// use stillpoint_core::delay::CallHeader;
/// let header = CallHeader { passage: None, number: 7 };
/// assert_eq!(CallHeader::from_bytes(header.to_bytes()), header);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CallHeader {
    /// The thread that moves with the message; `None` if no gate follows this call.
    pub passage: Option<Passage>,
    /// Which call of its client.
    pub number: u16,
}

impl CallHeader {
    /// How many bytes a header takes.
    pub const BYTES: usize = Passage::BYTES + 2;

    /// The bytes of a header that is not known yet: no passage.
    pub const BLANK: [u8; Self::BYTES] = [0xFF; Self::BYTES];

    /// The bytes of the header.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let passage = self.passage.map_or([0xFF; Passage::BYTES], Passage::to_bytes);
        let all = passage.into_iter().chain(self.number.to_le_bytes());
        let mut bytes = [0; Self::BYTES];
        bytes.iter_mut().zip(all).for_each(|(byte, value)| *byte = value);
        bytes
    }

    /// The header that bytes are. Bytes that are no passage mean that there is none: then no gate follows the call.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let passage = bytes.first_chunk().and_then(|bytes| Passage::from_bytes(*bytes).ok());
        let number = bytes.last_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        Self { passage, number }
    }
}
