//! The bytes of a stamp.
use super::StampError;
use crate::{EventNumber, VectorClock};

pub(super) const FORM_EVENT: u8 = 0 << 6;
pub(super) const FORM_SHORT: u8 = 1 << 6;
pub(super) const FORM_LONG: u8 = 2 << 6;
pub(super) const FORM_FULL: u8 = 3 << 6;
pub(super) const FORM: u8 = 3 << 6;
/// Set when stages of causal predicates follow the stamp.
pub(crate) const CARRY: u8 = 1 << 5;
pub(super) const INLINE: u8 = CARRY - 1;
/// Up to this many nodes the mask of changed entries fits into the first byte.
const INLINE_NODES: usize = 5;

pub(super) const fn mask_bytes(nodes: usize) -> usize {
    if nodes <= INLINE_NODES { 0 } else { nodes.div_ceil(8) }
}

/// A stamp's bytes with their limits checked.
pub(super) struct Parsed<'a, const N: usize> {
    pub(super) body: Body<'a>,
    pub(super) length: usize,
    pub(super) full: bool,
}

pub(super) enum Body<'a> {
    Event(u8),
    Number(u32),
    Short,
    Words(u32, &'a [u8]),
}

impl<'a, const N: usize> Parsed<'a, N> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, StampError> {
        let (&head, rest) = bytes.split_first().ok_or(StampError::Truncated)?;
        let (body, length) = match head & FORM {
            FORM_EVENT if head & INLINE != INLINE => (Body::Event(head & INLINE), 1),
            FORM_EVENT => {
                let number = rest.first_chunk().ok_or(StampError::Truncated)?;
                (Body::Number(u32::from_le_bytes(*number)), 5)
            }
            FORM_FULL => {
                let words = rest.get(..4 * N).ok_or(StampError::Truncated)?;
                (Body::Words(all_nodes::<N>(), words), 1 + 4 * N)
            }
            form => {
                let mask = read_mask::<N>(head, rest)?;
                let start = mask_bytes(N);
                let size = mask.count_ones() as usize * if form == FORM_SHORT { 1 } else { 4 };
                let body = rest.get(start..start + size).ok_or(StampError::Truncated)?;
                let body = if form == FORM_SHORT { Body::Short } else { Body::Words(mask, body) };
                (body, 1 + start + size)
            }
        };
        Ok(Self { body, length, full: head & FORM == FORM_FULL })
    }

    /// Whether this stamp can be the first on a channel.
    pub(super) fn synchronises(&self) -> bool {
        self.full || matches!(self.body, Body::Number(_))
    }
}

/// A short stamp with its limits checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short<'a> {
    pub(super) mask: u32,
    /// One for each bit of the mask.
    pub(super) differences: &'a [u8],
}

impl<'a> Short<'a> {
    #[inline(always)]
    pub(super) fn parse<const N: usize>(head: u8, rest: &'a [u8]) -> Result<Self, StampError> {
        let mask = read_mask::<N>(head, rest)?;
        let end = mask_bytes(N) + entries_in::<N>(mask);
        let differences = rest.get(mask_bytes(N)..end).ok_or(StampError::Truncated)?;
        Ok(Self { mask, differences })
    }

    #[inline(always)]
    pub(super) const fn length<const N: usize>(&self) -> usize {
        1 + mask_bytes(N) + self.differences.len()
    }
}

const fn all_nodes<const N: usize>() -> u32 {
    if N >= 32 { u32::MAX } else { (1 << N) - 1 }
}

/// How many entries a mask names. The usual small masks are looked up: a Cortex-M has no instruction that counts bits.
#[inline(always)]
pub(super) fn entries_in<const N: usize>(mask: u32) -> usize {
    const COUNTS: [u8; 32] = {
        let mut counts = [0; 32];
        let mut mask = 0;
        while mask < 32 {
            counts[mask] = (mask as u32).count_ones() as u8;
            mask += 1;
        }
        counts
    };
    if N <= INLINE_NODES { COUNTS[(mask & 31) as usize].into() } else { mask.count_ones() as usize }
}

pub(super) fn write_head<const N: usize>(head: &mut [u8], form: u8, mask: u32) {
    if let Some((first, rest)) = head.split_first_mut() {
        *first = if mask_bytes(N) == 0 { form | (mask as u8 & INLINE) } else { form };
        for (byte, value) in rest.iter_mut().zip(mask.to_le_bytes()) {
            *byte = value;
        }
    }
}

pub(super) fn read_mask<const N: usize>(head: u8, rest: &[u8]) -> Result<u32, StampError> {
    let mut mask = u32::from(head & INLINE);
    if mask_bytes(N) > 0 {
        let mut bytes = [0; 4];
        for (byte, value) in bytes.iter_mut().zip(rest.get(..mask_bytes(N)).ok_or(StampError::Truncated)?) {
            *byte = *value;
        }
        mask = u32::from_le_bytes(bytes);
    }
    if mask & !all_nodes::<N>() != 0 { Err(StampError::NodeOutOfRange) } else { Ok(mask) }
}

/// Writes the entries in `mask` as they are. Returns how many bytes that took.
#[cold]
pub(super) fn write_words<const N: usize>(clock: &VectorClock<N>, mask: u32, body: &mut [u8]) -> usize {
    let mut used = 0;
    for ((_, entry), room) in set_bits(mask, clock.entries.iter()).zip(body.chunks_exact_mut(4)) {
        room.copy_from_slice(&entry.to_le_bytes());
        used += 4;
    }
    used
}

/// The long form at the end of `out`, which has room for it. Returns where it begins.
#[cold]
#[inline(never)]
pub(super) fn write_long_last<const N: usize>(clock: &VectorClock<N>, mask: u32, out: &mut [u8]) -> usize {
    let length = 1 + mask_bytes(N) + 4 * mask.count_ones() as usize;
    let begin = out.len().saturating_sub(length);
    if let Some((head, body)) = out.split_at_mut(begin).1.split_at_mut_checked(1 + mask_bytes(N)) {
        write_head::<N>(head, FORM_LONG, mask);
        write_words(clock, mask, body);
    }
    begin
}

/// What changed of four entries since it was said, and says it: which, all differences or-ed, and the lowest bytes of those
/// that are not 0 side by side, the last of them in the highest byte.
#[inline(always)]
pub(super) fn differences_of_four(now: &[u32; 4], said: &mut [u32; 4]) -> (u32, u32, u32) {
    let (mut mask, mut widest, mut bytes) = (0, 0, 0);
    let mut say = |bit: u32, now: u32, said: &mut u32| {
        let difference = now.wrapping_sub(*said);
        if difference != 0 {
            mask |= bit;
            widest |= difference;
            bytes = bytes >> 8 | difference << 24;
            *said = now;
        }
    };
    let ([a, b, c, d], [e, f, g, h]) = (*now, said);
    say(1, a, e);
    say(2, b, f);
    say(4, c, g);
    say(8, d, h);
    (mask, widest, bytes)
}

/// The short form of four nodes at the end of `out`, which has room for it. Returns where it begins.
#[inline(always)]
pub(super) fn write_short_last(mask: u32, differences: u32, out: &mut [u8]) -> usize {
    let begin = out.len().wrapping_sub(1 + entries_in::<4>(mask));
    if let Some(last) = out.last_chunk_mut() {
        *last = differences.to_le_bytes();
    }
    // Not before the differences: where there are fewer than four, it is among their bytes.
    if let Some(first) = out.get_mut(begin) {
        *first = FORM_SHORT | mask as u8 & INLINE;
    }
    begin
}

pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

/// Raises `mine` to `theirs` where that is newer; whether it was.
#[inline(always)]
pub(super) fn raise(mine: &mut u32, theirs: u32) -> bool {
    let newer = (mine.wrapping_sub(theirs) as i32) < 0;
    if newer {
        *mine = theirs;
    }
    newer
}

/// The same where one of the two may be 0, for nothing, and the other of any epoch.
#[inline]
pub(super) fn raise_from_nothing(mine: &mut u32, theirs: u32) -> bool {
    let newer = EventNumber(theirs).is_newer_than(EventNumber(*mine));
    if newer {
        *mine = theirs;
    }
    newer
}

/// The items of `all` whose bit is set, with their place.
#[inline]
pub(super) fn set_bits<T>(mask: u32, all: impl Iterator<Item = T>) -> impl Iterator<Item = (u32, T)> {
    all.enumerate().map(|(place, item)| (place as u32, item)).filter(move |(place, _)| mask >> (place & 31) & 1 != 0)
}
