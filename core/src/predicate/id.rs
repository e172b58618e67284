//! Names of slots and generations, and what a node tells others about a predicate.
use super::{MAX_STAGES, SLOTS};

/// A place for one armed predicate; the same number means the same predicate on every node.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{SLOTS, SlotId};
/// assert_eq!(SlotId::new(3).map(SlotId::number), Some(3));
/// assert_eq!(SlotId::new(SLOTS as u8), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SlotId(u8);

impl SlotId {
    /// Every slot, in order.
    pub const ALL: [Self; SLOTS] = [Self(0), Self(1), Self(2), Self(3)];

    /// The slot with this number, if there is one.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if (number as usize) < SLOTS { Some(Self(number)) } else { None }
    }

    /// The slot's number, below [`SLOTS`].
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The number as an index that the compiler knows to be in range.
    pub(super) const fn index(self) -> usize {
        self.0 as usize % SLOTS
    }
}

/// A set of slots.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{SlotId, SlotSet};
/// let set = SlotSet::EMPTY.with(SlotId::ALL[2]);
/// assert!(set.contains(SlotId::ALL[2]) && !set.contains(SlotId::ALL[0]));
/// assert!(set.iter().eq([SlotId::ALL[2]]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SlotSet(u8);

impl SlotSet {
    /// No slot.
    pub const EMPTY: Self = Self(0);

    /// Whether no slot is in the set.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many slots are in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `slot` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, slot: SlotId) -> bool {
        self.0 >> slot.0 & 1 != 0
    }

    /// The set with `slot` added.
    #[inline]
    #[must_use]
    pub const fn with(self, slot: SlotId) -> Self {
        Self(self.0 | 1 << slot.0)
    }

    /// The slots of either set.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set with `slot` taken out.
    #[inline]
    #[must_use]
    pub const fn without(self, slot: SlotId) -> Self {
        Self(self.0 & !(1 << slot.0))
    }

    /// The slots in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = SlotId> {
        let mut left = self;
        core::iter::from_fn(move || left.pop())
    }

    /// Takes out the lowest slot.
    #[inline(always)]
    pub(super) const fn pop(&mut self) -> Option<SlotId> {
        if self.0 == 0 {
            return None;
        }
        let lowest = self.0.trailing_zeros() as u8;
        self.0 &= self.0.wrapping_sub(1);
        Some(SlotId(lowest % SLOTS as u8))
    }
}

/// Tells one use of a slot from the next: whoever arms a slot again takes the next generation.
///
/// The order is that of serial numbers: it survives the wrap from 255 to 0 as long as nobody is more than 127 uses of
/// the slot behind.
///
/// # Example: newer across the wrap
/// ```
/// use stillpoint_core::predicate::Generation;
/// assert!(Generation(0).is_newer_than(Generation(255)));
/// assert!(!Generation(7).is_newer_than(Generation(7)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Generation(pub u8);

impl Generation {
    /// Whether `self` was chosen after `other`.
    #[inline]
    #[must_use]
    pub const fn is_newer_than(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i8) > 0
    }

    /// The generation that follows this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// How a node learns what happened elsewhere.
///
/// # Example: the default is the exact one
/// ```
/// use stillpoint_core::predicate::Detector;
/// assert_eq!(Detector::default(), Detector::Causal);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Detector {
    /// The stage travels on the program's own messages, so B counts only if A really happened before it.
    ///
    /// Exact, and sends nothing; but nodes that never talk (even through others) never hear of each other's stages,
    /// and causality through plain shared RAM is invisible.
    #[default]
    Causal,
    /// A predicate marker is flooded over the control lanes (Miller & Choi 3.6).
    ///
    /// Needs no program messages; but the marker is itself what orders A before B, so a B that was concurrent with A
    /// as far as the program can tell is reported too.
    Marker,
    /// One stage, whose conditions hold on several nodes at once. One node recognises it by what messages say of the others,
    /// as its [`Plan`](super::Plan) tells.
    Simultaneous,
}

/// "Stage `stage` of the predicate in `slot` has been satisfied": what a predicate marker or a piggyback says.
///
/// # Wire form
/// Two bytes: `00ssssnn` (slot `nn`, stage `ssss`, 1 to 8), then the generation.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{Generation, Reached, SlotId};
/// let reached = Reached::new(SlotId::ALL[1], Generation(0x2a), 3).unwrap();
/// assert_eq!(reached.to_bytes(), [0x0d, 0x2a]);
/// assert_eq!(Reached::from_bytes([0x0d, 0x2a]), Ok(reached));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reached {
    slot: SlotId,
    generation: Generation,
    stage: u8,
}

impl Reached {
    /// The news that `stage` was satisfied.
    ///
    /// # Errors
    /// The stage is 0 or above [`MAX_STAGES`].
    pub const fn new(slot: SlotId, generation: Generation, stage: u8) -> Result<Self, ReachedError> {
        if stage == 0 || stage > MAX_STAGES {
            return Err(ReachedError::Stage(stage));
        }
        Ok(Self { slot, generation, stage })
    }

    /// The predicate's slot.
    #[inline]
    #[must_use]
    pub const fn slot(self) -> SlotId {
        self.slot
    }

    /// Which use of the slot.
    #[inline]
    #[must_use]
    pub const fn generation(self) -> Generation {
        self.generation
    }

    /// The last stage known to be satisfied, from 1.
    #[inline]
    #[must_use]
    pub const fn stage(self) -> u8 {
        self.stage
    }

    /// The wire form.
    #[inline]
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 2] {
        [self.stage << 2 | self.slot.0, self.generation.0]
    }

    /// Reads the wire form.
    ///
    /// # Errors
    /// The first byte has a reserved bit set, or no valid stage.
    #[inline]
    pub const fn from_bytes([first, generation]: [u8; 2]) -> Result<Self, ReachedError> {
        if first & 0xc0 != 0 {
            return Err(ReachedError::Reserved(first));
        }
        Self::new(SlotId(first & 3), Generation(generation), first >> 2)
    }

    /// Reads the wire form of what was a `Reached` before.
    #[inline]
    pub(super) const fn from_own_bytes([first, generation]: [u8; 2]) -> Self {
        Self { slot: SlotId(first & 3), generation: Generation(generation), stage: first >> 2 }
    }
}

/// Why something is not a [`Reached`].
///
/// # Example: stages count from one
/// ```
/// use stillpoint_core::predicate::{Generation, Reached, SlotId};
/// assert!(Reached::new(SlotId::ALL[0], Generation(1), 0).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ReachedError {
    /// The stage must be 1 to [`MAX_STAGES`].
    Stage(u8),
    /// The two upper bits of this first byte must be zero; it comes from a newer wire version or is corrupt.
    Reserved(u8),
}

impl core::fmt::Display for ReachedError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Stage(stage) => write!(f, "stage {stage} does not exist: stages are 1 to {MAX_STAGES}"),
            Self::Reserved(byte) => write!(f, "{byte:#04x} sets reserved bits: discard the frame, check the versions"),
        }
    }
}

impl core::error::Error for ReachedError {}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn every_reached_survives_its_wire_form_and_nothing_else_decodes() {
        let mut accepted = 0u32;
        for first in 0..=u8::MAX {
            for generation in [0, 1, 0x7f, 0xff] {
                if let Ok(reached) = Reached::from_bytes([first, generation]) {
                    assert_eq!(reached.to_bytes(), [first, generation]);
                    accepted += 1;
                }
            }
        }
        assert_eq!(accepted, SLOTS as u32 * u32::from(MAX_STAGES) * 4);
        assert_eq!(Reached::from_bytes([0x40 | 4, 0]), Err(ReachedError::Reserved(0x44)));
        assert_eq!(Reached::from_bytes([0x03, 0]), Err(ReachedError::Stage(0)));
        assert_eq!(Reached::from_bytes([9 << 2, 0]), Err(ReachedError::Stage(9)));
    }

    #[test]
    fn a_generation_is_newer_across_the_wrap_and_never_than_itself() {
        assert!(Generation(0).is_newer_than(Generation(u8::MAX)));
        assert!(!Generation(u8::MAX).is_newer_than(Generation(0)));
        assert!((0..=u8::MAX).all(|g| !Generation(g).is_newer_than(Generation(g))));
        assert!((0..=u8::MAX).all(|g| Generation(g).next().is_newer_than(Generation(g))));
    }

    #[test]
    fn a_set_of_slots_names_each_member_once_in_order() {
        let set = SlotSet::EMPTY.with(SlotId::ALL[3]).with(SlotId::ALL[0]).with(SlotId::ALL[3]);
        assert!(set.iter().eq([SlotId::ALL[0], SlotId::ALL[3]]));
        assert_eq!(set.len(), 2);
        assert_eq!(set.without(SlotId::ALL[0]).without(SlotId::ALL[3]), SlotSet::EMPTY);
    }
}
