//! Arbitrary bytes as a source of numbers.

/// Takes numbers and pieces off the front of some bytes; when they are used up, everything is zero.
///
/// # Example
/// ```
/// use stillpoint_tests::fuzz::Bytes;
/// let mut bytes = Bytes(&[1, 2, 0, 9]);
/// assert_eq!((bytes.byte(), bytes.half_word(), bytes.below(4)), (1, 2, 1));
/// assert!(bytes.is_empty() && bytes.word() == 0);
/// ```
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Whether all are used up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `count` bytes, or as many as there are.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A piece whose length is the next byte, at most `limit`.
    pub fn piece(&mut self, limit: u8) -> &'a [u8] {
        let length = self.below(limit.saturating_add(1));
        self.take(length.into())
    }

    fn array<const LEN: usize>(&mut self) -> [u8; LEN] {
        let mut array = [0; LEN];
        let taken = self.take(LEN);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    /// A number of 8 bits.
    pub fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    /// A number of 16 bits.
    pub fn half_word(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// A number of 32 bits.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit.max(1)
    }

    /// Yes or no.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 != 0
    }
}
