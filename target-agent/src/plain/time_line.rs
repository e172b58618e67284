//! Time that never stops: the 32-bit counter, counted on in 64 bits.

use stillpoint_core::time::Counts;

/// One core's time, in counts of the platform's counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLine {
    real: Counts,
}

impl TimeLine {
    /// At 0.
    #[must_use]
    pub const fn new() -> Self {
        Self { real: Counts(0) }
    }

    /// The time at this reading of the 32-bit counter, which must be asked for once in 2^32 counts.
    #[inline]
    pub fn now(&mut self, counter: Counts<u32>) -> Counts {
        self.real = self.real.wrapping_after(counter.wrapping_since(self.real.low()).widen());
        self.real
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_may_wrap_as_often_as_it_likes() {
        let mut line = TimeLine::new();
        for n in 0..100 {
            let at = n * 0xF000_0000_u64;
            assert_eq!(line.now(Counts(at as u32)), Counts(at));
        }
    }
}
