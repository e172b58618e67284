//! What travels with a message so that its receiver knows what happened before it.
//!
//! Two kinds, chosen per system. An **event stamp** is the sender's event number only: channels are FIFO, so the host can
//! rebuild all order from the nodes' logs, as long as every node records every send and receive. A **vector stamp** is
//! differential: the entries that changed since the last message on the same channel, as differences; after a loss,
//! a reset or a reconnect it is the full vector once.
//!
//! The wire form is in `docs/WIRE.md`. The first byte is
//! `form (2 bits) | carry follows (1) | mask or difference (5)`.
#[cfg(any(test, on_target))]
mod tests;
mod wire;

pub(crate) use wire::CARRY;

use crate::predicate::Carry;
use crate::{EventNumber, NodeId, VectorClock};
use core::fmt;
use wire::{
    Body, FORM, FORM_EVENT, FORM_FULL, FORM_LONG, FORM_SHORT, INLINE, Parsed, Short, differences_of_four, entries_in,
    mask_bytes, raise, set_bits, words_of, write_head, write_long_last, write_short_last, write_words,
};

/// Which stamp the messages of a system carry.
///
/// # Example: what a first message costs
/// ```
/// use stillpoint_core::{StampKind, max_stamp_len};
/// assert_ne!(StampKind::Event, StampKind::Vector);
/// assert_eq!(max_stamp_len(4), 17);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StampKind {
    /// The sender's event number. One byte as a rule; sound only where every node records every send and receive.
    Event,
    /// The vector entries that changed. What restricted recording and race detection on the target need.
    Vector,
}

/// Why a stamp was refused; the node that was given it is unchanged.
///
/// # Example: a message without a stamp
/// ```
/// use stillpoint_core::{StampError, message_stamp_len};
/// assert_eq!(message_stamp_len::<4>(&[]), Err(StampError::Truncated));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StampError {
    /// The bytes end before the stamp does.
    Truncated,
    /// The stamp names a node that the system does not have: the sender was built for another number of nodes.
    NodeOutOfRange,
    /// A difference arrived before any full stamp: a message of this channel was lost, or the link came up anew.
    Unsynchronised,
    /// An entry is older than what this channel said before.
    RunsBackwards(NodeId),
    /// The sender claims to know events of this node that have not happened.
    FromTheFuture(EventNumber),
    /// The lent buffer cannot hold the stamp; lend `max_stamp_len` bytes.
    NoRoom,
}

impl fmt::Display for StampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the message ends before its stamp does"),
            Self::NodeOutOfRange => f.write_str("the stamp names a node that this system does not have"),
            Self::Unsynchronised => f.write_str("a differential stamp came before any full one: a message was lost"),
            Self::RunsBackwards(node) => write!(f, "the stamp's count of node {} runs backwards", node.0),
            Self::FromTheFuture(number) => write!(
                f,
                "the stamp knows event {} of epoch {} of this node, which has not happened",
                number.count(),
                number.epoch()
            ),
            Self::NoRoom => f.write_str("there is no room for the stamp: lend STAMP_ROOM bytes"),
        }
    }
}

impl core::error::Error for StampError {}

/// The length of the longest stamp in a system of this many nodes, without predicate stages.
#[must_use]
pub const fn max_stamp_len(nodes: usize) -> usize {
    1 + mask_bytes(nodes) + 4 * nodes
}

/// Whether a sender compares every entry with what it said last to find those that changed. Where there are many nodes,
/// every receive notes it for all channels instead.
pub(crate) const fn compares(nodes: usize) -> bool {
    nodes <= 8
}

/// One channel's memory of what was said on it: at the sender what the peer was told, at the receiver what was heard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Said<const N: usize> {
    entries: [u32; N],
    /// Entries that changed since the last message (sender only, and only where it does not [compare](compares)), one
    /// bit a node.
    pub(crate) changed: u32,
    /// Who is at the other end.
    pub(crate) peer: NodeId,
    synced: bool,
}

impl<const N: usize> Said<N> {
    pub(crate) const fn new(peer: NodeId) -> Self {
        Self { entries: [0; N], changed: 0, peer, synced: false }
    }

    /// Forgets what was said: the next stamp is a full one.
    pub(crate) fn forget(&mut self) {
        self.synced = false;
    }

    /// Whether differences can be said.
    #[inline(always)]
    pub(crate) const fn is_synced(&self) -> bool {
        self.synced
    }

    /// Writes the stamp of the event `clock` just counted at `me`. Returns its length.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        kind: StampKind,
        me: NodeId,
        clock: &VectorClock<N>,
        out: &mut [u8],
    ) -> Result<usize, StampError> {
        match kind {
            StampKind::Event => self.write_event(me, clock, out),
            StampKind::Vector if self.synced => self.write_changes(me, clock, out),
            StampKind::Vector => self.write_full(clock, out),
        }
    }

    #[inline(never)]
    fn write_event(&mut self, me: NodeId, clock: &VectorClock<N>, out: &mut [u8]) -> Result<usize, StampError> {
        let number = clock.get(me).0;
        let Some(last) = self.entries.get_mut(usize::from(me.0)) else { return Err(StampError::NodeOutOfRange) };
        let difference = number.wrapping_sub(*last);
        let length = if self.synced && difference < u32::from(INLINE) {
            *out.first_mut().ok_or(StampError::NoRoom)? = FORM_EVENT | difference as u8;
            1
        } else {
            let room: &mut [u8; 5] = out.first_chunk_mut().ok_or(StampError::NoRoom)?;
            let [a, b, c, d] = number.to_le_bytes();
            *room = [FORM_EVENT | INLINE, a, b, c, d];
            5
        };
        *last = number;
        self.synced = true;
        Ok(length)
    }

    #[inline(always)]
    fn write_changes(&mut self, me: NodeId, clock: &VectorClock<N>, out: &mut [u8]) -> Result<usize, StampError> {
        let start = 1 + mask_bytes(N);
        let Some((head, body)) = out.split_at_mut_checked(start).filter(|(_, body)| body.len() >= 4 * N) else {
            return Err(StampError::NoRoom);
        };
        let told = self.changed | 1 << (me.0 & 31);
        let (mut mask, mut bit, mut widest) = (if compares(N) { 0 } else { told }, 1u32, 0);
        let mut places = body.iter_mut();
        let mut say = |now: &u32, said: &mut u32| {
            let difference = now.wrapping_sub(*said);
            let says = if compares(N) { difference != 0 } else { told & bit != 0 };
            if says && let Some(place) = places.next() {
                mask |= bit;
                widest |= difference;
                *place = difference as u8;
                *said = *now;
            }
            bit <<= 1;
        };
        // Four at a time, written out: also where loops are not unrolled for the sake of size.
        let (fours, rest) = clock.entries.as_chunks::<4>();
        let (said_fours, said_rest) = self.entries.as_chunks_mut::<4>();
        for ([a, b, c, d], [e, f, g, h]) in fours.iter().zip(said_fours) {
            say(a, e);
            say(b, f);
            say(c, g);
            say(d, h);
        }
        for (now, said) in rest.iter().zip(said_rest) {
            say(now, said);
        }
        self.changed = 0;
        let short = widest <= 0xFF;
        write_head::<N>(head, if short { FORM_SHORT } else { FORM_LONG }, mask);
        if short { Ok(start + entries_in::<N>(mask)) } else { Ok(start + write_words(clock, mask, body)) }
    }

    /// The same stamp at the end of `out`, where a message's payload follows. Returns where it begins.
    ///
    /// The channel is synchronised, and `out` has room for the longest stamp.
    #[inline(always)]
    pub(crate) fn write_changes_last(&mut self, me: NodeId, clock: &VectorClock<N>, out: &mut [u8]) -> usize {
        if let (Ok(now), Ok(said)) = (<&[u32; 4]>::try_from(&clock.entries[..]), (&mut self.entries[..]).try_into()) {
            let (mask, widest, differences) = differences_of_four(now, said);
            return if widest > 0xFF {
                write_long_last(clock, mask, out)
            } else {
                write_short_last(mask, differences, out)
            };
        }
        let (mut mask, mut widest) = (0, 0);
        let mut places = out.iter_mut().rev();
        let mut say = |bit: u32, now: &u32, said: &mut u32| {
            let difference = now.wrapping_sub(*said);
            if difference != 0
                && let Some(place) = places.next()
            {
                mask |= bit;
                widest |= difference;
                *place = difference as u8;
                *said = *now;
            }
        };
        if compares(N) {
            let (fours, rest) = clock.entries.as_chunks::<4>();
            let (said_fours, said_rest) = self.entries.as_chunks_mut::<4>();
            let mut bit = 1u32 << (N & 31) >> 1;
            for (now, said) in rest.iter().zip(said_rest).rev() {
                say(bit, now, said);
                bit >>= 1;
            }
            for ([a, b, c, d], [e, f, g, h]) in fours.iter().zip(said_fours).rev() {
                say(bit, d, h);
                say(bit >> 1, c, g);
                say(bit >> 2, b, f);
                say(bit >> 3, a, e);
                bit >>= 4;
            }
        } else {
            let mut left = self.changed | 1 << (me.0 & 31);
            while left != 0 {
                let place = 31 - left.leading_zeros();
                left ^= 1 << place;
                if let (Some(now), Some(said)) =
                    (clock.entries.get(place as usize), self.entries.get_mut(place as usize))
                {
                    say(1 << place, now, said);
                }
            }
            self.changed = 0;
        }
        if widest > 0xFF {
            return write_long_last(clock, mask, out);
        }
        for byte in mask.to_le_bytes().into_iter().take(mask_bytes(N)).rev() {
            if let Some(place) = places.next() {
                *place = byte;
            }
        }
        if let Some(first) = places.next() {
            *first = if mask_bytes(N) == 0 { FORM_SHORT | mask as u8 & INLINE } else { FORM_SHORT };
        }
        places.len()
    }

    /// Everything that is known, at the end of `out`, which has room for it. Returns where it begins.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_full_last(&mut self, clock: &VectorClock<N>, out: &mut [u8]) -> usize {
        let begin = out.len().saturating_sub(1 + 4 * N);
        // There is room: writing cannot fail.
        let _length = self.write_full(clock, out.get_mut(begin..).unwrap_or_default());
        begin
    }

    #[inline(never)]
    fn write_full(&mut self, clock: &VectorClock<N>, out: &mut [u8]) -> Result<usize, StampError> {
        let length = 1 + 4 * N;
        let (head, body) = out.get_mut(..length).and_then(|room| room.split_first_mut()).ok_or(StampError::NoRoom)?;
        *head = FORM_FULL;
        for ((bytes, said), entry) in body.as_chunks_mut().0.iter_mut().zip(&mut self.entries).zip(&clock.entries) {
            *bytes = entry.to_le_bytes();
            *said = *entry;
        }
        self.changed = 0;
        self.synced = true;
        Ok(length)
    }

    /// Reads a stamp that came from the peer and merges it into `clock`. Returns its length and the entries it raised, which
    /// matter to who does not [compare](compares).
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        me: NodeId,
        clock: &mut VectorClock<N>,
        bytes: &[u8],
    ) -> Result<(usize, u32), StampError> {
        match bytes.split_first() {
            Some((head, rest)) if head & FORM == FORM_SHORT && self.synced => {
                let short = Short::parse::<N>(*head, rest)?;
                Ok((short.length::<N>(), self.read_short(me, clock, &short)?))
            }
            _ => self.read_any(me, clock, bytes),
        }
    }

    /// The usual stamp: small differences, on a channel on which all of them arrived. Returns the entries it raised.
    #[inline(always)]
    pub(crate) fn read_short(
        &mut self,
        me: NodeId,
        clock: &mut VectorClock<N>,
        short: &Short<'_>,
    ) -> Result<u32, StampError> {
        if compares(N) { self.read_few(me, clock, short) } else { self.read_sparse(me, clock, short) }
    }

    /// All entries at once, where they are few.
    #[inline(always)]
    fn read_few(&mut self, me: NodeId, clock: &mut VectorClock<N>, short: &Short<'_>) -> Result<u32, StampError> {
        let Short { mask, differences } = *short;
        self.check_own(me, clock, short)?;
        let (mut differences, mut bit) = (differences.iter(), 1u32);
        let mut hear = |heard: &mut u32, mine: &mut u32| {
            if mask & bit != 0
                && let Some(difference) = differences.next()
            {
                *heard = heard.wrapping_add(u32::from(*difference));
                raise(mine, *heard);
            }
            bit <<= 1;
        };
        // Four at a time, written out: also where loops are not unrolled for the sake of size.
        let (fours, rest) = self.entries.as_chunks_mut::<4>();
        let (my_fours, my_rest) = clock.entries.as_chunks_mut::<4>();
        for ([a, b, c, d], [e, f, g, h]) in fours.iter_mut().zip(my_fours) {
            hear(a, e);
            hear(b, f);
            hear(c, g);
            hear(d, h);
        }
        for (heard, mine) in rest.iter_mut().zip(my_rest) {
            hear(heard, mine);
        }
        Ok(0)
    }

    /// Refuses a short stamp that knows events of this node that have not happened.
    #[inline(always)]
    fn check_own(&self, me: NodeId, clock: &VectorClock<N>, short: &Short<'_>) -> Result<(), StampError> {
        // The remainder changes nothing, a node is in its own system; it spares a check.
        let own = usize::from(me.0) % N;
        let my_bit = 1 << (own & 31);
        if short.mask & my_bit == 0 {
            return Ok(());
        }
        let place = entries_in::<N>(short.mask & (my_bit - 1));
        let difference = short.differences.get(place).copied().unwrap_or(0);
        check_claim(EventNumber(clock.entries[own]), self.entries[own].wrapping_add(u32::from(difference)))
    }

    /// One entry of the mask after the other.
    #[inline(always)]
    fn read_sparse(&mut self, me: NodeId, clock: &mut VectorClock<N>, short: &Short<'_>) -> Result<u32, StampError> {
        let Short { mask, differences } = *short;
        self.check_own(me, clock, short)?;
        let (mut left, mut raised) = (mask, 0);
        for difference in differences {
            let place = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            if let (Some(heard), Some(mine)) =
                (self.entries.get_mut(place as usize), clock.entries.get_mut(place as usize))
            {
                *heard = heard.wrapping_add(u32::from(*difference));
                raised |= u32::from(raise(mine, *heard)) << (place & 31);
            }
        }
        Ok(raised)
    }

    /// A stamp of any other form.
    #[inline(never)]
    pub(crate) fn read_any(
        &mut self,
        me: NodeId,
        clock: &mut VectorClock<N>,
        bytes: &[u8],
    ) -> Result<(usize, u32), StampError> {
        let parsed = Parsed::<N>::parse(bytes)?;
        if let Body::Words(_, words) = parsed.body
            && parsed.full
        {
            return Ok((parsed.length, self.read_full(me, clock, words)?));
        }
        let peer = self.peer;
        self.check(me, clock, &parsed)?;
        let mut raised = 0;
        match parsed.body {
            Body::Event(difference) => self.hear(peer, clock, self.event_number(peer, difference), &mut raised),
            Body::Number(number) => self.hear(peer, clock, number, &mut raised),
            // Refused by the check: a short stamp of a synchronised channel is read elsewhere.
            Body::Short => {}
            Body::Words(mask, words) => {
                for ((node, (heard, mine)), word) in
                    set_bits(mask, self.entries.iter_mut().zip(&mut clock.entries)).zip(words_of(words))
                {
                    *heard = word;
                    raised |= u32::from(raise(mine, word)) << node;
                }
            }
        }
        self.synced |= parsed.synchronises();
        Ok((parsed.length, raised))
    }

    /// All entries as they are. Returns those it raised.
    fn read_full(&mut self, me: NodeId, clock: &mut VectorClock<N>, words: &[u8]) -> Result<u32, StampError> {
        let words = words.as_chunks::<4>().0;
        let said_of = |node: NodeId| words.get(usize::from(node.0)).map_or(0, |word| u32::from_le_bytes(*word));
        // A peer that restarted may have forgotten what it knew of others, never where it stands itself.
        if self.synced {
            self.check_forward(self.peer, said_of(self.peer))?;
        }
        check_claim(clock.get(me), said_of(me))?;
        let (mut raised, mut bit) = (0, 1u32);
        for ((heard, mine), word) in self.entries.iter_mut().zip(&mut clock.entries).zip(words) {
            *heard = u32::from_le_bytes(*word);
            if raise(mine, *heard) {
                raised |= bit;
            }
            bit <<= 1;
        }
        self.synced = true;
        Ok(raised)
    }

    fn event_number(&self, peer: NodeId, difference: u8) -> u32 {
        self.entries.get(usize::from(peer.0)).copied().unwrap_or(0).wrapping_add(u32::from(difference))
    }

    fn hear(&mut self, peer: NodeId, clock: &mut VectorClock<N>, number: u32, raised: &mut u32) {
        let index = usize::from(peer.0);
        if let (Some(heard), Some(mine)) = (self.entries.get_mut(index), clock.entries.get_mut(index)) {
            *heard = number;
            *raised |= u32::from(raise(mine, number)) << (peer.0 & 31);
        }
    }

    /// Refuses what cannot be, before anything changes.
    #[inline]
    fn check(&self, me: NodeId, clock: &VectorClock<N>, parsed: &Parsed<'_, N>) -> Result<(), StampError> {
        let peer = self.peer;
        if !self.synced && !parsed.synchronises() {
            return Err(StampError::Unsynchronised);
        }
        let own = clock.get(me);
        match parsed.body {
            Body::Event(_) => Ok(()),
            Body::Number(number) => self.check_forward(peer, number),
            Body::Short => Err(StampError::Unsynchronised),
            Body::Words(mask, words) => {
                for (node, word) in
                    set_bits(mask, 0u8..N as u8).zip(words_of(words)).map(|((_, node), word)| (NodeId(node), word))
                {
                    self.check_forward(node, word)?;
                    if node == me {
                        check_claim(own, word)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn check_forward(&self, node: NodeId, number: u32) -> Result<(), StampError> {
        let heard = EventNumber(self.entries.get(usize::from(node.0)).copied().unwrap_or(0));
        if heard.is_newer_than(EventNumber(number)) { Err(StampError::RunsBackwards(node)) } else { Ok(()) }
    }
}

/// A sender cannot know events of this node that have not happened.
#[inline(always)]
fn check_claim(own: EventNumber, claimed: u32) -> Result<(), StampError> {
    let claimed = EventNumber(claimed);
    if claimed.is_newer_than(own) { Err(StampError::FromTheFuture(claimed)) } else { Ok(()) }
}

/// What a message begins with, told apart from its payload before it is received.
///
/// # Example: the payload follows
/// ```
/// use stillpoint_core::MessageStamp;
/// let message = [0x46, 1, 5, b'h', b'i'];
/// let stamp = MessageStamp::read::<4>(&message).unwrap();
/// assert_eq!(&message[stamp.len()..], b"hi");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MessageStamp<'a> {
    message: &'a [u8],
    length: usize,
    /// The entries of a short stamp, of which nothing is left to check but what the channel knows; 0 for any other.
    mask: u32,
}

impl<'a> MessageStamp<'a> {
    /// Reads what `message` begins with, in a system of `N` nodes. `None` if such a system sends nothing of the kind.
    #[must_use]
    #[inline]
    pub fn read<const N: usize>(message: &'a [u8]) -> Option<Self> {
        match message.split_first() {
            Some((head, rest)) if head & (FORM | CARRY) == FORM_SHORT => {
                let short = Short::parse::<N>(*head, rest).ok()?;
                Some(Self { message, length: short.length::<N>(), mask: short.mask })
            }
            _ => Some(Self { message, length: any_stamp_len::<N>(message)?, mask: 0 }),
        }
    }

    /// Its length: the payload follows.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no stamp is empty")]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// The whole message.
    #[must_use]
    #[inline]
    pub const fn message(&self) -> &'a [u8] {
        self.message
    }

    /// Whether stages of causal predicates follow.
    #[inline]
    pub(crate) fn carries(&self) -> bool {
        self.message.first().is_none_or(|first| first & CARRY != 0)
    }

    /// The short stamp, if it is one. `N` is that of [`read`](Self::read).
    #[inline(always)]
    pub(crate) fn short<const N: usize>(&self) -> Option<Short<'a>> {
        if self.mask == 0 {
            return None;
        }
        Some(Short { mask: self.mask, differences: self.message.get(1 + mask_bytes(N)..self.length)? })
    }
}

#[inline(never)]
fn any_stamp_len<const N: usize>(message: &[u8]) -> Option<usize> {
    message_stamp_len::<N>(message).ok()
}

/// The length of everything that a message of a system of `N` nodes carries before its payload.
///
/// # Example: a message with an event stamp
/// ```
/// assert_eq!(stillpoint_core::message_stamp_len::<4>(&[3, b'h', b'i']), Ok(1));
/// ```
#[inline]
pub fn message_stamp_len<const N: usize>(message: &[u8]) -> Result<usize, StampError> {
    let stamp = stamp_len::<N>(message)?;
    if message.first().is_none_or(|first| first & CARRY == 0) {
        return Ok(stamp);
    }
    let carry = message.get(stamp..).ok_or(StampError::Truncated)?;
    Carry::decode(carry).map(|(_, length)| stamp + length).map_err(|_| StampError::Truncated)
}

/// The length of the stamp at the front of `bytes`, in a system of `N` nodes.
pub(crate) fn stamp_len<const N: usize>(bytes: &[u8]) -> Result<usize, StampError> {
    Parsed::<N>::parse(bytes).map(|parsed| parsed.length)
}
