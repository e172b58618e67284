//! The frame: header, payload, checksum, and how bytes become one.

use core::hash::{Hash, Hasher};

use super::{
    cobs::{self, Unstuffed},
    crc::Crc,
};

/// How many bytes the header of a frame takes.
pub const HEADER_BYTES: usize = 7;

const CRC_BYTES: usize = 4;

/// The longest a frame with `payload` bytes can be on the wire: the length of buffer a driver needs.
#[must_use]
pub const fn wire_bytes(payload: usize) -> usize {
    let raw = HEADER_BYTES + payload + CRC_BYTES;
    // The zero in front of a hello, one code byte per begun run of 254, the zero at the end.
    1 + raw + raw / 254 + 1 + 1
}

/// What a frame is for; the numbers are those on the wire.
///
/// # Example: four kinds, two bits
/// ```
/// use stillpoint_core::link::Kind;
/// assert_eq!([Kind::Hello as u8, Kind::Data as u8, Kind::Control as u8], [0, 1, 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Kind {
    /// Says who the sender is and whom it knows.
    Hello = 0,
    /// Carries one item of the data lane.
    Data = 1,
    /// Carries one item of the control lane.
    Control = 2,
    /// Carries only what every header carries.
    Ack = 3,
}

/// The bits of the first byte above the kind.
///
/// # Example: flags add up
/// ```
/// use stillpoint_core::link::Flags;
/// let flags = Flags::NONE.with(Flags::ASK, true);
/// assert!(flags.contains(Flags::ASK) && !Flags::NONE.contains(Flags::ASK));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Flags(pub u8);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// The sender is about to stop, or has: do not take its silence for a broken line.
    pub const STOPPED: Self = Self(1 << 2);
    /// The sender waits for an answer.
    pub const ASK: Self = Self(1 << 3);
    /// The sender has heard an [`ASK`](Self::ASK): the line works in both directions.
    pub const ANSWER: Self = Self(1 << 4);
    /// Of a hello: the sender is in a session with the receiver it names.
    pub const IN_SESSION: Self = Self(1 << 5);
    /// Of any other frame: the number of the question that it asks, or answers, is odd.
    pub const ODD: Self = Self(1 << 5);
    /// A data frame came too early: the one the sender accepts next got lost, so go back to it at once.
    pub const DATA_GAP: Self = Self(1 << 6);
    /// The same of a control frame.
    pub const CONTROL_GAP: Self = Self(1 << 7);
    const ALL: u8 = 0b1111_1100;

    /// Whether every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags, and `other` if `condition` holds.
    #[must_use]
    pub const fn with(self, other: Self, condition: bool) -> Self {
        if condition { Self(self.0 | other.0) } else { self }
    }
}

/// What every frame says before its payload.
///
/// # Example: a frame there and back
/// ```
/// use stillpoint_core::link::{Flags, FrameDecoder, Header, Kind};
/// let header =
///     Header { kind: Kind::Data, flags: Flags::NONE, from: 5, to: 9, number: 3, data_next: 1, control_next: 0, edge: 4 };
/// let mut wire = [0; 32];
/// let length = header.encode(b"hi", &mut wire)?;
/// let mut decoder = FrameDecoder::<48>::new();
/// let (last, rest) = wire[..length].split_last().unwrap();
/// assert!(rest.iter().all(|&byte| decoder.push(byte).is_none()));
/// assert_eq!(decoder.push(*last), Some(Ok((header, &b"hi"[..]))));
/// # Ok::<(), stillpoint_core::link::TooShort>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// What the frame is for.
    pub kind: Kind,
    /// What else it says.
    pub flags: Flags,
    /// The incarnation of the sender, never 0.
    pub from: u8,
    /// The incarnation of the receiver as the sender knows it; 0 if it knows none.
    pub to: u8,
    /// Of data and control: the number of the item in its lane. Of a hello: the version of this wire form. Else 0.
    pub number: u8,
    /// The number of the data item the sender accepts next: it has all before.
    pub data_next: u8,
    /// The number of the control item the sender accepts next.
    pub control_next: u8,
    /// The number of the first data item the sender would have no room for.
    pub edge: u8,
}

/// The buffer cannot hold the frame; give at least `need` bytes.
///
/// # Example: no room for a hello
/// ```
/// use stillpoint_core::{link::{Config, Link}, time::{TickRate, Ticks}};
/// let mut link = Link::<4, 64>::new(Config::BAUD_115200, TickRate::MEGAHERTZ, 1);
/// assert!(link.poll_transmit(Ticks(0), &mut [0; 2]).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TooShort {
    /// How long a buffer always suffices for this frame.
    pub need: usize,
}

impl core::fmt::Display for TooShort {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the buffer is too short for the frame: give at least {} bytes", self.need)
    }
}

impl core::error::Error for TooShort {}

impl Header {
    /// Writes the whole frame as it goes on the wire and says how long it is.
    ///
    /// # Errors
    /// [`TooShort`] if `out` cannot hold it; what `out` then contains is not a frame.
    pub fn encode(&self, payload: &[u8], out: &mut [u8]) -> Result<usize, TooShort> {
        self.stuff(payload, out).map_err(|cobs::Full| TooShort { need: wire_bytes(payload.len()) })
    }

    fn stuff(&self, payload: &[u8], out: &mut [u8]) -> Result<usize, cobs::Full> {
        // A hello may follow noise or half a frame of a peer that was reset: a zero first cuts that off.
        let start = usize::from(self.kind == Kind::Hello);
        if start == 1 {
            *out.first_mut().ok_or(cobs::Full)? = 0;
        }
        let mut encoder = cobs::Encoder::new(out, start);
        let mut crc = Crc::NEW;
        for part in [&self.to_bytes(), payload] {
            crc.push_all(part);
            encoder.push_all(part)?;
        }
        encoder.push_all(&crc.bytes())?;
        encoder.finish()
    }

    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let first = self.kind as u8 | self.flags.0 & Flags::ALL;
        [first, self.from, self.to, self.number, self.data_next, self.control_next, self.edge]
    }

    fn from_bytes(bytes: [u8; HEADER_BYTES]) -> Option<Self> {
        let [first, from, to, number, data_next, control_next, edge] = bytes;
        let kind = match first & 3 {
            0 => Kind::Hello,
            1 => Kind::Data,
            2 => Kind::Control,
            _ => Kind::Ack,
        };
        (from != 0).then_some(Self {
            kind,
            flags: Flags(first & Flags::ALL),
            from,
            to,
            number,
            data_next,
            control_next,
            edge,
        })
    }
}

/// Why bytes between two zeros are not a frame.
///
/// # Example: a frame that is too short to be one
/// ```
/// use stillpoint_core::link::FrameDecoder;
/// let mut decoder = FrameDecoder::<64>::new();
/// let results = [2, 7, 0].into_iter().filter_map(|byte| decoder.push(byte).map(|frame| frame.is_err()));
/// assert_eq!(results.last(), Some(true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrameError {
    /// Cut short, or a header that names no sender.
    Malformed,
    /// Longer than this decoder's buffer: noise, or a peer with larger frames.
    Oversized,
    /// The checksum does not fit: something was changed on the way.
    Checksum,
}

/// Turns bytes from the wire into frames whose payload is at most `F` bytes.
///
/// Any bytes may be pushed: what is not a frame yields an error at the next zero and is forgotten.
///
/// # Example: noise is an error, not a frame
/// ```
/// use stillpoint_core::link::{FrameDecoder, FrameError};
/// let mut decoder = FrameDecoder::<48>::new();
/// assert!(b"noise".iter().all(|&byte| decoder.push(byte).is_none()));
/// assert_eq!(decoder.push(0), Some(Err(FrameError::Malformed)));
/// assert_eq!(decoder.push(0), None);
/// ```
#[derive(Clone, Debug)]
pub struct FrameDecoder<const F: usize> {
    stuffing: cobs::Decoder,
    crc: Crc,
    /// How many bytes of the frame came, stuffing taken out; counts on past the end of the buffer.
    length: u16,
    /// Whether anything came since the last zero.
    begun: bool,
    header: [u8; HEADER_BYTES],
    /// The payload, and as much of the checksum as fits behind it.
    body: [u8; F],
}

impl<const F: usize> FrameDecoder<F> {
    /// A decoder that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            stuffing: cobs::Decoder::NEW,
            crc: Crc::NEW,
            length: 0,
            begun: false,
            header: [0; HEADER_BYTES],
            body: [0; F],
        }
    }

    /// Takes one byte from the wire; yields a frame, or why there was none, at the zero that ends it.
    #[inline]
    pub fn push(&mut self, byte: u8) -> Option<Result<(Header, &[u8]), FrameError>> {
        let begun = core::mem::replace(&mut self.begun, byte != 0);
        match self.stuffing.push(byte) {
            Unstuffed::Nothing => None,
            Unstuffed::Byte(byte) => {
                self.store(byte);
                None
            }
            Unstuffed::End { whole } => begun.then(|| self.end(whole)),
        }
    }

    #[inline]
    fn store(&mut self, byte: u8) {
        self.crc.push(byte);
        let at = usize::from(self.length);
        if let Some(place) = self.header.get_mut(at) {
            *place = byte;
        } else if let Some(place) = self.body.get_mut(at - HEADER_BYTES) {
            *place = byte;
        }
        self.length = self.length.saturating_add(1);
    }

    fn end(&mut self, whole: bool) -> Result<(Header, &[u8]), FrameError> {
        let length = usize::from(core::mem::take(&mut self.length));
        let crc = core::mem::replace(&mut self.crc, Crc::NEW);
        let payload = length.checked_sub(HEADER_BYTES + CRC_BYTES);
        match payload {
            Some(payload) if payload > F => Err(FrameError::Oversized),
            Some(payload) if whole => {
                if !crc.is_intact() {
                    return Err(FrameError::Checksum);
                }
                let header = Header::from_bytes(self.header).ok_or(FrameError::Malformed)?;
                self.body.get(..payload).map(|payload| (header, payload)).ok_or(FrameError::Oversized)
            }
            _ => Err(FrameError::Malformed),
        }
    }

    fn stored(&self) -> (&[u8], &[u8]) {
        let length = usize::from(self.length);
        let header = self.header.get(..length).unwrap_or(&self.header);
        let body = self.body.get(..length.saturating_sub(HEADER_BYTES)).unwrap_or(&self.body);
        (header, body)
    }
}

impl<const F: usize> Default for FrameDecoder<F> {
    fn default() -> Self {
        Self::new()
    }
}

/// Equal if they have seen the same since the last zero; what earlier frames left in the buffer does not count.
impl<const F: usize> PartialEq for FrameDecoder<F> {
    fn eq(&self, other: &Self) -> bool {
        (self.stuffing, self.crc, self.length, self.begun) == (other.stuffing, other.crc, other.length, other.begun)
            && self.stored() == other.stored()
    }
}

impl<const F: usize> Eq for FrameDecoder<F> {}

impl<const F: usize> Hash for FrameDecoder<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.stuffing, self.crc, self.length, self.begun).hash(state);
        self.stored().hash(state);
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    const HEADER: Header = Header {
        kind: Kind::Control,
        flags: Flags::STOPPED,
        from: 2,
        to: 7,
        number: 255,
        data_next: 0,
        control_next: 9,
        edge: 4,
    };

    fn frame(payload: &[u8], out: &mut [u8]) -> usize {
        HEADER.encode(payload, out).unwrap()
    }

    fn decode<'a>(decoder: &'a mut FrameDecoder<8>, wire: &[u8]) -> Option<Result<(Header, &'a [u8]), FrameError>> {
        let (last, rest) = wire.split_last().unwrap();
        assert!(rest.iter().all(|&byte| decoder.push(byte).is_none()));
        decoder.push(*last)
    }

    #[test]
    fn frames_of_every_length_survive_the_wire() {
        let mut wire = [0; wire_bytes(8)];
        let payload = [1, 0, 0, 4, 5, 0, 255, 0];
        for length in 0..=8 {
            let end = frame(&payload[..length], &mut wire);
            let mut decoder = FrameDecoder::new();
            assert_eq!(decode(&mut decoder, &wire[..end]), Some(Ok((HEADER, &payload[..length]))));
            assert!(decoder == FrameDecoder::new());
        }
    }

    #[test]
    fn a_byte_more_than_fits_is_oversized_and_the_next_frame_is_whole_again() {
        let mut wire = [0; wire_bytes(9)];
        let end = frame(&[3; 9], &mut wire);
        let mut decoder = FrameDecoder::new();
        assert_eq!(decode(&mut decoder, &wire[..end]), Some(Err(FrameError::Oversized)));
        let end = frame(&[3; 8], &mut wire);
        assert!(matches!(decode(&mut decoder, &wire[..end]), Some(Ok(_))));
    }

    #[test]
    fn no_flip_and_no_cut_of_a_frame_is_taken_for_a_frame() {
        let mut wire = [0; wire_bytes(8)];
        let end = frame(b"marker", &mut wire);
        for bit in 0..(end - 1) * 8 {
            let mut broken = wire;
            broken[bit / 8] ^= 1 << (bit % 8);
            let mut decoder = FrameDecoder::<8>::new();
            // A flip that makes a zero splits the frame: neither part may pass.
            assert!(!broken[..end].iter().any(|&byte| matches!(decoder.push(byte), Some(Ok(_)))));
        }
        for cut in 0..end - 1 {
            let mut decoder = FrameDecoder::<8>::new();
            assert!(wire[..cut].iter().all(|&byte| decoder.push(byte).is_none()));
            assert!(!matches!(decoder.push(0), Some(Ok(_))));
        }
    }

    #[test]
    fn a_stream_without_a_zero_is_forgotten_at_the_next_one() {
        let mut decoder = FrameDecoder::<8>::new();
        for _ in 0..70_000_u32 {
            assert_eq!(decoder.push(2), None);
        }
        assert_eq!(decoder.push(0), Some(Err(FrameError::Oversized)));
        assert!(decoder == FrameDecoder::new());
    }

    #[test]
    fn a_header_without_a_sender_is_malformed() {
        let mut bytes = HEADER.to_bytes();
        assert_eq!(Header::from_bytes(bytes), Some(HEADER));
        bytes[1] = 0;
        assert_eq!(Header::from_bytes(bytes), None);
    }

    #[test]
    fn a_buffer_too_short_is_named_with_the_length_that_suffices() {
        let mut wire = [0; wire_bytes(2)];
        assert_eq!(HEADER.encode(b"hi", &mut wire[..8]), Err(TooShort { need: wire_bytes(2) }));
        assert!(HEADER.encode(b"hi", &mut wire).is_ok());
        let hello = Header { kind: Kind::Hello, ..HEADER };
        assert_eq!(hello.encode(b"hi", &mut []), Err(TooShort { need: wire_bytes(2) }));
        assert!(hello.encode(b"hi", &mut wire).is_ok());
    }
}
