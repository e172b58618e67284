//! CRC-32/ISO-HDLC (the one of Ethernet and zip), four bits at a time.
//!
//! Thirty-two bits, because a line with one byte in a hundred wrong breaks about half of all frames, and sixteen bits
//! would let one in 65536 of those through: a wrong marker every few minutes. A sixteen-entry table, because it
//! costs 64 bytes of flash where the usual one costs 1024, and two steps per byte where none at all costs eight.

const POLYNOMIAL: u32 = 0xEDB8_8320;

const TABLE: [u32; 16] = table();

const fn table() -> [u32; 16] {
    let mut table = [0; 16];
    let mut index = 0;
    while index < 16 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 4 {
            value = if value & 1 != 0 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

/// A checksum in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Crc(u32);

impl Crc {
    pub(super) const NEW: Self = Self(u32::MAX);

    /// What the register holds after a message and its own checksum, whatever the message.
    const RESIDUE: Self = Self(0xDEBB_20E3);

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        self.0 ^= u32::from(byte);
        self.nibble();
        self.nibble();
    }

    pub(super) fn push_all(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.push(byte));
    }

    #[inline]
    fn nibble(&mut self) {
        // The mask keeps the index below 16: the compiler removes the check, and with it the panic.
        self.0 = self.0 >> 4 ^ TABLE[(self.0 & 15) as usize];
    }

    /// The checksum in the order it goes on the wire.
    pub(super) fn bytes(self) -> [u8; 4] {
        (!self.0).to_le_bytes()
    }

    /// Whether what was pushed ended in its own checksum.
    pub(super) fn is_intact(self) -> bool {
        self == Self::RESIDUE
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    fn of(message: &[u8]) -> Crc {
        let mut crc = Crc::NEW;
        crc.push_all(message);
        crc
    }

    /// The check value of the catalogue of parametrised CRC algorithms.
    #[test]
    fn the_checksum_of_123456789_is_cbf43926() {
        assert_eq!(of(b"123456789").bytes(), 0xCBF4_3926_u32.to_le_bytes());
    }

    #[test]
    fn a_message_followed_by_its_checksum_is_intact_and_any_single_flip_is_not() {
        let mut message = *b"stillpoint....";
        message[10..].copy_from_slice(&of(b"stillpoint").bytes());
        assert!(of(&message).is_intact());
        for bit in 0..message.len() * 8 {
            let mut broken = message;
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(!of(&broken).is_intact());
        }
    }
}
