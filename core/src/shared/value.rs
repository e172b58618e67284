//! What the value of an `Access` event says.
use super::AccessKind;

/// The value of an [`EventKind::Access`](crate::EventKind::Access) event: what was done, where in the source, when in the
/// object's own life, and whether the node found a race.
///
/// | bits | meaning |
/// |---|---|
/// | 0 | 1 for a write |
/// | 1 | 1 if the node found that the access races with an earlier one |
/// | 2 to 7 | how many writes the object has seen, this one included, modulo 64 |
/// | 8 to 23 | number of the name of the place in the source; 0 if it has none |
///
/// # Example: over the log and back
/// ```
/// use stillpoint_core::shared::{AccessKind, AccessValue};
/// let value = AccessValue { kind: AccessKind::Write, race: true, version: 3, place: 7 };
/// assert_eq!(value.to_bits(), 0x70f);
/// assert_eq!(AccessValue::from_bits(0x70f), value);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessValue {
    /// Read or write.
    pub kind: AccessKind,
    /// The node found a race; with event stamps it does not look.
    pub race: bool,
    /// Writes so far modulo 64: orders accesses that happened in the same tick.
    pub version: u8,
    /// The number of the place's name.
    pub place: u16,
}

impl AccessValue {
    const WRITE: u32 = 1;
    const RACE: u32 = 2;
    /// Versions count modulo this.
    pub const VERSIONS: u32 = 64;

    /// The event's value.
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        let write = matches!(self.kind, AccessKind::Write) as u32 * Self::WRITE;
        let race = self.race as u32 * Self::RACE;
        write | race | (self.version as u32 % Self::VERSIONS) << 2 | (self.place as u32) << 8
    }

    /// What an event's value says. Bits that mean nothing are ignored.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        let kind = if bits & Self::WRITE != 0 { AccessKind::Write } else { AccessKind::Read };
        Self {
            kind,
            race: bits & Self::RACE != 0,
            version: (bits >> 2 & (Self::VERSIONS - 1)) as u8,
            place: (bits >> 8) as u16,
        }
    }
}
