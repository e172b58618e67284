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
    /// Words of a slot before its bytes: where in them the message begins, in the low half, and ends.
    pub const LIMITS: usize = 1;

    /// The marker in the lane along the channel: which halt, behind which message; `None` if there never was one.
    #[must_use]
    pub const fn marker(head: &[u32; Self::READ]) -> Option<(HaltId, u32)> {
        let [.., revision, halt, position] = *head;
        if revision == 0 { None } else { Some((HaltId(halt as u16), position)) }
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
