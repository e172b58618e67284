//! Postcard's encoding of the types of the language.

pub(super) fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

pub(super) fn take_chunk<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*chunk)
}

pub(super) fn take_bool(rest: &mut &[u8]) -> Option<bool> {
    match take_byte(rest)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// A number of at most so many bytes, 7 bits a byte, least significant first.
pub(super) fn take_varint(rest: &mut &[u8], bytes: u64) -> Option<u128> {
    let bits = u32::try_from(bytes * 8).ok().filter(|bits| *bits <= 128)?;
    let (mut number, mut shift) = (0u128, 0);
    while shift < bits {
        let byte = take_byte(rest)?;
        let part = u128::from(byte & 0x7F);
        if shift + 7 > bits && part >> (bits - shift) != 0 {
            return None;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
    None
}

pub(super) fn unzigzag(number: u128) -> i128 {
    (number >> 1) as i128 ^ -((number & 1) as i128)
}

/// The length of a sequence, text or map. No more elements than `limit` are believed.
pub(super) fn take_length(rest: &mut &[u8], limit: usize) -> Option<usize> {
    usize::try_from(take_varint(rest, 4)?).ok().filter(|length| *length <= limit)
}

pub(super) fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = take_length(rest, rest.len())?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    std::str::from_utf8(text).ok()
}

/// Postcard writes a character as a text of one.
pub(super) fn take_char(rest: &mut &[u8]) -> Option<char> {
    let mut letters = take_text(rest)?.chars();
    letters.next().filter(|_| letters.next().is_none())
}
