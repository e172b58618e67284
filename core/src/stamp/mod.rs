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
    Body, FORM, FORM_EVENT, FORM_FULL, FORM_LONG, FORM_SHORT, INLINE, Parsed, entries_in, mask_bytes, raise, read_mask,
    set_bits, words_of, write_head, write_words,
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

/// One channel's memory of what was said on it: at the sender what the peer was told, at the receiver what was heard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Said<const N: usize> {
    entries: [u32; N],
    /// Entries that changed since the last message (sender only), one bit a node.
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
    pub(crate) fn write_changes(
        &mut self,
        me: NodeId,
        clock: &VectorClock<N>,
        out: &mut [u8],
    ) -> Result<usize, StampError> {
        let mask = self.changed | 1 << (me.0 & 31);
        let start = 1 + mask_bytes(N);
        let Some((head, body)) = out.split_at_mut_checked(start).filter(|(_, body)| body.len() >= 4 * N) else {
            return Err(StampError::NoRoom);
        };
        let mut places = body.iter_mut();
        let mut left = mask;
        let mut widest = 0;
        let mut say = |now: &u32, said: &mut u32| {
            if left & 1 != 0
                && let Some(place) = places.next()
            {
                let difference = now.wrapping_sub(*said);
                widest |= difference;
                *place = difference as u8;
                *said = *now;
            }
            left >>= 1;
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

    #[inline(never)]
    fn write_full(&mut self, clock: &VectorClock<N>, out: &mut [u8]) -> Result<usize, StampError> {
        let length = 1 + 4 * N;
        let room = out.get_mut(..length).ok_or(StampError::NoRoom)?;
        if let Some((head, body)) = room.split_first_mut() {
            *head = FORM_FULL;
            for (bytes, entry) in body.chunks_exact_mut(4).zip(&clock.entries) {
                bytes.copy_from_slice(&entry.to_le_bytes());
            }
        }
        self.entries = clock.entries;
        self.changed = 0;
        self.synced = true;
        Ok(length)
    }

    /// Reads a stamp that came from the peer and merges it into `clock`. Returns its length and the entries it raised.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        me: NodeId,
        clock: &mut VectorClock<N>,
        bytes: &[u8],
    ) -> Result<(usize, u32), StampError> {
        match bytes.split_first() {
            Some((head, rest)) if head & FORM == FORM_SHORT && self.synced => self.read_short(me, clock, *head, rest),
            _ => self.read_any(me, clock, bytes),
        }
    }

    /// The usual stamp: small differences, on a channel on which all of them arrived.
    #[inline(always)]
    fn read_short(
        &mut self,
        me: NodeId,
        clock: &mut VectorClock<N>,
        head: u8,
        rest: &[u8],
    ) -> Result<(usize, u32), StampError> {
        let mask = read_mask::<N>(head, rest)?;
        let count = entries_in::<N>(mask);
        let differences = rest.get(mask_bytes(N)..mask_bytes(N) + count).ok_or(StampError::Truncated)?;
        let my_bit = 1 << (me.0 & 31);
        if mask & my_bit != 0 {
            let place = entries_in::<N>(mask & (my_bit - 1));
            let heard = self.entries.get(usize::from(me.0)).copied().unwrap_or(0);
            let claimed = heard.wrapping_add(u32::from(differences.get(place).copied().unwrap_or(0)));
            if EventNumber(claimed).is_newer_than(clock.get(me)) {
                return Err(StampError::FromTheFuture(EventNumber(claimed)));
            }
        }
        let (mut left, mut bit, mut raised) = (mask, 1u32, 0);
        let mut differences = differences.iter();
        let mut hear = |heard: &mut u32, mine: &mut u32| {
            if left & 1 != 0
                && let Some(difference) = differences.next()
            {
                *heard = heard.wrapping_add(u32::from(*difference));
                if (mine.wrapping_sub(*heard) as i32) < 0 {
                    *mine = *heard;
                    raised |= bit;
                }
            }
            left >>= 1;
            bit <<= 1;
        };
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
        Ok((1 + mask_bytes(N) + count, raised))
    }

    /// A stamp of any other form.
    #[inline(never)]
    fn read_any(&mut self, me: NodeId, clock: &mut VectorClock<N>, bytes: &[u8]) -> Result<(usize, u32), StampError> {
        let parsed = Parsed::<N>::parse(bytes)?;
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
                    raised |= raise(mine, word) << node;
                }
            }
        }
        self.synced |= parsed.synchronises();
        Ok((parsed.length, raised))
    }

    fn event_number(&self, peer: NodeId, difference: u8) -> u32 {
        self.entries.get(usize::from(peer.0)).copied().unwrap_or(0).wrapping_add(u32::from(difference))
    }

    fn hear(&mut self, peer: NodeId, clock: &mut VectorClock<N>, number: u32, raised: &mut u32) {
        let index = usize::from(peer.0);
        if let (Some(heard), Some(mine)) = (self.entries.get_mut(index), clock.entries.get_mut(index)) {
            *heard = number;
            *raised |= raise(mine, number) << (peer.0 & 31);
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
        let claim = |number: u32| {
            if EventNumber(number).is_newer_than(own) {
                return Err(StampError::FromTheFuture(EventNumber(number)));
            }
            Ok(())
        };
        match parsed.body {
            Body::Event(_) => Ok(()),
            Body::Number(number) => self.check_forward(peer, number),
            Body::Short => Err(StampError::Unsynchronised),
            Body::Words(mask, words) => {
                for (node, word) in
                    set_bits(mask, 0u8..N as u8).zip(words_of(words)).map(|((_, node), word)| (NodeId(node), word))
                {
                    // A peer that restarted may have forgotten what it knew of others, never where it stands itself.
                    if self.synced && (!parsed.full || node == peer) {
                        self.check_forward(node, word)?;
                    }
                    if node == me {
                        claim(word)?;
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
