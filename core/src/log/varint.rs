//! Numbers of 7 bits a byte, least significant first.

/// The length of the longest `u32`.
pub(super) const MAX_LEN: usize = 5;

/// Puts `value` byte by byte.
#[inline(always)]
pub(super) fn put(mut value: u32, mut byte: impl FnMut(u8)) {
    while value >= 0x80 {
        byte(value as u8 | 0x80);
        value >>= 7;
    }
    byte(value as u8);
}

/// Why no number could be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end first.
    End,
    /// They go on for longer than a number can.
    TooLong,
}

/// Takes a number off the front of `bytes`.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Result<u32, Stop> {
    match bytes {
        // Most are so short.
        [byte @ ..0x80, rest @ ..] => {
            let value = u32::from(*byte);
            *bytes = rest;
            Ok(value)
        }
        _ => take_long(bytes),
    }
}

fn take_long(bytes: &mut &[u8]) -> Result<u32, Stop> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Stop::End)?;
        *bytes = rest;
        let bits = u32::from(byte & 0x7F);
        if shift == 28 && bits > 0xF {
            return Err(Stop::TooLong);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Stop::TooLong)
}

/// Small magnitudes of either sign become small numbers.
#[inline]
pub(super) const fn zigzag(value: u32) -> u32 {
    (value << 1) ^ ((value as i32 >> 31) as u32)
}

/// The way back.
pub(super) const fn unzigzag(value: u32) -> u32 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_number_comes_back_as_it_went() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX - 1, u32::MAX] {
            let (mut bytes, mut length) = ([0u8; MAX_LEN], 0);
            put(value, |byte| {
                bytes[length] = byte;
                length += 1;
            });
            let mut rest = &bytes[..length];
            assert_eq!(take(&mut rest), Ok(value));
            assert!(rest.is_empty());
            assert_eq!(take(&mut &bytes[..length - 1]), Err(Stop::End));
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn a_number_longer_than_32_bits_is_refused() {
        assert_eq!(take(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0x1F][..]), Err(Stop::TooLong));
        assert_eq!(take(&mut &[0x80; 9][..]), Err(Stop::TooLong));
    }
}
