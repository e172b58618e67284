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
/// | of a write: 8 to 14 | how many reads there were since the write before it, modulo 128 |
/// | the next 16 | number of the name of the place in the source; 0 if it has none |
///
/// The number of reads (eta of table 3-2) shows a reader of the log that a read is missing, as the version shows a missing write.
///
/// # Example: over the log and back
/// ```
/// use stillpoint_core::shared::{AccessKind, AccessValue};
/// let value = AccessValue { kind: AccessKind::Write, race: true, version: 3, reads: 2, place: 7 };
/// assert_eq!(value.to_bits(), 7 << 15 | 2 << 8 | 0x0f);
/// assert_eq!(AccessValue::from_bits(value.to_bits()), value);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessValue {
    /// Read or write.
    pub kind: AccessKind,
    /// The node found a race; with event stamps it does not look.
    pub race: bool,
    /// Writes so far modulo 64: orders accesses that happened in the same tick.
    pub version: u8,
    /// For a write, reads since the write before it modulo 128: shows that a read is missing. 0 for a read.
    pub reads: u8,
    /// The number of the place's name.
    pub place: u16,
}

impl AccessValue {
    const WRITE: u32 = 1;
    const RACE: u32 = 2;
    /// Versions count modulo this.
    pub const VERSIONS: u32 = 64;

    /// Reads between two writes count modulo this.
    pub const READS: u32 = 128;
    const READ_PLACE: u32 = 8;
    const WRITE_PLACE: u32 = 15;

    /// The event's value.
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        let common = (self.race as u32 * Self::RACE) | (self.version as u32 % Self::VERSIONS) << 2;
        match self.kind {
            AccessKind::Read => common | (self.place as u32) << Self::READ_PLACE,
            AccessKind::Write => {
                let reads = (self.reads as u32 % Self::READS) << Self::READ_PLACE;
                common | Self::WRITE | reads | (self.place as u32) << Self::WRITE_PLACE
            }
        }
    }

    /// What an event's value says. Bits that mean nothing are ignored.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        let (kind, reads, place) = if bits & Self::WRITE != 0 {
            (AccessKind::Write, bits >> Self::READ_PLACE & (Self::READS - 1), bits >> Self::WRITE_PLACE)
        } else {
            (AccessKind::Read, 0, bits >> Self::READ_PLACE)
        };
        Self {
            kind,
            race: bits & Self::RACE != 0,
            version: (bits >> 2 & (Self::VERSIONS - 1)) as u8,
            reads: reads as u8,
            place: place as u16,
        }
    }
}
