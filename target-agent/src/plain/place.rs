//! Without the kit a line stands nowhere: a zero, which every decoder of defmt skips, comes before it.

/// Nothing is known.
pub(super) struct Place;

impl Place {
    /// Of nobody.
    pub const fn new() -> Self {
        Self
    }

    /// Puts what comes before a line.
    #[inline]
    pub fn begin(&self, _at: u32, _stretch: u32, put: &mut dyn FnMut(&[u8])) {
        put(&[0]);
    }

    /// Nothing relied on it.
    #[inline]
    pub fn lost(&self) {}
}
