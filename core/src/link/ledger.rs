//! What is in flight between two ends, counted once.

/// What one end reports of a lane, to count what is in flight between two ends.
///
/// # Example: a frame accepted but not acknowledged counts once
/// ```
/// use stillpoint_core::link::Ledger;
/// let sender = Ledger { mine: 1, peer: 9, sent_first: 250, sent_end: 253, ..Ledger::default() };
/// let receiver = Ledger { mine: 9, peer: 1, accepted_next: 251, waiting: 2, ..Ledger::default() };
/// // 250 is among the two that wait at the receiver; 251 and 252 are above what it accepted.
/// assert_eq!(sender.in_flight_to(&receiver), Some(4));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ledger {
    /// The incarnation of this end.
    pub mine: u8,
    /// The incarnation of the peer, 0 if none is known.
    pub peer: u8,
    /// The number of the oldest item sent and not acknowledged.
    pub sent_first: u8,
    /// The number the next item to be sent will get.
    pub sent_end: u8,
    /// The number of the item to be accepted next.
    pub accepted_next: u8,
    /// How many items of this session are accepted and not yet taken.
    pub waiting: u8,
    /// How many items of sessions before the peer's last reset are accepted and not yet taken.
    pub waiting_before_reset: u8,
}

impl Ledger {
    /// How many items are in flight from this end to `receiver`: what that accepted and still holds, plus what
    /// this end sent above it; nothing counts as both. `None` if the two are not in the same session.
    #[must_use]
    pub fn in_flight_to(&self, receiver: &Self) -> Option<u8> {
        if (self.mine, self.peer) != (receiver.peer, receiver.mine) {
            return None;
        }
        let above = self.sent_end.wrapping_sub(receiver.accepted_next);
        let unacknowledged = self.sent_end.wrapping_sub(self.sent_first);
        (above <= unacknowledged).then_some(above.saturating_add(receiver.waiting))
    }
}
