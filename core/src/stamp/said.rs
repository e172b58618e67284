//! What a channel has said so far, and stamps written and read against it.
use super::wire::{
    Body, FORM, FORM_EVENT, FORM_FULL, FORM_LONG, FORM_SHORT, INLINE, Parsed, Short, differences_of_four, entries_in,
    mask_bytes, raise, raise_from_nothing, set_bits, words_of, write_head, write_long_last, write_short_last,
    write_words,
};
use super::{StampError, StampKind, compares};
use crate::{EventNumber, NodeId, VectorClock};

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

    /// The event of the peer that sent the last message that was read.
    pub(crate) fn last_of_peer(&self) -> u32 {
        self.entries.get(usize::from(self.peer.0)).copied().unwrap_or(0)
    }

    /// Whether differences can be said.
    #[inline(always)]
    pub(crate) const fn is_synced(&self) -> bool {
        self.synced
    }

    /// The last entry of `node` that was said or heard, while differences can be said.
    pub(crate) fn last_number(&self, node: NodeId) -> Option<EventNumber> {
        self.entries.get(usize::from(node.0)).filter(|_| self.synced).copied().map(EventNumber)
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
        let (mut mask, mut bit, mut widest) = (0, 1u32, 0);
        let mut places = body.iter_mut();
        let mut say = |now: &u32, said: &mut u32| {
            let difference = now.wrapping_sub(*said);
            // An entry that was raised may have come round to what was said.
            let says = difference != 0 && (compares(N) || told & bit != 0);
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
        // A difference from nothing is small, and of the first epoch: only a long stamp leads further.
        let claimed = EventNumber(self.entries[own].wrapping_add(u32::from(difference)));
        if claimed.is_ahead_of(EventNumber(clock.entries[own])) {
            return Err(StampError::FromTheFuture(claimed));
        }
        Ok(())
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
                    raised |= u32::from(raise_from_nothing(mine, word)) << node;
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
            if raise_from_nothing(mine, *heard) {
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
            *raised |= u32::from(raise_from_nothing(mine, number)) << (peer.0 & 31);
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
fn check_claim(own: EventNumber, claimed: u32) -> Result<(), StampError> {
    let claimed = EventNumber(claimed);
    if claimed.is_newer_than(own) { Err(StampError::FromTheFuture(claimed)) } else { Ok(()) }
}
