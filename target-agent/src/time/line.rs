//! The equation of logical time: real time minus the time for which the core was stopped.

use stillpoint_core::time::Counts;

/// One core's time, in counts of the platform's counter.
///
/// # Example: a stop takes no time
/// ```
/// use stillpoint_agent::time::TimeLine;
/// use stillpoint_core::time::Counts;
/// let mut line = TimeLine::new();
/// assert_eq!(line.now(Counts(1_000)), Counts(1_000));
/// line.freeze(Counts(1_500));
/// assert_eq!(line.now(Counts(9_000)), Counts(1_500));
/// assert_eq!(line.thaw(Counts(10_000), 40), Counts(8_500));
/// assert_eq!(line.now(Counts(10_001)), Counts(1_501));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLine {
    /// The last real time seen, in 64 bits.
    real: Counts,
    delay: Counts,
    frozen: bool,
}

impl TimeLine {
    /// At 0, running.
    #[must_use]
    pub const fn new() -> Self {
        Self { real: Counts(0), delay: Counts(0), frozen: false }
    }

    /// Logical time at this reading of the 32-bit counter.
    ///
    /// Right as long as a line that is not frozen is asked once in 2^32 counts; `TimeDriver` sees to that.
    #[inline]
    pub fn now(&mut self, counter: Counts<u32>) -> Counts {
        if !self.frozen {
            self.real = self.real.wrapping_after(counter.wrapping_since(self.real.low()).widen());
        }
        self.real.wrapping_since(self.delay)
    }

    /// How long this line has stood still since the start. Grows when it thaws.
    #[must_use]
    pub const fn delay(&self) -> Counts {
        self.delay
    }

    /// How long this line has stood still until this reading of a counter that wraps after `bits` bits.
    #[must_use]
    pub const fn delay_at(&self, long_counter: Counts, bits: u32) -> Counts {
        if self.frozen { self.delay.wrapping_after(self.stood(long_counter, bits)) } else { self.delay }
    }

    /// Whether it stands still now.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Stops the line. Stopping a stopped line changes nothing.
    pub fn freeze(&mut self, counter: Counts<u32>) {
        self.now(counter);
        self.frozen = true;
    }

    /// Lets the line run on where it stopped, and says how long it stood. Thawing a running line changes nothing.
    ///
    /// `long_counter` wraps after `bits` bits; only a stop longer than that is counted short.
    pub fn thaw(&mut self, long_counter: Counts, bits: u32) -> Counts {
        if !self.frozen {
            return Counts(0);
        }
        let stood = self.stood(long_counter, bits);
        self.real = self.real.wrapping_after(stood);
        self.delay = self.delay.wrapping_after(stood);
        self.frozen = false;
        stood
    }

    /// The time since the last real time seen.
    const fn stood(&self, long_counter: Counts, bits: u32) -> Counts {
        Counts(long_counter.wrapping_since(self.real).0 & (u64::MAX >> (64 - bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_may_wrap_as_often_as_it_likes() {
        let mut line = TimeLine::new();
        for at in (0..100).map(|n| Counts(n * 0xF000_0000)) {
            assert_eq!(line.now(at.low()), at);
        }
    }

    #[test]
    fn a_stop_across_many_wraps_adds_its_whole_length_to_the_delay_and_nothing_to_time() {
        let mut line = TimeLine::new();
        line.now(Counts(77));
        line.freeze(Counts(100));
        let long = 100 + 3 * (1 << 32) + 5;
        assert_eq!((line.delay(), line.delay_at(Counts(long - 1), 40)), (Counts(0), Counts(long - 101)));
        assert_eq!(line.thaw(Counts(long), 40), Counts(long - 100));
        assert_eq!(line.delay(), Counts(long - 100));
        assert_eq!(line.now(Counts(long).low()), Counts(100));
        assert_eq!(line.now(Counts(long + 1).low()), Counts(101));
    }

    #[test]
    fn a_stop_across_the_wrap_of_the_long_counter_is_measured_right() {
        let mut line = TimeLine::new();
        let mut at = 0_u64;
        while at < (1 << 40) - 1_000 {
            at = (at + 0xFFFF_0000).min((1 << 40) - 1_000);
            line.now(Counts(at).low());
        }
        line.freeze(Counts(at).low());
        assert_eq!(line.thaw(Counts(500), 40), Counts(1_500));
        assert_eq!(line.now(Counts(500)), Counts(at));
    }

    #[test]
    fn freezing_twice_or_thawing_twice_changes_nothing() {
        let mut line = TimeLine::new();
        line.freeze(Counts(10));
        line.freeze(Counts(20));
        assert_eq!(line.thaw(Counts(30), 40), Counts(20));
        let after = line;
        assert_eq!(line.thaw(Counts(90), 40), Counts(0));
        assert_eq!(line, after);
    }
}
