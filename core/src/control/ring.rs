//! Where things lie in the ring behind a port, so that a host can recount a halted channel without asking its agents.
use crate::predicate::SLOTS;
use crate::{HaltId, MAX_NODES};

/// The layout of a channel's ring, in words; the agent's own layout is checked against it when it is compiled.
///
/// # Example: what a halted ring says
/// ```
/// use stillpoint_core::HaltId;
/// use stillpoint_core::control::RingLayout;
/// // Seven messages put in, five taken out, four slots of 68 bytes; the marker of halt 3 stands behind message 7.
/// let head = [7, 5, 68 << 16 | 4, 3, 0, 0, 2, 1 << 16 | 3, 7];
/// assert_eq!(RingLayout::marker(&head), Some((HaltId(3), 7)));
/// assert_eq!(RingLayout::slot(&head, 7), Some(RingLayout::HEAD + 2 * 17));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RingLayout;

impl RingLayout {
    /// Words of the head that a host reads: messages ever put in, ever taken out, shape, ends taken, two places to wait
    /// at, and of the lane along the channel: revision, halt and number of names, position.
    pub const READ: usize = 9;
    /// Words of one control lane: revision, marker, release, predicates.
    pub const LANE: usize = 1 + (2 + MAX_NODES / 4) + 1 + SLOTS;
    /// Words before the first slot.
    pub const HEAD: usize = 6 + 2 * Self::LANE;
    /// Words of a slot before its bytes; see [`slot_word`](Self::slot_word).
    pub const LIMITS: usize = 1;
    /// The most bytes of a slot, its first word apart.
    pub const MAX_BYTES: usize = 0xFFC;

    /// The marker in the lane along the channel: which halt, behind which message; `None` if there never was one.
    #[must_use]
    pub const fn marker(head: &[u32; Self::READ]) -> Option<(HaltId, u32)> {
        let [.., revision, halt, position] = *head;
        if revision == 0 { None } else { Some((HaltId(halt as u16), position)) }
    }

    /// The first word of a slot: where in its bytes the message begins and ends, and the low byte of the message's number.
    ///
    /// The number is what tells a slot of this message from one that holds another message, because memory was written or
    /// read in the wrong order.
    #[must_use]
    #[inline(always)]
    pub const fn slot_word(begin: usize, end: usize, number: u32) -> u32 {
        begin as u32 | (end as u32) << 12 | number << 24
    }

    /// Where in a slot's bytes the message begins and ends, by the slot's first word.
    #[must_use]
    #[inline(always)]
    pub const fn limits(slot_word: u32) -> (usize, usize) {
        ((slot_word & 0xFFF) as usize, (slot_word >> 12 & 0xFFF) as usize)
    }

    /// Whether a slot with this first word may hold the message with this number, the first being 1.
    ///
    /// # Example: two messages that changed places
    /// ```
    /// use stillpoint_core::control::RingLayout;
    /// let slots = [RingLayout::slot_word(2, 6, 8), RingLayout::slot_word(2, 6, 7)];
    /// assert!(!RingLayout::is_in_place(slots[0], 7) && !RingLayout::is_in_place(slots[1], 8));
    /// ```
    #[must_use]
    pub const fn is_in_place(slot_word: u32, number: u32) -> bool {
        slot_word >> 24 == number & 0xFF
    }

    /// Words from the beginning of the ring to the slot of the message with this number, the first being 1.
    ///
    /// `None` if the shape is that of no ring.
    #[must_use]
    pub const fn slot(head: &[u32; Self::READ], number: u32) -> Option<usize> {
        let (slots, bytes) = (head[2] & 0xFFFF, head[2] >> 16);
        if !slots.is_power_of_two() || bytes < 4 * Self::LIMITS as u32 || !bytes.is_multiple_of(4) {
            return None;
        }
        let place = number.wrapping_sub(1) & (slots - 1);
        Some(Self::HEAD + (place * (bytes / 4)) as usize)
    }
}
